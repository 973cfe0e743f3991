# SPDX-License-Identifier: GPL-2.0
"""Which suites a change concerns. The head of each suite names its inputs
("# inputs: GLOB..."), and what it needs has inputs, too."""

import fnmatch
import os
import subprocess

from . import seen

# Inputs of each suite.
ALWAYS = ["scripts/run-tests", "scripts/lib/common.sh", "scripts/lib/tap.sh", "scripts/lib/pylib/tap.py"]
# Inputs of what "# needs:" names. configs/NAME is a kernel.
BASES = ["bases/*", "scripts/lib/base-series", "scripts/lib/kernel-package", "scripts/lib/versions"]
KERNEL = ["patches/*", "series", "configs/base", "scripts/build-kernel", "scripts/lib/kernel.sh", "scripts/lib/source.sh",
          "scripts/lib/prepare-tree", "scripts/lib/sync-series"] + BASES
GUEST = ["scripts/vm", "scripts/lib/guest-init", "scripts/lib/pylib/*"]
NEEDS = {
    "kernel": KERNEL + GUEST,
    "tree": ["patches/*", "series", "scripts/lib/prepare-tree", "scripts/lib/sync-series"] + BASES,
    "emulator": ["scripts/build-emulator", "tools/testing/pmu-emulator/patches/*", "tools/testing/pmu-emulator/include/*"] + GUEST,
}


def inputs(name, head):
    """Returns the globs of a suite's inputs. "*" in them stands for "/", too. @head reads a line of
    the suite's head."""
    globs = head(name, "inputs", "").split()
    for need in head(name, "needs", "").split():
        globs += NEEDS.get(need) or KERNEL + GUEST + ["configs/" + need]
    return [*globs, *ALWAYS, "scripts/suites/" + name]


def _git(top, *words):
    run = subprocess.run(["git", "-C", top, *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise ValueError(run.stderr.strip().splitlines()[0] if run.stderr.strip() else "git failed")
    return [line for line in run.stdout.split("\0") if line]


def files(top, rev):
    """Returns the files that differ from a commit, those that are not committed yet included.
    Raises ValueError if there is no such commit."""
    _git(top, "rev-parse", "--quiet", "--verify", "--end-of-options", rev + "^{commit}")
    return sorted(_git(top, "diff", "--name-only", "--no-renames", "-z", rev, "--") +
                  _git(top, "ls-files", "-z", "--others", "--exclude-standard"))


def first_match(globs, paths):
    """Returns the first path that a glob matches, or None."""
    return next((path for path in paths if any(fnmatch.fnmatchcase(path, glob) for glob in globs)), None)


def choose(names, head, differ, minutes):
    """Returns (suites, {suite left out: why}, their minutes), the shortest first. @differ has the files that
    differ. @minutes is the time that all suites together may take, or None."""
    times = seen.Times("suites")
    left = {name: "runs only by its name" for name in names if head(name, "when", "always") == "named"}
    due = []
    for name in names:
        if name in left:
            continue
        if first_match(inputs(name, head), differ):
            known = times.seconds.get(name)
            due.append(((known or 60 * float(head(name, "minutes", "1"))) / 60, name,
                        "as before" if known else "as its head says"))
        else:
            left[name] = "none of its inputs differs"
    chosen, used = [], 0.0
    for needed, name, source in sorted(due):
        if minutes is not None and used + needed > minutes:
            left[name] = f"takes {needed:.1f} minutes, {source}, and {max(0.0, minutes - used):.1f} are left"
            continue
        used += needed
        chosen.append(name)
    return chosen, left, used
