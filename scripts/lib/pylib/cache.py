# SPDX-License-Identifier: GPL-2.0
"""The directory of the cache. scripts/lib/common.sh has the same for the shell."""

import os


def directory():
    return os.environ.get("VPMC_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vpmc")
