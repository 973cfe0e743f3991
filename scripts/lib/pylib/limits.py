# SPDX-License-Identifier: GPL-2.0
"""Ends a guest that does not end by itself. The limits are for the guest's work and not
for the time that passes, so a slow or busy machine may take longer."""

import fcntl
import os
import select
import time

from .progress import beat

RATE = 250_000_000      # guest instructions in what --timeout calls a second
IDLE = 10               # seconds of processor time that count as one, with few instructions
LOOK = 0.5              # seconds between two looks at the emulator
TICK = os.sysconf("SC_CLK_TCK")


class Slot:
    """One of the places for guests that several suites share. The directory VPMC_SLOTS has a file
    for each place. A guest locks one of them."""

    def __init__(self):
        self.fd = None
        directory = os.environ.get("VPMC_SLOTS")
        while directory and self.fd is None:
            for i in range(int(os.environ.get("VPMC_JOBS") or os.cpu_count())):
                if self._take(os.path.join(directory, str(i))):
                    return
            beat()              # the guests in these places make progress, or are ended
            time.sleep(0.1)

    def _take(self, path):
        fd = os.open(path, os.O_CREAT | os.O_RDWR, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return False
        self.fd = fd
        return True

    def leave(self):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class Process:
    """Reads processor time and state of the emulator from /proc"""

    def __init__(self, pid):
        self.pid = pid

    def _stat(self, path):
        with open(f"/proc/{self.pid}/{path}stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()

    def seconds(self):
        """Returns the processor time of all its threads."""
        fields = self._stat("")
        return (int(fields[11]) + int(fields[12])) / TICK

    def states(self):
        """Returns a letter for each thread's state."""
        return {self._stat(f"task/{thread}/")[0] for thread in os.listdir(f"/proc/{self.pid}/task")}


class Watch:
    """Checks whether the guest makes progress, until it has ended.

    --timeout S limits the instructions that it executes, so it means the same on
    every machine. A guest that sleeps executes few, but its clock runs as fast as the
    emulator can. Ten seconds of processor time count as one at least. --stall S limits the seconds in which it executes none although
    the emulator sleeps or uses a processor. Seconds in which the emulator waits for
    a processor, or is held, do not count."""

    def __init__(self, pid, monitor, timeout, stall, counted=True):
        self.process = Process(pid)
        self.monitor = monitor
        self.timeout, self.stall = timeout, stall
        self.counted = counted      # the emulator counts instructions
        self.instructions = 0
        self.used = 0               # processor time at the last look
        self.stalled = 0

    def wait(self):
        """Returns why the guest must be ended, or None when it has ended."""
        fd = os.pidfd_open(self.process.pid)
        try:
            while not select.select([fd], [], [], LOOK)[0]:
                why = self._look()
                if why:
                    return why
            return None
        finally:
            os.close(fd)

    def _look(self):
        try:
            states, used = self.process.states(), self.process.seconds()
        except (OSError, IndexError):
            return None             # it is just ending
        self.monitor.ask()
        now = self.monitor.instructions if self.counted else int(used * RATE)
        if now != self.instructions:
            self.stalled = 0
            beat()
        elif states <= set("SD"):
            self.stalled += LOOK
        elif not states & set("Tt"):
            self.stalled += used - self.used
        self.instructions, self.used = now, used
        if self.timeout and max(now, used / IDLE * RATE) > self.timeout * RATE:
            return f"time limit: the guest executed {now / 1e9:.1f} billion instructions without an end " \
                   f"(--timeout {self.timeout:g})"
        if self.stall and self.stalled >= self.stall:
            return f"no progress: the guest executed no instruction for {self.stalled:.0f} s (--stall {self.stall:g})"
        return None
