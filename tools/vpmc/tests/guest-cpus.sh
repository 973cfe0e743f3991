#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# stat -a and cpus: what each processor counts, and which users may count.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

# on CPU FILE: prints the value of this CPU
on() {
	awk -v cpu="$1" '$1 == cpu { gsub(",", ""); print $2 }' "$2"
}
undisturbed
taskset 1 vpmc stat -a -o table -e instructions:u,branches:u -- taskset 2 known
equal "-a: COMMAND's status" 0 $?
equal "-a: a line for each processor, and the sum" "CPU 0 1 all" "$(awk '!NF { exit } { printf "%s%s", s, $1; s = " " }' table)"
n=$(on 1 table)
of_known=$n
near=no
[ "$n" -ge "$KNOWN_ALONE" ] && [ "$n" -lt $((KNOWN_ALONE + 20000)) ] && near=yes
equal "-a: COMMAND is counted on its processor ($n)" yes $near
equal "-a: the sum of all" "$(on all table)" $(($(on 0 table) + n))
# one thread of taskset executes the same instructions, whatever COMMAND does after it
taskset 1 vpmc stat -a -o other -e instructions:u,branches:u -- taskset 2 known
equal "-a: the same again" "$n" "$(on 1 other)"
taskset 1 vpmc stat -a -x ';' -o csv -e instructions:u,branches:u -- taskset 2 known
equal "-a -x: the same again" "$n" "$(awk -F ';' '$1 == 1 && $3 == "instructions:u" { print $4 }' csv)"
taskset 1 vpmc stat -a -j -o /out/cpus.json -e instructions,branches -- taskset 2 sh -c 'known; exit 5'
equal "-a -j: COMMAND's status" 5 $?
# revoked while it counts: the sums are those of the time before
vpmc stat -a -x , -o csv -e instructions:u -- sh -c 'echo 1 >/proc/sys/kernel/vpmc_revoke; known; echo 0 >/proc/sys/kernel/vpmc_revoke'
equal "-a: revoked" "revoked revoked" "$(awk -F , '$1 == "" && $3 == "instructions:u" || $1 == 1 { printf "%s%s", s, $8; s = " " }' csv)"
vpmc stat -a -e none -o table true 2>/tmp/err
equal "-a -e none" "125 vpmc: processors: there is nothing to count; name events by -e, where there is a PMU (vpmc info tells)" \
	"$? $(cat /tmp/err)"
vpmc stat -a -o table -- sh -c 'exit 7'
equal "-a: another status" 7 $?

# without modes, processors count user and kernel mode, and the names say so
vpmc stat -a -o table -e instructions,instructions:u,BR_INST_RETIRED:ALL_BRANCHES? -- true
equal "-a: the names have the modes" "CPU instructions:uk instructions:u BR_INST_RETIRED:ALL_BRANCHES:uk" \
	"$(head -n 1 table | xargs)"
vpmc stat -a -o other -e 0x100c4,branches:k@2? -- true
equal "-a: modes that are written stay" "CPU 0x100c4 branches:k" "$(head -n 1 other | xargs)"
equal "-a: the kernel is counted" yes "$(awk '$1 == "all" { gsub(",", ""); print ($2 > $3 + 10000 ? "yes" : $0) }' table)"
vpmc stat -a -x , -o csv -- true
equal "-a: the usual events count both modes" "instructions:uk cycles:uk branches:uk branch-misses:uk" \
	"$(awk -F , '$1 == "" && $5 == "events" { print $3 }' csv | xargs)"
vpmc cpus -n 1 -d 0.01 >tables
equal "cpus: the usual events count both modes" "CPU instructions:uk cycles:uk branches:uk" \
	"$(head -n 1 tables | xargs)"

vpmc cpus -e instructions -d 0.05 -n 3 >tables
equal "cpus: a status" 0 $?
equal "cpus: three tables" "3 3" "$(grep -c '^CPU' tables) $(grep -c '^all' tables)"
taskset 2 sh -c 'while :; do :; done' &
busy=$!
vpmc cpus -e instructions -d 0.2 -n 2 >tables
kill $busy
# Until it has ended, it counts on its processor.
wait $busy
n=$(awk '$1 == 1 { gsub(",", ""); n = $2 } END { print (n > 1000000) ? "many" : n }' tables)
equal "cpus: a busy processor" many "$n"

# stopped for many delays: one table has all of that time, and the next one comes a delay later
rm tables
vpmc cpus -e instructions -d 0.5 -n 100 >tables &
cpus=$!
await grep -q '^all' tables
kill -STOP $cpus
before=$(grep -c '^all' tables)
sleep 5
read -r from _ </proc/uptime
kill -CONT $cpus
sleep 0.8
kill $cpus
end $cpus
read -r to _ </proc/uptime
after=$(grep -c '^all' tables)
equal "cpus: it was stopped: no table is made up for" yes \
	"$(awk -v n=$((after - before)) -v s="$from" -v e="$to" 'BEGIN { print (n >= 1 && n <= 2 + (e - s) / 0.5) ? "yes" : n " in " e - s " s" }')"

