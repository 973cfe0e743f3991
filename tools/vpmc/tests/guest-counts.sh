#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# Checks what stat counts, to the last digit.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

equal "a program alone" "$KNOWN_ALONE" "$(value instructions:u -e instructions -- known)"
equal "a program with 3 threads and 2 children" "$KNOWN_MANY" "$(value instructions:u -e instructions -- known many)"
equal "it has 6 threads" 6 "$(field 4 threads)"
equal "perf counts the same, alone" "$KNOWN_ALONE" "$(perfcount known)"
equal "perf counts the same, with threads and children" "$KNOWN_MANY" "$(perfcount known many)"
equal "--no-inherit: the first thread alone" "$((KNOWN_ALONE + 2 + 1 + 3 * 11 + 1 + 2 * 11 + 1 + 2 * 8))" \
	"$(value instructions:u --no-inherit -e instructions -- known many)"
equal "it is one thread" 1 "$(field 4 threads)"

# with two programs beside it that compete for the CPUs
sh -c 'while :; do :; done' &
one=$!
sh -c 'while :; do :; done' &
two=$!
equal "20 runs beside two others: the mean" "$KNOWN_MANY" "$(value instructions:u -r 20 -e instructions -- known many)"
equal "the deviation" 0.000000 "$(field 6 instructions:u)"
equal "the runs" 20 "$(field 7 instructions:u)"
equal "the deviation of the threads" 0.000000 "$(field 6 threads)"
vpmc stat -r 2 -j -o json -e instructions,branches -- known many
kill $one $two
wait

# -r: the runs share standard input
used='The first run has read standard input: the other runs had what was left of it.'
seq 9 >numbers
vpmc stat -r 2 -o text -e none -- cat <numbers >/dev/null
equal "-r: a file as standard input was read" "$used" "$(grep input text)"
vpmc stat -r 2 -o text -e none -- head -n 1 <numbers >/dev/null
equal "-r: a part of it was read" "$used" "$(grep input text)"
seq 9 | vpmc stat -r 2 -x , -o csv -e instructions -- cat >/dev/null
equal "-r: a pipe was read" input "$(field 13 instructions:u csv)"
vpmc stat -r 2 -x , -o csv -e instructions -- true <numbers
equal "-r: a file was not read" "" "$(field 13 instructions:u csv)"
sleep 1 | vpmc stat -r 2 -o text -e none -- true
equal "-r: a pipe was not read" "" "$(grep input text)"
vpmc stat -o text -e none -- cat <numbers >/dev/null
equal "one run may read" "" "$(grep input text)"

# all formats have the same numbers, for programs that run several times
vpmc stat -r 2 -x ';' -o csv -e instructions,branches -- known many
vpmc stat -r 2 -o text -e instructions,branches -- known many
cp json csv text /out
equal "text" "$KNOWN_MANY" "$(awk '$2 " " $3 " " $4 == "+- 0.000 instructions:u" { print $1 }' text | tr -d ,)"
equal "the usual events" "instructions:u cycles:u branches:u branch-misses:u run-time switches migrations elapsed threads user-time system-time minor-faults major-faults max-rss living left-control left-unlink left-exec lost replaced" \
	"$(value x -- known >/dev/null; awk -F , 'NR > 1 { printf "%s%s", s, $3; s = " " }' /tmp/csv)"
equal "a ratio" 1.000000 "$(value x -e instructions,cycles -- known >/dev/null; field 11 instructions:u)"
equal "two -e" "2000007 2000007" \
	"$(value instructions:u -e instructions -e cycles -- known) $(field 4 cycles:u)"
equal "@N and a whole select" "1 3" "$(value x -e cycles@1,0x100c0@3 -- known >/dev/null
	field 9 cycles:u) $(field 9 0x100c0)"

# groups: four of these fit at once, because one of them uses a fixed counter, and perf
# keeps the first programmable one
list=instructions,instructions:k,instructions:uk,branches:k,branches:uk,branches
equal "--split: each event as if alone" "$(value instructions:u -e instructions -- known) $(value branches:u -e branches -- known)" \
	"$(value instructions:u --split -e $list -- known) $(field 4 branches:u)"
