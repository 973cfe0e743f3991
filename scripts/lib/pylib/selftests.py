# SPDX-License-Identifier: GPL-2.0
"""Builds the vpmc kselftests in the patched tree, and reads the guests that
tools/testing/selftests/vpmc/guests lists ("NAME: VM-ARGS -- COMMAND")."""

import glob
import os
import re
import shlex

from . import cache, progress, tap

# Sets may use all counters, unless a program decides otherwise. See
# kernel.vpmc_counters.
os.environ["VPMC_APPEND"] = "sysctl.kernel.vpmc_counters=all"

# Runs in the patched tree, which is locked meanwhile. Guests of another suite may be
# reading the programs, so unchanged ones are not replaced.
MAKE = """
obj=$VPMC_KCACHE/obj/selftests
mkdir -p "$obj"
make -j "$2" O="$obj" ARCH=x86 headers &&
make -j "$2" -C tools/testing/selftests TARGETS=vpmc O="$obj" ARCH=x86 \
	INSTALL_PATH="$1.new" FORCE_TARGETS=1 install &&
rsync -a --checksum --delete "$1.new/" "$1/" &&
rm -rf "$1.new"
"""


def installed(top):
    """Returns where build() installs. 32-bit programs (VPMC_32BIT=1) and all others have separate
    directories."""
    return os.path.join(top, "build", "selftests-32" if os.environ.get("VPMC_32BIT") == "1" else "selftests")


def programs(top):
    """Returns the directory that build() fills."""
    return os.path.join(installed(top), "vpmc")


def build(top):
    """Builds the programs. Returns (status, lines of the output). build/log has the output, too."""
    log = os.path.join(top, "build/log")
    cache.make_results(log)
    return progress.run(os.path.join(log, "selftests-build.log"), os.path.join(top, "scripts/lib/prepare-tree"),
                        "--", "sh", "-c", MAKE, "sh", installed(top),
                        os.environ.get("VPMC_JOBS") or str(os.cpu_count()))


def directory(top):
    return os.path.join(top, "tools/testing/selftests/vpmc")


def lists(top):
    """Returns the names of all lists of guests."""
    return sorted(name for name in os.listdir(directory(top)) if re.fullmatch(r"guests(-\w+)?", name))


def sources(top):
    """Returns the names of all programs."""
    return sorted(os.path.basename(path)[:-2] for path in glob.glob(os.path.join(directory(top), "*_test.c")))


def runs(command):
    """Returns the programs that a guest's command runs: /add/NAME_test, or a loop over t with     /add/${t}_test."""
    found = re.findall(r"/add/(\w+)_test\b", command)
    for names in re.findall(r"\bfor t in ([^;]*); do [^;]*/add/\$\{t\}_test\b", command):
        found += names.split()
    return [name + "_test" for name in found if not name.startswith("$")]


def added(top, command):
    """Returns the options of scripts/vm that bring the programs which a guest's command runs, and
    what is no test program. All of them are 100 MB, and unpacking them takes a guest a second."""
    wanted = runs(command)
    names = sorted(os.listdir(programs(top)))
    return [word for name in names if name in wanted or not wanted or not name.endswith("_test")
            for word in ("--add", os.path.join(programs(top), name))]


def others(top):
    """Returns the programs that no list names."""
    named = {program for name in lists(top) for _, _, command in _lines(top, name) for program in runs(command)}
    return [program for program in sources(top) if program not in named]


def guests(top, name="guests"):
    """Yields (name, arguments of scripts/vm, shell command) of each guest of a list, or nothing if
    there is no such list."""
    for guest, args, command in _lines(top, name):
        if "$others" in command:
            command = command.replace("$others", " ".join(program.removesuffix("_test") for program in others(top)))
        yield guest, args, command


def _lines(top, name):
    """Yields the same as guests(), but keeps $others."""
    path = os.path.join(directory(top), name)
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.split("#")[0].strip()
            if not line:
                continue
            match = re.match(r"([\w.-]+):\s+(?:(.*)\s)?--\s+(.+)$", line)
            if not match:
                raise ValueError(f"{name}: not 'NAME: VM-ARGS -- COMMAND': {line}")
            yield match[1], shlex.split(match[2] or ""), match[3]


def only(command, wanted):
    """Returns the command of a guest, without programs that are not wanted."""
    def loop(match):
        names = [name for name in match[1].split() if name + "_test" in wanted]
        return f"for t in {' '.join(names)}; do {match[2]}; done" if names else ":"

    def program(match):
        return match[0] if match[1] + "_test" in wanted else ":"

    command = re.sub(r"\bfor t in ([^;]*); do ([^;]*/add/\$\{t\}_test\b[^;]*); done", loop, command)
    return re.sub(r"/add/(\w+)_test\b[^;]*", program, command)


def guests_of(top, wanted, names):
    """Yields the same as guests(), but only for wanted programs. Each is with the first guest that
    runs it."""
    left = list(wanted)
    for guest, args, command in (guest for name in names for guest in guests(top, name)):
        here = [program for program in left if program in runs(command)]
        if here:
            left = [program for program in left if program not in here]
            yield guest, args, only(command, here)
    if left:
        raise ValueError(f"{','.join(names)}: no guest runs {' '.join(left)}")


def weight(args, command):
    """Estimates the cost of a guest from its limit and the number of its programs."""
    limit = float(args[args.index("--timeout") + 1]) if "--timeout" in args else 0
    return limit + len(re.findall(r"\w+", command))


def started(lines):
    """Returns the programs that a guest's shell has started, from the output of "set -x"."""
    found = (re.match(r"\++ (?:\w+=\S+ )*/add/(\w+_test)(?: |$)", line) for line in lines)
    return [match[1] for match in found if match]


def documents(lines):
    """Yields the TAP streams of the programs that one guest ran."""
    parser = None
    for line in lines:
        if line.startswith("TAP version") or parser is None:
            if parser is not None:
                yield parser
            parser = tap.Parser()
        parser.line(line)
    if parser is not None:
        yield parser
