# SPDX-License-Identifier: GPL-2.0
"""The picture of the documentation's table of costs: for each line of it a bar for vpmc and
one for perf_event, on a logarithmic scale.

It is drawn from the table, whose numbers benchreadme.py compares with the measured ones.
"""

import math
import os
from html import escape

from pylib import benchreadme

FILE = "Documentation/dev-tools/vpmc-bench/costs.svg"
COLOURS = {"vpmc": "#1f6f8b", "perf_event 6.12": "#c8963e"}
LEFT, RIGHT, BAR, GAP, TOP = 330, 480, 11, 12, 64


def bars(table):
    """Yields each line's text and its numbers, from the lines that have one number in both
    columns."""
    for text, *cells in table:
        # the first line's unit is a cell, too
        numbers = [int(cell) for cell in cells if cell.isdigit()]
        if len(numbers) == 2:
            yield text, numbers


def text(x, y, words, anchor="start", size=13):
    return f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{escape(words)}</text>'


def draw(table):
    """Returns the picture of a table, as SVG."""
    lines = list(bars(table))
    decades = math.ceil(math.log10(max(n for _, numbers in lines for n in numbers)))
    width = LEFT + RIGHT + 80
    height = TOP + len(lines) * (2 * BAR + GAP) + 10
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">',
           "<!-- SPDX-License-Identifier: GPL-2.0. Made by scripts/bench. -->",
           f'<rect width="{width}" height="{height}" fill="white"/>',
           text(10, 20, "Instructions with four counters, by the emulator's exact counts, logarithmic", size=15)]
    for i, (who, colour) in enumerate(COLOURS.items()):
        out.append(f'<rect x="{10 + 90 * i}" y="34" width="12" height="12" fill="{colour}"/>')
        out.append(text(27 + 90 * i, 45, who))
    for power in range(decades + 1):
        x = LEFT + RIGHT * power // decades
        out.append(f'<path d="M{x} {TOP - 8}V{height - 8}" stroke="#dddddd"/>')
        out.append(text(x, TOP - 12, f"{10 ** power:,}", "middle", 11))
    for i, (words, numbers) in enumerate(lines):
        y = TOP + i * (2 * BAR + GAP)
        out.append(text(LEFT - 10, y + BAR + 4, words, "end"))
        for j, (n, colour) in enumerate(zip(numbers, COLOURS.values())):
            length = round(RIGHT * math.log10(max(n, 1)) / decades)
            out.append(f'<rect x="{LEFT}" y="{y + j * BAR}" width="{length}" height="{BAR - 1}" fill="{colour}"/>')
            out.append(text(LEFT + length + 5, y + (j + 1) * BAR - 2, f"{n:,}", size=11))
    return "\n".join([*out, "</svg>", ""])


def drawn(top):
    with open(os.path.join(top, benchreadme.WHOLE), encoding="utf-8") as f:
        return draw(benchreadme.written(f.read()))


def write(top):
    """Draws the documentation's table."""
    with open(os.path.join(top, FILE), "w", encoding="utf-8") as f:
        f.write(drawn(top))


def wrong(top):
    """Returns a text if the picture is not that of the table."""
    try:
        with open(os.path.join(top, FILE), encoding="utf-8") as f:
            same = f.read() == drawn(top)
    except FileNotFoundError:
        same = False
    return [] if same else [f"{FILE} is not the picture of the table; scripts/bench --picture draws it"]
