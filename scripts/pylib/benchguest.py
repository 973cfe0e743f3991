# SPDX-License-Identifier: GPL-2.0
"""The programs of tools/testing/vpmc-bench: their build, the guests that run
them, and the raw figures that they print."""

import os
import subprocess

# name: kernel, options of scripts/vm, command
GUESTS = {
    "reads": ("on", ["--cpus", "1"], "reads"),
    "switches": ("on", ["--cpus", "1"], "switches monitored"),
    "nothing": ("on", ["--cpus", "2"], "switches unmonitored"),
    "elsewhere": ("on", ["--cpus", "2"], "switches elsewhere"),
    "off": ("off", ["--cpus", "2"], "switches unmonitored"),
    "calls": ("on", ["--cpus", "1"], "calls"),
    "calls-off": ("off", ["--cpus", "1"], "calls hooks"),
}


class Failed(Exception):
    """Something that keeps us from having all figures."""


def programs(top):
    return os.path.join(top, "build", "bench", "bin")


def build(top):
    """libperf comes from the patched tree, which is locked meanwhile."""
    make = ["make", "-s", "-C", os.path.join(top, "tools/testing/vpmc-bench"),
            "OUT=" + os.path.dirname(programs(top))]
    run = subprocess.run([os.path.join(top, "scripts/prepare-tree"), "--", "sh", "-c", '"$@" TREE="$PWD"', "sh", *make],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         check=False, timeout=600)
    if run.returncode:
        raise Failed(f"the programs do not build:\n{run.stdout}")


def parse(line):
    """("case", n, "who"), {figure: number} of a line of raw figures"""
    words = dict(word.split("=", 1) for word in line.split()[1:])
    key = words.pop("case"), int(words.pop("n")), words.pop("who")
    return key, {name: int(value) for name, value in words.items()}


def run(top, cpu, kernel, options, command):
    """{key: figures} of what one guest prints"""
    vm = [os.path.join(top, "scripts/vm"), "--kernel", kernel, "--cpu", cpu, "--timeout", "600",
          "--add", programs(top), *options, "--", "sh", "-c", command]
    guest = subprocess.run(vm, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if guest.returncode:
        raise Failed(f"{command} ends with {guest.returncode}:\n{guest.stderr[-2000:]}")
    figures = dict(parse(line) for line in guest.stdout.splitlines() if line.startswith("raw "))
    few = [key for key, value in figures.items() if not value["rounds"]]
    if few or not figures:
        raise Failed(f"{command}: no figures of {few}")
    return figures


def run_all(top, cpu, quick, kernels):
    """{guest: {key: figures}}; quick: without perf_event"""
    prefix = "export BENCH_NO_PERF=1; " if quick else ""
    return {name: run(top, cpu, kernels[kernel], options, prefix + "/add/" + command)
            for name, (kernel, options, command) in GUESTS.items()}
