# SPDX-License-Identifier: GPL-2.0
"""Rows of the benchmark: what each case costs, and what it may cost at most.

The budgets are those of the design, for the numbers of counters that the
emulated processor can have (up to 7): between two given numbers they are on the
straight line.
"""

from . import disassembly

SIZES = (1, 2, 4, 7)
FIGURES = ("rdpmc", "rdtsc", "wrmsr", "rdmsr", "cr4", "faults", "syscalls")

# Ping-pong between two threads with counters: a round is two switches. In the
# other cases a row is the way there and back.
PER_SWITCH = ("same-mm-same", "same-mm-other", "other-mm-same", "other-mm-other", "same-mm-same-kernel")
ROUND_TRIP = ("same-mm-unmonitored", "other-mm-unmonitored", "idle", "kthread", "idle-kernel")
READS = ("read-inline", "read-call", "read-ioctl", "read-in-handler", "read-first")
CALLS = ("open", "start", "stop", "clear", "read", "fork-exit", "fork-exec-exit", "fork-open-exit")

BUDGETS = {
    "read-inline": lambda n: {"instructions": {1: 16, 2: 22, 4: 36, 7: 55}[n], "syscalls": 0},
    "read-in-handler": lambda n: {"instructions": {1: 16, 2: 22, 4: 36, 7: 55}[n], "syscalls": 0},
    "read-call": lambda n: {"instructions": {1: 40, 2: 50, 4: 70, 7: 100}[n], "syscalls": 0},
    "read-first": lambda n: {"faults": 0},
    "switch-same-mm-same": lambda n: {"wrmsr": 0, "rdpmc": n, "rdtsc": 1, **({"instructions": 90} if n <= 4 else {})},
    "switch-other-mm-same": lambda n: {"wrmsr": n},
    "switch-other-mm-unmonitored": lambda n: {"wrmsr": 2, "cr4": 2, "rdpmc": n},
    "switch-same-mm-unmonitored": lambda n: {"wrmsr": 0, "rdpmc": 2 * n},
    "switch-idle": lambda n: {"wrmsr": 0, "rdpmc": n, "rdtsc": 2},
    "switch-kthread": lambda n: {"wrmsr": 0, "rdpmc": n, "rdtsc": 2},
    "start": lambda n: {"wrmsr": 1},
    "stop": lambda n: {"wrmsr": 1},
}


# Budgets that are exceeded: by how much at most, and why.
SIGN = ("the sign of each raw value is corrected by an instruction of its own, so that a read is right even when an "
        "overflow interrupt comes late")
EXPLAINED = {
    (case, n): ({"instructions": most}, SIGN)
    for case in ("read-inline", "read-in-handler") for n, most in ((1, 17), (2, 25), (4, 39), (7, 60))
}

NOISE = ("the difference of a whole fork and exit on two kernels has in it what the memory allocator happens to find")
EXPLAINED["fork-exit", 0] = ({"instructions": 100}, NOISE)


def within(row_, most):
    return all(row_[name] <= limit for name, limit in most.items())


def row(case, n, who, figures, budget=None):
    """figures: with "instructions", of both modes"""
    result = {"case": case, "n": n, "who": who, "instructions": figures["instructions"],
              **{name: figures[name] for name in FIGURES}, "budget": budget, "met": None}
    if budget is not None:
        result["met"] = within(result, budget)
        limits, why = EXPLAINED.get((case, n), ({}, ""))
        if not result["met"] and why and within(result, {**budget, **limits}):
            result["explained"] = why
    return result


def total(figures):
    return {**figures, "instructions": figures["user"] + figures["kernel"]}


def less(figures, base, parts=1):
    """What the first has more than the second, of each of so many parts."""
    more = {name: total(figures)[name] - total(base)[name] for name in (*FIGURES, "instructions")}
    return {name: value // parts if value % parts == 0 else value / parts for name, value in more.items()}


def budget_of(case, n, who):
    return BUDGETS[case](n) if who == "vpmc" and case in BUDGETS else None


def reads(raw):
    for case in READS:
        for n in SIZES:
            for who in ("vpmc", "perf"):
                if (case, n, who) in raw:
                    yield row(case, n, who, total(raw[case, n, who]), budget_of(case, n, who))


def switches(raw):
    for name in (*PER_SWITCH, *ROUND_TRIP):
        case = "switch-" + name
        for n in SIZES:
            for who in ("vpmc", "perf"):
                if (case, n, who) not in raw:
                    continue
                figures = less(raw[case, n, who], raw[case, 0, "none"], 2 if name in PER_SWITCH else 1)
                yield row(case, n, who, figures, budget_of(case, n, who))


def unmonitored(raw, kernels):
    """What threads without counters pay for others' and for our being there."""
    for pair in ("same-mm", "other-mm"):
        case = "unmonitored-" + pair
        base = raw["off"][case, 0, "nothing"]
        for situation in ("nothing", "elsewhere"):
            figures = less(raw[situation][case, 0, situation], base)
            yield row(f"{case}-{situation}", 0, "vpmc", figures, {"instructions": 0})
    figures = dict.fromkeys((*FIGURES, "instructions"), 0)
    figures["instructions"] = disassembly.difference(kernels["on"], kernels["off"], "__switch_to")
    yield row("unmonitored-disassembly", 0, "vpmc", figures, {"instructions": 0})


def calls(raw):
    on, off = raw["calls"], raw["calls-off"]
    for case in ("fork-exit", "fork-exec-exit"):
        # 3 instructions for each of the two hooks
        budget = {"instructions": 6} if case == "fork-exit" else None
        yield row(case, 0, "vpmc", less(on[case, 0, "none"], off[case, 0, "none"]), budget)
    for case in CALLS:
        for n in SIZES:
            for who in ("vpmc", "perf"):
                if (case, n, who) not in on:
                    continue
                figures = on[case, n, who]
                base = {"fork-open-exit": "fork-exit"}.get(case, case)
                if (base, 0, "none") in on:
                    figures = less(figures, on[base, 0, "none"])
                else:
                    figures = total(figures)
                yield row(case, n, who, figures, budget_of(case, n, who))


def rows(raw, kernels):
    """All rows, in the order of the table"""
    return [*reads(raw["reads"]), *switches(raw["switches"]), *unmonitored(raw, kernels), *calls(raw)]