equal "--split: the groups" "0 0 0 0 1 1" "$(for e in instructions:u instructions:k instructions:uk branches:k branches:uk branches:u; do
	field 10 $e; done | xargs)"
equal "--split: what fits is one group" "0 0" "$(value x --split -e instructions,branches -- known >/dev/null
	echo "$(field 10 instructions:u) $(field 10 branches:u)")"
equal "--split says in text that there were two runs" \
	"The command was run once for each of 2 groups of events: 2 runs." \
	"$(vpmc stat --split -e $list -- known 2>&1 | grep 'run once')"
equal "--metrics" "instructions:u per cycle 1.000000" \
	"$(value x --metrics -- known >/dev/null; echo "instructions:u per cycle $(field 4 'instructions:u per cycle')")"
equal "--metrics adds to what is asked for" "$KNOWN_ALONE" "$(value instructions:u --metrics -e branches -- known)"
equal "--metrics --split: the same ratios" "$(field 4 'branches:u per 1000 instructions')" \
	"$(value 'branches:u per 1000 instructions' --metrics --split -e branches -- known)"

# each thread by itself
value instructions:u --per-thread -e instructions -- known many >/tmp/all
equal "--per-thread: all" "$KNOWN_MANY" "$(cat /tmp/all)"
equal "--per-thread: a row for each" 6 "$(awk -F , '$1 != "" && $3 == "instructions:u"' /tmp/csv | wc -l)"
equal "--per-thread: they add up" "$KNOWN_MANY" \
	"$(awk -F , '$1 ~ /[0-9]/ && $3 == "instructions:u" { n += $4 } END { print n }' /tmp/csv)"
equal "--per-thread: those that were created" "5 $((KNOWN_ALONE - 1))" \
	"$(awk -F , '$1 ~ /[0-9]/ && $3 == "instructions:u" && $4 < 2000050 { print $4 }' /tmp/csv | uniq -c | awk '{ print $1, $2 }')"
equal "--per-thread: the first thread comes first" "known $((KNOWN_MANY - 5 * (KNOWN_ALONE - 1)))" \
	"$(awk -F , '$1 ~ /[0-9]/ && $3 == "instructions:u" { print $2, $4; exit }' /tmp/csv)"
equal "--per-thread: none is missing" 0 "$(field 4 unlisted)"
for way in --no-inherit --stopped; do
	vpmc stat --per-thread $way -x , -o csv -e instructions -- known many
	equal "--per-thread $way: the first thread" "known $(field 4 instructions:u csv)" \
		"$(awk -F , '$1 ~ /[0-9]/ && $3 == "instructions:u" { print $2, $4; exit }' csv)"
	rows=6
	[ $way = --stopped ] || rows=1
	equal "--per-thread $way: rows" $rows "$(awk -F , '$1 ~ /[0-9]/ && $3 == "instructions:u"' csv | wc -l)"
done
equal "--per-thread: nobody traces the program" "TracerPid: 0" \
	"$(vpmc stat --per-thread -o /dev/null -e instructions -- grep TracerPid /proc/self/status | xargs)"
rm -f rows
vpmc stat --per-thread -x , -o rows -e instructions -- sh -c 'sleep 1000 >/dev/null 2>&1 & known; :'
equal "--per-thread: those that live on have rows" "known sh sleep" \
	"$(awk -F , '$1 ~ /[0-9]/ && $3 == "run-time" { print $2 }' rows | sort | xargs)"
kill "$(pidof sleep)"
# Sums of threads that leave their family early are those of their own rows
for way in control unlink; do
	vpmc stat --per-thread -x , -o csv -e instructions -- selfish $way >said
	equal "--per-thread: a thread that leaves by $way" "left $(field 4 instructions:u csv)" \
		"$(awk -F , '$1 ~ /[0-9]/ && $3 == "instructions:u" { print $13, $4 }' csv)"
done

