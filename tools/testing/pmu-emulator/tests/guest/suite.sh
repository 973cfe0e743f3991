#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# usage: suite.sh full|sleeps|cpus N|short|parallel|version N|hybrid SMALL BIG|zhaoxin FAMILY|amd|amd-short|netburst|netburst-watchdog|netburst-cache ROWS|pt|cache ROWS|cache-full ROWS|off
# Runs in the guest: the programs beside it, one after the other. Each writes
# TAP with a plan; after it comes a test that it has ended well.
set -u
dir=$(dirname "$0")

run() {
	name=$*
	PATH=$dir:$PATH "$@"
	status=$?
	if [ $status = 0 ]; then
		echo "ok 1 - $name: exit status"
	else
		echo "not ok 1 - $name: exit status"
		echo "# got $status"
	fi
	echo "1..1"
}

hotplug() {
	echo 0 >/sys/devices/system/cpu/cpu1/online
	echo 1 >/sys/devices/system/cpu/cpu1/online
	run loops "$@" 1
}

# sleeps FACTOR N: N times, up to 1 ms
sleeps() {
	i=0
	while [ $i -lt "$2" ]; do
		usleep $((i * $1 % 1000 + 1))
		i=$((i + 1))
	done
}

case $1 in
sleeps)
	sleeps 37 1500 &
	sleeps 91 1500
	wait
	cat /proc/uptime /proc/interrupts
	;;
full)
	run totals 1
	run triggers
	run loops 0 1
	run loops 0 0 1 1
	hotplug
	run sampling
	run retire
	run rdpmc
	run steps /bin/busybox true
	run steps /bin/busybox sha1sum "$dir/suite.sh"
	;;
cpus)
	# shellcheck disable=SC2046 # a word for each CPU
	run loops $(seq 0 $(($2 - 1))) $(seq 0 $(($2 - 1)))
	run sampling
	;;
short)
	run loops 0 1
	run sampling
	;;
parallel)
	run loops 0 1
	run loops -s 5 0 1 0 1
	run sampling
	run retire
	hotplug
	;;
version)
	# version 1 has no fixed counters
	# shellcheck disable=SC2046 # two arguments or none
	run loops $([ "$2" -gt 1 ] || echo -g 0x013c) 0
	run sampling
	;;
hybrid)
	run hybrid "$2" "$3"
	;;
zhaoxin)
	# perf has no name for branches that the emulator knows, and on family 6 none for
	# instructions. Linux 6.12's zhaoxin_pmu has no .fixedctr, so perf writes MSRs 1
	# and 2 instead of fixed counters 1 and 2, and never reads counter 0. So events
	# that are not judged take those that perf prefers, and general-purpose counters
	# count the others.
	names="-f 0x0082 -i 0x00c0 -b 0x00c4"
	[ "$2" = 6 ] || names="-f 0x00c0 -f 0x0082 -f 0x0083 -b 0x00c4"
	# shellcheck disable=SC2086 # options
	run loops $names -g 0x0083 0 0 1 1
	# shellcheck disable=SC2086
	run sampling $names
	;;
amd)
	# reference cycles are cycles, and with four counters there is no fifth
	run loops -g 0x0076 0 0 1 1
	hotplug -g 0x0076
	run sampling
	run retire
	run steps /bin/busybox true
	;;
amd-short)
	run loops -g 0x0076 0
	run sampling
	;;
netburst)
	# perf has no name for reference cycles, and each unit's ESCR takes one event
	run loops -n 0 0 1 1
	hotplug -n
	run sampling
	run retire
	run steps /bin/busybox true
	;;
netburst-watchdog)
	# While the watchdog has the counter of cycles, perf counts them by a filter that
	# ignores modes.
	run sampling
	echo 0 >/proc/sys/kernel/nmi_watchdog
	run loops -n 0
	;;
netburst-cache)
	# perf's number 9 of BSQ_cache_reference, and the mask of read misses
	run cache "$2" 0x1202000000000000
	;;
pt)
	run pt
	run loops 0
	;;
cache)
	run cache "$2"
	;;
cache-full)
	run cache "$2"
	run loops 0 0 1 1
	run sampling
	;;
off)
	if "$dir/loops" 0 >/dev/null; then
		printf 'not '
	fi
	echo "ok 1 - perf has no hardware counters"
	echo "1..1"
	;;
esac
echo "# uptime $(cat /proc/uptime)"
