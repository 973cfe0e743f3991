# SPDX-License-Identifier: GPL-2.0
"""Keeps in the cache how long things took on this machine."""

import os
import threading

from . import cache


class Times:
    """Seconds that the parts of a run took the last time"""
    lock = threading.Lock()

    def __init__(self, name):
        self.path = os.path.join(cache.directory(), "seen", name)
        self.seconds = {}
        try:
            with open(self.path, encoding="utf-8") as f:
                for line in f:
                    part, _, value = line.strip().rpartition(" ")
                    self.seconds[part] = float(value)
        except (FileNotFoundError, ValueError):
            pass                # nothing is known yet

    def expected(self, part, weight):
        """Returns the sort key of a part. Parts without a known time come first, by their weight."""
        return (0, self.seconds[part]) if part in self.seconds else (1, weight)

    def note(self, part, seconds):
        with self.lock:
            self.seconds[part] = seconds
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                f.writelines(f"{name} {value:.1f}\n" for name, value in self.seconds.items())
            os.replace(self.path + ".new", self.path)
