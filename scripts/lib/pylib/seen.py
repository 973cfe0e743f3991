# SPDX-License-Identifier: GPL-2.0
"""How long things took on this machine; kept in the cache."""

import os
import threading

from . import cache


class Times:
    """The seconds that the parts of one run took when they ran last."""
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
            pass                # then nothing is known

    def expected(self, part, weight):
        """Orders the parts: those not seen yet first, by their weight."""
        return (0, self.seconds[part]) if part in self.seconds else (1, weight)

    def note(self, part, seconds):
        with self.lock:
            self.seconds[part] = seconds
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with open(self.path + ".new", "w", encoding="utf-8") as f:
                f.writelines(f"{name} {value:.1f}\n" for name, value in self.seconds.items())
            os.replace(self.path + ".new", self.path)
