#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# Checks what users of perf stat write: its spellings of events, and names that take no
# counter.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
V='vpmc: '

# spelled LIST NAME: what is counted under the name, and its select
spelled() {
	vpmc stat -x ';' -o csv -e "$1" -- known
	awk -F ';' -v name="$2" '$3 == name { print $4, $8 }' csv
}
equal "cpu/TERMS/" "$KNOWN_ALONE 0x100c0" "$(spelled cpu/event=0xc0,umask=0x0/ cpu/event=0xc0,umask=0x0/u)"
equal "cpu/TERMS/u in a group" "$KNOWN_ALONE 0x100c0" "$(spelled '{cycles,cpu/event=192/u}:u' cpu/event=192/u)"
branches=$(spelled branches branches:u)
equal "a group is its list" "$branches" "$(spelled '{instructions,branches},cycles' branches:u)"
equal "the modes of a group are each event's" "$branches" "$(spelled '{instructions,branches}:u,cycles:k' branches:u)"
equal "cpu/NAME/" "$branches" "$(spelled cpu/branches/u cpu/branches/u)"
equal "perf's generic name" "$branches" "$(spelled branch-loads branch-loads:u)"
equal "perf's pseudo event of a fixed counter" "$KNOWN_ALONE 0x10100" "$(spelled cpu/event=0,umask=1/ cpu/event=0,umask=1/u)"
vpmc stat -a -x , -o csv -e '{instructions,cpu/event=0xc0/u},cpu/event=0xc4/' -- true
equal "-a: without modes, both" "instructions:uk cpu/event=0xc0/u cpu/event=0xc4/uk" "$(awk -F , 'NR > 1 && $2 == "" && $3 ~ /[:\/]/ { print $3 }' csv | xargs)"
vpmc record -o record -e cpu/event=0xc0/u -c 100000 -- known
equal "record takes them" 20 "$(vpmc report record | awk '/samples of cpu/ { print $1 }')"

# Terms that only perf's driver knows
format=/sys/bus/event_source/devices/cpu/format
mkdir -p format
echo config:24-27,12-15 >format/parts
echo config:0-7 >format/whole
echo config1:0-63 >format/other
echo config:33 >format/refused
echo nonsense >format/nonsense
mount --bind format "$(readlink -f $format)"
equal "a term of the driver: its bits" 0x20110c0 "$(vpmc stat -x ';' -o csv -e cpu/whole=0xc0,parts=0x12/ -- known
	awk -F ';' '/^;;cpu/ { print $8 }' csv)"
begins "bits that another term has" 125 "${V}cpu/event=0xc0,parts=0x12,umask=0/: another term has bits of 'umask'" \
	vpmc stat -e cpu/event=0xc0,parts=0x12,umask=0/ true
begins "a term of the driver in another register" 125 "${V}cpu/whole=0xc0,other=1/: the term 'other' needs one more register" \
	vpmc stat -e cpu/whole=0xc0,other=1/ true
begins "a term of the driver that the kernel refuses" 125 "${V}cpu/refused/: the kernel does not permit the term 'refused'" \
	vpmc stat -e cpu/refused/ true
begins "a file that is no format" 125 "${V}cpu/nonsense=1/: the term 'nonsense' needs one more register" vpmc stat -e cpu/nonsense=1/ true
umount "$(readlink -f $format)"
begins "a term that nobody knows" 125 "${V}cpu/whole=0xc0/: there is no term 'whole' for this processor's counters; the terms are " \
	vpmc stat -e cpu/whole=0xc0/ true
begins "a term is no path" 125 "${V}cpu/..=1/: " vpmc stat -e cpu/..=1/ true
equal "without /sys" "$KNOWN_ALONE 0x100c0" "$(unshare -m sh -c 'umount -l /sys
	vpmc stat -x ";" -o csv -e cpu/event=0xc0,umask=0/ -- known'; awk -F ';' '/^;;cpu/ { print $4, $8 }' csv)"
bad "perf's modifier" 125 "${V}cycles:ppp: 'p' asks for samples by PEBS or IBS, which vpmc does not use; leave it out, or use perf record" \
	vpmc stat -e cycles:ppp true
bad "another PMU" 125 "${V}power/energy-pkg/: 'power' is another PMU, and vpmc has the processor's counters alone; perf stat counts that, for the machine as a whole" \
	vpmc stat -e power/energy-pkg/ true

