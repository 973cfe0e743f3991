#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vpmc ctl -p: all threads of a process.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
V='vpmc: '
mkfifo lines
exec 3<>lines

# rows [COLUMN]: this column of the table's threads; the first one is the third, STATE
rows() {
	awk -v column="${1:-3}" '$1 ~ /^[0-9]+$/ { print $column }' table | xargs
}
# crew_has N: the process has so many threads
crew_has() {
	[ "$(find "/proc/$crew/task" -mindepth 1 -maxdepth 1 | wc -l)" = "$1" ]
}
# counted OPTION...: runs crew under vpmc stat, and waits until it has its four threads
counted() {
	vpmc stat "$@" -x , -o csv -e instructions,branches -- crew listen <lines 3<&- &
	stat=$!
	await pidof crew
	crew=$(pidof crew)
	await crew_has 4
}
# sum: of the row "all" of the table, the instructions
sum() {
	awk '$1 == "all" { gsub(",", ""); print $2 }' table
}
# family: the instructions of the first thread with all that have inherited its set
family() {
	vpmc ctl read -t "$crew" | awk '/instructions/ { gsub(",", ""); print $1 }'
}

counted --stopped
vpmc ctl read -p "$crew" >table
equal "read: a status, and a row for each thread" "0 stopped stopped stopped stopped" "$? $(rows)"
equal "read: the threads" "$(cd "/proc/$crew/task" && echo ./* | tr -d ./)" "$(rows 1)"
equal "read: the head" "THREAD NAME STATE instructions:u branches:u RUN TIME" "$(head -n 1 table | xargs)"
equal "read: names" "crew crew crew crew" "$(rows 2)"
vpmc ctl start -p "$crew" >said 2>&1
equal "start: it says nothing" "0 " "$? $(cat said)"
vpmc ctl read -p "$crew" >table
equal "start: each thread" "running running running running" "$(rows)"
# The first thread creates another one, which inherits its state.
echo more >&3
await crew_has 5
vpmc ctl stop -p "$crew"
equal "stop: a status" 0 $?
vpmc ctl read -p "$crew" >table
equal "stop: each thread, also one that was created meanwhile" "stopped stopped stopped stopped stopped" "$(rows)"
counted=$(sum)
equal "read: what the first thread did is counted" yes "$([ "$counted" -gt 1000 ] && echo yes)"
equal "read: the last line is the sum" "$counted" "$(($(rows 4 | tr -d , | tr ' ' +)))"
equal "read: rows are without descendants, and their sum is the family's" "$counted" "$(family)"
# Who has inherited has no family.
for tid in $(rows 1); do
	[ "$tid" = "$crew" ] || vpmc ctl read -t "$tid" | awk '/instructions/ { print $1 }'
done | xargs >each
equal "read: each row is what -t says of the thread" "$(rows 4 | cut -d ' ' -f 2-)" "$(cat each)"
vpmc ctl read -j -p "$crew" >/out/ctl.json
equal "read -j: the same values" "$(rows 4 | tr -d ,)" \
	"$(tr -d ' \n' </out/ctl.json | grep -o '"event":"instructions:u","select":[0-9]*,"value":[0-9]*' | sed 's/.*://' | xargs)"
equal "read -j: of that process" "\"pid\":$crew" "$(tr -d ' \n' </out/ctl.json | grep -o '"pid":[0-9]*')"
vpmc ctl read -j -t "$crew" >/out/ctl-thread.json
vpmc ctl read -p "$crew" >table
equal "stopped threads count nothing" "$counted" "$(sum)"
# A descriptor for each thread would be too many.
# shellcheck disable=SC3045 # busybox has it
(ulimit -n 6 && vpmc ctl clear -p "$crew")
equal "clear: a status, with few descriptors" 0 $?
vpmc ctl read -p "$crew" >table
equal "clear: all sums" "0 0 0 0 0 0 0 0 0 0" "$(rows 4) $(rows 5)"
equal "clear: the run time" "0.000000000" "$(rows 6 | tr ' ' '\n' | sort -u)"
equal "clear: no state" "stopped stopped stopped stopped stopped" "$(rows)"

# While it starts one after the other, threads come and go. The kernel lists threads by their
# place, so that one end and one new thread make a reading of its list miss the new one.
last=$(rows 1 | cut -d ' ' -f 5)
CREATE="echo other >&3; until [ ! -e /proc/$crew/task/$last ] && [ \$(ls /proc/$crew/task | wc -l) = 5 ]; do :; done" \
	vanish created 1 1 vpmc ctl start -p "$crew"