# phases that the program starts and stops itself
equal "--stopped: what the program starts itself" "$KNOWN_PHASE" "$(value instructions:u --stopped -e instructions -- known phase now)"
equal "--stopped: nothing else" 0 "$(value instructions:u --stopped -e instructions -- known)"
rm -f go child
mkfifo go
vpmc stat --stopped -x , -o csv -e instructions -- sh -c 'echo $$ >child; read x <go; exec known' &
await test -s child
child=$(cat child)
equal "ctl read: stopped" 1 "$(vpmc ctl read -t "$child" | grep -c 'stopped  *state')"
vpmc ctl start -t "$child"
equal "ctl read: running" 1 "$(vpmc ctl read -t "$child" | grep -c 'running  *state')"
vpmc ctl stop -t "$child"
vpmc ctl clear -t "$child"
equal "ctl clear" 0 "$(vpmc ctl read -t "$child" | awk '/instructions/ { print $1 }')"
equal "ctl read -j" '"value":0' "$(vpmc ctl read -j -t "$child" | grep -o '"value":.*')"
equal "ctl read -j: the thread itself is one" '"threads":1' "$(vpmc ctl read -j -t "$child" | grep -o '"threads":[0-9]*')"
equal "ctl read -j: it is stopped" '"state":"stopped"' "$(vpmc ctl read -j -t "$child" | grep -o '"state":"[a-z]*"')"
echo >go
wait
equal "ctl stop" 0 "$(awk -F , '$3 == "instructions:u" { print $4 }' csv)"

# descendants that go on without the set
vpmc stat -e instructions -o text -- sh -c 'echo instructions | accept; :'
equal "a child with counters of its own is told" \
	"1 threads programmed counters of their own: what they did later is missing." \
	"$(grep 'of their own' text)"
equal "nothing else is" "" "$(grep 'unlinked\|other privileges\|lost' text)"
vpmc record -o record -e instructions -c 100000 -- sh -c 'echo instructions | accept; :' 2>said
equal "record: it is told" "vpmc: 1 threads: programmed counters of their own; what they did later has no samples" "$(cat said)"
equal "report: it is told" "1 threads programmed counters of their own: what they did later has no samples" \
	"$(vpmc report record | grep 'of their own')"

# COMMAND itself, and what it has counted until then, to the last instruction but the calls
near() {
	_status=1
	[ "$3" -ge "$2" ] && [ "$3" -lt "$(($2 + 100))" ] && _status=0
	echo "wanted: $2, got: $3" >/tmp/differ
	result "$1" $_status /tmp/differ
}
for way in control unlink; do
	vpmc stat -x , -o csv -e instructions -- selfish $way >said
	near "$way: what was counted before" "$(cat said)" "$(field 4 instructions:u csv)"
	equal "$way: it is told" "left 1" "$(field 13 instructions:u csv) $(field 4 left-$way csv)"
done
vpmc stat -e instructions -o text -- selfish control >said
equal "text says so" "1 threads programmed counters of their own: what they did later is missing." \
	"$(grep 'of their own' text)"
vpmc stat -x , -o csv -e instructions -- selfish thread
status=1
[ "$(field 4 instructions:u csv)" -ge 2000000 ] && [ "$(field 4 instructions:u csv)" -lt 2200000 ] && status=0
result "another thread is counted on" $status csv
equal "it is one thread that left" 1 "$(field 4 left-control csv)"
vpmc stat -x , -o csv -e instructions -- selfish child
status=1
[ "$(field 4 instructions:u csv)" -ge 2000000 ] && [ "$(field 4 instructions:u csv)" -lt 2200000 ] && status=0
result "the parent of one that left is counted on" $status csv
for way in --no-inherit --stopped; do
	vpmc stat $way -x , -o csv -e instructions,branches -- selfish control >said
	equal "$way: nothing is told under a wrong name" "0 0 replaced 1" \
		"$(field 4 instructions:u csv) $(field 4 branches:u csv) $(field 13 branches:u csv) $(field 4 replaced csv)"
done
vpmc stat --no-inherit -o text -e instructions -- selfish control >said
equal "text says so, too" "1 threads programmed other counters in place of these: all their counts are missing." \
	"$(grep 'in place of' text)"
