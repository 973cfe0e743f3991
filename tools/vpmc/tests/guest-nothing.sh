#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# usage: guest-nothing.sh no-pmu|errata|off|no-vpmc	on a machine that cannot count
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

none="use another processor, or count none: run time and switches"
case $1 in
no-pmu) why="PMU: this virtual machine has none; let the host give it one (QEMU: -cpu host,pmu=on), or count none: run time and switches" ;;
errata) why="PMU: the kernel does not use this processor's, for it has errata or is not supported; $none" ;;
off) why="this thread's counters: vpmc is switched off; boot without vpmc=off" ;;
no-vpmc) why="this thread's counters: this kernel has no vpmc, or /proc is not mounted; boot a kernel with CONFIG_VPMC=y" ;;
esac
vpmc info >said
equal "info: the status" 1 $?
equal "info: why, and what to do" "Counting is not possible. $why" "$(tail -n 1 said)"
bad "info -q" 1 "" vpmc info -q
equal "info -j" "\"why_not\":\"$why\"" "$(vpmc info -j | grep -o '"why_not":.*')"
case $1 in
off | no-vpmc)
	bad "stat" 125 "vpmc: $why" vpmc stat true
	bad "stat of an event" 125 "vpmc: $why" vpmc stat -e instructions true
	bad "record" 125 "vpmc: $why" vpmc record true
	bad "stat of no event" 125 "vpmc: $why" vpmc stat -e none true
	;;
*)
	bad "stat of an event" 125 "vpmc: counting: there is no PMU that can be used; vpmc info tells why; or count 'none': run time and switches" \
		vpmc stat -e instructions true
	bad "record" 125 "vpmc: counting: there is no PMU that can be used; vpmc info tells why; or count 'none': run time and switches" \
		vpmc record true
	equal "stat counts the run time" "run-time switches migrations elapsed threads user-time system-time minor-faults major-faults max-rss living left-control left-unlink left-exec lost replaced" \
		"$(value x -- true >/dev/null; awk -F , 'NR > 1 { printf "%s%s", s, $3; s = " " }' /tmp/csv)"
	equal "so do names without a counter" "1 1" \
		"$(($(value task-clock -e task-clock,page-faults -- true) > 0)) $(($(field 4 page-faults) > 0))"
	value x -- true >/dev/null
	equal "it is not 0" 1 "$(($(field 4 run-time) > 0))"
	equal "stat says why it is nothing else" \
		"Note: there is no PMU that can be used: run time, switches and migrations alone (vpmc info tells more)." \
		"$(vpmc stat -- true 2>&1 | grep Note)"
	;;
esac
