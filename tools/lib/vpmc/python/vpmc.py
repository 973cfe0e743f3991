# SPDX-License-Identifier: LGPL-2.1-or-later
"""libvpmc from Python: a thread's counters, its regions, and the harness.

The module is one file over ctypes. It loads libvpmc.so.0, or the library that VPMC_LIBRARY names. The harness runs the code from C, so its samples do not contain Python's own cost. Names are those of C, without "vpmc_".

Regions count parts of a thread:

    >>> import vpmc
    >>> with vpmc.Regions("instructions,branches") as regions:
    ...     rows = regions.region("rows")
    ...     with rows:
    ...         total = sum(range(1000))
    ...     calls = rows.count()[0]
    ...     known = rows.stats(0).sum + rows.dirty(0) > 0
    >>> calls, known
    (1, True)

Counters are read at any time:

    >>> with vpmc.Counters("instructions") as counters:
    ...     before, _ = counters.read()
    ...     after, _ = counters.read()
    >>> after[0] > before[0]
    True

The harness runs a function of a shared library, and writes a line for each run:
regions.harness(ctypes.CDLL("./code.so").function, 1000).csv(sys.stdout)

A Region belongs to its Regions, and cannot be used after these are closed. Regions end with
their last reference. REGIONS_KEEP is always set.
"""

import ctypes
import errno
import os
import threading
import time
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_uint, c_ulong, c_uint8
from ctypes import c_uint32, c_uint64, c_void_p

MAX_COUNTERS = 32
STATS_BUCKETS = 60 * 32
INCLUSIVE, EXCLUSIVE, RUN_TIME = 0, 1, -1
REGIONS_LFENCE, REGIONS_TWICE, REGIONS_KEEP, HARNESS_SAVE = 1, 2, 4, 1
REPORT_TEXT, REPORT_JSON = 0, 1
_SET_NUMBER, _STATE = 32, 72    # where struct vpmc_page has them
_RUNNING, _EXITED, _REVOKED = 2, 4, 5
_NEW, _UNLINK_ON_CLOSE = 1 << 0, 1 << 8
_LOOKS = 8    # how often Counters looks for a set, if others program and end some
_Counts = c_uint64 * MAX_COUNTERS


class Error(OSError):
    """An error of the library, with its errno and text"""


class _Error(ctypes.Structure):
    _fields_ = [("errnum", c_int), ("reason", c_uint), ("event", c_int), ("position", c_int), ("nr_similar", c_uint),
                ("reserved", c_uint * 3), ("what", c_char * 160), ("why", c_char * 160), ("remedy", c_char * 256),
                ("text", c_char * 600), ("similar", c_char * 64 * 3)]


class _Event(ctypes.Structure):
    _fields_ = [("text", c_char_p), ("name", c_char_p), ("select", c_uint64), ("index", c_uint32), ("flags", c_uint32),
                ("period", c_uint64), ("reason", c_uint32), ("element", ctypes.c_int32), ("counter", c_uint32),
                ("position", c_uint32), ("reserved", c_uint64 * 2)]


class _Region(ctypes.Structure):
    pass


_MARK = ctypes.CFUNCTYPE(c_int, POINTER(_Region))
_Region._fields_ = [("begin", _MARK), ("end", _MARK)]


class _Call(ctypes.Structure):
    _fields_ = [("function", c_void_p), ("arg", c_void_p)]


class _Vectors(ctypes.Structure):
    _fields_ = [("nr", c_uint), ("raw", c_void_p), ("corrected", c_void_p), ("dirty", c_void_p), ("nr_dirty", c_uint64),
                ("cost", c_uint64 * (MAX_COUNTERS + 1)), ("failed", c_uint64)]


class _Calls(ctypes.Structure):
    _fields_ = [("calls", c_uint64), ("dirty", c_uint64), ("unfinished", c_uint64), ("replaced", c_uint64),
                ("refused", c_uint64)]


_lib = ctypes.CDLL(os.environ.get("VPMC_LIBRARY", "libvpmc.so.0"))


def _call(name, result, *arguments):
    function = getattr(_lib, "vpmc_" + name)
    function.restype, function.argtypes = result, arguments
    return function


