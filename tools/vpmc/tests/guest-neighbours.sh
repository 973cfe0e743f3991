#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# A program of vpmc, perf stat of another program, perf stat of all CPUs and the NMI
# watchdog, all at the same time.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

# NMIs of both CPUs
nmis() {
	awk '/^ *NMI:/ { print $2 + $3 }' /proc/interrupts
}

counted() {
	awk -F , -v event="$1" '$3 ~ event { print $1 }'
}

equal "the watchdog is on" 1 "$(cat /proc/sys/kernel/nmi_watchdog)"
equal "counters are shared" shared "$(cat /proc/sys/kernel/vpmc_counters)"

before=$(nmis)
perf stat -a -x , -o all -e branches:u sleep 5 &
all=$!
(
	i=0
	while [ $i -lt 30 ]; do
		taskset 1 perf stat -x , -o perf.$i -e instructions:u,branches:u known
		i=$((i + 1))
	done
	: >perf.done
) 2>/dev/null &
perf=$!
n=0 wrong=0
while [ ! -e perf.done ] && [ $n -lt 1000 ]; do
	taskset 1 vpmc stat -x , -o vpmc.one -e instructions,branches -- known
	[ "$(awk -F , '$3 == "instructions:u" { print $4 }' vpmc.one)" = "$KNOWN_ALONE" ] || {
		cat vpmc.one >>vpmc.wrong
		wrong=$((wrong + 1))
	}
	n=$((n + 1))
done
wait $perf
equal "30 runs of perf stat: all are exact" 30 \
	"$(cat perf.? perf.?? | counted instructions | grep -cx "$KNOWN_ALONE")"
cat perf.0 vpmc.one | sed 's/^/# /'
touch vpmc.wrong
result "$n runs of vpmc stat meanwhile, on the same CPU: all are exact" $wrong vpmc.wrong
status=0
[ $n -ge 10 ] || status=1
result "they were 10 or more" $status vpmc.one
wait $all
some=no
[ "$(counted branches <all)" -gt 1000 ] && some=yes
equal "perf stat -a counts all CPUs meanwhile" yes "$some"
more=no
[ "$(nmis)" -gt "$before" ] && more=yes
equal "the watchdog looks meanwhile" yes "$more"
