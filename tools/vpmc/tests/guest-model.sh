#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# usage: guest-model.sh TABLE SELECT	on a processor with this table of libpfm4, whose
#					event select for instructions in user mode is SELECT
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

equal "info names the table" "\"table\":\"$1\"" "$(vpmc info -j | grep -o '"table":[^,]*')"
equal "info: counting is possible" "Counting is possible." "$(vpmc info | tail -n 1)"
vpmc list --names >unmarked
vpmc list | sed 's/ .*//' >names
grep -vxF -f unmarked names >marked
equal "instructions programs $2" "$2 $KNOWN_ALONE" \
	"$(value x -e instructions -- known >/dev/null; echo "$(field 8 instructions:u) $(field 4 instructions:u)")"
equal "the portable names come first" "instructions cycles" "$(head -n 2 names | xargs)"
# some events can only be counted by the counter that perf keeps
equal "each name without a mark is accepted" "$(wc -l <unmarked) accepted" "$(accept --left <unmarked)"
equal "there are many of them" 1 "$(($(wc -l <unmarked) > 20))"
equal "no name with a mark is" "0 accepted" "$(accept <marked | tail -n 1)"
