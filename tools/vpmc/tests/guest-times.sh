#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# stat -I, -D and --timeout, and several targets of -p and -t.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
mkdir -p /out/times

# total EVENT FILE: the sum of all intervals of threads, or of all processors together
total() {
	awk -F , -v event="$1" '$3 == "" && $4 == event { n += $5 } END { printf "%d", n }' "$2"
}
# paused NAME COMMAND...: starts COMMAND in the background. It waits until somebody writes to
# NAME.go, with its number in NAME.pid, and then executes "known".
paused() {
	_paused=$1
	shift
	rm -f "$_paused.pid" "$_paused.go"
	mkfifo "$_paused.go"
	"$@" sh -c "(:); echo \$\$ >$_paused.pid; read x <$_paused.go; exec known" &
	await test -s "$_paused.pid"
}
# several intervals have ended
some_intervals() {
	[ "$(awk -F , '$4 == "instructions:u"' "$1" | wc -l)" -ge "$2" ]
}

# -I
vpmc stat -I 2 -x , -o csv -e instructions,branches -- known many
equal "-I: the intervals add up to the whole" "0 $KNOWN_MANY" "$? $(total instructions:u csv)"
result "-I: there are several" "$(some_intervals csv 3; echo $?)" csv
equal "-I: each begins where the one before ended, and is as long as it says" "" "$(awk -F , '
	$4 == "instructions:u" { if ($1 - $2 != end || $2 < 0) print; end = $1 }' csv)"
equal "-I: all but the last one end behind the next multiple of the length" "" "$(awk -F , '
	$4 == "instructions:u" { if (early) print early; n = int($1 / 2000000); early = n > last ? "" : $0; last = n }' csv)"
equal "-I: their other numbers" "events events ns  " \
	"$(awk -F , 'NR > 1 && NR < 7 { printf "%s%s", s, $6; s = " " }' csv)"
# An interval that ends late does not move those behind it: 206 times 2 ms.
vpmc stat -I 2 --timeout 412 -x , -o csv -e none -- sleep 1000
equal "-I: the multiples are those of the beginning" 206 "$(grep -c run-time csv)"
vpmc stat -I 2 -j -o /out/times/threads.json -e instructions,branches,cs -- known many
equal "-I -j: the whole comes last, in a line" "1 0" \
	"$(grep -c '"exit_status":0' /out/times/threads.json) $(tail -n 1 /out/times/threads.json | grep -c interval_ns)"
vpmc stat -I 2 -o text -e instructions -- known many
equal "-I: text has the whole below" "$KNOWN_MANY TIME $KNOWN_MANY" "$(awk '$1 ~ /^[0-9]/ && $2 == "instructions:u" { gsub(",", ""); print $1 }' text) $(
	awk 'NR == 1 { printf "%s ", $1 } NF == 3 && NR > 1 { gsub(",", ""); n += $2 } /^$/ { exit } END { printf "%d", n }' text)"
vpmc stat -I 2 -x , -o csv -e none -- known many
equal "-I -e none: the run time alone" "run-time switches migrations" "$(awk -F , 'NR > 1 && NR < 5 { print $4 }' csv | xargs)"
vpmc stat -I 5 -x , -o csv --no-inherit -e instructions -- known
equal "-I --no-inherit" "$KNOWN_ALONE" "$(total instructions:u csv)"
vpmc stat -I 1 -x , -o csv -e instructions -- sh -c 'exit 3'
equal "-I: COMMAND's status" 3 $?
# what programs do with sets of their own takes nothing back
for way in control unlink add; do
	for inherit in '' --no-inherit; do
		# shellcheck disable=SC2086 # none or one
		vpmc stat -I 1 -x , -o csv $inherit -e instructions -- selfish $way >said
		equal "-I $inherit: nothing is taken back: selfish $way" "" "$(awk -F , 'NR > 1 && $5 > 100000000000' csv)"
	done
done
vpmc stat -I 1 -x , -o csv --no-inherit -e instructions -- selfish control >said
equal "-I: a set that was replaced is marked" replaced "$(tail -n 1 csv | cut -d , -f 8)"
vpmc stat -I 100000 -x , -o csv --no-inherit -e instructions -- \
	sh -c 'echo 1 >/proc/sys/kernel/vpmc_revoke; echo 0 >/proc/sys/kernel/vpmc_revoke; sleep 0.1'
