# SPDX-License-Identifier: GPL-2.0
"""The one-line faults of the kernel that tools/testing/selftests/vpmc/mutants lists.
The head of that file describes its format."""

import re
import textwrap


class Bad(Exception):
    """The list or its mutants are wrong, with one line for each problem"""


class Mutant:
    def __init__(self, name, line):
        self.name = name
        self.line = line
        self.group = ""
        self.fault = ""
        self.guest = self.program = self.test = None
        self.config = None          # the one of the guest's kernel, see check()
        self.log = None             # line that the kernel's log must have instead
        self.file = self.function = None
        self.old, self.new = [], []
        self.removed = self.added = 0

    def place(self):
        return self.file + (f" {self.function}()" if self.function else "")

    def field(self, key, value):
        if key == "fault":
            self.fault = f"{self.fault} {value}".strip()
        elif key == "log":
            self.log = re.compile(value)
        elif key == "fails":
            self.guest, self.program, self.test = value.split()
        else:
            raise ValueError(f"no such key: {key}")

    def diff(self, mark, text):
        if mark in " -":
            self.old.append(text)
        if mark in " +":
            self.new.append(text)
        self.removed += mark == "-"
        self.added += mark == "+"

    def complain(self):
        """Returns what is missing, or None."""
        if not self.fault or not self.test:
            return "needs a fault and a test that fails"
        if not self.file or not self.old:
            return "has no change"
        if max(self.removed, self.added) != 1:
            return "is not a change of one line"
        return "changes nothing" if self.old == self.new else None

    def find(self, lines):
        """Returns the index of the first of its lines."""
        first, end = self._range(lines)
        n = len(self.old)
        found = [i for i in range(first, end - n + 1) if lines[i:i + n] == self.old]
        if len(found) != 1:
            raise Bad(f"{self.name}: its lines are {len(found)} times in {self.place()}, not once")
        return found[0]

    def apply(self, text):
        """Returns the text of the file with the fault."""
        lines = text.split("\n")
        at = self.find(lines)
        lines[at:at + len(self.old)] = self.new
        return "\n".join(lines)

    def _range(self, lines):
        """Returns the range of the function's lines, or of all lines."""
        if not self.function:
            return 0, len(lines)
        head = re.compile(rf"[^\s#/*].*\b{re.escape(self.function)}\(|{re.escape(self.function)}\(")
        found = []
        for i, line in enumerate(lines):
            if not head.match(line):
                continue
            body = next((j for j in range(i, len(lines)) if lines[j] == "{" or lines[j].endswith(";")), i)
            if lines[body] == "{":
                found.append((i, lines.index("}", body) + 1))
        if len(found) != 1:
            raise Bad(f"{self.name}: {self.place()} is there {len(found)} times, not once")
        return found[0]


def parse(path):
    """Returns the mutants of a list, in its order."""
    mutants, bad, group, in_diff = [], [], "", False
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, line in enumerate(lines, 1):
        match = re.match(r"(\w+): +(.*)", line)
        place = re.match(r"@@ (\S+)(?: (\w+)\(\))?$", line)
        try:
            if line.startswith("## "):
                group, in_diff = line[3:].strip(), False
            elif not line or line.startswith("#"):
                in_diff = False
            elif match and match[1] == "mutant":
                mutants.append(Mutant(match[2], number))
                mutants[-1].group = group
            elif not mutants:
                raise ValueError("before the first mutant")
            elif place:
                mutants[-1].file, mutants[-1].function = place[1], place[2]
                in_diff = True
            elif in_diff and line[0] in " +-":
                mutants[-1].diff(line[0], line[1:])
            elif match and not in_diff:
                mutants[-1].field(match[1], match[2])
            else:
                raise ValueError("not understood")
        except (ValueError, re.error) as e:
            bad.append(f"{path}:{number}: {e}")
    names = [m.name for m in mutants]
    bad += [f"{name}: is there twice" for name in sorted(set(names)) if names.count(name) > 1]
    bad += [f"{m.name}: {m.complain()}" for m in mutants if m.complain()]
    if bad:
        raise Bad("\n".join(bad))
    if not mutants:
        raise Bad(f"{path}: no mutants")
    return mutants


