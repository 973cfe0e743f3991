# SPDX-License-Identifier: GPL-2.0
"""The distribution's QEMU, and whether KVM works with it on this machine."""

import os
import shutil
import signal
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


class Trial:
    """A QEMU that boots a kernel by KVM without a root file system. The kernel panics, and QEMU
    ends. Where KVM works that takes a second or two."""

    def __init__(self, cpu, kernel, directory, says):
        self.log = os.path.join(directory, "kvm.log")
        self.errors = os.path.join(directory, "kvm.errors")
        self.command = [plain_qemu(), "-accel", "kvm", "-cpu", cpu, "-m", "512", "-nodefaults", "-display", "none",
                        "-no-reboot", "-kernel", kernel, "-append", "console=ttyS0 panic=-1",
                        "-serial", "file:" + self.log, "-qmp", "stdio"]
        self.says = says
        self.late = False

    def _end(self, qemu):
        """Ends QEMU, and what a script that stands for it has started."""
        try:
            os.killpg(qemu.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def _give_up(self, qemu):
        self.late = True
        self._end(qemu)

    def _wait(self, qemu):
        """Waits until QEMU ends, or has stopped its guest for good."""
        try:
            os.write(qemu.stdin.fileno(), b'{"execute": "qmp_capabilities"}\n')
        except BrokenPipeError:         # it has ended
            return
        for line in qemu.stdout:
            if b'"event": "STOP"' in line:
                return

    def run(self):
        with open(self.errors, "wb") as errors, \
                subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                                 start_new_session=True) as qemu:
            try:
                timers = [threading.Timer(PATIENCE, self.says, ["does KVM work here? This takes up to two minutes"]),
                          threading.Timer(LIMIT, self._give_up, [qemu])]
                for timer in timers:
                    timer.start()
                self._wait(qemu)
                for timer in timers:
                    timer.cancel()
            finally:
                self._end(qemu)

    def failure(self):
        """Returns why the kernel did not come to its panic, or None."""
        if os.path.exists(self.log):
            with open(self.log, "rb") as log:
                if b"Kernel panic" in log.read():
                    return None
        if self.late:
            return f"the kernel does not boot within {LIMIT} seconds"
        with open(self.errors, encoding="utf-8", errors="replace") as errors:
            said = [line for line in errors.read().splitlines() if line and "warning:" not in line]
        return said[0].removeprefix("qemu-system-x86_64: ") if said else "the kernel does not boot"


def problem(cpu, kernel, directory, says):
    """Returns why KVM cannot run this kernel here, or None. If this machine is virtual itself,
    KVM may make a virtual CPU that cannot run the kernel. So this tries it."""
    if not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "/dev/kvm cannot be opened"
    trial = Trial(cpu, kernel, directory, says)
    trial.run()
    why = trial.failure()
    return why and "KVM does not work here: " + why
