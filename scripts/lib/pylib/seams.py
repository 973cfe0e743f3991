# SPDX-License-Identifier: GPL-2.0
"""Checks the table of seams: each pair of features is there once, and each test exists."""
import itertools
import os
import re

CELL = re.compile(r"(?P<program>[a-z0-9_]+_test) (?P<test>[a-z0-9_.]+)")


def _sections(text):
    """Yields the title and the rows ("With", cell) of each table."""
    for title, body in re.findall(r"^(\S.*)\n-+\n\n((?:.+\n)+)", text, re.M):
        lines = body.splitlines()
        width = lines[0].index(" ")
        yield title, [(l[:width].strip(), l[width:].strip()) for l in lines[3:-1]]


def _source(selftests, program):
    """Returns the text of a program, and of the headers of ours that it includes itself."""
    with open(os.path.join(selftests, program + ".c"), encoding="utf-8") as f:
        text = f.read()
    for header in re.findall(r'^#include "(\w+\.h)"', text, re.M):
        path = os.path.join(selftests, "lib", header)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                text += f.read()
    return text


def _lacks(selftests, program, test):
    """Says what is wrong with the name of a test, or returns None."""
    path = os.path.join(selftests, program + ".c")
    if not os.path.exists(path):
        return f"there is no {program}.c"
    source = _source(selftests, program)
    fixture, *variant, name = test.split(".")
    head = rf"TEST\({name}\)" if fixture == "global" else rf"(TEST_F(_TIMEOUT)?|SCENE)\({fixture}, {name}\b"
    if not re.search("^" + head, source, re.M):
        return f"{program} has no test {test}"
    if variant and not re.search(rf"^FIXTURE_VARIANT_ADD\({fixture}, {variant[0]}\)", source, re.M):
        return f"{program} has no variant {fixture}.{variant[0]}"
    return None


def complaints(page, selftests):
    """Returns a list of what is wrong in this page."""
    with open(page, encoding="utf-8") as f:
        sections = list(_sections(f.read()))
    titles = [title for title, _ in sections]
    bad = [] if titles else ["no section has a table"]
    seen = []
    for title, rows in sections:
        for other, cell in rows:
            pair = (title, title if other == "another one" else other)
            seen.append(pair)
            test = CELL.fullmatch(cell)
            wrong = _lacks(selftests, **test.groupdict()) if test else None
            if wrong or not cell:
                bad.append(f"{pair[0]}, {pair[1]}: {wrong or 'the cell is empty'}")
    wanted = set(itertools.combinations_with_replacement(titles, 2))
    bad += [f"{a}, {b}: is missing" for a, b in sorted(wanted - set(seen))]
    bad += [f"{a}, {b}: is no pair of sections in their order" for a, b in sorted(set(seen) - wanted)]
    bad += [f"{a}, {b}: is there twice" for a, b in sorted(set(seen)) if seen.count((a, b)) > 1]
    return bad
