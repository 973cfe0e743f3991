#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# usage: guest-many.sh N	with N threads at once
# Every command works with many threads, and none of them is lost without a word.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
n=$1

vpmc stat -x , -o csv -e instructions -- many "$n"
equal "$n threads: stat" "0 $((n + 1))" "$? $(field 4 threads csv)"
vpmc stat --per-thread -x , -o csv -e instructions -- many "$n"
equal "$n threads: stat --per-thread" 0 $?
equal "$n threads: each has a row, or is told to have none" $((n + 1)) \
	$(($(awk -F , '$1 != "" && $3 == "run-time"' csv | wc -l) + $(field 4 unlisted csv)))
# The kernel keeps so many.
[ "$n" -gt 16384 ] || equal "$n threads: each has a row" 0 "$(field 4 unlisted csv)"
vpmc record -o record -e instructions -c 1000000 -- many "$n" >/dev/null 2>said
equal "$n threads: record" 0 $?
vpmc report -o table record
equal "$n threads: report" 0 $?
LD_LIBRARY_PATH=/add vpmc graph -e instructions -o g -- many "$n" >said 2>&1
equal "$n threads: graph" 0 $?
# each thread is in a tree, or told
trees=$(grep -o '"threads":[0-9]*' g.json | awk -F : '{ n += $2 } END { print n }')
lost=$(sed -n 's/.*"unrecorded":\([0-9]*\).*/\1/p' g.json)
equal "$n threads: graph has them all, or says how many are missing" "$((n + 1))" "$((trees + lost))"
many "$n" &
vpmc cpus -n 2 -d 0.1 >tables
equal "$n threads: cpus" 0 $?
wait
