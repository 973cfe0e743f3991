#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# usage: guest-sanitized.sh SCRIPT...
# Runs other scripts of the guest with the command that was built with sanitizers.
mkdir -p /tmp/sanitized
ln -sf /add/vpmc-sanitized /tmp/sanitized/vpmc
export PATH="/tmp/sanitized:$PATH" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1
for script; do
	sh "/add/guest-$script"
done
