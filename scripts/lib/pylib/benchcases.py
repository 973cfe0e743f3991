# SPDX-License-Identifier: GPL-2.0
"""Rows of the benchmark: what each case costs, and what it may cost at most.

The budgets are those of the design, for the numbers of counters that the emulated
processors can have. Between two given numbers they are interpolated linearly.
"""

import os

from . import disassembly

FIGURES = ("rdpmc", "rdtsc", "wrmsr", "rdmsr", "cr4", "faults", "syscalls", "interrupts")
NOTHING = dict.fromkeys(FIGURES, 0)

# A round of these cases is a ping-pong between two threads with counters, which is two
# switches. In the other cases a row is one switch to another thread and back.
PER_SWITCH = ("same-mm-same", "same-mm-other", "other-mm-same", "other-mm-other", "same-mm-same-kernel",
              "same-mm-same-overflow")
ROUND_TRIP = ("same-mm-unmonitored", "other-mm-unmonitored", "idle", "kthread", "idle-kernel",
              "other-mm-unmonitored-overflow", "idle-overflow")
READS = ("read-inline", "read-inline-any", "read-counts-alone", "read-call", "read-ioctl", "read-in-handler",
         "read-first")
CALLS = ("open", *(call + whose for whose in ("", "-other") for call in ("start", "stop", "clear", "read")),
         "start-after-other-mm")
# The rows of these cases are differences to the same case without counters.
PROCESSES = tuple(case + how for how in ("", "-inherit") for case in ("fork-exit", "fork-exec-exit", "thread-exit"))
# Calls on /dev/perfctr, for all CPUs
OF_CPUS = tuple("cpus-" + call for call in ("start", "start-again", "stop", "clear", "read", "read-interval"))


def of_four(instructions):
    """A budget for four counters, and none for other numbers of them"""
    return lambda n: {"instructions": instructions} if n == 4 else None


BUDGETS = {
    "read-inline": lambda n: {"instructions": 11 + 7 * n, "syscalls": 0},
    "read-in-handler": lambda n: {"instructions": 11 + 7 * n, "syscalls": 0},
    "read-call": lambda n: {"instructions": {1: 40, 2: 50, 4: 70, 6: 90, 7: 100}[n], "syscalls": 0},
    "read-first": lambda n: {"faults": 0},
    "switch-same-mm-same": lambda n: {"wrmsr": 0, "rdpmc": n, "rdtsc": 1, **({"instructions": 90} if n <= 4 else {})},
    "switch-other-mm-same": lambda n: {"wrmsr": n},
    "switch-other-mm-unmonitored": lambda n: {"wrmsr": 2, "cr4": 2, "rdpmc": n},
    "switch-same-mm-unmonitored": lambda n: {"wrmsr": 0, "rdpmc": 2 * n},
    "switch-idle": lambda n: {"wrmsr": 0, "rdpmc": n, "rdtsc": 2},
    "switch-kthread": lambda n: {"wrmsr": 0, "rdpmc": n, "rdtsc": 2},
    "start": lambda n: {"wrmsr": 1},
    "stop": lambda n: {"wrmsr": 1},
    "start-after-other-mm": lambda n: {"wrmsr": 1 + n},
    "open": of_four(10000),
    "thread-exit-inherit": of_four(2500),
    "fork-exit-inherit": of_four(3500),
    # three instructions each in fork and exit
    "fork-exit-hooks": lambda n: {"instructions": 6},
    # For n CPUs. The calling CPU is not interrupted.
    "cpus-start": lambda n: {"interrupts": n - 1, "wrmsr": n},
    "cpus-start-again": lambda n: {"interrupts": 0, "wrmsr": 0},
    "cpus-stop": lambda n: {"interrupts": n - 1, "wrmsr": n},
    "cpus-clear": lambda n: {"interrupts": n - 1, "wrmsr": 0},
    "cpus-read": lambda n: {"interrupts": n - 1, "wrmsr": 0},
    "cpus-read-interval": lambda n: {"interrupts": 0, "wrmsr": 0},
}
# For PMUs without a register that starts and stops all counters
BUDGETS_OF_AMD = {
    **BUDGETS,
    "switch-other-mm-unmonitored": None,
    "start": lambda n: {"wrmsr": n},
    "stop": lambda n: {"wrmsr": n},
    "start-after-other-mm": lambda n: {"wrmsr": 2 * n},
}

# A new select needs the sequence that works around an erratum.
BUDGETS_OF_NEHALEM = {**BUDGETS, "switch-same-mm-other": lambda n: {"wrmsr": 16 + n}}
OTHER_BUDGETS = {"amd": BUDGETS_OF_AMD, "nehalem": BUDGETS_OF_NEHALEM}

# Budgets that are exceeded: what a case may take instead, and why.
OPEN = ("most of it is open() of a file in /proc, an ioctl() and mmap() of a file's page; the row of nobody has these "
        "calls without counters")