equal "-I: a set that was revoked is marked in the last interval, too" revoked "$(tail -n 1 csv | cut -d , -f 8)"
rm -f csv go counted
mkfifo go
vpmc stat -I 5 -x , -o csv --no-inherit -e instructions -- sh -c 'echo $$ >child; i=0; while [ $i -lt 2000 ]; do i=$((i + 1)); done; : >counted; read x <go' &
await test -e counted
before=$(grep -c instructions csv)
await some_intervals csv $((before + 2))
vpmc ctl clear -t "$(cat child)"
echo >go
wait
equal "-I: a set that is cleared: what was counted since" "" "$(awk -F , 'NR > 1 && $5 > 100000000000' csv)"
# a result that cannot be written does not end COMMAND
mkdir -p full
mount -t tmpfs -o size=4k full full
rm -f ended
vpmc stat -I 1 -j -o full/json -e instructions -- sh -c 'until grep -q "no more intervals" said; do known; done; touch ended' 2>said
equal "-I: a full disk: the status, COMMAND has ended, and the file stays" "125 ended 1" \
	"$? $(ls ended) $(head -n 1 full/json | grep -c time_ns)"
equal "-I: a full disk: it is told once, and at the end" \
	"vpmc: -I: No space left on device: no more intervals are written; COMMAND is counted to its end
vpmc: full/json: cannot write it: No space left on device; free some space, or name another file by -o" "$(cat said)"
umount full
rm -f ended status
(
	vpmc stat -I 1 -x , -o - -e instructions -- sh -c 'known many; known many; touch ended' 2>/dev/null
	echo $? >status
) | head -n 1 >first
await test -s status
equal "-I: a closed pipe" "time ended 125" "$(cut -d , -f 1 first) $(ls ended) $(cat status)"

# -D: as the same from the same place by vpmc ctl
paused one vpmc stat --stopped -x , -o csv -e instructions --
vpmc ctl start -t "$(cat one.pid)"
echo >one.go
wait
from_there=$(field 4 instructions:u csv)
for inherit in '' --no-inherit; do
	# shellcheck disable=SC2086 # none or one
	rm -f csv
	paused one vpmc stat -D 50 -I 10 -x , -o csv $inherit -e instructions --
	# The first interval comes when the delay is over.
	await some_intervals csv 1
	echo >one.go
	wait
	equal "-D $inherit: what was before is left out" "$from_there" "$(total instructions:u csv)"
done
paused one vpmc stat -D 50 -I 10 -j -o /out/times/delay.json -e instructions --
await grep interval_ns /out/times/delay.json
echo >one.go
wait
equal "-D -j: threads that had ended are not in their number" 1 "$(tail -n 1 /out/times/delay.json | grep -o '"threads":[0-9]*' | cut -d : -f 2)"
equal "-D -j: the same, and no time of the whole" "1 1 0" \
	"$(tail -n 1 /out/times/delay.json | grep -c "\"value\":$from_there,") $(
	grep -c '"delay_ms":50' /out/times/delay.json) $(grep -c user_time /out/times/delay.json)"
vpmc stat -D 100000 -x , -o csv -e instructions -- known
equal "-D: it ends before" "0 0 early 0" "$? $(field 4 instructions:u csv) $(field 13 instructions:u csv) $(field 4 elapsed csv)"
equal "-D: text says so" "Nothing was counted: it ended before the delay of -D was over." \
	"$(vpmc stat -D 100000 -e instructions -- known 2>&1 | grep Nothing)"
rm -f later
vpmc stat -D 50 -r 3 -x , -o csv -e instructions -- sh -c 'test -e later && exec sleep 0.1; touch later; exit 7'
equal "-D -r: a run that ends before is no part of the mean, but has failed" "7 2 " \
	"$? $(field 7 instructions:u csv) $(field 13 instructions:u csv)"
rm later
vpmc stat -D 50 -r 3 -j -o /out/times/early.json -e instructions -- sh -c 'test -e later && exec sleep 0.1; touch later'
equal "-D -r: JSON says how many" "2 1" "$(sed -n 's/.*"\(runs\|early_runs\)": *\([0-9]*\),*$/\2/p' /out/times/early.json | xargs)"
rm later
equal "-D -r: text says so" "1 more runs are left out: they ended before the delay of -D was over." \
	"$(vpmc stat -D 50 -r 2 -e instructions -- sh -c 'test -e later && exec sleep 0.1; touch later' 2>&1 | grep 'left out')"
