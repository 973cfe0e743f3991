# SPDX-License-Identifier: GPL-2.0
"""Parses the Test Anything Protocol, as kselftests and the suites write it."""

import re

RESULT = re.compile(r"(not )?ok\b(?:\s+(\d+))?(?:\s+-)?\s*(.*?)(?:\s+#\s*(SKIP|TODO|XFAIL)\b\s*(.*))?$", re.I)
PLAN = re.compile(r"1\.\.(\d+)(?:\s+#\s*(SKIP|Skipped:?)\b\s*(.*))?\s*$", re.I)


class Test:
    def __init__(self, name, good, directive=None, reason=""):
        self.name = name
        self.good = good
        self.directive = directive.upper() if directive else None
        self.reason = reason
        self.comments = []      # comments since the test before


class Parser:
    """Parses lines. Problems of the stream itself become failed tests."""

    def __init__(self):
        self.tests = []
        self.planned = None
        self.plans = 0
        self.bailed = None
        self.comments = []

    def line(self, text):
        text = text.rstrip("\r\n")
        match = RESULT.match(text)
        if match:
            number = len(self.tests) + 1
            test = Test(match[3] or f"test {number}", not match[1], match[4], match[5] or "")
            if match[2] and int(match[2]) != number:
                test.good = False
                self.comments.append(f"# numbered {match[2]}, but it is test {number}")
            test.comments, self.comments = self.comments, []
            self.tests.append(test)
            return test
        match = PLAN.match(text)
        if match:
            self.plans += 1
            self.planned = int(match[1])
            if match[2] and not self.planned:
                self.tests.append(Test("all tests", True, "SKIP", match[3] or ""))
                self.planned = 1
            return None
        if text.startswith("Bail out!"):
            self.bailed = text[9:].strip() or "without a reason"
        elif text.strip() and not text.startswith("TAP version"):
            self.comments.append(text)
        return None

    def finish(self, status):
        """Ends the stream. Takes the exit status, or a text about the end."""
        bad = []
        if self.bailed is not None:
            bad.append(f"bailed out: {self.bailed}")
        elif self.plans != 1:
            bad.append("no plan (1..N)" if not self.plans else f"{self.plans} plans (1..N)")
        elif self.planned != len(self.tests):
            bad.append(f"{self.planned} tests planned, {len(self.tests)} run")
        if isinstance(status, str):
            bad.append(status)
        elif status and not bad and all(t.good for t in self.tests):
            bad.append(f"exit status {status} although no test failed")
        if not self.tests and not bad:
            bad.append("no tests")
        for text in bad:
            test = Test(text, False)
            test.comments, self.comments = self.comments[-40:], []
            self.tests.append(test)
        return bad