PAPI_ITSELF = "PAPI itself executes more than the budget; the row of nobody is of a component that does nothing"
PERF_JOINS = ("a switch of perf writes GLOBAL_CTRL four times, and adds the other part each time; 7 of the instructions "
              "are a check for processes that may use RDPMC")
OUR_WRITES = ("a switch of vpmc writes GLOBAL_CTRL twice; each time it stores its part before and compares perf's part "
              "afterwards, so that no lock is needed")
OPEN_NEHALEM = OPEN + "; START executes the sequence for the erratum"
OPEN_HYBRID = OPEN + "; perf is asked about each event for both types of core"
EXPLAINED = {("perf-switch-idle", 1): ({"instructions": 15}, PERF_JOINS),
             ("switch-borrowed", 1): ({"instructions": 11}, OUR_WRITES),
             ("open", 4): ({"instructions": 3760}, OPEN),
             ("papi-read", 4): ({"instructions": 280}, PAPI_ITSELF)}
EXPLAINED_OF = {"nehalem": {("open", 4): ({"instructions": 3900}, OPEN_NEHALEM)},
                "hybrid": {("open", 4): ({"instructions": 6050}, OPEN_HYBRID)}}
# Cases whose limit in EXPLAINED is what they may execute more than the row of nobody. The
# latter depends on the version of Linux.
BEYOND_NOBODY = ("open",)


# READ of a family, for each living descendant
READ_EACH = 150

# Limits for the library: instructions beyond an inline read of any number of counters,
# and the ratio to open(), CONTROL and mmap() by hand.
LIBRARY_READ = 10
# Limit for begin and end of a region, beyond two inline reads of any number of
# counters, and for a marker. They check the region's owner, and keep the values.
REGIONS = ("region", "marker", "marker-block")
REGION = 25
REGION_EACH = 8
LIBRARY_OPEN = 1.2
# vpmc stat must take at most 1/3 of what perf stat takes.
COMMAND_OF_PERF = 3
# PAPI's calls on vpmc's component must take at most 1/N of those on perf_event's.
PAPI_OF_PERF = {"papi-read": 4, "papi-start": 2, "papi-stop": 2}

# A cost that should be flat or linear may be this many times higher with 10,000 threads
# than with one. A creation varies with what the memory allocator finds.
FLAT = {"switch": 1, "create-exit": 1.5, "attach": 1.1, "read-tree": 1.1}
PAGE = 4096


def within(row_, most):
    return all(row_[name] <= limit for name, limit in most.items())


def row(case, n, who, figures, budget=None):
    """figures must have "instructions" of both modes."""
    result = {"case": case, "n": n, "who": who, "instructions": figures["instructions"],
              **{name: figures[name] for name in FIGURES}, "budget": budget, "met": None}
    if "bytes" in figures:
        result["bytes"] = figures["bytes"]
    if budget is not None:
        result["met"] = within(result, budget)
    return result


def explain(cpu, result, nobody):
    """Returns the row with the reason if its budget is exceeded, and by no more than is known.
    nobody has the instructions of cases without counters."""
    known = {**EXPLAINED, **EXPLAINED_OF.get(cpu, {})}
    limits, why = known.get((result["case"], result["n"]), ({}, ""))
    if result["case"] in BEYOND_NOBODY and why:
        limits = {"instructions": nobody[result["case"]] + limits["instructions"]}
    if result["met"] is False and why and within(result, {**result["budget"], **limits}):
        result["explained"] = why
    return result


def total(figures):
    return {**figures, "instructions": figures["user"] + figures["kernel"]}


