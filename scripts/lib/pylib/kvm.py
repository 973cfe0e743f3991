# SPDX-License-Identifier: GPL-2.0
"""The distribution's QEMU, and whether KVM works with it on this machine."""

import os
import shutil
import subprocess

from .guest import Refused


def plain_qemu():
    """QEMU as the distribution has it."""
    path = os.environ.get("VPMC_PLAIN_QEMU") or shutil.which("qemu-system-x86_64")
    if not path or not os.access(path, os.X_OK):
        raise Refused(f"--plain: {path or 'qemu-system-x86_64'} is not installed: install qemu-system-x86")
    return path


def problem(cpu):
    """Returns why KVM cannot be used here, or None. Tries to make a virtual CPU, which does
    not run. If this machine is virtual itself, even that may fail."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "/dev/kvm cannot be opened"
    try:
        run = subprocess.run([plain_qemu(), "-accel", "kvm", "-cpu", cpu, "-nodefaults", "-display", "none",
                              "-S", "-monitor", "stdio"], input="quit\n", capture_output=True, text=True,
                             check=False, timeout=60)
    except subprocess.TimeoutExpired:
        return "KVM does not work here: QEMU does not start"
    if run.returncode == 0:
        return None
    said = [line for line in run.stderr.splitlines() if line] or [f"QEMU ended with status {run.returncode}"]
    return "KVM does not work here: " + said[0].removeprefix("qemu-system-x86_64: ")