_version = _call("version", c_char_p)
_open = _call("open", c_int, POINTER(c_void_p), c_uint, POINTER(_Error))
_close = _call("close", None, c_void_p)
_parse = _call("parse_events", c_int, c_char_p, POINTER(POINTER(_Event)), POINTER(c_uint), POINTER(_Error))
_free_events = _call("free_events", None, POINTER(_Event))
_program = _call("program", c_int, c_void_p, POINTER(_Event), c_uint, c_uint, POINTER(_Error))
_join = _call("join", c_int, c_void_p, POINTER(_Event), c_uint, POINTER(_Error))
_start = _call("start", c_int, c_void_p)
_page = _call("page", c_void_p, c_void_p)
_read = _call("read", c_int, c_void_p, c_void_p, c_uint, POINTER(c_uint64))
_regions_open = _call("regions_open", c_int, POINTER(c_void_p), c_char_p, c_uint, POINTER(_Error))
_regions_close = _call("regions_close", c_int, c_void_p)
_regions_cost = _call("regions_cost", c_int, c_void_p, c_int, POINTER(c_uint64), POINTER(c_uint64))
_region_get = _call("region_get", c_int, c_void_p, c_char_p, POINTER(POINTER(_Region)))
_region_stats = _call("region_stats", c_void_p, POINTER(_Region), c_int, c_uint)
_region_dirty = _call("region_dirty", c_uint64, POINTER(_Region), c_int, c_uint)
_region_total = _call("region_total", c_uint64, POINTER(_Region), c_int, c_uint, POINTER(c_uint64))
_region_count = _call("region_count_sized", None, POINTER(_Region), POINTER(_Calls), c_size_t)
_stats_numbers = {name: _call("stats_" + name, c_uint64, c_void_p) for name in ("n", "min", "max", "sum")}
_stats_mean = _call("stats_mean", c_double, c_void_p)
_stats_deviation = _call("stats_deviation", c_double, c_void_p)
_stats_quantile = _call("stats_quantile", c_uint64, c_void_p, c_double)
_stats_bucket = _call("stats_bucket", c_uint64, c_void_p, c_uint)
_stats_low = _call("stats_low", c_uint64, c_uint)
_harness = _call("harness", c_int, c_void_p, c_void_p, c_void_p, c_void_p, c_ulong, c_uint, POINTER(_Vectors))
_report = _call("report", c_int, c_int, c_uint)


def _check(result, what, error=None):
    if result < 0:
        text = error.text.decode(errors="replace") if error is not None and error.errnum else f"{what}: {os.strerror(-result)}"
        raise Error(-result, text)
    return result


def _bytes(text):
    if "\0" in text:
        raise Error(errno.EINVAL, f"{text!r}: it has a zero byte")
    return text.encode()


def _leave(end, kind):
    """Ends what "with" has begun. An exception of the caller is not replaced by an error that follows from it."""
    try:
        end()
    except Error:
        if kind is None:
            raise


def version():
    return _version().decode()


def report(fd=1, form=REPORT_TEXT):
    """Writes all threads' regions to a descriptor."""
    _check(_report(fd, form), "report")


