#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# Without privileges, what is permitted counts. What is not permitted says what to set.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
chmod 777 .

# counted CONFINEMENT...: stat and the library must count under it
counted() {
	rm -f csv
	confined "$@" vpmc stat -x , -o csv -e instructions -- known
	equal "confined $*: stat counts" "$KNOWN_ALONE" "$(awk -F , '$3 == "instructions:u" { print $4 }' csv)"
	equal "confined $*: info" "Counting is possible." "$(confined "$@" vpmc info | tail -n 1)"
	equal "confined $*: the library" "1 accepted" "$(echo instructions | confined "$@" accept)"
}
PARANOID="kernel.vpmc_paranoid"
sysctl -qw $PARANOID=0
counted -u
counted -n
counted -s
counted -s -u -n

sysctl -qw $PARANOID=1
R="only privileged users may count; sysctl kernel.vpmc_paranoid=0"
bad "paranoid 1, as nobody" 125 "vpmc: counting: $R" confined -u vpmc stat -e instructions true
bad "paranoid 1, in a user namespace" 125 "vpmc: counting: $R" confined -n vpmc stat -e instructions true
bad "paranoid 1, as nobody and without perf" 125 "vpmc: counting: $R" confined -s -u vpmc stat -e instructions true
equal "paranoid 1: the library" "counting: $R
0 accepted" "$(echo instructions | confined -u accept)"
equal "paranoid 1: info" "Counting is not possible. counting: $R" "$(confined -u vpmc info | tail -n 1)"
confined -u vpmc info -q
equal "paranoid 1: info -q" 1 $?
confined -u vpmc stat -e none -o /dev/null true
equal "paranoid 1: run time is free" 0 $?
sysctl -qw $PARANOID=2
begins "paranoid 2: not even that" 125 "vpmc: this thread's counters: only privileged users may count" \
	confined -u vpmc stat -e none true
sysctl -qw $PARANOID=0

bad "the kernel, as nobody" 125 "vpmc: counting: counting the kernel is not allowed; sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON; or count ':u' alone" \
	confined -u vpmc stat -e instructions:k true
equal "the kernel, as root" 1 "$(($(value instructions:k -e instructions:k -- true) > 1000))"

# a program that gains privileges loses its counters
mkdir -p gains
cp /bin/busybox gains/true
chmod 4755 gains/true
confined -u vpmc stat -x , -o csv -e instructions -- gains/true
equal "a set-user-ID program is marked, and told" "left 1" "$(field 13 instructions:u csv) $(field 4 left-exec csv)"
rm -f rows
confined -u vpmc stat --per-thread -x , -o rows -e instructions -- gains/true
equal "--per-thread: it gains them" "left 1" \
	"$(awk -F , '$1 != "" && $3 == "instructions:u" { print $13 }' rows) $(field 4 left-exec rows)"
# With little memory, threads that end fast have no rows, and are told.
rm -f rows
confined -l 4096 -u vpmc stat --per-thread -x , -o rows -e instructions -- many 300
unlisted=$(field 4 unlisted rows)
equal "--per-thread with little memory: threads without a row are told" "301 1" \
	"$(($(awk -F , '$1 != "" && $3 == "run-time"' rows | wc -l) + unlisted)) $((unlisted > 0))"
bad "--per-thread without locked memory" 125 \
	"vpmc: counting: the ring, or the records of members, need more locked memory than allowed; smaller ones, or ulimit -l" \
	confined -l 0 -u vpmc stat --per-thread -e instructions true
equal "nothing of it is counted" 0 "$(awk -F , '$3 == "instructions:u" { print $4 }' csv)"

# threads of a process that come and go
churn &
churn=$!
for i in 1 2 3 4 5; do
	vpmc stat -p $churn -x , -o csv -e instructions -- sleep 0.05
	equal "-p of threads that come and go: $i" "0 1" "$? $(awk -F , '$3 == "instructions:u" { print ($4 > 1000) }' csv)"
done
kill $churn
# a thread that ends while it is programmed does not disturb the others' counts: its
# CONTROL fails, or one or both of the READ_CONTROLs after it
crew &
crew=$!
tries=0
until [ "$(find /proc/$crew/task -mindepth 1 -maxdepth 1 | wc -l)" = 4 ] || [ $tries = 200 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
for call in "control 2 2" "control 4 4" "read-control 1 2" "read-control 2 2" "read-control 7 8" "read-control 8 8"; do
	# shellcheck disable=SC2086 # three words
	vanish $call vpmc stat -p $crew -x , -o csv -e instructions -- sleep 0.02
	equal "-p of a thread that ends at its ${call% *}" "0 1 fixed" "$? $(awk -F , '$3 == "instructions:u" { print ($4 > 1000), substr($9, 1, 5) }' csv)"
done
kill $crew
# stat that is killed leaves nothing behind in its target
sleep 100 &
target=$!
vpmc stat -p $target -e instructions >/dev/null 2>&1 &
stat=$!
tries=0
until vpmc ctl read -t $target >/dev/null 2>&1 || [ $tries = 200 ]; do
	tries=$((tries + 1))
	sleep 0.05
done
vpmc ctl read -t $target >/dev/null 2>&1
equal "-p has programmed its target" 0 $?
kill -9 $stat
wait $stat 2>/dev/null
begins "-p that was killed leaves nothing" 125 "vpmc: thread $target: " vpmc ctl read -t $target
kill $target
# a process that ends
sh -c 'sleep 0.2; known many' &
target=$!
timeout 20 vpmc stat -p $target -x , -o csv -e instructions
equal "-p until the process ends: it and its children" 1 \
	"$(awk -F , -v many="$KNOWN_MANY" '$3 == "instructions:u" { print ($4 >= many && $4 < many + 50000) }' csv)"
