# SPDX-License-Identifier: GPL-2.0
"""What the kernel says when something is wrong with it."""

import re

PROBLEM = re.compile("|".join((
    r"\bWARNING: ", r"\bBUG: ", r"\bkernel BUG at ", r"\bOops\b", r"\bKernel panic\b",
    # a user program's own fault is reported with its ip:
    r"general protection fault(?! ip:)", r"unable to handle ", r"\bCall Trace:",
    r"suspicious RCU usage", r"possible (circular|recursive) locking",
    r"inconsistent lock state", r"possible irq lock inversion", r"DEBUG_LOCKS_WARN_ON",
    r"INFO: task .* blocked for more than", r"\bstall(s|ed)? (on|detected)\b|self-detected stall",
    r"soft lockup", r"hard LOCKUP", r"\bUBSAN: ", r"\bKASAN: ", r"\bKCSAN: ",
    r"unchecked MSR access", r"\bcorruption\b", r"Bad page (map|state)", r"Out of memory",
    r"refcount_t: ",
)))


def first_problem(lines):
    """Index of the first line that reports a problem, or None."""
    for i, line in enumerate(lines):
        if PROBLEM.search(line) and "Kernel command line:" not in line:
            return i
    return None


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().replace("\r", "").splitlines()
    except FileNotFoundError:
        return []
