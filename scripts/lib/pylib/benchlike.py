# SPDX-License-Identifier: GPL-2.0
"""Compares the rows of vpmc with those that were measured on another version of Linux.

The accesses to special registers are the series' own, but where Linux wakes a worker: it may do
that by a WRMSR of the local APIC. The instructions are the series' own where Linux executes nothing that depends on the version: in reads, in switches to
a thread of the same process or to the idle task, and for threads without counters.
"""

import json

from . import benchcases, benchguest

# Page faults are those of the memory allocator, too.
ACCESSES = tuple(name for name in benchcases.FIGURES if name != "faults")
OWN_CODE = (*(case for case in benchcases.READS if case != "read-ioctl"), "read-call-beyond-inline", *benchcases.REGIONS,
            "switch-same-mm-", "switch-idle", "unmonitored-", "fork-exit-hooks")
# A worker makes the loan.
BY_WORKER = "control-borrows-"


def figures(row):
    """Returns the figures of a row that must not depend on the version of Linux."""
    names = ("instructions",) if row["case"].startswith(OWN_CODE) else ()
    names += () if row["case"].startswith(BY_WORKER) else ACCESSES
    return {name: row[name] for name in names}


def of_vpmc(rows):
    """Returns {(CPU, case, n): figures}."""
    return {(row["cpu"], row["case"], row["n"]): figures(row) for row in rows if row["who"] == "vpmc"}


def load(path):
    """Returns the figures of a run from the file that it wrote."""
    try:
        with open(path, encoding="utf-8") as f:
            found = of_vpmc(json.load(f))
    except OSError as error:
        raise benchguest.Failed(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise benchguest.Failed(f"{path} is not what scripts/bench writes to build/bench.json") from error
    if not found:
        raise benchguest.Failed(f"{path} has no row of vpmc")
    return found


def wrong(rows, others):
    """Returns a text for each figure that differs, and for each row that one of the runs lacks."""
    ours = of_vpmc(rows)
    faults = [f"only one of the two runs has {' '.join(map(str, key))}" for key in ours.keys() ^ others.keys()]
    for key in ours.keys() & others.keys():
        faults += [f"{' '.join(map(str, key))}: {value} {name}, but {others[key][name]} on the other one"
                   for name, value in ours[key].items() if value != others[key][name]]
    return sorted(faults)
