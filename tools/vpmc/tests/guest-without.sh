#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each command on a kernel without vpmc: one line and a status. On a kernel with vpmc, /proc
# is taken away. A sanitizer needs /proc, so it wants a kernel without vpmc.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
export LD_LIBRARY_PATH=/add

while read -r words; do
	if [ -e /proc/self/perfctr ]; then
		# shellcheck disable=SC2016 # for the other shell
		set -- unshare -m sh -c 'umount -l /proc; exec vpmc $1' sh "$words"
	else
		# shellcheck disable=SC2086 # words
		set -- vpmc $words
	fi
	begins "$words: a kernel without vpmc" 125 'vpmc: ' "$@"
done <<END
$COUNTING
END