rm -f child
sh -c 'echo $$ >child; read x <go; exec selfish control' >said &
await test -s child
vpmc stat -x , -o csv -e branches -p "$(cat child)" &
stat=$!
await vpmc ctl read -t "$(cat child)"
echo >go
wait $stat
wait
equal "-p: nothing is told under a wrong name" "0 replaced 1" \
	"$(field 4 branches:u csv) $(field 13 branches:u csv) $(field 4 replaced csv)"
vpmc stat --per-thread -x , -o csv -e instructions -- selfish thread
equal "--per-thread: a row for what the one that left did before, and one for the other" \
	"2 $(field 4 instructions:u csv) 1" \
	"$(awk -F , '$1 != "" && $3 == "instructions:u" { n++; sum += $4; left += $13 == "left" } END { print n, sum, left }' csv)"
vpmc record -o record -e instructions -c 10000 -- selfish thread 2>said
status=1
[ "$(vpmc report record | awk '/samples of instructions/ { print $1 }')" -ge 200 ] && status=0
result "record: another thread is sampled on" $status said

# Who executes vpmc may count itself.
for way in '' --no-inherit --per-thread; do
	rm -f csv
	# shellcheck disable=SC2086 # none or one
	selfish exec vpmc stat $way -x , -o csv -e instructions -- known
	equal "${way:-inherit}: stat by a thread that has counters" "0 $KNOWN_ALONE" "$? $(field 4 instructions:u csv)"
done

# A program that adds to what counts it
for way in --no-inherit --per-thread ''; do
	# shellcheck disable=SC2086 # none or one
	vpmc stat $way -x , -o csv -e instructions -- selfish add >said
	status=1
	[ "$(field 4 instructions:u csv)" -ge 2000000 ] && [ "$(field 4 instructions:u csv)" -lt 2100000 ] && status=0
	result "${way:-inherit}: a program that adds a counter is counted" $status csv
	near "${way:-inherit}: it counts, too" 1000000 "$(cat said)"
	equal "${way:-inherit}: its counts are all there" "" "$(field 13 instructions:u csv)"
done
vpmc record -o record -e instructions -c 10000 -- selfish add >/dev/null
equal "record: a program that adds a counter is sampled" 200 \
	"$(vpmc report record | awk '/ add_and_turn / { print $3 - $3 % 10 }')"

rm -f child record
vpmc stat -o text -e instructions -- sh -c 'echo instructions | accept; echo $$ >child; read x <go' &
stat=$!
await test -s child
equal "ctl read: it is told" "1 threads programmed counters of their own: what they did later is missing." \
	"$(vpmc ctl read -t "$stat" | grep 'of their own')"
equal "ctl read -j: it is told" '"left_control":1' "$(vpmc ctl read -j -t "$stat" | tr -d ' ' | grep -o '"left_control":[0-9]*')"
echo >go
wait

# threads that live on, and how the program ended
equal "those that live on are told" "1 of the threads live on; they are counted up to the end of this." \
	"$(vpmc stat -e instructions -- sh -c 'sleep 1000 >/dev/null 2>&1 &' 2>&1 | grep 'live on')"
kill "$(pidof sleep)"
vpmc stat -o /dev/null -e none -- sh -c 'exit 3'
equal "status 3" 3 $?
vpmc stat -o /dev/null -e none -- sh -c 'kill -9 $$'
equal "a signal" 137 $?
equal "a signal in text" "The command was ended by signal 9 (Killed)." \
	"$(vpmc stat -e none -- sh -c 'kill -9 $$' 2>&1 | grep signal)"
equal "options behind COMMAND are COMMAND's" "-r -e" "$(vpmc stat -o /dev/null echo -r -e)"