# a run that cannot begin does not take those before with it
printf '#!/bin/sh\nrm once\n' >once
chmod +x once
vpmc stat -r 3 -x , -o csv -e instructions -- ./once 2>said
equal "-r: the next run cannot begin: the runs before, the status and the reason" \
	"127 1 vpmc: ./once: no such command; name one that is in PATH, or give its path" \
	"$? $(field 7 instructions:u csv) $(cat said)"
printf '#!/bin/sh\nrm once\n' >once
chmod +x once
equal "-r: text says so" "Of 3 runs, 1 were made: the next one could not begin." \
	"$(vpmc stat -r 3 -e instructions -- ./once 2>&1 | grep '^Of')"
vpmc stat --stopped -x , -o csv -e instructions -- known
equal "--stopped: nobody starts it" "0 not-started" "$(field 4 instructions:u csv) $(field 13 instructions:u csv)"
vpmc stat --stopped -o text -e instructions -- known
equal "--stopped: text says so" 1 "$(grep -c '^Nothing was counted: nobody has started the counters' text)"
equal "an error leaves no head of intervals" "125 " "$(vpmc stat -I 10 -o head -e rd0,rd1,rd2,rd3,rd4,rd5,rd6,rd7 -- known 2>said; echo $?) $(cat head 2>/dev/null)"
vpmc stat -I 10 --timeout 40 -x , -o csv -e none -- sleep 1000
equal "-I --timeout: the last interval is not a rest" 4 "$(grep -c run-time csv)"
vpmc stat -D 100000 --format openmetrics -o early.prom -e instructions -- known
equal "-D --format openmetrics: it ends before" 1 "$(grep -c '^vpmc_events_total.* 0$' early.prom)"
rm early.prom
vpmc stat -D 100000 -I 1 -x , -o csv -e instructions -- known
equal "-D -I: it ends before" 1 "$(wc -l <csv)"

# --timeout
vpmc stat --timeout 50 -x , -o csv -e instructions -- sleep 1000
equal "--timeout: the status, and how often" "0 1" "$? $(field 4 timed-out csv)"
equal "--timeout: text says so" "The time of --timeout was over, and the command got SIGTERM." \
	"$(vpmc stat --timeout 50 -e none -- sleep 1000 2>&1 | grep timeout)"
vpmc stat --timeout 50 -j -o /out/times/timeout.json -e instructions -- sh -c 'trap "exit 7" TERM; while :; do :; done'
equal "--timeout: COMMAND's own status" 7 $?
vpmc stat --timeout 100000 -x , -o csv -e instructions -- known
equal "--timeout: it ends before" "0 $KNOWN_ALONE 0" "$? $(field 4 instructions:u csv) $(field 4 timed-out csv)"
vpmc stat -r 3 --timeout 20 -x , -o csv -e instructions -- sleep 1000
equal "--timeout -r: of each run" "0 3 3" "$? $(field 7 instructions:u csv) $(field 4 timed-out csv)"
rm -f second
vpmc stat -r 2 --timeout 20 -o text -e none -- sh -c '[ -e second ] && exit 5; touch second; exec sleep 1000'
equal "--timeout -r: another failure" 5 $?
vpmc stat --warmup 1 --timeout 20 -o text -e none -- sleep 1000
equal "--timeout --warmup" 0 $?
vpmc stat --timeout 20 -o text -e none -- sh -c 'kill -9 $$'
equal "--timeout: another signal" 137 $?
vpmc stat --timeout 20 -o text -e none -- sh -c 'trap "" TERM; (trap - TERM; exec sleep 1000) & echo $! >deaf; wait $!' 2>said &
stat=$!
await grep -q timeout said
kill -15 "$(cat deaf)"
wait $stat
status=$?
equal "--timeout: COMMAND does not end" "143 1" "$status $(grep -c '^vpmc: --timeout: COMMAND does not end by SIGTERM, and is counted on; kill -9 [0-9]* ends it$' said)"
vpmc stat -D 50 --timeout 50 -x , -o csv -e none -- sleep 1000
equal "-D --timeout: after the delay" "1 1" "$(field 4 timed-out csv) $(field 4 elapsed csv | awk '{ print ($1 >= 50000000 && $1 < 5000000000) }')"

