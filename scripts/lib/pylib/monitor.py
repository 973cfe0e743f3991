# SPDX-License-Identifier: GPL-2.0
"""The emulator's monitor (QMP). It tells how many instructions the guest has executed,
and when the guest suspends. The guest does not notice questions or answers."""

import json
import socket
import threading


class Monitor(threading.Thread):
    """Counts instructions, and wakes a guest that has suspended to RAM."""

    def __init__(self, machine, wakes):
        super().__init__(daemon=True)
        self.machine = machine
        self.wakes = wakes
        self.refused = False        # the guest suspended more often than allowed
        self.stopped = False        # QEMU could not go on, such as after an error of KVM
        self.instructions = 0       # as of the last answer
        self.waiting = True         # for an answer
        self.connection, far = socket.socketpair()
        machine.command += ["-chardev", f"socket,id=qmp,fd={far.fileno()}",
                            "-mon", "chardev=qmp,mode=control"]
        machine.inherit.append(far.detach())

    def _execute(self, command):
        try:
            self.connection.sendall(json.dumps({"execute": command}).encode())
        except OSError:
            pass                    # the emulator has ended

    def ask(self):
        """Asks for the number of instructions, unless the last answer is still missing."""
        if not self.waiting:
            self.waiting = True
            self._execute("query-replay")

    def _suspended(self):
        if not self.wakes:
            self.refused = True
            self.machine.kill()
            return
        self.wakes -= 1
        self._execute("system_wakeup")

    def _message(self, message):
        if "QMP" in message:
            self._execute("qmp_capabilities")
        elif message.get("event") == "SUSPEND":
            self._suspended()
        elif message.get("event") == "STOP":
            self.stopped = True
            self.machine.kill()
        elif "return" in message:
            self.instructions = message["return"].get("icount", self.instructions)
            self.waiting = False

    def run(self):
        try:
            with self.connection.makefile(encoding="utf-8") as lines:
                for line in lines:
                    self._message(json.loads(line))
        except (OSError, ValueError):
            pass                    # the emulator was killed in the middle of a line