equal "start: a status, though one thread ends and one comes" 0 $?
vpmc ctl read -p "$crew" >table
equal "start: also the thread that comes before the first one is started" \
	"running running running running running" "$(rows)"
equal "that is another thread" no "$([ "$(rows 1 | cut -d ' ' -f 5)" = "$last" ] || echo no)"
vpmc ctl stop -p "$crew"
vanish start 2 2 vpmc ctl start -p "$crew" >said 2>&1
equal "start: a thread that ends is no error" "0 " "$? $(cat said)"
vpmc ctl read -p "$crew" >table
equal "start: all others" "running stopped running running running" "$(rows)"
vpmc ctl stop -p "$crew"
second=$(rows 1 | cut -d ' ' -f 2)
bad "start: a set that is revoked meanwhile" 125 \
	"${V}thread $second (crew): has lost its set to kernel.vpmc_revoke, and 1 threads were started before; program one, as by vpmc stat --stopped" \
	vanish revoked 2 2 vpmc ctl start -p "$crew"
bad "start as nobody" 125 "${V}thread $crew: only those who may debug that process may open its counters; be its user, or have CAP_SYS_PTRACE" \
	confined -u vpmc ctl start -p "$crew"

# Threads of the kernel that belong to the process, and the end of its first thread
echo poll >&3
await crew_has 6
vpmc ctl stop -p "$crew"
equal "a thread of io_uring is left out" "0 0" "$? $(vpmc ctl read -p "$crew" | grep -c iou)"
vpmc ctl clear -p "$crew"
echo leave >&3
await grep "^State:.Z" "/proc/$crew/status"
vpmc ctl start -p "$crew"
equal "start: the first thread has ended" 0 $?
vpmc ctl read -p "$crew" >table
equal "read: all threads but the first one" "running running running running" "$(rows)"
kill "$crew"
wait $stat

# What vpmc stat counts by itself, without --stopped
counted
vpmc ctl stop -p "$crew"
vpmc ctl read -p "$crew" >table
before=$(sum)
equal "stop: threads that vpmc stat counts" "stopped stopped stopped stopped" "$(rows)"
echo more >&3
await crew_has 5
vpmc ctl read -p "$crew" >table
equal "stop: a thread that a stopped one creates" "stopped stopped stopped stopped stopped" "$(rows)"
vpmc ctl read -p $stat >table
equal "read: vpmc stat itself is one thread" "vpmc stopped 0" "$(rows 2) $(rows) $(rows 4)"
kill "$crew"
wait $stat
equal "stop: vpmc stat has the counts up to then" "$before" "$(field 4 instructions:u csv)"

# Who may not read counts of the kernel may start and stop them.
chmod 777 .
vpmc stat --stopped -e instructions:k -o /dev/null -- confined -u crew listen <lines 3<&- &
stat=$!
await pidof crew
crew=$(pidof crew)
await crew_has 4
confined -u vpmc ctl start -p "$crew"
equal "start: the owner, whose set counts the kernel" 0 $?
vpmc ctl read -p "$crew" >table
equal "they are started" "running running running running" "$(rows)"
R="cannot read its counters: Permission denied; be a user who may count the kernel, because this set does"
bad "read -p: the owner of a set that counts the kernel" 125 "${V}thread $crew (crew): $R" confined -u vpmc ctl read -p "$crew"
bad "read -t: likewise" 125 "${V}thread $crew: $R" confined -u vpmc ctl read -t "$crew"
kill "$crew"
wait $stat

# Some threads, and different events
crew listen <lines 3<&- &
crew=$!
await crew_has 4
bad "no counters" 125 "${V}process $crew: none of its threads has counters; program some, as by vpmc stat --stopped" vpmc ctl stop -p "$crew"
bad "no counters to read" 125 "${V}process $crew: none of its threads has counters; program some, as by vpmc stat --stopped" vpmc ctl read -p "$crew"
# one NUMBER EVENTS: vpmc stat counts this thread of the process; its number goes to $pid
one() {
	tid=$(find "/proc/$crew/task" -mindepth 1 -maxdepth 1 | sed 's/.*task.//' | sort -n | sed -n "$1p")
	vpmc stat -t "$tid" -e "$2" -o /dev/null &
	pid=$!
	await sh -c "vpmc ctl read -t $tid | grep running"
}
one 2 instructions
two=$pid
vpmc ctl read -p "$crew" >table
equal "read: only threads that have counters, and their sum" "$tid 1" "$(rows 1) $(grep -c '^ *all' table)"
one 4 branches
four=$pid
one 3 instructions
vpmc ctl read -p "$crew" >table
equal "read: two selections, two tables" "THREAD NAME STATE instructions:u RUN TIME
crew running 0
crew running 0

