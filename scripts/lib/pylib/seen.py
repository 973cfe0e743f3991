# SPDX-License-Identifier: GPL-2.0
"""Keeps in the cache how long things took on this machine."""

import fcntl
import os

from . import cache


class Times:
    """Seconds that the parts of a run took the last time"""

    def __init__(self, name):
        self.path = os.path.join(cache.directory(), "seen", name)
        self.seconds = self._read()

    def _read(self):
        seconds = {}
        try:
            with open(self.path, encoding="utf-8") as f:
                for line in f:
                    part, _, value = line.strip().rpartition(" ")
                    seconds[part] = float(value)
        except (FileNotFoundError, ValueError):
            pass                # nothing is known yet
        return seconds

    def expected(self, part, weight):
        """Returns the sort key of a part. Parts without a known time come first, by their weight."""
        return (0, self.seconds[part]) if part in self.seconds else (1, weight)

    def note(self, part, seconds):
        """Keeps the time of a part, beside those that others keep at the same time."""
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path + ".lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.seconds = {**self._read(), part: seconds}
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                f.writelines(f"{name} {value:.1f}\n" for name, value in self.seconds.items())
            os.replace(self.path + ".new", self.path)
