# SPDX-License-Identifier: GPL-2.0
"""The tables of costs in the documentation. scripts/bench --readme prints the whole one, and
each run compares both.

Another compiler gives slightly other numbers, so a number there may differ from the
measured one by 1/20.
"""

import os
import re

# The file with all lines, and the one with some of them
WHOLE, SHORT = "Documentation/dev-tools/vpmc-bench.rst", "README"

PART = 20
HEAD = ("what", "vpmc", "perf_event 6.12")
COLUMNS = ("vpmc", "perf")
# Case and number of counters of each line, all on the first processor
LINES = {
    "read all in user mode, inline": ("read-inline", 4),
    "the same as a function for any number": ("read-call", 4),
    "the same without the run time": ("read-counts-alone", 4),
    "the same by a system call": ("read-ioctl", 4),
    "PAPI_read() of four events": ("papi-read", 4),
    "switch between two threads of a process": ("switch-same-mm-same", 4),
    "to another process without counters, back": ("switch-other-mm-unmonitored", 4),
    "start them, a system call": ("start", 4),
    "stop them, a system call": ("stop", 4),
    "open, program and map a set": ("open", 4),
    "overflow until the signal's handler": ("overflow-to-handler", 4),
    "switch of threads without counters": ("unmonitored-same-mm-nothing", 0),
    "fork and exit of a thread without counters": ("fork-exit-hooks", 0),
}
# Registers that a line of its own tells, below the line of the case
DETAILS = {
    "switch between two threads of a process": (("RDPMC", "rdpmc"), ("RDTSC", "rdtsc"), ("WRMSR", "wrmsr")),
    "to another process without counters, back": (("WRMSR", "wrmsr"), ("CR4 writes", "cr4")),
}


def lines(rows):
    """Yields each line that was measured: its text, and for each column a list of numbers."""
    measured = {(row["case"], row["n"], row["who"]): row for row in rows if row["cpu"] == rows[0]["cpu"]}
    for what, (case, n) in LINES.items():
        found = [measured.get((case, n, who)) for who in COLUMNS]
        if not any(found):
            continue
        yield what, [[row["instructions"]] if row else None for row in found]
        if what in DETAILS:
            names, figures = zip(*DETAILS[what])
            yield "  of them " + ", ".join(names), [[row[f] for f in figures] if row else None for row in found]


def cell(numbers):
    return ", ".join(f"{number:g}" if number < 1e6 else str(number) for number in numbers or ())


def show(rows):
    """Prints the whole table."""
    table = [HEAD, *((what, *map(cell, columns)) for what, columns in lines(rows))]
    for what, ours, others in table:
        print(f"    {what:41}{ours:>8}  {others:>9}".rstrip())


def written(text):
    """Returns the lines of a text's table: the cells after the text, in their order."""
    texts = re.search(r"^\s+what +vpmc +perf_event.*\n((?:[ \t]+\S.*\n)+)", text, re.MULTILINE)
    return [re.split(r"\s{2,}", line.strip()) for line in texts[1].splitlines()] if texts else []


def close(said, numbers):
    said = [float(number) for number in said.split(", ")]
    return len(said) == len(numbers) and all(abs(a - b) * PART <= b for a, b in zip(said, numbers))


def wrong(rows, top, all_measured):
    """Returns a text for each number that is not what was measured, for each line that the whole
    table has not, and, if all was measured, for each line that has no measurement."""
    faults = []
    for file in (WHOLE, SHORT):
        with open(os.path.join(top, file), encoding="utf-8") as f:
            faults += wrong_in(file, rows, f.read(), all_measured)
    return faults


def wrong_in(file, rows, content, all_measured):
    table = written(content)
    said = {}
    last = ""
    for text, *cells in table:
        last = text if not text.startswith("of them") else last
        said[last, text] = cells
    faults = [] if table else [f"{file} has no table of costs"]
    last = ""
    for what, columns in lines(rows):
        text = what.strip()
        last = text if not text.startswith("of them") else last
        cells = said.pop((last, text), None)
        if cells is None:
            if file == WHOLE:
                faults.append(f"{file} has no line '{text}'")
            continue
        for who, said_, numbers in zip(HEAD[1:], cells, columns):
            if numbers and not close(said_, numbers):
                of = text if text == last else f"{last}, {text}"
                faults.append(f"{file} has {said_} for {who}'s {of}; measured: {cell(numbers)}")
    if all_measured:
        faults += [f"{file}: '{text}' was not measured" for _, text in said]
    return faults