# signals
# ends SIGNAL STATUS: the command gets it, and the result is printed
ends() {
	vpmc stat -x , -o csv -e instructions -- sleep 1000 &
	pid=$!
	signalled "$1" pidof sleep
	equal "SIG$1: the status" "$2" $?
	equal "SIG$1: the result" 1 "$(grep -c '^,,instructions:u,[1-9]' csv)"
	rm csv
}
ends TERM 143
ends HUP 129
# The terminal itself sends its signal to the program. Then vpmc must not send another one.
for command in "vpmc stat -o csv -e instructions --" perfex; do
	# shellcheck disable=SC2086 # words
	equal "Ctrl-C in $command: the program gets it once" "1 SIGINT status 7" \
		"$(taskset 1 terminal $command terminal --count 2>&1 | tr -d '\r' | grep -x '[0-9]* SIGINT\|status [0-9]*' | xargs)"
done
plain vpmc stat -o csv -e instructions -- terminal --count >counted &
pid=$!
signalled INT grep ready counted
equal "SIGINT by kill: the program gets it once" "7 1 SIGINT" "$? $(sed -n 's/.*\([0-9] SIGINT\).*/\1/p' counted)"
vpmc stat -r 100 -x , -o csv -e instructions -- sleep 1000 &
pid=$!
signalled TERM pidof sleep
equal "a signal ends the repetition" "143 1" "$? $(awk -F , '$3 == "instructions:u" { print $7 }' csv)"

# perfex prints nothing that is not the whole
LEFT="perfex: the command has removed its counters, or executed a program with other privileges: what it did then is not known; vpmc stat tells what was counted before that"
bad "perfex: counters that the command removes" 125 "$LEFT" \
	sh -c 'exec perfex -e 0x4100c0 selfish unlink >/dev/null'
cp /add/known unreadable
chmod 711 unreadable
bad "perfex: a program with other privileges" 125 "$LEFT" \
	confined -u perfex -e 0x4100c0 ./unreadable

# bench: in each sample the instructions are those of the code
vpmc bench -n 20 >readings
# of WAY COUNTERS: least and greatest number of instructions
of() {
	awk -v way="$1" -v counters="$2" '$1 == way && $2 == counters && $3 == "instructions" { print $5, $8 }' readings
}
equal "bench: inline, 1 counter" "18 18" "$(of inline 1)"
equal "bench: inline, 4 counters" "40 40" "$(of inline 4)"
equal "bench: RDTSC" "4 4" "$(of RDTSC 0)"
# perf and the watchdog keep some of the counters
has=$(vpmc info | awk '$1 == "counters:" { print $2 + $7 }')
equal "bench: a way that does not fit" 1 "$(grep -c "^inline, counters: 8: left out: this processor counts at most $has events" readings)"
vpmc bench -j -n 7 >readings
cp readings /out/bench.json
equal "bench: JSON, ways and those left out" "17 3" "$(grep -o '"way":' readings | wc -l) $(grep -o '"left_out":' readings | wc -l)"
equal "bench: a histogram" 1 "$(vpmc bench -H -n 3 | awk '/^inline, counters: 1, ticks:$/ { getline; n = $2 " " length($3) } END { print n == "3 50" }')"
echo 0 >/sys/bus/event_source/devices/cpu/rdpmc
vpmc bench -n 3 >readings
equal "bench: no RDPMC: perf's page has no counter either" \
	"perf page, counters: 1: left out: RDPMC is forbidden: /sys/bus/event_source/devices/cpu/rdpmc is 0" "$(grep '^perf page' readings)"
echo 1 >/sys/bus/event_source/devices/cpu/rdpmc
# a stand-in for a hybrid processor, which has two PMUs
mount -t tmpfs none /sys/bus/event_source/devices
mkdir /sys/bus/event_source/devices/cpu_core
echo 1 >/sys/bus/event_source/devices/cpu_core/rdpmc
equal "info: who may read, on a hybrid processor" 1 "$(vpmc info | grep -c '^/sys/bus/event_source/devices/cpu_core/rdpmc.* 1$')"
umount /sys/bus/event_source/devices
bad "bench: no samples" 125 "vpmc: -n 0: not a number from 1 to 1000000; give one" vpmc bench -n 0
bad "bench: an argument" 125 "vpmc: x: vpmc bench takes no argument; leave it out" vpmc bench x
