# SPDX-License-Identifier: LGPL-2.1-or-later
"""usage: ffi_test.py CODE.so

Counts in a guest by the symbols of libvpmc-ffi.so.0, as a language without C's headers does."""

import ctypes
import errno
import sys
from ctypes import byref, c_char_p, c_int, c_uint, c_uint64, c_ulong, c_void_p

from results import check, finish

TIMES = 50
TURNS = 1000

# It brings libvpmc.so.0 with it.
ffi = ctypes.CDLL("libvpmc-ffi.so.0", ctypes.RTLD_GLOBAL)
code = ctypes.CDLL(sys.argv[1])


def call(name, result, *arguments):
    function = getattr(ffi, "vpmc_" + name)
    function.restype, function.argtypes = result, arguments
    return function


def address(name):
    return ctypes.cast(getattr(ffi, "vpmc_" + name), c_void_p)


def least(page, read, turns):
    """What is counted around some turns, of each event the least in many runs"""
    before, after = (c_uint64 * 32)(), (c_uint64 * 32)()
    runs = []
    for _ in range(TIMES):
        code.read_around(read, page, c_ulong(turns), before, after)
        runs.append((after[0] - before[0], after[1] - before[1]))
    return [min(run[k] for run in runs) for k in (0, 1)]


v, events, nr, regions = c_void_p(), c_void_p(), c_uint(), c_void_p()
check("open", call("open", c_int, c_void_p, c_uint, c_void_p)(byref(v), 0, None) == 0)
check("parse", call("parse_events", c_int, c_char_p, c_void_p, c_void_p, c_void_p)
      (b"instructions,branches", byref(events), byref(nr), None) == 0)
check("program", call("program", c_int, c_void_p, c_void_p, c_uint, c_uint, c_void_p)(v, events, nr, 0, None) == 2)
page = c_void_p(call("page", c_void_p, c_void_p)(v))

few, many = least(page, address("read_page"), 0), least(page, address("read_page"), TURNS)
check("vpmc_read_page() counts exactly", [many[k] - few[k] for k in (0, 1)] == [2 * TURNS, TURNS])

ticks, page_ns = call("read_ticks", c_uint64, c_void_p), call("page_ns", c_uint64, c_void_p, c_uint64)
first = ticks(page)
check("vpmc_read_ticks() goes on", 0 < first < ticks(page))
check("vpmc_page_ns()", page_ns(page, first) > 0)
counts = (c_uint64 * 4)()
try_read = call("try_read", c_int, c_void_p, c_uint, c_void_p, c_void_p)
check("vpmc_try_read()", try_read(page, 4, counts, None) == 2 and counts[0] > counts[1] > 0)
check("vpmc_try_read() without room", try_read(page, 1, counts, None) == -28)

room = (c_uint64 * 512)()
read_sums = call("read_sums", c_int, c_void_p, c_uint, c_void_p)
sums_sized = call("read_sums_sized", c_int, c_void_p, c_uint, c_void_p, ctypes.c_size_t)
check("vpmc_read_sums()", read_sums(v, 0, room) == 0 and any(room))
ctypes.memset(room, 0xff, ctypes.sizeof(room))
check("vpmc_read_sums_sized()", sums_sized(v, 0, room, 512) == 0 and room[63] == 0 and room[64] == 2 ** 64 - 1)
read_members = call("read_members", c_int, c_void_p, c_uint, c_void_p, c_uint, c_void_p)
check("vpmc_read_members()", read_members(v, 1, room, 1, room) == -errno.ENODATA)
check("vpmc_get_info()", call("get_info", c_int, c_void_p)(room) == 0 and any(room))

check("regions", call("regions_open", c_int, c_void_p, c_char_p, c_uint, c_void_p)(byref(regions), None, 0, None) == 0)
totals = []
for turns in (0, TURNS):
    region = c_void_p()
    call("region_get", c_int, c_void_p, c_char_p, c_void_p)(regions, b"%d" % turns, byref(region))
    done = [code.region_around(address("begin"), address("end"), region, c_ulong(turns)) for _ in range(TIMES)]
    check(f"{TIMES} regions", not any(done))
    stats = call("region_stats", c_void_p, c_void_p, c_int, c_uint)
    totals.append([call("stats_min", c_uint64, c_void_p)(stats(region, k, 0)) for k in (0, 1)])
check("vpmc_begin() and vpmc_end() count exactly",
      [totals[1][k] - totals[0][k] for k in (0, 1)] == [2 * TURNS, TURNS])

call("regions_close", c_int, c_void_p)(regions)
call("free_events", None, c_void_p)(events)
call("close", None, c_void_p)(v)
finish()
