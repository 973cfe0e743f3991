# SPDX-License-Identifier: GPL-2.0
"""Puts many mutants into one kernel. Each faulty function gets a copy for each of its
mutants. A parameter of the kernel selects the copy that runs:

	int f(int a)
	{
		if (vpmc_mutant == 7)
			return f_mutant_7(a);
		...

A fault outside of functions, in a declaration or a macro, needs a kernel of its own."""

import re

PARAMETER = "vpmc_mutant"
DECLARATION = f"extern unsigned int {PARAMETER};"
# These go to the end of the file that reads the kernel's command line.
HOME = "init/main.c"
DEFINITION = f"""
unsigned int {PARAMETER};

static int __init {PARAMETER}_setup(char *arg)
{{
	return kstrtouint(arg, 0, &{PARAMETER});
}}
early_param("{PARAMETER}", {PARAMETER}_setup);
"""


class Cannot(Exception):
    """A mutant needs a kernel of its own"""


class Function:
    """The function around some lines of a file in kernel style"""

    def __init__(self, lines, at, n):
        self.open = next((i for i in range(at - 1, -1, -1) if lines[i] in ("{", "}")), -1)
        self.end = next((i for i in range(at + n, len(lines)) if lines[i] in ("{", "}")), -1)
        if self.open < 0 or self.end < 0 or lines[self.open] != "{" or lines[self.end] != "}":
            raise Cannot("not within a function")
        self.first = self.open
        while self.first and not re.search(r"^$|^#|[;}]$|\*/$", lines[self.first - 1]):
            self.first -= 1
        self.head = lines[self.first:self.open]
        match = re.match(r"([^()]*?)\b(\w+)\(([^()]*)\)$", " ".join(line.strip() for line in self.head))
        if not match:
            raise Cannot("its function is declared in an unusual way")
        self.name = match[2]
        self.arguments = self._arguments(match[3])

    @staticmethod
    def _arguments(text):
        if text.strip() in ("void", ""):
            return []
        names = [re.search(r"(\w+)(\[\w*\])*$", part.strip()) for part in text.split(",")]
        if None in names or "..." in text:
            raise Cannot("its function has unusual arguments")
        return [match[1] for match in names]

    def clone(self, body, number):
        """Returns a copy of the function with another body."""
        head = re.sub(rf"\b{self.name}\(", f"{self.name}_mutant_{number}(", "\n".join(self.head), count=1)
        if not re.search(r"\bstatic\b", head):
            head = "static " + head
        return [*head.split("\n"), *body, ""]

    def choice(self, number):
        return [f"\tif ({PARAMETER} == {number})",
                f"\t\treturn {self.name}_mutant_{number}({', '.join(self.arguments)});"]


def _function(mutant, text):
    """Returns (function, its body with the fault)."""
    lines = text.split("\n")
    at = mutant.find(lines)
    function = Function(lines, at, len(mutant.old))
    body = lines[function.open:at] + mutant.new + lines[at + len(mutant.old):function.end + 1]
    return function, body


def _insert(text, mutants):
    """Returns the text of one file with the copies for {number: mutant}."""
    lines, functions = text.split("\n"), {}
    for number, mutant in mutants.items():
        function, body = _function(mutant, text)
        functions.setdefault(function.first, []).append((number, function, body))
    for first in sorted(functions, reverse=True):
        found = functions[first]
        opened = found[0][1].open
        clones = [line for number, function, body in found for line in function.clone(body, number)]
        choices = [line for number, function, _ in found for line in function.choice(number)]
        lines[opened + 1:opened + 1] = choices
        lines[first:first] = [DECLARATION, *clones]
    return "\n".join(lines)


def all_in_one(mutants, read):
    """Returns ({file: text with the faults}, {number: mutant}, {mutant: why it is left out}) for
    {number: mutant}. read(FILE) returns the text in the tree."""
    files, alone = {}, {}
    for number, mutant in mutants.items():
        try:
            _function(mutant, read(mutant.file))
            files.setdefault(mutant.file, {})[number] = mutant
        except Cannot as why:
            alone[mutant] = str(why)
    texts = {file: _insert(read(file), found) for file, found in files.items()}
    if texts:
        texts[HOME] = texts.get(HOME, read(HOME)) + DEFINITION
    return texts, {n: m for found in files.values() for n, m in found.items()}, alone


def not_compiled(log):
    """Returns the numbers of the mutants that the compiler refuses. Its quotes depend on the
    language."""
    found, number = set(), None
    for line in log.splitlines():
        match = re.search(r": In function ['‘]\w+?(?:_mutant_(\d+))?['’]", line)
        if match:
            number = match[1]
        elif number and re.search(r":\d+: error:", line):
            found.add(int(number))
    return found
