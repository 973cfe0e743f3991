# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: python_test.py CODE.so

Tests the Python module in a guest. Its numbers must be those of C."""

import array
import ctypes
import io
import os
import sys
import threading

import vpmc
from results import check, finish

N = 200
# CODE.so calls the library, too
ctypes.CDLL(os.environ["VPMC_LIBRARY"], ctypes.RTLD_GLOBAL)
code = ctypes.CDLL(sys.argv[1])


def error_of(function, *arguments):
    try:
        function(*arguments)
    except vpmc.Error as error:
        return error.errno, str(error)
    return None


check("a long name", error_of(vpmc.Counters, "x" + "\u20ac" * 100)[0] == 22)
check("a list with a zero byte", error_of(vpmc.Counters, "instructions\0,branches")
      == (22, "[Errno 22] 'instructions\\x00,branches': it has a zero byte"))
check("so of regions", error_of(vpmc.Regions, "instructions\0,branches")[0] == 22)
check("the version", vpmc.version().count(".") == 2)

# count the same function from C
by_c, c_dirty = (ctypes.c_uint64 * (3 * N))(), (ctypes.c_uint8 * N)()
check("C counts it", code.count_turns(ctypes.c_ulong(N), by_c, c_dirty) == 0)

with vpmc.Regions("instructions,branches") as regions:
    corrected = array.array("Q", bytes(8 * 3 * N))
    vectors = regions.harness(code.turns, N, corrected=corrected)
    clean = [i for i in range(N) if not vectors.dirty[i]]
    check("most runs are clean", len(clean) > N / 2 and vectors.nr_dirty == N - len(clean))
    known = all(vectors.corrected[0][i] == 1 + 2 * (i + 1) and vectors.corrected[1][i] == i + 1 for i in clean)
    check("the known vector", known)
    check("C has the same numbers", all(by_c[k * N + i] == vectors.corrected[k][i]
                                        for k in (0, 1) for i in clean if not c_dirty[i]))
    check("they are in the caller's buffer", corrected[clean[-1]] == vectors.corrected[0][clean[-1]])
    check("raw is more by the cost", all(vectors.raw[0][i] == vectors.corrected[0][i] + vectors.cost[0] for i in clean))
    text = io.StringIO()
    vectors.csv(text, ["instructions", "branches"])
    lines = text.getvalue().splitlines()
    check("CSV", lines[0] == "run,instructions,branches,ticks,dirty" and len(lines) == N + 1
          and all(lines[1 + i].startswith(f"{i},{3 + 2 * i},{1 + i},") for i in clean))
    check("no function", error_of(regions.harness, None, N)
          == (22, f"[Errno 22] harness: None cannot be called {N} times"))
    check("no run", error_of(regions.harness, code.turns, 0)[0] == 22)
    check("a buffer that is too small", error_of(lambda: regions.harness(code.turns, N, raw=bytearray(8)))
          == (28, "[Errno 28] buffer: it has room for 1 values, 600 are needed"))

    outer, inner = regions.region("outer"), regions.region("inner")
    with outer:
        for _ in range(10):
            with inner:
                pass
    check("regions", inner.count()[0] == 10 and outer.count()[0] == 1 and outer.count()[2] == 0)
    stats = inner.stats(0)
    check("statistics", stats.n == 10 - inner.count()[1] and stats.min <= stats.median <= stats.max
          and sum(n for _, n in stats.histogram) == stats.n and stats.sum == round(stats.mean * stats.n))
    total, dirty = inner.total(0)
    check("the total", total == stats.sum + inner.dirty(0) and dirty == inner.dirty(0))
    check("the cost", 0 < regions.cost(0)[0] < regions.cost(0)[1])
    check("end without begin", error_of(inner.end) == (2, "[Errno 2] inner: end: No such file or directory"))
    check("a name with a zero byte", error_of(regions.region, "outer\0")
          == (22, "[Errno 22] 'outer\\x00': it has a zero byte"))
    check("no such event", error_of(inner.stats, 2)[0] == 22)
    check("one set of regions", error_of(vpmc.Regions, "branches")[0] == 17)

check("the library's sentence", "instrctions: " in error_of(vpmc.Counters, "instrctions")[1]
      and "instructions" in error_of(vpmc.Counters, "instrctions")[1])
counters = vpmc.Counters("instructions,branches")
before, ticks = counters.read()
after, later = counters.read()
check("reads", counters.names == ["instructions:u", "branches:u"] and ticks < later
      and all(a < b for a, b in zip(before, after)))
# another part of the process programs a set of its own
library = ctypes.CDLL(os.environ["VPMC_LIBRARY"])
handle = ctypes.c_void_p()
check("another handle", library.vpmc_open(ctypes.byref(handle), 0, None) == 0)
check("another set", library.vpmc_program(handle, None, 0, 0, None) == 0)
check("a set that was replaced is an error", error_of(counters.read)
      == (16, "[Errno 16] read: somebody has programmed another set meanwhile"))
check("its end", library.vpmc_unlink(handle) == 0)
library.vpmc_close(handle)
counters.close()


# another process detaches them before their page is mapped
page_of, vpmc._page = vpmc._page, lambda v: None
check("counters without a page", error_of(vpmc.Counters, "instructions")
      == (3, "[Errno 3] open: somebody has detached the counters meanwhile"))
vpmc._page = page_of


# it does not run any more
def set_revoke(value):
    with open("/proc/sys/kernel/vpmc_revoke", "w", encoding="ascii") as file:
        file.write(value)


with vpmc.Counters("instructions") as counters:
    set_revoke("1")
    check("a set that was revoked is an error", error_of(counters.read)
          == (61, "[Errno 61] read: the administrator has taken the PMU"))
    set_revoke("0")
for call in library.vpmc_stop, library.vpmc_unlink:
    with vpmc.Counters("instructions") as counters:
        check("another handle", library.vpmc_open(ctypes.byref(handle), 0, None) == 0)
        check("somebody ends it", call(handle) == 0)
        check("a set that was stopped or detached is an error", error_of(counters.read)
              == (61, "[Errno 61] read: somebody has stopped or detached the set"))
        library.vpmc_close(handle)
# A signal handler reads them, or another thread, while they are read. Here the tracer does so at each line.
within = []


def read_within(_frame, _event, _arg):
    within.append(counters.read()[0])
    return read_within


with vpmc.Counters("instructions") as counters:
    sys.settrace(read_within)
    outer, _ = counters.read()
    sys.settrace(None)
    check("a read within a read has other values", within[0] < outer < within[-1] and outer not in within)


def each_list():
    return [error_of(lambda: vpmc.Counters(events).close()) for events in ("r09f0,r0af0,r0bf0", "r0cf0,r0df0,r0ef0")]


# Each list needs all programmable counters that perf leaves. The thread is a new one, and has no set.
lists = []
thread = threading.Thread(target=lambda: lists.extend(each_list()))
thread.start()
thread.join()
check("a set of their own ends with them", lists == [None, None])
check("another handle", library.vpmc_open(ctypes.byref(handle), 0, None) == 0)
check("another set", library.vpmc_program(handle, None, 0, 0, None) == 0)
vpmc.Counters("instructions").close()
check("that of others does not", library.vpmc_stop(handle) == 0)
with vpmc.Counters("instructions") as counters:
    check("and is started", counters.read()[0] < counters.read()[0])
check("its end", library.vpmc_unlink(handle) == 0)
library.vpmc_close(handle)
ended = []
thread = threading.Thread(target=lambda: ended.append(vpmc.Counters("instructions")))
thread.start()
thread.join()
check("the counts of a thread that has ended are there", ended[0].read()[0] == ended[0].read()[0] > [0])
ended[0].close()
counters = vpmc.Counters("instructions")
counters.close()
counters.close()
check("closed counters are an error", error_of(counters.read)[0] == 9)
for name, call in {"begin": inner.begin, "end": inner.end, "stats": lambda: inner.stats(0), "dirty": lambda: inner.dirty(0),
                   "total": lambda: inner.total(0), "count": inner.count}.items():
    check(f"{name} of closed regions is an error", error_of(call) == (9, "[Errno 9] inner: its regions are closed"))
check("so is another region", error_of(regions.region, "late") == (9, "[Errno 9] the regions are closed"))
check("and their harness", error_of(regions.harness, code.turns, 1)[0] == 9)

# regions of a thread that has ended
others = []
opened, read = threading.Event(), threading.Event()


def in_thread():
    others.append(vpmc.Regions("instructions"))
    others.append(others[0].region("there"))
    with others[1]:
        pass
    opened.set()
    read.wait()


thread = threading.Thread(target=in_thread)
thread.start()
opened.wait()
check("another thread's regions are not closed", error_of(others[0].close)
      == (1, "[Errno 1] closing: they belong to another thread, which has not ended: Operation not permitted"))
check("and stay open", others[0].is_open())
read.set()
thread.join()
check("when it has ended their values are there", others[1].count()[0] == 1 and others[1].total(0)[0] > 0)
check("they do not begin", error_of(others[1].begin)[0] == 1)
others[0].close()
check("then they are closed", error_of(others[1].count)[0] == 9)
once = vpmc.Regions("instructions")
del once
check("regions end with their last reference", error_of(lambda: vpmc.Regions("instructions").close()) is None)
# The garbage collector runs in any thread.
kept = [vpmc.Regions("instructions")]
thread = threading.Thread(target=kept.clear)
thread.start()
thread.join()
check("also if another thread has it", error_of(lambda: vpmc.Regions("instructions").close()) is None)


def leaves_by(name):
    with vpmc.Regions("instructions") as left:
        part = left.region("part")
        with part:
            part.end()
            if name == "regions":
                part.begin()
                part.begin()
            raise KeyError(name)


for name in "region", "regions":
    try:
        leaves_by(name)
    except KeyError as error:
        check(f"an exception leaves the {name}", error.args == (name,))
    except vpmc.Error as error:
        check(f"an exception leaves the {name}: {error}", False)
examples = "\n".join(line[8:] for line in vpmc.__doc__.splitlines() if line.startswith(("    >>> ", "    ... ")))
names = {}
exec(compile(examples, "vpmc.__doc__", "exec"), names)
check("the documentation's examples", names["calls"] == 1 and names["known"] and names["after"][0] > names["before"][0])
finish()
