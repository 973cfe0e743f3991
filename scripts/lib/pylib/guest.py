# SPDX-License-Identifier: GPL-2.0
"""Collects the files of a guest of scripts/vm: busybox, COMMAND, the --add directories,
and the libraries of all dynamic programs among them."""

import os
import re
import shlex
import shutil
import stat
import struct
import subprocess

UTF8 = "/usr/lib/locale/C.utf8/LC_CTYPE"
NATIVE = "/bin/busybox"
BUSYBOX = os.environ.get("VPMC_BUSYBOX") or NATIVE
DEFAULT_LIBRARIES = ("/lib", "/usr/lib", "/lib64", "/usr/lib64", "/lib32", "/usr/lib32")


class Refused(Exception):
    """An error of the caller, with text and exit status"""

    def __init__(self, text, status=125):
        super().__init__(text)
        self.status = status


def applets():
    """Returns the names of busybox's commands. Not every machine can run a 32-bit busybox. Then its own one is asked."""
    for busybox in (BUSYBOX, NATIVE):
        try:
            run = subprocess.run([busybox, "--list"], capture_output=True, text=True, check=True, timeout=30)
        except OSError as error:
            why = error
        else:
            return set(run.stdout.split()) - {"busybox"}
    raise Refused(f"{BUSYBOX} cannot be run: {why.strerror}")


