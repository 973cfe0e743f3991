# SPDX-License-Identifier: GPL-2.0
"""The arguments of scripts/vm."""

import sys

from . import kvm
from .guest import Refused
from .usage import show

KVM_CPU = "host,pmu=on"


def number(option, value, least, most):
    try:
        n = float(value) if option in ("--timeout", "--stall") else int(value)
    except ValueError:
        n = None
    if n is None or not least <= n <= most:
        raise Refused(f"{option} wants a number from {least} to {most}, not '{value}'")
    return n


class Options:
    FLAGS = ("--tty", "--add-kernel", "--parallel", "--plain", "--kvm")
    TEXTS = ("--expect", "--permit", "--without")
    LIMITS = {"--cpus": (1, 8), "--mem": (64, 65536), "--timeout": (0, 1e9), "--stall": (0, 1e9),
              "--wake": (0, 1000)}

    def __init__(self, args, usage):
        self.value = {"--cpus": 2, "--mem": 512, "--timeout": None, "--stall": None, "--kernel": None,
                      "--log": None, "--cpu": None, "--append": "", "--out": None, "--wake": 0}
        self.add, self.qemu, self.expect, self.permit, self.without = [], [], [], [], []
        self.tty = self.add_kernel = self.parallel = self.plain = self.kvm = False
        args = list(args)
        seen = set()
        while args and args[0].startswith("-"):
            name, equals, value = args.pop(0).partition("=")
            if name == "--" and not equals:
                break
            if name == "--help":
                show(usage)
                sys.exit(0)
            if name in self.FLAGS and not equals:
                setattr(self, name[2:].replace("-", "_"), True)
                continue
            if name not in self.value and name not in ("--add", "--qemu", *self.TEXTS):
                raise Refused(f"unknown option {name} (--help lists them)")
            if not equals:
                if not args:
                    raise Refused(f"{name} wants a value (--help)")
                value = args.pop(0)
            self._set(name, value, seen)
        if not args:
            raise Refused("no COMMAND given (--help)")
        self.plain = self.plain or self.kvm
        self.command = args

    def choose_cpu(self, kernel, directory, says):
        """Decides whether the kernel runs by KVM, and which CPU model it gets."""
        if self.kvm:
            why = kvm.problem(self.value["--cpu"] or KVM_CPU, kernel, directory, says)
            self.kvm = not why
            if why:
                says(why + "; this is what --plain does")
        if self.value["--cpu"] is None:
            self.value["--cpu"] = KVM_CPU if self.kvm else \
                "Skylake-Client" if self.plain else "Skylake-Client,pmu=on"

    def _set(self, name, value, seen):
        if name == "--add":
            self.add.append(value)
        elif name == "--qemu":
            self.qemu.append(value)
        elif name in self.TEXTS:
            if not value:
                raise Refused(f"{name} wants a value (--help)")
            getattr(self, name[2:]).append(value)
        elif name in seen:
            raise Refused(f"{name} is given twice")
        else:
            seen.add(name)
            if name in self.LIMITS:
                value = number(name, value, *self.LIMITS[name])
            elif not value and name != "--append":
                raise Refused(f"{name} wants a value (--help)")
            self.value[name] = value

    def __getitem__(self, name):
        return self.value["--" + name]