class Counters:
    """The calling thread's counters. events is a list, as vpmc(7) describes it.

    If the thread has a set already, that is used, and gets what it lacks. Otherwise they are a set of their own.
    Both end with close(), or with the last reference."""

    def __init__(self, events):
        self._v = None
        error, v, array, nr, text = _Error(), c_void_p(), POINTER(_Event)(), c_uint(), _bytes(events)
        _check(_open(byref(v), 0, byref(error)), "open", error)
        self._v, page = v, _page(v)
        if not page:
            raise Error(errno.ESRCH, "open: somebody has detached the counters meanwhile")
        self._present, self._state = c_uint64.from_address(page + _SET_NUMBER), c_uint32.from_address(page + _STATE)
        try:
            _check(_parse(text, byref(array), byref(nr), byref(error)), events, error)
            try:
                _check(self._count(array, nr, error), events, error)
                counted = [array[i] for i in range(nr.value) if array[i].element >= 0]
                self.nr, self.names = len(counted), [event.name.decode() for event in counted]
                self._element = [event.element for event in counted]
            finally:
                _free_events(array)
        except Error:
            self.close()
            raise
        self._set_number = self._present.value

    def _count(self, array, nr, error):
        for _ in range(_LOOKS):
            result = _join(self._v, array, nr, byref(error))
            if result >= 0:
                return _start(self._v) if self._state.value != _RUNNING else result
            if result != -errno.ENODATA:
                return result
            result = _program(self._v, array, nr, _NEW | _UNLINK_ON_CLOSE, byref(error))
            if result != -errno.EEXIST:
                break
        return result

    def read(self):
        """Returns (counts, run time in ticks), all of the same moment.

        It is an error if the set was replaced or does not run any more. That of an ended thread has its last counts."""
        if not self._v:
            raise Error(errno.EBADF, "read: the counters are closed")
        # Another thread or a signal handler may read at the same time.
        count, ticks = _Counts(), c_uint64()
        _check(_read(self._v, count, MAX_COUNTERS, byref(ticks)), "read")
        if self._present.value != self._set_number:
            raise Error(errno.EBUSY, "read: somebody has programmed another set meanwhile")
        state = self._state.value
        if state not in (_RUNNING, _EXITED):
            raise Error(errno.ENODATA, "read: the administrator has taken the PMU" if state == _REVOKED
                        else "read: somebody has stopped or detached the set")
        return [count[i] for i in self._element], ticks.value

    def close(self):
        v, self._v = self._v, None
        if v:
            _close(v)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()


class Stats:
    """Statistics of n values, copied at this moment"""

    def __init__(self, pointer):
        self.n, self.min, self.max, self.sum = (number(pointer) for number in _stats_numbers.values())
        self.mean, self.deviation = _stats_mean(pointer), _stats_deviation(pointer)
        self.median = _stats_quantile(pointer, 0.5)
        buckets = [_stats_bucket(pointer, i) for i in range(STATS_BUCKETS)] if self.n else []
        self.histogram = [(_stats_low(i), n) for i, n in enumerate(buckets) if n]


class Region:
    """A region, for "with" or begin() and end(). Its values contain Python's own cost."""

    def __init__(self, regions, pointer, name):
        self._regions, self._region, self.name = regions, pointer, name

    def _pointer(self):
        if not self._regions.is_open():
            raise Error(errno.EBADF, f"{self.name}: its regions are closed")
        return self._region

    def begin(self):
        _check(self._pointer().contents.begin(self._region), f"{self.name}: begin")

    def end(self):
        _check(self._pointer().contents.end(self._region), f"{self.name}: end")

    def __enter__(self):
        self.begin()
        return self

    def __exit__(self, kind, *_):
        _leave(self.end, kind)

    def stats(self, event, which=INCLUSIVE):
        """Returns the Stats of an event's clean samples. dirty() has the sum of the others."""
        pointer = _region_stats(self._pointer(), event, which)
        if not pointer:
            raise Error(errno.EINVAL, f"{self.name}: there is no event {event}")
        return Stats(pointer)

    def dirty(self, event, which=INCLUSIVE):
        return _region_dirty(self._pointer(), event, which)

    def total(self, event, which=INCLUSIVE):
        """Returns the sum of all samples, and how much of it is of dirty ones."""
        dirty = c_uint64()
        return _region_total(self._pointer(), event, which, byref(dirty)), dirty.value

    def count(self):
        """Returns (calls, dirty, unfinished, replaced, refused)."""
        calls = _Calls()
        _region_count(self._pointer(), byref(calls), ctypes.sizeof(calls))
        return calls.calls, calls.dirty, calls.unfinished, calls.replaced, calls.refused


class Vectors:
    """The values of n runs, raw and corrected: a list for each event, then the run time"""

    def __init__(self, n, vectors, raw, corrected, dirty):
        parts = range(vectors.nr + 1)
        self.n, self.nr, self.nr_dirty = n, vectors.nr, vectors.nr_dirty
        self.cost = [vectors.cost[i] for i in parts]
        self.raw = [memoryview(raw).cast("B").cast("Q")[i * n:(i + 1) * n] for i in parts]
        self.corrected = [memoryview(corrected).cast("B").cast("Q")[i * n:(i + 1) * n] for i in parts]
        self.dirty = memoryview(dirty).cast("B")

    def csv(self, file, names=None):
        """Writes a line of comma-separated values for each run."""
        names = names or [f"counter{i}" for i in range(self.nr)]
        file.write(",".join(["run", *names, "ticks", "dirty"]) + "\n")
        for i in range(self.n):
            file.write(",".join(str(x) for x in [i, *(v[i] for v in self.corrected), self.dirty[i]]) + "\n")


