# SPDX-License-Identifier: GPL-2.0
"""Where built things are kept, as scripts/lib/common.sh has it for the shell."""

import os


def directory():
    return os.environ.get("VPMC_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vpmc")