def of_base(mutants, path, guests):
    """Returns the mutants, with those of the list of a base instead of the ones that have their
    names. A base lists mutants whose lines are others in its version of Linux, and new ones for
    these guests: its own, and those for KUnit, which skips what only other versions have."""
    own = {m.name: m for m in parse(path)}
    known = {m.name: m for m in mutants}
    more = [m for m in own.values() if m.name not in known]
    bad = [f"{path}: {m.name} replaces no mutant, and {m.guest} is no guest of this base, or for debugging"
           for m in more if m.guest not in guests]
    bad += [f"{path}: {name} is the one that it replaces" for name, m in own.items()
            if name in known and (m.old, m.new, m.file, m.function) ==
            (known[name].old, known[name].new, known[name].file, known[name].function)]
    bad += [f"{path}: {name} has another fault or test than the one that it replaces" for name, m in own.items()
            if name in known and (m.fault, m.guest, m.program, m.test) !=
            (known[name].fault, known[name].guest, known[name].program, known[name].test)]
    if bad:
        raise Bad("\n".join(bad))
    return [own.get(m.name, m) for m in mutants] + more


def _check_test(m, guests, program):
    if m.guest not in guests:
        raise Bad(f"{m.name}: there is no guest {m.guest}")
    m.config, _, command = guests[m.guest]
    # the file "guests" has loops over NAME for /add/NAME_test
    if not re.search(rf"\b{m.program.removesuffix('_test')}(_test)?\b", command):
        raise Bad(f"{m.name}: the guest {m.guest} does not run {m.program}")
    fixture, *_, test = m.test.split(".")
    head = rf"TEST\({test}\)" if fixture == "global" else rf"TEST_F(_TIMEOUT)?\({fixture}, {test}\b"
    if not re.search("^" + head, program or "", re.M):
        raise Bad(f"{m.name}: {m.program} has no test {m.test}")


def check(mutants, read, guests, program):
    """Checks that each mutant matches exactly once in what read(FILE) returns, and names a test of
    a program that its guest runs. guests: {name: (configuration of the kernel, arguments of
    scripts/vm, command)}; program(NAME) returns the source."""
    bad = []
    for m in mutants:
        try:
            text = read(m.file)
            if text is None:
                raise Bad(f"{m.name}: there is no {m.file}")
            m.apply(text)
            _check_test(m, guests, program(m.program))
        except Bad as e:
            bad.append(str(e))
    if bad:
        raise Bad("\n".join(bad))


def _cells(row, widths):
    columns = [textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
               for text, width in zip(row, widths)]
    for i in range(max(map(len, columns))):
        cells = [(column[i] if i < len(column) else "").ljust(width) for column, width in zip(columns, widths)]
        yield " ".join(cells).rstrip()


def _row(m):
    where = "" if m.guest == "default" else f" in the guest *{m.guest}*"
    test = f"*{m.program}* ``{m.test}``{where}"
    if m.log:
        test += f"; the kernel's log says \"{m.log.pattern}\""
    return f"``{m.name}``", f"{m.fault} (``{m.place().rpartition('/')[2]}``)", test


def table(mutants):
    """Returns the mutants as reStructuredText, with a table for each group."""
    out = []
    for group in dict.fromkeys(m.group for m in mutants):
        rows = [_row(m) for m in mutants if m.group == group]
        # words are not broken, because names of tests are long
        widths = [max([least] + [len(word) for row in rows for word in row[i].split()])
                  for i, least in enumerate((0, 48, 40))]
        rule = " ".join("=" * width for width in widths)
        out += ["", group, "-" * len(group), "", rule,
                *_cells(("Mutant", "Fault", "Test that fails"), widths), rule]
        for row in rows:
            out += _cells(row, widths)
        out.append(rule)
    return "\n".join(out) + "\n"
