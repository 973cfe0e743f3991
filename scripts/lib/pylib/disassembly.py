# SPDX-License-Identifier: GPL-2.0
"""Compares a function of two object files instruction by instruction, on the path without
unlikely work. Also finds the instructions with which fork and exit look for counters."""

import os
import re
import subprocess


def instructions(vmlinux, function):
    """Returns [(address, text)] of a function, from objdump."""
    run = subprocess.run(["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", vmlinux],
                         stdout=subprocess.PIPE, text=True, check=True)
    found = re.findall(r"^ *([0-9a-f]+):\t(\S.*?)\s*$", run.stdout, re.M)
    return [(int(address, 16), text) for address, text in found]


def straight(code):
    """Returns mnemonics and operands up to the first RET. Leaves out what another layout of code
    and data changes: addresses, displacements and constants."""
    path = []
    for _, text in code:
        text = re.sub(r"\s*[<#].*", "", text)
        text = re.sub(r"\$?-?0x[0-9a-f]+", "N", text)
        text = re.sub(r"^(j\w+|call) +[0-9a-f]+", r"\1 N", text)
        path.append(text)
        if text.startswith("ret"):
            break
    return path


def difference(code, other, function):
    """Returns how many instructions differ between the paths of two object files or are in only one
    of them, or -1 if one has no such function."""
    a, b = (straight(instructions(path, function)) for path in (code, other))
    if not a or not b:
        return -1
    return abs(len(a) - len(b)) + sum(x != y for x, y in zip(a, b))


def vpmc_offset(code):
    """Returns the offset of the counters in task_struct. do_exit() tests them before it calls     __vpmc_exit()."""
    jumps = {int(text.split()[1], 16): i for i, (_, text) in enumerate(code) if re.match(r"j\w+ +[0-9a-f]{16}", text)}
    calls = [i for i, (_, text) in enumerate(code) if "<__vpmc_exit>" in text]
    for i in calls:
        for address, _ in code[max(0, i - 3):i + 1]:
            before = code[max(0, jumps.get(address, 0) - 2):jumps.get(address, 0)]
            for found in re.findall(r"0x[0-9a-f]+(?=\(%r)", " ".join(text for _, text in before)):
                return found
    return None


def hook(code, i):
    """Yields the indices of one hook. It begins with an access to the pointer and ends with the
    branch."""
    yield i
    text = code[i][1]
    if re.match(r"movq +\$", text):
        return
    register = text.rsplit("%", 1)[1] if text.startswith("mov") else None
    for k in range(i + 1, min(i + 5, len(code))):
        if code[k][1].startswith("j"):
            yield k
            return
        if register and code[k][1].startswith(("test", "cmp")) and "%" + register in code[k][1]:
            yield k


def hooks(kernel):
    """Returns [(low, high)], the addresses of the instructions that fork and exit execute for
    threads without counters."""
    vmlinux = os.path.join(os.path.dirname(kernel), "vmlinux")
    functions = {name: instructions(vmlinux, name) for name in ("copy_process", "do_exit")}
    offset = vpmc_offset(functions["do_exit"])
    ranges = []
    for code in functions.values():
        first = [i for i, (_, text) in enumerate(code) if offset and f"{offset}(%r" in text and "lea" not in text]
        for k in sorted({k for i in first for k in hook(code, i)}):
            low, high = code[k][0], code[k + 1][0]
            if ranges and ranges[-1][1] == low:
                ranges[-1] = (ranges[-1][0], high)
            else:
                ranges.append((low, high))
    return ranges