for words in "stat -e" "stat -a -e" "record -o record -e"; do
	# shellcheck disable=SC2086 # words
	bad "$words: a tracepoint" 125 "${V}sched:sched_switch: it is a tracepoint of the kernel, and no counter of the processor counts it; use perf stat -e sched:sched_switch; vpmc stat -e has context-switches, cpu-migrations and page-faults" \
		vpmc $words sched:sched_switch true
done
bad "a breakpoint" 125 "${V}mem:0x1000:rw: it is a breakpoint of perf, and no counter of the processor counts it; use perf stat -e mem:0x1000:rw" \
	vpmc stat -e mem:0x1000:rw true
# one that no list of names has, but the kernel
begins "a tracepoint that the kernel has" 125 "${V}ours:one: it is a tracepoint of the kernel, " \
	unshare -m sh -c 'mount -t tmpfs none /sys/kernel; mkdir -p /sys/kernel/tracing/events/ours; vpmc stat -e ours:one true'
begins "a name that the kernel has not" 125 "${V}ours:one: no event has that name" vpmc stat -e ours:one true

# Names that take no counter
soft=task-clock,context-switches,cpu-migrations,page-faults,minor-faults,major-faults,user-time,system-time,max-rss,duration_time
for list in instructions,$soft $soft,instructions "{task-clock,instructions:u,cs?},migrations,user_time"; do
	equal "the counts are the same with $list" "$KNOWN_MANY" "$(value instructions:u -e "$list" -- known many)"
done
equal "they are in their order" "instructions:u task-clock cs migrations user_time" \
	"$(awk -F , 'NR > 1 && NR < 7 { print $3 }' /tmp/csv | xargs)"
equal "they are facts by other names" "$(field 4 run-time) $(field 4 switches) $(field 4 user-time)" \
	"$(field 4 task-clock) $(field 4 cs) $(field 4 user_time)"
equal "a fact that is named is printed once" 1 "$(grep -c '^,,migrations,' /tmp/csv)"
equal "their units" "ns events events ns" "$(for e in task-clock cs migrations user_time; do field 5 $e; done | xargs)"
equal "without a hardware event" "task-clock page-faults run-time" \
	"$(value x -e task-clock,page-faults -- known >/dev/null; awk -F , 'NR > 1 && NR < 5 { print $3 }' /tmp/csv | xargs)"
equal "none and a name" "task-clock run-time" \
	"$(value x -e none -e task-clock -- known >/dev/null; awk -F , 'NR > 1 && NR < 4 { print $3 }' /tmp/csv | xargs)"
equal "--split has them once" "1 1" "$(vpmc stat --split -x , -o csv -e task-clock,rd0,rd1,rd2,rd3,rd4,rd5 -- known
	echo "$(grep -c '^,,task-clock,' csv) $(awk -F , '$10 == 1 { print "1"; exit }' csv)")"
equal "-r: as many as runs" "3 3" "$(value x -r 3 -e user-time,task-clock -- known >/dev/null; echo "$(field 7 user-time) $(field 7 task-clock)")"
equal "--no-inherit has them, too" 1 "$(value page-faults --no-inherit -e page-faults -- known | grep -c '^[1-9]')"
# within NAME LEAST MOST VALUE
within() {
	printf 'from %s to %s, got: %s\n' "$2" "$3" "$4" >/tmp/differ
	_status=1
	[ "$4" -ge "$2" ] && [ "$4" -le "$3" ] && _status=0
	result "$1" $_status /tmp/differ
}
# faults PAGES: minor faults of a program that touches so many pages
faults() {
	value minor-faults -e minor-faults,page-faults,major-faults -- spender pages "$1"
}
few=$(faults 1000)
# the rest of the program has a few more or less
within "minor-faults: 2000 pages more" $((few + 1980)) $((few + 2020)) "$(faults 3000)"
equal "page-faults is the sum of both" "$(($(field 4 minor-faults) + $(field 4 major-faults)))" "$(field 4 page-faults)"
rss=$(value max-rss -e max-rss -- spender pages 10000)
within "max-rss is in bytes" 40960000 61440000 "$rss"
vpmc stat -x , -o csv -e user-time,system-time -- spender time 200 >said
used=$(cat said)
within "user and system time are in nanoseconds" $((used * 1000)) $((used * 1000 + 100000000)) \
	"$(($(field 4 user-time csv) + $(field 4 system-time csv)))"
equal "text says how long it ran in which mode" "seconds user time seconds system time" \
	"$(vpmc stat -e none -- known 2>&1 | awk '/ seconds (user|system) time$/ { print $2, $3, $4 }' | xargs)"
