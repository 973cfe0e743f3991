# SPDX-License-Identifier: GPL-2.0
"""The directories of the cache and of results. scripts/lib/common.sh has the same for the shell."""

import errno
import os
import re

VERSIONS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "versions")


def directory():
    return os.path.join(os.getcwd(), os.environ.get("VPMC_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "vpmc"))


def base():
    """Returns the base of the kernel (KBASE) if it is not the default, else None."""
    with open(VERSIONS, encoding="utf-8") as f:
        default = re.search(r"^KBASE_DEFAULT=(.*)$", f.read(), re.M).group(1)
    name = os.environ.get("KBASE")
    return None if name in (None, "", default) else name


def of_kernel():
    """Returns the directory for what is made of the kernel's source."""
    return os.path.join(directory(), f"base-{base()}") if base() else directory()


def make_results(path):
    """Makes a directory for results, which is in the clone. ValueError says what helps."""
    try:
        os.makedirs(path, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise ValueError(f"{path} cannot be written ({error.strerror}): "
                         "results need a directory of yours; use a clone of your own") from error
