# SPDX-License-Identifier: GPL-2.0
"""What --help prints."""

import signal


def show(text):
    """Prints it. A reader that goes away, as "| head" does, ends the program without a word."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    print(text.strip())
