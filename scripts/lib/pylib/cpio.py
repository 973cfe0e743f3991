# SPDX-License-Identifier: GPL-2.0
"""Writes an initramfs in the "newc" format. All files belong to root and have no time,
so that the same input gives the same guest."""

import os
import stat


class Archive:
    def __init__(self, path):
        self.file = open(path, "wb")
        self.seen = {}
        self.size = 0

    def _write(self, data):
        self.file.write(data)
        self.size += len(data)

    def _pad(self):
        self._write(b"\0" * (-self.size % 4))

    def _header(self, name, mode, size, rdev=(0, 0)):
        name = os.fsencode(name) + b"\0"
        fields = (len(self.seen) + 1, mode, 0, 0, 1, 0, size, 0, 0,
                  rdev[0], rdev[1], len(name), 0)
        self._write(b"070701" + b"".join(b"%08X" % f for f in fields) + name)
        self._pad()

    def _new(self, name, what):
        """Makes the directories above. Returns False if the same file is there already."""
        name = name.strip("/")
        if name in self.seen:
            if self.seen[name] != what:
                raise ValueError(f"/{name} would be in the guest twice")
            return False
        above = os.path.dirname(name)
        if above:
            self.directory(above)
        self.seen[name] = what
        return True

    def has(self, name):
        return name.strip("/") in self.seen

    def directory(self, name):
        if self._new(name, "dir"):
            self._header(name.strip("/"), stat.S_IFDIR | 0o755, 0)

    def link(self, name, target):
        if self._new(name, ("link", target)):
            self._header(name.strip("/"), stat.S_IFLNK | 0o777, len(os.fsencode(target)))
            self._write(os.fsencode(target))
            self._pad()

    def device(self, name, major, minor):
        if self._new(name, ("device", major, minor)):
            self._header(name.strip("/"), stat.S_IFCHR | 0o600, 0, (major, minor))

    def data(self, name, content, mode=0o644):
        if self._new(name, ("data", content)):
            self._header(name.strip("/"), stat.S_IFREG | mode, len(content))
            self._write(content)
            self._pad()

    def copy(self, name, source):
        """Adds the file SOURCE of the host, with its permissions."""
        source = os.path.realpath(source)
        if not self._new(name, ("file", source)):
            return
        with open(source, "rb") as f:
            info = os.fstat(f.fileno())
            self._header(name.strip("/"), stat.S_IFREG | info.st_mode & 0o777, info.st_size)
            left = info.st_size
            while left:
                block = f.read(min(left, 1 << 20))
                if not block:
                    raise ValueError(f"{source} shrank while it was read")
                self._write(block)
                left -= len(block)
        self._pad()

    def close(self):
        self._header("TRAILER!!!", 0, 0)
        self.file.close()