# a processor that goes offline or comes online is stopped for a moment: that is no revocation
vpmc cpus -e instructions -d 0.001 >/dev/null 2>said &
cpus=$!
for _turn in $(seq 150); do
	echo 0 >/sys/devices/system/cpu/cpu1/online
	echo 1 >/sys/devices/system/cpu/cpu1/online
done
kill $cpus
end $cpus
equal "cpus: it goes on beside hotplug" "0 " "$? $(cat said)"

# revoked: the last table has what was counted up to then, and no more follow
rm tables
vpmc cpus -e instructions -d 0.2 >tables 2>said &
cpus=$!
await grep -q '^all' tables
echo 1 >/proc/sys/kernel/vpmc_revoke
end $cpus
equal "cpus: revoked" "125 vpmc: processors: the PMU was taken away, by the administrator or for a CPU that lacks its counters; the last table has the counts up to then, try again later" \
	"$? $(cat said)"
equal "cpus: revoked: no table of zeros" 0 "$(grep -c '^all *0$' tables)"
echo 0 >/proc/sys/kernel/vpmc_revoke

# -C: some processors alone
listed() {
	awk '!NF { exit } { printf "%s%s", s, $1; s = " " }' table
}
taskset 1 vpmc stat -C 1 -o table -e instructions:u,branches:u -- taskset 2 known
equal "-C: COMMAND's status, and no other processor" "0 CPU 1 all" "$? $(listed)"
equal "-C: it counts as -a does" "$of_known $of_known" "$(on 1 table) $(on all table)"
taskset 1 vpmc stat -C 0 -o table -e instructions:u,branches:u -- taskset 2 known
equal "-C: COMMAND is not bound to the processor, and not counted elsewhere" "CPU 0 all yes" \
	"$(listed) $([ "$(on all table)" -lt "$KNOWN_ALONE" ] && echo yes)"
for list in 0-1 1,0 0,0,0-1,1 '0 -C 1' '0-1 -a'; do
	# shellcheck disable=SC2086 # words
	taskset 1 vpmc stat -C $list -o table -e instructions:u,branches:u -- taskset 2 known
	equal "-C $list: each once" "CPU 0 1 all $of_known" "$(listed) $(on 1 table)"
done
taskset 1 vpmc stat -C 1 -x ';' -o csv -e instructions:u,branches:u -- taskset 2 known
equal "-C -x: the sum and one processor" "$of_known 1:$of_known" \
	"$(awk -F ';' '$3 == "instructions:u" { printf "%s%s", $1 == "" ? "" : " " $1 ":", $4 }' csv)"