sleep 1000 &
target=$!
vpmc stat -x , -o csv -e cs,migrations,task-clock -p $target -- known
equal "-p has those of threads, and no others" "cs 1 migrations 0 task-clock 1 " \
	"$(for e in cs migrations task-clock user-time; do awk -F , -v e=$e '$3 == e { printf "%s %d ", e, $7 != "" }' csv; done | sed 's/migrations 1/migrations 0/')"
vpmc stat -j -o json -e task-clock -p $target -- known
equal "-p: JSON has no user time" 0 "$(grep -c user_time json)"
bad "-p: what is known of a COMMAND alone" 125 "${V}max-rss: the kernel tells it of a COMMAND that has ended, and not of -p and -t; leave it out" \
	vpmc stat -e cycles,max-rss -p $target
kill $target
bad "-a: what is of threads" 125 "${V}cs: is of threads, and here processors are counted; leave it out" vpmc stat -a -e cs true
bad "vpmc cpus: likewise" 125 "${V}faults: is of threads, and here processors are counted; leave it out" vpmc cpus -e faults -n 1
bad "a name twice" 125 "${V}context-switches: is the same as 'cs' in the list; name it once" vpmc stat -e cs,cycles,context-switches true
bad "a name with modes" 125 "${V}page-faults: takes no counter, and is of user and kernel mode together; leave ':u' out" vpmc stat -e page-faults:u true
bad "a name of perf's that is not here" 125 "${V}cpu-clock: vpmc has no such number; use task-clock, the time on a processor" vpmc stat -e cpu-clock true
bad "record has none of them" 125 "${V}page-faults: no counter of the processor counts it; vpmc stat -e prints it; see also getrusage(2) and vpmc_read_sums(3)" \
	vpmc record -e page-faults true

# vpmc list finds what -e takes, and says why it takes another one not
equal "list: perf's other names" "cpu-cycles branch-instructions L1-dcache-loads" \
	"$(for name in CPU-cycles 'branch-instr*' L1-dcache-loads; do vpmc list -n "$name"; done | xargs)"
equal "list: one that needs a register" "LLC-loads extra-msr" "$(vpmc list LLC-loads | awk '{ print $1, $2 }')"
begins "list: one that this processor has not" 125 "${V}L1-dcache-prefetches: perf has no event 'L1-dcache-prefetches' for this processor, " \
	vpmc list L1-dcache-prefetches
for name in task-clock max-rss; do
	bad "list: $name" 125 "${V}$name: takes no counter, so it is no event of the processor; vpmc stat -e prints it" vpmc list $name
done
bad "list: one that vpmc has not" 125 "${V}cpu-clock: vpmc has no such number; use task-clock, the time on a processor" vpmc list cpu-clock
bad "list: a name with modes" 125 "${V}instructions:u: is more than a name; vpmc stat -e takes it as it is, vpmc list wants the name alone" \
	vpmc list instructions:u
begins "list: a misspelled name" 125 "${V}instuctions: no event has that name; did you mean instructions" vpmc list instuctions
vpmc stat --format openmetrics -o soft.prom -e instructions -- spender time 50 >said
time=$(sed -n 's/^vpmc_user_seconds_total //p' soft.prom)
equal "openmetrics: a sum, and the greatest" "1 1" "$(vpmc stat --format openmetrics -o soft.prom -e instructions -- spender pages 9000
	awk -v before="$time" '/^vpmc_user_seconds_total / { up = $2 >= before && before > 0 } /^vpmc_max_rss_bytes / { rss = $2 >= 9000 * 4096 }
		END { print up, rss }' soft.prom)"
most=$(grep '^vpmc_max_rss_bytes ' soft.prom)
vpmc stat --format openmetrics -o soft.prom -e instructions -- known
equal "openmetrics: the greatest stays" "$most" "$(grep '^vpmc_max_rss_bytes ' soft.prom)"
rm soft.prom

# What vpmc-stat(1) says to write in place of perf stat's options
sleep 1000 &
target=$!
while read -r words; do
	rm -f here
	sh -c "vpmc stat $(echo "$words" | sed "s/PID/$target/; s/FILE/here/; s/-C 0-3/-C 0-1/") -- known" >said 2>&1 </dev/null
	status=$?
	[ ! -e here ] || cat here >>said
	equal "the page: $words" "0 result" "$status $(grep -q '^vpmc: ' said || grep -qE 'elapsed|^CPU ' said && echo result)"
done </add/perf-here
kill $target
equal "the page has so many" 1 "$(($(wc -l </add/perf-here) >= 20))"