# several targets
paused one
paused two
vpmc stat -x , -o csv -e instructions -p "$(cat one.pid),$(cat two.pid)" &
stat=$!
for name in one two; do
	await vpmc ctl read -t "$(cat $name.pid)"
done
echo >one.go
await sh -c "! kill -0 $(cat one.pid)"
kill -0 $stat
equal "-p: one of them has ended" 0 $?
echo >two.go
wait $stat
equal "-p PID,PID: both, until both have ended" "0 $((2 * from_there)) 2" "$? $(field 4 instructions:u csv) $(field 4 threads csv)"
wait
paused one
paused two
vpmc stat -j -o /out/times/pids.json -e instructions -p "$(cat one.pid)" -p "$(cat two.pid)" --timeout 50
equal "-p --timeout: the measurement ends" 0 $?
vpmc stat -o text -e instructions -t "$(cat one.pid),$(cat two.pid)" --timeout 50
equal "-t TID,TID: they are named" "Counts of threads $(cat one.pid), $(cat two.pid):" "$(head -n 1 text)"
vpmc stat -I 10 -x , -o csv -e instructions -t "$(cat one.pid),$(cat two.pid)" &
stat=$!
await some_intervals csv 2
echo >one.go
echo >two.go
wait $stat
equal "-t -I: the intervals add up" "$((2 * from_there))" "$(total instructions:u csv)"
wait
paused one
paused two
vpmc stat -o other -e instructions -p "$(cat two.pid)" &
stat=$!
await vpmc ctl read -t "$(cat two.pid)"
begins "-p PID,PID: one of them is counted already" 125 "vpmc: thread $(cat two.pid) (sh): is counted already: " \
	vpmc stat -e instructions -p "$(cat one.pid),$(cat two.pid)"
bad "-p PID,PID: the other one has no counters then" 125 \
	"vpmc: thread $(cat one.pid): has no counters; program some, as by vpmc stat --stopped" vpmc ctl read -t "$(cat one.pid)"
bad "-t TID,TID: one of them is counted already" 125 "vpmc: thread $(cat two.pid) (sh): is counted already: 1 events, the first one's select is 0x100c0; end what programmed that, or wait for it" \
	vpmc stat -e instructions -t "$(cat one.pid),$(cat two.pid)"
echo >one.go
echo >two.go
wait

# -a
vpmc stat -a -I 5 -j -o /out/times/cpus.json -e instructions,branches:u -- known many
vpmc stat -a -I 5 -x , -o csv -e instructions:u -- known many
equal "-a -I: processors, and their sum" "$(total instructions:u csv)" \
	"$(awk -F , '$3 != "" && $4 == "instructions:u" { n += $5 } END { printf "%d", n }' csv)"
vpmc stat -C 1 -I 5 -x , -o csv -e instructions:u -- known many
equal "-C -I: that processor alone" 1 "$(awk -F , 'NR > 1 && $3 != "" { print $3 }' csv | sort -u)"
vpmc stat -C 1 -D 100000 -j -o json -e instructions:u -- known
equal "-C -D: it ends before" "1 1" "$(grep -c '"early":true' json) $(grep -c '"asked":"1"' json)"
rm -f one.go counted csv
mkfifo one.go
vpmc stat -a -D 500 -I 10 -x , -o csv -e instructions:u -- sh -c 'known; : >counted; read x <one.go' &
await test -e counted
equal "-a -D: it has counted within the delay" 0 "$(grep -c instructions:u csv)"
await some_intervals csv 1
echo >one.go
wait
equal "-a -D: what was before is left out" yes "$([ "$(total instructions:u csv)" -lt "$KNOWN_ALONE" ] && echo yes)"
vpmc stat -a -D 100000 -x , -o csv -e instructions:u -- known
equal "-a -D: it ends before" "0 early" "$(awk -F , '$1 == "" && $3 == "instructions:u" { print $4, $8 }' csv)"
vpmc stat -a -D 300 -I 100 -j -o json -e instructions:u -- sh -c 'known
	echo 1 >/proc/sys/kernel/vpmc_revoke; sleep 0.6; echo 0 >/proc/sys/kernel/vpmc_revoke'