def less(figures, base, parts=1):
    """Returns figures minus base, divided by the number of parts."""
    more = {name: total(figures)[name] - total(base)[name] for name in (*FIGURES, "instructions")}
    return {name: value // parts if value % parts == 0 else value / parts for name, value in more.items()}


class Cases:
    """The rows of one processor, from the raw figures of its guests"""

    def __init__(self, raw, budgets):
        self.raw = raw
        self.budgets = budgets

    def budget(self, case, n, who):
        known = self.budgets.get(case) if who == "vpmc" else None
        return known(n) if known else None

    def of(self, guest, case):
        """Returns (n, who, figures) of a case, vpmc's before perf_event's and perfctr's."""
        raw = dict(self.raw[guest])
        if guest == "reads":
            raw.update({**self.raw["library"], **self.raw.get("perfctr", {})})
        found = [(n, who, figures) for (name, n, who), figures in raw.items()
                 if name == case and who != "none"]
        return sorted(found, key=lambda key: (key[0], key[1] != "vpmc", key[1]))

    def plain(self, guest, cases):
        for case in cases:
            for n, who, figures in self.of(guest, case):
                yield row(case, n, who, total(figures), self.budget(case, n, who))

    def library(self):
        """What the library's calls cost beyond code written by hand"""
        reads, library, calls = self.raw["reads"], self.raw["library"], self.raw["calls"]
        for n, who, figures in self.of("library", "read-call"):
            yield row("read-call-beyond-inline", n, who, less(figures, reads["read-inline-any", n, who]),
                      {"instructions": LIBRARY_READ})
        for case in REGIONS:
            for n, who, figures in self.of("library", case):
                yield row(case, n, who, total(figures))
                read = reads["read-inline-any", n, who]
                two = {name: 2 * value for name, value in read.items()}
                yield row(case + "-beyond-reads", n, who, less(figures, two),
                          {"instructions": REGION + REGION_EACH * n, "rdpmc": 0, "syscalls": 0})
        for n, who, figures in self.of("library", "open-library"):
            by_hand = total(calls["open", n, who])["instructions"]
            yield row("open-library", n, who, total(figures), {"instructions": int(by_hand * LIBRARY_OPEN)})

    def part_of_perf(self, guest, case, part):
        """Rows whose budget is 1/part of perf_event's instructions"""
        rows_ = self.of(guest, case)
        perf = next(total(figures)["instructions"] for _, who, figures in rows_ if who == "perf")
        for (name, n, who), figures in self.raw[guest].items():
            if (name, who) == (case, "none"):
                yield row(case, n, who, total(figures))
        for n, who, figures in rows_:
            yield row(case, n, who, total(figures), {"instructions": perf // part} if who == "vpmc" else None)

    def switches(self):
        for name in (*PER_SWITCH, *ROUND_TRIP):
            case = "switch-" + name
            base = self.raw["switches"][case, 0, "none"]
            for n, who, figures in self.of("switches", case):
                figures = less(figures, base, 2 if name in PER_SWITCH else 1)
                yield row(case, n, who, figures, self.budget(case, n, who))

    def processes(self):
        """What fork, exec and exit cost more with counters than with another page that children do not get. The kernel
        removes such a page from the copy of the tree of mappings."""
        calls = self.raw["calls"]
        page, no_page = (calls[case, 0, "none"] for case in ("fork-exit", "fork-open-exit"))
        yield row("fork-exit-page", 0, "none", less(page, no_page))
        for case in (*PROCESSES, "fork-open-exit"):
            base = calls[case.removesuffix("-inherit"), 0, "none"]
            if (case, 0, "none") in calls:
                yield row(case, 0, "none", total(base))
            for n, who, figures in self.of("calls", case):
                yield row(case, n, who, less(figures, base), self.budget(case, n, who))

    def unmonitored(self, kernels):
        """What threads without counters pay for vpmc and for other threads' counters"""
        for pair in ("same-mm", "other-mm"):
            case = "unmonitored-" + pair
            situations = [("nothing", "nothing"), ("elsewhere", "elsewhere"), ("borrowed", "borrowed"), ("counting", "cpus")]
            # without the kernel that has no vpmc, that of one where nobody counts
            base = self.raw["off" if "off" in self.raw else "nothing"][case, 0, "nothing"]
            for guest, situation in situations if "off" in self.raw else situations[1:]:
                figures = less(self.raw[guest][case, 0, situation], base)
                yield row(f"{case}-{situation}", 0, "vpmc", figures, {"instructions": 0})
        if "off" in self.raw:
            on, off = (os.path.join(os.path.dirname(kernels[k]), "vmlinux") for k in ("on", "off"))
            differ = disassembly.difference(on, off, "__switch_to")
            yield row("unmonitored-disassembly", 0, "vpmc", {**NOTHING, "instructions": differ}, {"instructions": 0})
        yield from self.plain("hooks", ["fork-exit-hooks"])

    def beside(self):
        """Counters that perf lends: what that costs perf, and us"""
        raw = self.raw["beside"]
        alone, lent = (raw["beside-perf-switch", 1, who] for who in ("alone", "lent"))
        # six instructions, and no write of an MSR
        budget = {"instructions": 6, "wrmsr": 0}
        if "beside-off" in self.raw:
            off = self.raw["beside-off"]["beside-perf-switch", 1, "alone"]
            yield row("perf-switch-idle", 1, "perf", less(alone, off, 2), budget)
        yield row("perf-switch-lent", 1, "perf", less(lent, alone, 2), budget)
        # a load and an OR for each of two writes
        more = less(raw["beside-switch", 1, "shared"], raw["beside-switch", 1, "all"], 2)
        yield row("switch-borrowed", 1, "vpmc", more, {"instructions": 4, "wrmsr": 0})
        # interrupts of the other CPU
        for situation, interrupts in (("unused", 0), ("again", 0), ("used", 1)):
            yield row("control-borrows-" + situation, 1, "vpmc", total(raw["beside-control", 1, situation]),
                      {"interrupts": interrupts})
        for situation, case in (("all", "overflow-own"), ("shared", "overflow-handed-on")):
            yield row(case, 1, "vpmc", total(raw["beside-overflow", 1, situation]))

    def cpus(self):
        """Calls for all CPUs, without the cost of reading the other CPUs' totals"""
        for case in OF_CPUS:
            for n, who, figures in self.of("cpus", case):
                figures = less(figures, self.raw["cpus"]["cpus-nothing", n, who])
                yield row(case, n, who, figures, self.budget(case, n, who))

    def growth(self):
        """The same cases with 1, 100 and 10,000 threads or processes, which is n."""
        raw = self.raw["growth"]
        for kind in ("threads", "processes"):
            name = f"growth-{kind}-"
            numbers = sorted(n for case, n, who in raw if case == name + "switch" and who == "vpmc")
            for what, parts in (("switch", 2), ("create-exit", 1)):
                costs = {n: less(raw[name + what, n, "vpmc"], raw[name + what, n, "none"], parts) for n in numbers}
                for n in numbers:
                    flat = {"instructions": round(costs[numbers[0]]["instructions"] * FLAT[what])}
                    yield row(name + what, n, "vpmc", costs[n], flat)
            attaches = {n: total(raw[name + "attach", n, "vpmc"]) for n in numbers}
            for n in numbers:
                flat = {"instructions": round(attaches[numbers[0]]["instructions"] * FLAT["attach"])}
                yield row(name + "attach", n, "vpmc", attaches[n], flat)
            trees = {n: total(raw[name + "read-tree", n, "vpmc"]) for n in numbers}
            each = (trees[numbers[1]]["instructions"] - trees[numbers[0]]["instructions"]) / (numbers[1] - numbers[0])
            yield row(name + "read-each", numbers[1], "vpmc", {**NOTHING, "instructions": round(each)},
                      {"instructions": READ_EACH})
            for n in numbers:
                linear = trees[numbers[0]]["instructions"] + FLAT["read-tree"] * each * (n - numbers[0])
                yield row(name + "read-tree", n, "vpmc", trees[n], {"instructions": round(linear)})
            # a few would be lost in what else the kernel allocates
            none, vpmc = (raw[name + "memory", numbers[-1], who]["bytes"] for who in ("none", "vpmc"))
            yield row(name + "memory", numbers[-1], "vpmc",
                      {**NOTHING, "instructions": 0, "bytes": round((vpmc - none) / numbers[-1])}, {"bytes": 2 * PAGE})

    def program(self):
        """A real program: what it executes, and what its counters say"""
        raw = self.raw["program"]
        base = raw["program", 0, "none"]
        executed = base["user"] + raw["program-executed", 0, "none"]["user"]
        yield row("program", 0, "none", total(base))
        for n, who, figures in self.of("program", "program"):
            yield row("program", n, who, less(figures, base))
            user = figures["user"] - base["user"]
            yield row("program-user-mode", n, who, {**NOTHING, "instructions": user}, {"instructions": 0})
            wrong = abs(raw["program-counted", n, who]["user"] - executed)
            yield row("program-count-error", n, who, {**NOTHING, "instructions": wrong}, {"instructions": 0})

    def rows(self, kernels):
        yield from self.plain("reads", READS)
        yield from self.library()
        yield from self.switches()
        if "nothing" in self.raw:
            yield from self.unmonitored(kernels)
        if "beside" in self.raw:
            yield from self.beside()
        yield row("open", 0, "none", total(self.raw["calls"]["open", 0, "none"]))
        yield from self.plain("calls", CALLS)
        yield from self.processes()
        if "cpus" in self.raw:
            yield from self.cpus()
        if "growth" in self.raw:
            yield from self.plain("overflow", ["overflow-to-handler", "overflow-rearmed", "overflow-recorded"])
            for n, who, figures in self.of("overflow", "overflow-rearmed"):
                record = less(self.raw["overflow"]["overflow-recorded", n, who], figures)
                yield row("overflow-record", n, who, record)
            yield from self.program()
            yield from self.part_of_perf("command", "command-stat", COMMAND_OF_PERF)
            for case, part in PAPI_OF_PERF.items() if "papi" in self.raw else ():
                yield from self.part_of_perf("papi", case, part)
            yield from self.growth()


def rows(raw, kernels):
    """All rows, in the order of the table"""
    found = []
    for cpu, of_cpu in raw.items():
        of_cpu = list(Cases(of_cpu, OTHER_BUDGETS.get(cpu, BUDGETS)).rows(kernels))
        nobody = {row["case"]: row["instructions"] for row in of_cpu if row["who"] == "none"}
        found += [{"cpu": cpu, **explain(cpu, result, nobody)} for result in of_cpu]
    return found
