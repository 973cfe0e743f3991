# SPDX-License-Identifier: GPL-2.0
"""Patterns for reports of problems in the kernel's log.

scripts/suites/klog-lines has an example of each."""

import re

PATTERNS = (
    # WARN(), lockdep, RCU; BUG(), KASAN, KFENCE, sleeping or scheduling while atomic,
    # smp_processor_id(), lockups; and the lines that follow them
    r"\bWARNING: ", r"\bBUG: ", r"\bkernel BUG at ", r"\bOops\b", r"\bKernel panic\b",
    r"\bCall Trace:",
    # the report of a user program's fault has "ip:"
    r"general protection fault(?! ip:)", r"unable to handle ", r"unchecked MSR access",
    # lockdep, also when it turns itself off
    r"suspicious RCU usage", r"possible (circular|recursive) locking",
    r"inconsistent lock state", r"possible irq lock inversion", r"DEBUG_LOCKS_WARN_ON",
    r"trying to register non-static key", r"turning off the locking correctness validator",
    r"lockdep is turned off",
    # hangs and stalls
    r"INFO: task .* blocked for more than", r"\bstalls? on\b|self-detected stall|stalls? detected",
    r"\bkthread starved for\b", r"soft lockup", r"hard LOCKUP",
    r"NOHZ tick-stop error", r"huh, entered softirq",
    # an NMI that no handler knows, or a handler that takes too long
    r"NMI received for unknown reason", r"Dazed and confused", r"perfevents: irq loop stuck",
    # a suite of KUnit, which runs at each boot of a kernel that has it
    r"\bnot ok \d+ vpmc_",
    # memory
    r"\bUBSAN: ", r"\bKCSAN: ", r"\bcorruption\b", r"\bBUG \S+ \(.*[Tt]ainted",
    r"\bODEBUG: (?!selftest passed)",
    r"Bad page (map|state)", r": bad p[gpmu4]d ", r"Out of memory", r"refcount_t: ",
    # kmemleak, also when it turns itself off
    r"kmemleak: \d+ new suspected", r"unreferenced object 0x",
    r"kmemleak: .*(pool empty|[Cc]annot |unknown object|disabled|[Ff]ailed)",
)
PROBLEM = re.compile("|".join(PATTERNS))

# KCSAN reports races of the whole kernel, which Linux has many of. A report counts only
# if one of the two accesses is by a function of this series, or by one that it calls: a
# helper such as memcpy() is the first frame, and its caller the second. The names are
# those of kernel/vpmc, arch/x86/kernel/vpmc and arch/x86/events/lend.c, and of what the
# series adds to arch/x86/events/core.c. Functions of backends have names with intel_ and
# amd_. Their callers have one of the names here.
KCSAN = re.compile(r"\bBUG: KCSAN: ")
OURS = re.compile(r" \w*(?:vpmc|beside_|globalctl_|percounter_|costs_)| share_|"
                  r" (?:__)?x86_pmu_(?:all_fit|begin_loan|end_loan|exchange_callbacks|give|hand_lent_on|hand_on|has_events|is_used|"
                  r"keep|leave|lend|look_at_lent|must_leave|pinned|release|return|take|unlend|uses)")
FRAME = re.compile(r" [\w.]+\+0x[0-9a-f]+/0x[0-9a-f]+$")
ACCESS = re.compile(r" to 0x[0-9a-f]+ of \d+ bytes by ")
NEAR = 2                        # frames of a stack that say whose access it is


def kcsan_report(lines, first):
    """Returns the lines of the report that begins at first. One without an end has none."""
    for i in range(first + 1, len(lines)):
        if KCSAN.search(lines[i]):
            break
        if re.search(r"={40}$", lines[i]):
            return lines[first:i]
    return []


def is_ours(report):
    """Returns whether this series has a part in a race that KCSAN reports, or may have."""
    left = accesses = 0
    for line in report:
        if ACCESS.search(line):
            left = NEAR
            accesses += 1
        elif left and FRAME.search(line):
            left -= 1
            if OURS.search(line):
                return True
    return not accesses


def first_problem(lines, expected=()):
    """Returns the index of the first line that reports a problem, or None.

    A line with one of the texts in EXPECTED reports no problem. Neither does the call
    trace that follows it."""
    trace = False           # of an expected report
    for i, line in enumerate(lines):
        if not PROBLEM.search(line) or "Kernel command line:" in line:
            continue
        if any(text in line for text in expected):
            trace = True
        elif trace and "Call Trace:" in line:
            trace = False
        elif not KCSAN.search(line) or is_ours(kcsan_report(lines, i)):
            return i
    return None


def missing(lines, expected):
    """Returns the first of the texts that no line has, or None."""
    return next((text for text in expected if not any(text in line for line in lines)), None)


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().replace("\r", "").splitlines()
    except FileNotFoundError:
        return []
