# SPDX-License-Identifier: GPL-2.0
"""The benchmark's table."""

from . import benchcases

HEAD = ("case", "n", "who", "insns", "rdpmc", "rdtsc", "wrmsr", "rdmsr", "cr4", "faults", "calls", "intr", "ratio",
        "budget", "met")
WIDTHS = (36, 5, 7, 7, 5, 5, 5, 5, 4, 6, 5, 4, 6, 0, 0)
LONG = {"instructions": "insns", "faults": "faults", "syscalls": "calls", "interrupts": "intr"}


def budget(row):
    if "bytes" in row:
        return f"{row['bytes']} bytes" + (f" <={row['budget']['bytes']}" if row["budget"] else "")
    if not row["budget"]:
        return ""
    return " ".join(f"{LONG.get(name, name)}<={most}" for name, most in row["budget"].items())


def number(value):
    return f"{value:g}" if value < 1e6 else f"{value:.0f}"


def cells(row, ratio):
    return (row["case"], str(row["n"]), row["who"], number(row["instructions"]),
            *(number(row[name]) for name in benchcases.FIGURES),
            ratio, budget(row), {True: "met", False: "NOT MET", None: ""}[row["met"]])


def formatted(texts):
    left = (0, 2, 13, 14)
    return "  ".join(text.ljust(width) if i in left else text.rjust(width)
                     for i, (text, width) in enumerate(zip(texts, WIDTHS))).rstrip()


def line(row, ratio=""):
    return formatted(cells(row, ratio))


def show(rows):
    """Prints the rows, with the ratio of perf_event's instructions to vpmc's."""
    cpu = None
    ours = {(row["cpu"], row["case"], row["n"]): row["instructions"] for row in rows if row["who"] == "vpmc"}
    for row in rows:
        if row["cpu"] != cpu:
            cpu = row["cpu"]
            print(f"{cpu}:\n{formatted(HEAD)}")
        own = ours.get((cpu, row["case"], row["n"]))
        ratio = f"{row['instructions'] / own:.1f}" if row["who"] not in ("vpmc", "none") and own else ""
        print(line(row, ratio))
    budgets = [row["met"] for row in rows if row["met"] is not None]
    print(f"{sum(budgets)} of {len(budgets)} budgets met")
    for why in sorted({row["explained"] for row in rows if "explained" in row}):
        print(f"exceeded: {', '.join(sorted({row['case'] for row in rows if row.get('explained') == why}))}: {why}")
