# SPDX-License-Identifier: GPL-2.0
"""Prepares the first files and the machine of a guest of scripts/vm."""

import os
import stat

from . import cpio
from .guest import Guest, Refused
from .machine import Terminal

GUEST_INIT = os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "guest-init")
TOOLS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(GUEST_INIT))), "build", "tools", "bin")
INLINE_STDIN = 64 << 20     # a longer standard input is streamed


def stdin_kind(options):
    """Returns the kind of standard input: null, file (fits into the guest's first memory),         port (a stream) or tty."""
    if options.tty:
        if not os.isatty(0):
            raise Refused("--tty: standard input is not a terminal")
        return "tty"
    info = os.fstat(0)
    if stat.S_ISCHR(info.st_mode) and info.st_rdev == os.makedev(1, 3):
        return "null"
    if stat.S_ISREG(info.st_mode) and \
            info.st_size - os.lseek(0, 0, os.SEEK_CUR) <= INLINE_STDIN:
        return "file"
    return "port"


class Boot:
    """Adds what the options ask for to the machine's command line"""

    def __init__(self, options, machine, kernel, log):
        self.options = options
        self.machine = machine
        self.kernel = kernel
        self.log = log
        self.stdin = stdin_kind(options)

    def initramfs(self):
        path = self.machine.path("initramfs")
        archive = cpio.Archive(path)
        guest = Guest(archive)
        guest.base(GUEST_INIT)
        guest.tools(TOOLS)
        for directory in self.options.add:
            guest.add(directory)
        if self.options.add_kernel:
            guest.program("add/bzImage", self.kernel)
        guest.command(self.options.command)
        config = [f"STDIN={self.stdin}", "OUT=1" if self.options["out"] else "OUT="]
        if self.stdin == "tty":
            config.append("SIZE='rows %d cols %d'" % Terminal.size())
        if self.stdin == "file":
            with open(0, "rb", closefd=False) as f:
                archive.data(".vm/stdin", f.read())
        archive.data(".vm/config", "\n".join(config + [""]).encode())
        archive.close()
        need = 2 * archive.size // (1 << 20) + 96
        if need > self.options["mem"]:
            raise Refused(f"the files for the guest need --mem {need}")
        return path

    def clock(self):
        """Chooses how the virtual CPUs run. With -icount, their instructions advance the time;
        else they use the host's time."""
        if self.options.kvm:
            return ["-accel", "kvm"]
        if self.options.plain and not self.options.parallel:
            # In threads, Debian 12's QEMU may execute what stood where the kernel has just
            # patched its code, and the kernel ends with "Oops: int3".
            return ["-accel", "tcg,thread=single"]
        if self.options.parallel:
            return ["-accel", "tcg,thread=multi"]
        return ["-accel", "tcg", "-icount", "shift=0,sleep=" + ("on" if self.stdin == "tty" else "off")]

    def appended(self):
        """Returns the arguments that VPMC_APPEND has for the kernel, without unwanted ones."""
        return [word for word in os.environ.get("VPMC_APPEND", "").split()
                if word.split("=")[0] not in self.options.without]

    def configure(self):
        """Configures the machine. Returns where to write the guest's input."""
        m, o = self.machine, self.options
        # no_timer_check: the check spins for 12 ms of the guest's time, a third of the time
        # that the emulator takes to boot
        m.command += ["-cpu", o["cpu"], "-smp", str(o["cpus"]), "-m", str(o["mem"]),
                      *self.clock(), "-rtc", "base=2024-01-01,clock=vm", "-seed", "1",
                      "-kernel", self.kernel, "-initrd", self.initramfs(),
                      "-append", " ".join(["console=ttyS0 panic=-1 nmi_watchdog=0 no_timer_check",
                                           *self.appended(), o["append"]]).strip()]
        open(self.log, "wb").close()
        if "," in self.log or "," in m.rundir:
            raise Refused(f"{self.log}: the path must not contain a comma")
        # without ioeventfd, the virtual CPU that kicks the device handles it at once
        m.command += ["-chardev", f"file,id=log,append=on,path={self.log}", "-serial", "chardev:log",
                      "-device", "virtio-serial-pci,ioeventfd=off"]
        sink = None
        if self.stdin == "tty":
            m.port(1, "stderr")
            open(m.path("stdout"), "wb").close()
            sink = m.input_port(6, "virtconsole", m.path("stdout"))
        else:
            m.port(1, "stdout")
            m.port(2, "stderr")
        m.port(3, "status")
        if self.stdin == "port":
            sink = m.input_port(4)
        if o["out"]:
            m.port(5, "out")
        m.command += o.qemu
        return sink