THREAD NAME STATE branches:u RUN TIME
crew running 0" "$(sed 's/  */ /g; s/^ //; s/^[0-9]* \(crew [a-z]* 0\).*/\1/' table)"
equal "read: a sum of neither" 0 "$(grep -c all table)"
kill "$pid" $two $four
wait "$pid" $two $four
kill "$crew"
wait "$crew"

# Sets that were revoked, and one that was not
counted --stopped
sysctl -qw kernel.vpmc_revoke=1
sysctl -qw kernel.vpmc_revoke=0
one 1 instructions
vpmc ctl read -p "$crew" >table
second=$(rows 1 | cut -d ' ' -f 2)
for word in start stop clear; do
	case $word in
	start) done=started ;;
	stop) done=stopped ;;
	clear) done=cleared ;;
	esac
	bad "$word: one set was revoked" 125 \
		"${V}thread $second (crew): has lost its set to kernel.vpmc_revoke, and no thread was $done; program one, as by vpmc stat --stopped" \
		vpmc ctl $word -p "$crew"
done
vpmc ctl read -p "$crew" >table
equal "nothing has changed" "running revoked revoked revoked" "$(rows)"
kill "$crew"
wait

# vpmc stat -p leaves out threads of the kernel, too.
crew listen <lines 3<&- &
crew=$!
await crew_has 4
echo poll >&3
await crew_has 5
vpmc stat -p "$crew" -x , -o csv -e instructions -- true
equal "stat -p: a thread of io_uring is left out" "0 4" "$? $(field 4 threads csv)"
vpmc stat -t "$crew" -x , -o csv -e instructions -- true
equal "stat -t: one of its threads" "0 1" "$? $(field 4 threads csv)"
thread=$(find "/proc/$crew/task" -mindepth 1 -maxdepth 1 | sed 's/.*task.//' | sort -n | sed -n 2p)
bad "stat -p: a thread is no process" 125 "${V}-p $thread: is a thread of process $crew; name that, or count the thread alone by -t" \
	vpmc stat -e instructions -p "$thread"
# It ends when its first thread has been programmed.
rm -f csv
CREATE="kill $crew; while grep '^State:' /proc/$crew/status 2>&1 | grep -q '[RSD] ('; do :; done" \
	timeout 20 vanish programmed 2 2 vpmc stat -p "$crew" -x , -o csv -e instructions
equal "stat -p: the process ends while its threads are programmed" "0 0" "$? $(field 4 instructions:u csv)"
wait "$crew"

# A revocation that is over before the process ends
sh -c 'read x <lines; known' 3<&- &
target=$!
vpmc stat -p $target -x , -o csv -e instructions &
stat=$!
await vpmc ctl read -t $target
sysctl -qw kernel.vpmc_revoke=1
sysctl -qw kernel.vpmc_revoke=0
echo >&3
wait $stat
equal "stat -p: a revocation is not forgotten" "0 0 revoked" "$? $(field 4 instructions:u csv) $(field 13 instructions:u csv)"

# Processes that have none
sh -c 'sleep 0.01 & echo $! >zombie; exec sleep 1000' &
parent=$!
await sh -c 'grep "^State:.Z" "/proc/$(cat zombie)/status"'
bad "a process that has ended" 125 "${V}process $(cat zombie): has ended; name one that lives" vpmc ctl start -p "$(cat zombie)"
kill $parent
bad "no process" 125 "${V}process 99999: there is no such process; name one that lives" vpmc ctl read -p 99999
bad "a thread of the kernel" 125 "${V}thread 2: threads of the kernel have no counters; name a program's" vpmc ctl stop -p 2
bad "a number of another namespace" 125 "${V}process $$: there is no such process; name one that lives" \
	unshare -pf --mount-proc vpmc ctl read -p $$
vpmc stat --stopped -o /dev/null -e instructions -- unshare -pf sleep 1000 &
stat=$!
await pidof sleep
vpmc ctl read -p "$(pidof sleep)" >table
equal "a process in another namespace" "$(pidof sleep) sleep stopped" "$(rows 1) $(rows 2) $(rows)"
kill "$(pidof sleep)"
wait $stat
