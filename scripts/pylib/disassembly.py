# SPDX-License-Identifier: GPL-2.0
"""A function of two kernels, compared instruction by instruction on the path
that is taken when no unlikely work is to be done."""

import os
import re
import subprocess


def instructions(vmlinux, function):
    """[(address, text)] of a function as objdump shows it"""
    run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", vmlinux],
                         stdout=subprocess.PIPE, text=True, check=True)
    found = re.findall(r"^([0-9a-f]+):\t(\S.*?)\s*$", run.stdout, re.M)
    return [(int(address, 16), text) for address, text in found]


def straight(code):
    """The mnemonics and operands up to the first RET, without what another
    layout of code and data changes: addresses, displacements and constants."""
    path = []
    for _, text in code:
        text = re.sub(r"\s*[<#].*", "", text)
        text = re.sub(r"\$?-?0x[0-9a-f]+", "N", text)
        text = re.sub(r"^(j\w+|call) +[0-9a-f]+", r"\1 N", text)
        path.append(text)
        if text.startswith("ret"):
            break
    return path


def difference(kernel, other, function):
    """How many instructions of the paths differ, or of one are not in the other"""
    a, b = (straight(instructions(os.path.join(os.path.dirname(k), "vmlinux"), function)) for k in (kernel, other))
    if not a or not b:
        return -1
    return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b))