equal "-a -D: revoked within the delay: nothing is counted" "1 1 1" "$(wc -l <json) $(grep -c '"early":true' json) $(grep -c '"value":0}' json)"
vpmc stat -a -I 20 -x , -o csv -e instructions:u -- sh -c 'known; sleep 0.1
	echo 1 >/proc/sys/kernel/vpmc_revoke; sleep 0.1; echo 0 >/proc/sys/kernel/vpmc_revoke'
equal "-a -I: the intervals from a revocation on are marked, and no other" "yes unmarked,marked" \
	"$(awk -F , '$4 == "instructions:u" { print ($8 == "revoked" ? "marked" : "unmarked") }' csv | uniq -c |
	awk '{ s = s c $2; c = ","; if ($1 < 6) few = 1 } END { print (few ? "no" : "yes"), s }')"
vpmc stat -a --timeout 50 -x , -o csv -e instructions:u
equal "-a --timeout: CSV" 1 "$(awk -F , '$3 == "timed-out" { print $4 }' csv)"
vpmc stat -a -o text -e instructions:u -- sh -c 'exit 3'
equal "-a: text has the time, and COMMAND's status" "1 1" "$(grep -c 'seconds elapsed' text) $(grep -c '^The command ended with status 3.$' text)"
vpmc stat -a --timeout 50 -j -o json -e instructions:u
equal "-a --timeout: without COMMAND" "0 1" "$? $(grep -c '"timed_out":1' json)"
vpmc stat -a --timeout 50 -o text -e instructions:u -- sleep 1000
equal "-a --timeout: COMMAND" "0 1" "$? $(grep -c 'got SIGTERM' text)"
vpmc stat -a -D 50 -I 10 -x , -o csv -e instructions:u --timeout 35
equal "-a -D -I --timeout: intervals" yes "$(awk -F , '$3 == "" { n++ } END { print (n >= 3 && n <= 6 ? "yes" : n) }' csv)"

bad "-I 0" 125 "vpmc: -I 0: not a number from 1 to 1000000000; give one" vpmc stat -I 0 true
bad "-D -1" 125 "vpmc: -D -1: not a number from 1 to 1000000000; give one" vpmc stat -D -1 true
bad "--timeout 1s" 125 "vpmc: --timeout 1s: not a number from 1 to 1000000000; give one" vpmc stat --timeout 1s true
for option in '-r 2' '--warmup 1' --split '--format openmetrics -o x' '--rank -o x'; do
	# shellcheck disable=SC2086 # words
	bad "-I and $option" 125 "vpmc: -I: shows one run; leave out -r, --warmup, --split, --rank and --format openmetrics, which has --interval" \
		env PMI_RANK=0 vpmc stat -I 10 $option true
done
for option in -m '-M basic' --metrics --per-thread; do
	# shellcheck disable=SC2086 # words
	bad "-I -x and $option" 125 "vpmc: -I and -x: CSV has the intervals alone; leave out -m, -M, --metrics and --per-thread, or use -j" \
		vpmc stat -I 10 -x , $option true
done
bad "-I and --vs" 125 "vpmc: -I: shows one run, and --vs compares runs; leave out -I" vpmc stat -I 10 --vs true true
for option in -m --stopped --per-thread; do
	bad "-D and $option" 125 "vpmc: -D: leaves out the beginning of sums alone; leave out -m, --stopped and --per-thread" \
		vpmc stat -D 10 $option true
done
bad "-D and user-time" 125 "vpmc: user-time: the kernel tells it of a COMMAND from its beginning on; leave it out, or -D" \
	vpmc stat -D 10 -e user-time true
bad "-p: a number that is there twice" 125 "vpmc: -p: 1 is there twice; name it once" vpmc stat -p 1 -p 2,1
bad "-p: an empty number" 125 "vpmc: -p: a number in the list is empty; write it, or leave out the comma" vpmc stat -p 1,
bad "-t and -p" 125 "vpmc: -p and -t: one of them is possible at a time; leave out the other one" vpmc stat -t 1 -p 2
begins "-p: the second one is not there" 125 "vpmc: thread 99999: there is no such thread" vpmc stat -e none -p 1,99999
bad "-p: the first one has no counters then" 125 \
	"vpmc: thread 1: has no counters; program some, as by vpmc stat --stopped" vpmc ctl read -t 1