def elf_is_dynamic(path):
    """Returns true for an ELF program or library with a dynamic section."""
    with open(path, "rb") as f:
        head = f.read(64)
        if len(head) < 52 or head[:4] != b"\x7fELF" or head[5] != 1:
            return False
        wide = head[4] == 2
        offset, = struct.unpack_from("<Q" if wide else "<I", head, 32 if wide else 28)
        size, count = struct.unpack_from("<HH", head, 54 if wide else 42)
        f.seek(offset)
        table = f.read(size * count)
    return any(struct.unpack_from("<I", table, i * size)[0] == 2
               for i in range(len(table) // size if size else 0))


def libraries(path):
    """Returns (name that the loader looks for, file) of each library and of the loader."""
    run = subprocess.run(["ldd", path], capture_output=True, text=True, check=False, timeout=30)
    if "statically linked" in run.stdout:
        return []
    if run.returncode:
        raise Refused(f"{path}: cannot find its libraries (ldd: "
                      f"{(run.stderr + run.stdout).strip()})")
    found = []
    for line in run.stdout.splitlines():
        match = re.match(r"\s*(\S+) => not found", line)
        if match:
            raise Refused(f"{path}: its library {match[1]} is not on this machine")
        match = re.match(r"\s*(?:\S+ => )?(/\S+) \(0x", line)
        if match:
            name = line.split()[0]
            found.append((name, match[1]))
    return found


def interpreter(path):
    """Returns the program that a script's first line names, or None."""
    with open(path, "rb") as f:
        if f.read(2) != b"#!":
            return None
        words = f.readline(256).split()
    return os.fsdecode(words[0]) if words else None


class Guest:
    def __init__(self, archive):
        self.archive = archive
        self.applets = set()
        self.built = set()

    def base(self, init):
        if not os.path.exists(BUSYBOX):
            raise Refused(f"{BUSYBOX} is missing: run 'make deps'")
        if elf_is_dynamic(BUSYBOX):
            raise Refused(f"{BUSYBOX} is not the static one: run 'make deps'")
        for name in ("dev", "proc", "sys", "tmp", "root", "add", "out", "etc", ".vm", "lib", "usr/bin"):
            self.archive.directory(name)
        self.archive.device("dev/console", 5, 1)
        self.archive.device("dev/null", 1, 3)
        self.archive.data("etc/passwd", b"root::0:0:root:/root:/bin/sh\nnobody:*:65534:65534:nobody:/:/bin/sh\n")
        self.archive.data("etc/group", b"root:x:0:\nnogroup:x:65534:\n")
        self.archive.copy("bin/busybox", BUSYBOX)
        self.applets = applets()
        for name in sorted(self.applets):
            self.archive.link("bin/" + name, "busybox")
        for name in ("sbin", "usr/sbin"):
            self.archive.link(name, "/bin")
        self.archive.link("usr/bin/env", "/bin/busybox")
        with open(init, "rb") as f:
            self.archive.data("init", f.read(), 0o755)

    def program(self, name, path):
        """Adds the host's file PATH as NAME, with all that it needs to run."""
        self.archive.copy(name, path)
        if elf_is_dynamic(path):
            for wanted, library in libraries(path):
                self.archive.copy(library, library)
                if not wanted.startswith("/") and not self._found_by_default(library):
                    if not self.archive.has("lib/" + wanted):
                        self.archive.link("lib/" + wanted, library)

    @staticmethod
    def _found_by_default(library):
        return any(re.match(re.escape(d) + r"(/[a-z0-9_]+-linux-[a-z0-9]+)?/[^/]*$", library)
                   for d in DEFAULT_LIBRARIES)

    def tools(self, directory):
        """Adds the project's own programs if they are built. A 32-bit kernel gets none."""
        if not os.path.isdir(directory) or "VPMC_BUSYBOX" in os.environ:
            return
        for name in sorted(os.listdir(directory)):
            self.program("bin/" + name, os.path.join(directory, name))
            self.built.add(name)
        loaded = os.path.join(os.path.dirname(directory), "lib", "vpmc")
        for name in sorted(os.listdir(loaded)) if os.path.isdir(loaded) else ():
            self.program("lib/vpmc/" + name, os.path.join(loaded, name))
        groups = os.path.join(os.path.dirname(directory), "share", "vpmc", "groups")
        for name in sorted(os.listdir(groups)) if os.path.isdir(groups) else ():
            self.archive.copy("share/vpmc/groups/" + name, os.path.join(groups, name))
        # for LC_ALL=C.UTF-8
        if os.path.isfile(UTF8):
            self.archive.copy(UTF8, UTF8)

    def add(self, top):
        """Adds a directory or file of the host to /add."""
        if os.path.isfile(top):
            self.program("add/" + os.path.basename(top), top)
            return
        if not os.path.isdir(top):
            raise Refused(f"--add {top}: no such directory or file")
        real = os.path.realpath(top)
        for here, dirs, files in os.walk(top):
            dirs.sort()
            at = os.path.normpath(os.path.join("add", os.path.relpath(here, top)))
            self.archive.directory(at)
            for name in sorted(files + [d for d in dirs if os.path.islink(os.path.join(here, d))]):
                self._add_one(os.path.join(here, name), os.path.join(at, name), real)

    def _add_one(self, path, name, top):
        if os.path.islink(path):
            target = os.path.realpath(path)
            inside = target.startswith(top + "/")
            if inside or not os.path.exists(target):
                if inside and os.path.isabs(os.readlink(path)):
                    self.archive.link(name, "/add" + target[len(top):])
                else:
                    self.archive.link(name, os.readlink(path))
                return
            if os.path.isdir(target):
                raise Refused(f"{path} links to a directory outside: add that one by its own --add")
        mode = os.stat(path).st_mode
        if not stat.S_ISREG(mode):
            raise Refused(f"{path}: neither file, directory nor link")
        if not os.access(path, os.R_OK):
            raise Refused(f"{path}: cannot be read")
        self.program(name, path)

    def command(self, argv):
        """Returns COMMAND as the guest runs it. Adds files of the host that it needs."""
        name = argv[0]
        if not name:
            raise Refused("COMMAND is empty", 127)
        if "/" in name:
            inside = os.path.normpath(name)
            if inside.startswith(("/add/", "/proc/", "/dev/")) or \
                    (inside.startswith(("/out/", "/tmp/")) and not os.path.exists(name)) or \
                    (os.path.isabs(inside) and self.archive.has(inside)):
                if inside.startswith("/add/") and not self.archive.has(inside):
                    raise Refused(f"{name}: not among the files that --add brings", 127)
            elif os.path.isfile(name):
                if not os.access(name, os.X_OK):
                    raise Refused(f"{name}: not executable", 126)
                inside = "/cmd/" + os.path.basename(name)
                self.program(inside, name)
                self._check_interpreter(name)
            elif os.path.exists(name):
                raise Refused(f"{name}: not a file", 126)
            else:
                raise Refused(f"{name}: neither in the guest nor on this machine", 127)
            name = inside
        elif not self.archive.has("add/" + name) and name not in self.applets | self.built | {"busybox"}:
            here = shutil.which(name)
            hint = f"; give its path to take it along: {here}" if here else \
                ": no busybox applet, and not among the files that --add brings"
            raise Refused(f"{name}: not in the guest{hint}", 127)
        words = [name] + argv[1:]
        text = "cd /\nexec " + " ".join(shlex.quote(w) for w in words) + "\n"
        self.archive.data(".vm/command", os.fsencode(text))

    def _check_interpreter(self, path):
        wanted = interpreter(path)
        if not wanted or self.archive.has(wanted) or wanted in ("/bin/sh", "/usr/bin/env"):
            return
        if not os.path.isfile(wanted):
            raise Refused(f"{path}: its interpreter {wanted} does not exist", 127)
        self.program(wanted, wanted)
