# SPDX-License-Identifier: GPL-2.0
"""Builds the programs of tools/testing/vpmc-bench, runs them in guests, and reads
the raw figures that they print."""

import os
import subprocess
import sys

from . import disassembly, progress

# Sets may use all counters, unless a program decides otherwise. See
# kernel.vpmc_counters.
os.environ["VPMC_APPEND"] = "sysctl.kernel.vpmc_counters=all"

# The processors: name in the table, and arguments of scripts/vm
CPUS = {
    "skylake": ["--cpu", "Skylake-Client,pmu=on"],
    # perf's driver writes a register that the emulator lacks
    "amd": ["--cpu", "EPYC,pmu=on", "--append", "msr.allow_writes=on"],
    "amd-v2": ["--cpu", "EPYC-Genoa,pmu=on", "--append", "msr.allow_writes=on"],
    "nehalem": ["--cpu", "Nehalem,pmu=on,pmu-erratum=nehalem"],
    "hybrid": ["--cpu", "Skylake-Client,model=151,pmu=on,pmu-version=5,pmu-hybrid=on"],
    "zhaoxin": ["--cpu", "YongFeng,model=27,pmu=on"],
}

# Debian's linux-perf
PERF = "/usr/bin/perf"

# name: kernel, options of scripts/vm, command
GUESTS = {
    "reads": ("on", ["--cpus", "1"], "reads"),
    "library": ("on", ["--cpus", "1"], "library"),
    "switches": ("on", ["--cpus", "1"], "switches monitored"),
    "calls": ("on", ["--cpus", "1"], "calls"),
    "nothing": ("on", ["--cpus", "2"], "switches unmonitored"),
    "elsewhere": ("on", ["--cpus", "2"], "switches elsewhere"),
    "borrowed": ("on", ["--cpus", "2"], "switches borrowed"),
    "beside": ("on", ["--cpus", "2"], "beside"),
    "beside-off": ("off", ["--cpus", "2"], "beside perf"),
    "off": ("off", ["--cpus", "2"], "switches unmonitored"),
    "counting": ("on", ["--cpus", "2"], "switches cpus"),
    "hooks": ("on", ["--cpus", "1"], "calls hooks"),
    "cpus": ("on", ["--cpus", "8"], "cpus"),
    "perfctr": ("on", ["--cpus", "1"], "perfctr"),
    "papi": ("on", ["--cpus", "1"], "papi"),
    "overflow": ("on", ["--cpus", "1"], "overflow"),
    "program": ("on", ["--cpus", "1"], "program"),
    "command": ("on", ["--cpus", "1", "--mem", "1024", "--add", PERF], "command"),
    "growth": ("on", ["--cpus", "1", "--mem", "4096"],
               "growth threads 1; for n in 100 10000; do /add/growth threads $n; done; "
               "for n in 1 100 10000; do /add/growth processes $n; done"),
}

# Number of runs from which the cheapest switch between threads without counters is
# taken
LEAST = 1000


class Failed(Exception):
    """Some figures cannot be measured"""


def programs(top):
    """Returns the directory of the programs. They contain libperf of the kernel's tree."""
    base = os.environ.get("KBASE")
    return os.path.join(top, "build", f"bench-{base}" if base else "bench", "bin")


# guests whose programs are built from PAPI's source
OF_PAPI = ("perfctr", "papi")


def papi(top):
    """Returns the directories of PAPI's source and of PAPI with vpmc's component, or None if there
    is no source."""
    run = subprocess.run([os.path.join(top, "scripts/lib/papi-source"), "--perfctr"], stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        print("bench: without PAPI's source there are no rows of perfctr and PAPI", file=sys.stderr)
        return None
    lines = logged(top, "papi-build-beside", "PAPI does not build",
                   os.path.join(top, "scripts/lib/papi-build"), "beside")
    return run.stdout.strip().splitlines()[-1], os.path.join(os.path.dirname(lines[-1]), "src")


def logged(top, name, failure, *command):
    """Returns the lines that a command prints. They also go to a log."""
    log = os.path.join(top, "build/log", name + ".log")
    os.makedirs(os.path.dirname(log), exist_ok=True)
    status, lines = progress.run(log, *command)
    if status:
        raise Failed(failure + ":\n" + "\n".join(lines))
    return lines


def build(top, source):
    """Builds the programs. libperf comes from the patched tree, which is locked meanwhile."""
    logged(top, "bench-tools", "the vpmc command does not build", os.path.join(top, "scripts/build-tools"))
    make = ["make", "-C", os.path.join(top, "tools/testing/vpmc-bench"), "OUT=" + os.path.dirname(programs(top))]
    if source:
        make += ["PAPI=" + source[0], "PAPI_BUILD=" + source[1]]
    logged(top, "bench-build", "the programs do not build", os.path.join(top, "scripts/lib/prepare-tree"),
           "--", "sh", "-c", '"$@" TREE="$PWD"', "sh", *make)


def parse(line):
    """Returns ("case", n, "who"), {figure: number} for a line of raw figures."""
    words = dict(word.split("=", 1) for word in line.split()[1:])
    key = words.pop("case"), int(words.pop("n")), words.pop("who")
    return key, {name: int(value) for name, value in words.items()}


def run(top, name, cpu, kernels, before):
    """Returns {key: figures} from one guest's output."""
    kernel, options, command = GUESTS[name]
    if name == "hooks":
        ranges = disassembly.hooks(kernels["on"])
        if not ranges:
            raise Failed("fork and exit have no hooks, or others than scripts/lib/pylib/disassembly.py knows")
        command += "".join(f" {low:x} {high:x}" for low, high in ranges)
    vm = [os.path.join(top, "scripts/vm"), "--kernel", kernels[kernel], *CPUS[cpu], "--timeout", "900",
          "--add", programs(top), *options, "--", "sh", "-c", f"{before}/add/{command}"]
    guest = subprocess.run(vm, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if guest.returncode:
        raise Failed(f"{command} ends with {guest.returncode}:\n{guest.stderr[-2000:]}")
    figures = dict(parse(line) for line in guest.stdout.splitlines() if line.startswith("raw "))
    few = [key for key, value in figures.items()
           if value["rounds"] < (LEAST if key[0].startswith("unmonitored-") else 1)]
    if few or not figures:
        raise Failed(f"{command}: no figures of {few}")
    return figures


# Guests for --quick: those with budgets that need no kernel without vpmc
QUICK = {"skylake": ("reads", "library", "switches", "calls", "nothing", "elsewhere", "borrowed", "counting",
                     "beside", "hooks", "cpus")}
# The other guests do not depend on the backend.
BACKEND = ("reads", "library", "switches", "calls")
ALL = {"skylake": tuple(GUESTS), "amd": BACKEND, "amd-v2": BACKEND, "nehalem": BACKEND, "hybrid": BACKEND,
       "zhaoxin": BACKEND}


def run_all(top, quick, papis, kernels):
    """Returns {cpu: {guest: {key: figures}}}."""
    # a second after boot the kernel changes its clock source, which changes all costs
    before = "sleep 3; " + ("export BENCH_NO_PERF=1; " if quick else "")
    return {cpu: {name: run(top, name, cpu, kernels, before) for name in names if papis or name not in OF_PAPI}
            for cpu, names in (QUICK if quick else ALL).items()}
