# SPDX-License-Identifier: LGPL-2.1-or-later
"""The results of a test program in a guest: a line for each check, and the exit status"""

import sys

failed = []


def check(name, good):
    if not good:
        failed.append(name)
    print(("ok - " if good else "not ok - ") + name)


def finish():
    sys.exit(1 if failed else 0)
