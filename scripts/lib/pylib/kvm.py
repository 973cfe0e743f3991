# SPDX-License-Identifier: GPL-2.0
"""The distribution's QEMU, and whether KVM works with it on this machine."""

import os
import shutil
import subprocess
import threading

from .guest import Refused

PATIENCE, LIMIT = 5, 120            # seconds


def plain_qemu():
    """QEMU as the distribution has it."""
    path = os.environ.get("VPMC_PLAIN_QEMU") or shutil.which("qemu-system-x86_64")
    if not path or not os.access(path, os.X_OK):
        raise Refused(f"--plain: {path or 'qemu-system-x86_64'} is not installed: install qemu-system-x86")
    return path


def end_of(command, says):
    """Runs a QEMU with QMP until it ends, or can only be ended. Returns its messages if
    something went wrong, or None."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as qemu:
        timers = [threading.Timer(PATIENCE, says, ["does KVM work here? This takes up to two minutes"]),
                  threading.Timer(LIMIT, qemu.kill)]
        for timer in timers:
            timer.start()
        try:
            qemu.stdin.write('{"execute": "qmp_capabilities"}\n')
            qemu.stdin.flush()
            if any('"event": "STOP"' in line for line in qemu.stdout):
                qemu.kill()
        except BrokenPipeError:     # it has ended
            pass
        except BaseException:
            qemu.kill()
            raise
        finally:
            for timer in timers:
                timer.cancel()
        said = qemu.stderr.read().splitlines()
        if qemu.wait() == 0:
            return None
        return [line for line in said if line] or ["the kernel does not boot in time"]


def problem(cpu, kernel, says):
    """Returns why KVM cannot run this kernel here, or None. Boots it without a root file
    system: it panics, and QEMU ends. Where KVM works that takes a second or two. If this
    machine is virtual itself, a virtual CPU may be had and fail to run the kernel."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "/dev/kvm cannot be opened"
    said = end_of([plain_qemu(), "-accel", "kvm", "-cpu", cpu, "-m", "512", "-nodefaults", "-display", "none",
                   "-no-reboot", "-kernel", kernel, "-append", "panic=-1", "-qmp", "stdio"], says)
    return said and "KVM does not work here: " + said[0].removeprefix("qemu-system-x86_64: ")
