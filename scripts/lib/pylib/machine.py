# SPDX-License-Identifier: GPL-2.0
"""One run of the emulator, and its channels.

The host must not influence the guest, or its instruction counts would differ from run
to run. So the guest writes to plain files, which accept data at once, and one thread
per stream follows the file. For a slow reader, SIGSTOP stops the whole emulator. The
guest does not notice, because its clock counts instructions."""

import fcntl
import os
import select
import signal
import struct
import subprocess
import termios
import threading
import time
import tty

POLL = 0.005            # seconds between two looks at a file that grows
BACKLOG = 16 << 20      # bytes by which the reader may be behind
RECYCLE = 64 << 20      # bytes after which a followed file is emptied


class Stopper:
    """Holds the emulator as long as any stream needs it"""

    def __init__(self, pid):
        self.pid = pid
        self.holders = 0
        self.lock = threading.Lock()

    def _state(self):
        with open(f"/proc/{self.pid}/stat", encoding="ascii", errors="replace") as f:
            return f.read().rpartition(")")[2].split()[0]

    def __enter__(self):
        with self.lock:
            self.holders += 1
            if self.holders == 1:
                os.kill(self.pid, signal.SIGSTOP)
            while self._state() not in "TZX":
                time.sleep(0.001)

    def __exit__(self, *_):
        with self.lock:
            self.holders -= 1
            if self.holders == 0:
                os.kill(self.pid, signal.SIGCONT)


class Follower(threading.Thread):
    """Copies a file that the emulator writes to a descriptor"""

    def __init__(self, path, to, stopper, broken):
        super().__init__(daemon=True)
        self.file = open(path, "r+b", buffering=0)
        self.to = to
        self.stopper = stopper
        self.broken = broken        # called with the error when TO cannot be written
        self.ended = threading.Event()
        self.done = 0

    def behind(self):
        return os.fstat(self.file.fileno()).st_size - self.done

    def _write(self, data):
        view = memoryview(data)
        while view:
            try:
                view = view[os.write(self.to, view):]
            except BlockingIOError:
                select.select([], [self.to], [])

    def _drain(self):
        while True:
            data = os.pread(self.file.fileno(), 1 << 16, self.done)
            if not data:
                return
            self._write(data)
            self.done += len(data)

    def _recycle(self):
        with self.stopper:
            self._drain()
            self.file.truncate(0)
            self.done = 0

    def run(self):
        try:
            while not self.ended.is_set():
                if self.behind() > BACKLOG:
                    with self.stopper:
                        self._drain()
                self._drain()
                if self.done > RECYCLE:
                    self._recycle()
                self.ended.wait(POLL)
            self._drain()
        except ProcessLookupError:
            self._drain()
        except OSError as e:
            self.broken(e)


def pump(source, sink):
    """Copies standard input to the guest, including its end."""
    try:
        while True:
            data = os.read(source, 1 << 16)
            if not data:
                break
            view = memoryview(data)
            while view:
                view = view[os.write(sink, view):]
    except OSError:
        pass
    os.close(sink)


class Terminal:
    """The caller's terminal in raw mode. Every byte goes to the guest."""

    ESCAPE = 0x1d           # Ctrl-]

    def __enter__(self):
        self.saved = termios.tcgetattr(0)
        tty.setraw(0, termios.TCSADRAIN)    # keeps what was typed before
        return self

    def __exit__(self, *_):
        termios.tcsetattr(0, termios.TCSADRAIN, self.saved)

    @staticmethod
    def size():
        rows, columns = struct.unpack("HHHH", fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8)))[:2]
        return rows or 24, columns or 80

    def pump(self, sink, stop):
        """Ctrl-] three times ends the guest."""
        run = 0
        while True:
            data = os.read(0, 1024)
            if not data:
                break
            for byte in data:
                run = run + 1 if byte == self.ESCAPE else 0
                if run == 3:
                    stop()
                    return
            os.write(sink, data)


class Machine:
    """The emulator's command line and process"""

    def __init__(self, emulator, rundir):
        self.rundir = rundir
        self.command = ["setpriv", "--pdeathsig", "KILL", emulator,
                        "-L", "/usr/share/seabios", "-L", "/usr/share/qemu",
                        "-nodefaults", "-no-user-config", "-no-reboot",
                        "-display", "none", "-monitor", "none",
                        "-M", "pc,usb=off"]
        self.inherit = []
        self.process = None

    def path(self, name):
        return os.path.join(self.rundir, name)

    def file_channel(self, name):
        open(self.path(name), "wb").close()
        self.command += ["-chardev", f"file,id={name},append=on,path={self.path(name)}"]

    def port(self, number, name):
        """Makes virtio port NUMBER write to the file NAME."""
        self.file_channel(name)
        self.command += ["-device", f"virtserialport,chardev={name},nr={number}"]

    def input_port(self, number, device="virtserialport", output="/dev/null"):
        """Makes virtio port NUMBER read what is written to the returned descriptor."""
        reader, writer = os.pipe()
        self.inherit.append(reader)
        self.command += ["-chardev", f"file,id=in{number},append=on,path={output},"
                                     f"input-path=/proc/self/fd/{reader}",
                         "-device", f"{device},chardev=in{number},nr={number}"]
        return writer

    def start(self, errors):
        self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL,
                                        stdout=errors, stderr=errors,
                                        pass_fds=self.inherit, start_new_session=True)
        for fd in self.inherit:
            os.close(fd)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