def _buffer(given, size, kind):
    """Returns a ctypes array over the caller's writable buffer, or over new memory."""
    if given is None:
        return (kind * size)()
    room = memoryview(given).nbytes // ctypes.sizeof(kind)
    if room < size:
        raise Error(errno.ENOSPC, f"buffer: it has room for {room} values, {size} are needed")
    return (kind * size).from_buffer(given)


class Regions:
    """The calling thread's regions. Without events they use the set that it has.

    They stay when the thread ends: then any thread may read their values and close them. If their last reference
    goes in another thread, their own one closes them when it opens others."""

    _left = []    # those, each with its thread

    def __init__(self, events=None, flags=0):
        self._regions = None
        error, regions = _Error(), c_void_p()
        self._close_left()
        _check(_regions_open(byref(regions), _bytes(events) if events is not None else None,
                             flags | REGIONS_KEEP, byref(error)), "regions", error)
        self._regions, self._thread = regions, threading.current_thread()

    def __del__(self):
        if self._regions and _regions_close(self._regions) == -errno.EPERM:
            self._left.append((self._thread, self._regions))

    @classmethod
    def _close_left(cls):
        for it in cls._left[:]:
            thread, regions = it
            if thread is not threading.current_thread() and thread.is_alive():
                continue
            try:
                cls._left.remove(it)
            except ValueError:
                continue    # another thread closes it
            if _regions_close(regions) == -errno.EPERM:
                cls._left.append(it)

    def is_open(self):
        return self._regions is not None

    def _handle(self):
        if not self.is_open():
            raise Error(errno.EBADF, "the regions are closed")
        return self._regions

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        _leave(self.close, kind)

    def close(self):
        if not self._regions:
            return
        err = _regions_close(self._regions)
        # join() returns before the system's thread has ended
        while err == -errno.EPERM and not self._thread.is_alive():
            time.sleep(0.001)
            err = _regions_close(self._regions)
        if err == -errno.EPERM:
            _check(err, "closing: they belong to another thread, which has not ended")
        self._regions = None
        _check(err, "closing: regions have begun and not ended")

    def region(self, name):
        pointer = POINTER(_Region)()
        _check(_region_get(self._handle(), _bytes(name), byref(pointer)), f"region '{name}'")
        return Region(self, pointer, name)

    def cost(self, event):
        """Returns what an empty region counts, and what it adds to a region around it."""
        inside, around = c_uint64(), c_uint64()
        _check(_regions_cost(self._handle(), event, byref(inside), byref(around)), f"event {event}")
        return inside.value, around.value

    def _nr(self):
        nr = 0
        while not _regions_cost(self._handle(), nr, byref(c_uint64()), byref(c_uint64())):
            nr += 1
        return nr

    def harness(self, function, n, arg=None, flags=0, raw=None, corrected=None, dirty=None):
        """Calls function(i, arg) of a shared library n times, and counts each call.

        raw and corrected are buffers for (events + 1) * n values of 64 bits. dirty is one for n bytes. They may be
        from array.array or numpy. Without them, memory is allocated."""
        if not ctypes.cast(function, c_void_p) or n < 1:
            raise Error(errno.EINVAL, f"harness: {function} cannot be called {n} times")
        size = (self._nr() + 1) * n
        raw, corrected = _buffer(raw, size, c_uint64), _buffer(corrected, size, c_uint64)
        dirty = _buffer(dirty, n, c_uint8)
        call = _Call(ctypes.cast(function, c_void_p), arg)
        vectors = _Vectors(raw=ctypes.addressof(raw), corrected=ctypes.addressof(corrected),
                           dirty=ctypes.addressof(dirty))
        _check(_harness(self._handle(), ctypes.cast(_lib.vpmc_harness_nothing, c_void_p),
                        ctypes.cast(_lib.vpmc_harness_around, c_void_p), byref(call), n, flags, byref(vectors)),
               "harness")
        return Vectors(n, vectors, raw, corrected, dirty)