taskset 1 vpmc stat -C 1,1 -j -o /out/cpu-list.json -e instructions:u,branches:u -- taskset 2 known
equal "-C -j: what was asked for, and one processor" "\"asked\":\"1,1\" \"value\":$of_known \"cpu\":1" \
	"$(tr -d ' \n' </out/cpu-list.json | grep -oE '"asked":"[^"]*"|"value":[0-9]*|"cpu":[0-9]*' | sed 3d | paste -s -d ' ' -)"
vpmc cpus -C 1 -e instructions -n 2 -d 0.01 >table
equal "cpus -C" "CPU 1 all CPU 1 all" "$(grep . table | awk '{ printf "%s%s", s, $1; s = " " }')"
for list in '' x 0- -1 0,,1 '0-1,' 0x1 ' 0' 0:1; do
	bad "-C '$list'" 125 "vpmc: -C $list: not a list of processors; write numbers and ranges, such as 0-3,6" vpmc stat -C "$list" true
done
bad "-C backwards" 125 "vpmc: -C 3-1: goes backwards; write 1-3" vpmc stat -C 0,3-1 true
bad "-C of no processor" 125 "vpmc: -C 2: there is no such processor; lscpu -e lists those that there are" vpmc stat -C 0-9 true
bad "-C of a number beyond all" 125 "vpmc: -C 8192: there is no such processor; lscpu -e lists those that there are" vpmc stat -C 8192 true
for number in 99999999999 18446744073709551615 18446744073709551616 99999999999999999999999999 000000000000000000000000008192; do
	for list in $number 0,$number 0-$number $number-$number 1,0-$number,0; do
		bad "-C $list: the number is as it was written" 125 "vpmc: -C $number: there is no such processor; lscpu -e lists those that there are" \
			vpmc stat -C "$list" true
	done
done
bad "-C of numbers that are too large, backwards" 125 "vpmc: -C 99999999999999999999-5: goes backwards; write 5-99999999999999999999" \
	vpmc stat -C 99999999999999999999-5 true
bad "cpus -C of no processor" 125 "vpmc: -C 2: there is no such processor; lscpu -e lists those that there are" vpmc cpus -C 2 -n 1
bad "-C of no processor, as nobody" 125 "vpmc: -C 2: there is no such processor; lscpu -e lists those that there are" \
	confined -u vpmc stat -C 2 true

# more events than counters: it says how many fit, as it does for a COMMAND
many=rd0,rd1,rd2,rd3,rd4,rd5
# the watchdog keeps a counter, and with "all" the whole PMU
watchdog=$(cat /proc/sys/kernel/nmi_watchdog)
for counters in shared all; do
	[ $counters = shared ] || sysctl -qw kernel.nmi_watchdog=0
	sysctl -qw kernel.vpmc_counters=$counters
	vpmc stat -e $many true 2>said
	first=$(sed -n 's/^vpmc: 6 events: the first \([34]\) fit into the counters at once, no more; .*/\1/p' said)
	for words in "stat -a" "stat -C 1" "stat --revoke -a" "cpus -n 1" "cpus -C 0-1 -n 1" "cpus --revoke -n 1"; do
		# shellcheck disable=SC2086 # words
		bad "$words: how many events fit, vpmc_counters=$counters" 125 \
			"vpmc: 6 events: the first $first fit into the counters at once, no more; leave some out, or count them in several runs" \
			vpmc $words -e $many
	done
	bad "-a: more events than any processor counts, vpmc_counters=$counters" 125 \
		"vpmc: 40 events: the first $first fit into the counters at once, no more; leave some out, or count them in several runs" \
		vpmc stat -a -e "$(seq -s , 10 49 | sed 's/[0-9]*/rd&/g')" true
	equal "-a: as many as fit are counted, vpmc_counters=$counters" "0 $first" \
		"$(vpmc stat -a -x , -o csv -e "$(echo $many | cut -d, -f"1-$first")" -- true; echo $?) $(grep -c '^,,rd' csv)"
done
sysctl -qw kernel.vpmc_counters=shared
sysctl -qw kernel.nmi_watchdog="$watchdog"
begins "-a: an event that another counter must count" 125 "vpmc: branches:uk@0: wants the same counter as 'cycles:uk@0', " \
	vpmc stat -a -e cycles@0,branches@0 true
# Threads count on, whatever was asked for.
vpmc stat -x , -o counted -e instructions -- sh -c 'known; vpmc stat --revoke -a -e '$many' true 2>said; known'
equal "--revoke -a: too many events take nothing away" "0 yes" \
	"$(awk -F , '$3 == "instructions:u" { print ($13 == "" ? 0 : $13), ($4 > 4000000 ? "yes" : "no") }' counted)"
equal "--revoke -a: it is said" 1 "$(grep -c '^vpmc: ' said)"
vpmc stat -e instructions -o /dev/null -- sleep 100 &
stat=$!
await sh -c 'vpmc info | grep -q "^held by: .*vpmc has the PMU"'
echo 0 >/sys/devices/system/cpu/cpu1/online
bad "-C of one that is offline" 125 "vpmc: -C 1: this processor is offline, so nothing is counted; leave it out, or echo 1 >/sys/devices/system/cpu/cpu1/online" \
	vpmc stat -C 0-1 --revoke true
equal "the PMU was not taken from threads" stopped "$(vpmc ctl read -t $stat | awk '$2 == "state" { print $1 }')"
vpmc stat -C 0 --revoke -o table -e instructions true
equal "-C of the other one, which takes the PMU" "0 CPU 0 all" "$? $(listed)"
echo 1 >/sys/devices/system/cpu/cpu1/online
kill $stat
wait $stat
vpmc stat -C 0,1 -x , -o csv -e instructions:u -- sh -c 'taskset 2 known; echo 0 >/sys/devices/system/cpu/cpu1/online'
equal "-C: one that goes offline meanwhile keeps its counts" "1 offline yes" \
	"$(awk -F , -v known="$KNOWN_ALONE" '$1 == "1" { print $1, $2, ($4 >= known ? "yes" : $4) }' csv)"
echo 1 >/sys/devices/system/cpu/cpu1/online
bad "-C and -p" 125 "vpmc: -C: counts whoever runs; leave out -p and -t" vpmc stat -C 0 -p 1
bad "-C and -r" 125 "vpmc: -C: counts one set once; leave out -r, -m, --split, --metrics, --per-thread, --stopped and --rank" \
	vpmc stat -C 0 -r 2 true
bad "-C and openmetrics" 125 "vpmc: -C: has no openmetrics; use -j or -x, or leave out --format" \
	vpmc stat -C 0 --format openmetrics -o file true

bad "-a and -p" 125 "vpmc: -a: counts whoever runs; leave out -p and -t" vpmc stat -a -p 1
bad "-a and --no-inherit" 125 "vpmc: -a: counts whoever runs; leave out --no-inherit" vpmc stat -a --no-inherit true
bad "-a and -r" 125 "vpmc: -a: counts one set once; leave out -r, -m, --split, --metrics, --per-thread, --stopped and --rank" \
	vpmc stat -a -r 2 true
bad "-a, -j and -x" 125 "vpmc: -j and -x: one format is possible at a time; leave out the other one" vpmc stat -a -j -x , true
bad "-a and openmetrics" 125 "vpmc: -a: has no openmetrics; use -j or -x, or leave out --format" \
	vpmc stat -a --format openmetrics -o file true
bad "--revoke alone" 125 "vpmc: --revoke: is for processors; add -a" vpmc stat --revoke true
bad "cpus with a COMMAND" 125 "vpmc: true: vpmc cpus runs no command; leave it out, or use vpmc stat -a" vpmc cpus true
bad "cpus -d 0" 125 "vpmc: -d 0: not a number from 0.001 to 1000000; give one" vpmc cpus -d 0
bad "-a as nobody" 125 "vpmc: /dev/perfctr: only users who may count whole processors by perf may use it; be root, or have CAP_PERFMON and the file's permission" \
	confined -u vpmc stat -a true
bad "cpus as nobody" 125 "vpmc: /dev/perfctr: only users who may count whole processors by perf may use it; be root, or have CAP_PERFMON and the file's permission" \
	confined -u vpmc cpus -n 1

# only one use at a time
rm tables
vpmc cpus -d 0.05 >tables &
cpus=$!
# not by vpmc info: it counts in a thread for a moment, and vpmc cpus must not begin in that
await grep -q '^all' tables
equal "info beside cpus" 1 "$(vpmc info | grep -c '^held by: .*the PMU counts for processors')"
bad "stat beside cpus" 125 "vpmc: counting: the PMU counts for processors (/dev/perfctr); end vpmc stat -a or vpmc cpus" \
	vpmc stat -e instructions true
bad "cpus beside cpus" 125 "vpmc: counting: the PMU counts for processors (/dev/perfctr); end vpmc stat -a or vpmc cpus" \
	vpmc cpus -e instructions -n 1
kill $cpus
end $cpus
equal "cpus: Ctrl-C and its like end it" 0 $?
equal "stat after cpus" "$KNOWN_ALONE" "$(value instructions:u -e instructions -- known)"
vpmc stat -e instructions -o /dev/null -- sleep 100 &
stat=$!
counts() {
	vpmc info | grep -q "^held by: .*vpmc has the PMU"
}
await counts
bad "cpus beside stat" 125 "vpmc: counting: threads have counters; end them, or take the PMU by --revoke" \
	vpmc cpus -e instructions -n 1
vpmc cpus -e instructions -d 0.05 -n 1 --revoke >tables
equal "cpus --revoke" "0 1" "$? $(grep -c '^all' tables)"
kill $stat
wait $stat || :

# who has which counters
shares() {
	vpmc info | sed -n '/^vpmc.s own: /,/^perf.s: /p' | sed 's/: */: /' | tr '\n' ' ' | sed 's/ $//'
}
# Loans outlive their sets for a moment. This ends them.
echo shared >/proc/sys/kernel/vpmc_counters
equal "info: perf can use all" "vpmc's own: none borrowed: none perf's: programmable 0xf, fixed 0x7" "$(shares)"
echo "shared 1,0" >/proc/sys/kernel/vpmc_counters
equal "info: nothing is borrowed yet" "vpmc's own: none borrowed: none perf's: programmable 0xf, fixed 0x7" \
	"$(shares)"
vpmc stat -e branches -o /dev/null -- sleep 100 &
stat=$!
await counts
equal "info: one is borrowed" "vpmc's own: none borrowed: programmable 0x8 perf's: programmable 0x7, fixed 0x7" \
	"$(shares)"
equal "info -j: one is borrowed" '"borrowed":{"programmable_mask":8,"fixed_mask":0}' \
	"$(vpmc info -j | tr -d ' \n' | grep -o '"borrowed":{[^}]*}')"
kill $stat
wait $stat || :
# the watchdog excludes sets in this mode
echo 0 >/proc/sys/kernel/nmi_watchdog
echo all >/proc/sys/kernel/vpmc_counters
vpmc stat -e branches -o /dev/null -- sleep 100 &
stat=$!
await counts
equal "info: all are vpmc's own" "vpmc's own: programmable 0xf, fixed 0x7 borrowed: none perf's: none" "$(shares)"
kill $stat
wait $stat || :
echo shared >/proc/sys/kernel/vpmc_counters
echo 1 >/proc/sys/kernel/nmi_watchdog
