# SPDX-License-Identifier: GPL-2.0
"""Progress of long commands. They are ended when it stops, and not after a time."""

import os
import signal
import subprocess
import threading
import time

STALL = 1800            # seconds without a new line after which a build is ended
# Ends commands of other threads. Only the main thread gets an interruption.
interrupted = threading.Event()


def beat():
    """Shows that there is progress. scripts/run-tests looks at the time of this file."""
    path = os.environ.get("VPMC_PROGRESS")
    if path and os.path.exists(path):
        os.utime(path)


def run(log, *command, stall=STALL):
    """Returns (status, lines) of a command. Its output also goes to the file LOG. It gets a
    session, so that an interruption reaches everything that it started."""
    with open(log, "wb") as f:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=f, stderr=f, start_new_session=True)
    size, since = 0, time.monotonic()
    try:
        while True:
            try:
                status = process.wait(1)
                break
            except subprocess.TimeoutExpired:
                pass
            if interrupted.is_set():
                raise KeyboardInterrupt
            if os.path.getsize(log) != size:
                size, since = os.path.getsize(log), time.monotonic()
                beat()
            elif time.monotonic() - since > stall:
                os.killpg(process.pid, signal.SIGKILL)
                status = process.wait()
                with open(log, "ab") as f:
                    f.write(f"ended: no new line for {stall} s\n".encode())
                break
    except BaseException:
        os.killpg(process.pid, signal.SIGTERM)
        raise
    with open(log, encoding="utf-8", errors="replace") as f:
        return status, f.read().splitlines()
