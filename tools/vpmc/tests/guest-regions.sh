#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vpmc stat -m: the regions of marked.c, whose counts are known.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

# of NAME EVENT [KIND]: a number of a region, from the CSV
of() {
	awk -F , -v kind="${3:-region}" -v name="$1" -v event="$2" '$1 == kind && $2 == name && $3 == event { print $4 }' csv
}
# sum NAME EVENT WANTED: prints WANTED if the region has counted that. A sample during which
# its thread lost the processor is dirty. In it a read may be repeated, which counts, too.
sum() {
	_got=$(of "$1" "$2")
	[ "$_got" -lt "$3" ] || [ "$_got" -gt $(($3 + 200 * $(of "$1" dirty))) ] || _got=$3
	echo "$_got"
}
# run WORD...: counts marked
run() {
	vpmc stat -m -x , -o csv -e instructions,branches -- "$@" >said 2>&1
}

run marked threads
equal "three threads: status, what is said" "0 0" "$? $(wc -l <said)"
equal "a region of three threads" "3 300 30300 15000" \
	"$(of region threads) $(of region calls) $(sum region instructions:u 30300) $(sum region branches:u 15000)"
equal "an empty region" "300 0 0" "$(of "empty region" calls) $(sum "empty region" instructions:u 0) $(sum "empty region" branches:u 0)"
equal "the inner regions are not in the exclusive value" 12000 \
	"$(($(of "outer region" branches:u) - $(of "outer region" branches:u exclusive)))"
equal "the whole is counted, too" 1 "$(($(awk -F , '$1 == "" && $3 == "instructions:u" { print $4 }' csv) > 1000000))"
equal "processes" "1 0" "$(field 4 region-processes csv) $(field 4 region-processes-lost csv)"
equal "the whole has the same set as without -m: its threads" 4 "$(field 4 threads csv)"

vpmc stat -m -x ';' -o csv -e '{cpu/event=0xc4,umask=0/,instructions}:u,cs' -- marked threads
equal "events as perf writes them, and a name without a counter" "0 15000 30300 0" "$? $(awk -F ';' '
	$1 == "region" && $2 == "region" && $3 ~ /^"?cpu/ { branches = $4 }
	$1 == "region" && $2 == "region" && $3 ~ /^instr/ { instructions = $4 }
	$1 == "region" && $2 == "region" && $3 == "dirty" { more = 200 * $4 }
	$1 == "region" && $3 == "cs" { other++ }
	function near(got, wanted) { return got >= wanted && got <= wanted + more ? wanted : got }
	END { print near(branches, 15000), near(instructions, 30300), other + 0 }' csv)"

run marked forks
equal "the program, a child and a grandchild" "3 0" "$(field 4 region-processes csv) $(field 4 region-processes-lost csv)"
equal "each has the region" "2 202" "$(of region calls) $(sum region instructions:u 202)"
run marked exec
equal "a program that executes itself: its first part is lost" "1 1" \
	"$(field 4 region-processes csv) $(field 4 region-processes-lost csv)"
equal "the regions of the second part" 100 "$(of region calls)"
run marked "exec writes"
equal "with VPMC_WRITE nothing is lost" "2 0" "$(field 4 region-processes csv) $(field 4 region-processes-lost csv)"
equal "the regions of both parts" 101 "$(of region calls)"
run marked writes
equal "a child that writes its report and ends by _exit()" "2 0" \
	"$(field 4 region-processes csv) $(field 4 region-processes-lost csv)"
run marked closes
equal "a program that closes all descriptors" 100 "$(of region calls)"
run marked signals
equal "a handler" "100 100" "$(of handler calls) $(of "around a handler" calls)"
VPMC_REPORT=own.json VPMC_EVENTS=cycles run marked
equal "a program with a report of its own: both have it" "100 1 2" \
	"$(of region calls) $(grep -c '"name":"empty region","calls":100,' own.json) $(grep -o '"events":\[{"event":"[^]]*' own.json | head -n 1 | grep -o '"event":' | wc -l)"
vpmc stat -m -x , -o csv -e none -- marked >said 2>&1
equal "-e none: calls and the run time" "100 0" "$(of region calls) $(wc -l <said)"
vpmc stat -m -x , -o csv -e instructions --no-inherit -- marked threads >said 2>&1
equal "--no-inherit: threads program sets of their own" "3 30300" "$(of region threads) $(sum region instructions:u 30300)"
vpmc stat -m -x , -o csv -e 'instructions,cache-misses?' -- marked >said 2>&1
equal "an event that is left out" 10100 "$(sum region instructions:u 10100)"
for option in "-e branch-misses?" "--metrics -e instructions,branch-misses?" "-d --metrics" "--metrics -M branch"; do
	# shellcheck disable=SC2086 # words
	vpmc stat -m -x , -o csv $option -- marked >said 2>&1
	equal "events that are left out, and all counters in use: $option" "100 0" "$(of region calls) $(wc -l <said)"
done
run sh -c 'marked; kill -9 $$'
equal "the status is COMMAND's" "137 100" "$? $(of region calls)"
vpmc stat -o text -e instructions -- marked >said 2>&1
equal "without -m nothing is said of regions" "0 0" "$(grep -c Region text) $(wc -l <said)"
vpmc stat -m -o text -e instructions,branches -- marked signals
equal "the table" "Region handler: 100 calls, 1 threads;;INCLUSIVE EXCLUSIVE OF THE WHOLE;300 300 0.01% instructions:u;0 0 0.00% branches:u;" \
	"$(sed -n '/^Region handler/,/branches/p' text | awk '{ $1 = $1; printf "%s;", $0 }')"
vpmc stat -m -o text -e instructions -- true
equal "a program without markers" "No process had regions: compile the program with -DVPMC and -lvpmc; sudo, su and env -i must be before vpmc stat, not behind it." "$(grep regions text)"
