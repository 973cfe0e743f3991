# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# In the guest: sh guest.sh TYPE. libperfctr's tests and perfctr's own programs, on a
# processor of that cpu_type. Prints a line for each test.
type=$1
cd /tmp || exit
# where its stack and libraries are decides what a program executes
echo 0 >/proc/sys/kernel/randomize_va_space

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@" >/tmp/check 2>&1; then
		echo "ok - $name"
	else
		sed 's/^/# /' /tmp/check
		echo "not ok - $name"
	fi
}
says() {
	grep -q -e "$1" /tmp/said || { cat /tmp/said; return 1; }
}
# run STATUS COMMAND...: keeps what it says
run() {
	wanted=$1
	shift
	rc=0
	"$@" >/tmp/said 2>&1 || rc=$?
	[ $rc = "$wanted" ] || { echo "status $rc"; tail -n 20 /tmp/said; return 1; }
}
# same FILTER COMMAND...: three runs alone, one with a program that competes for
# both CPUs, give the same lines through FILTER, and one at least
same() {
	filter=$1
	shift
	for n in 1 2 3 4; do
		[ $n != 4 ] || { compete & other=$!; }
		"$@" >/tmp/said 2>&1 || :
		sh -c "$filter" </tmp/said >/tmp/run.$n
		if [ $n = 4 ]; then
			kill $other
			wait $other
		fi
		cmp /tmp/run.1 /tmp/run.$n || { cat /tmp/run.1 /tmp/run.$n; return 1; }
	done
	[ -s /tmp/run.1 ]
}
compete() {
	trap 'kill $a $b; exit' TERM
	sh -c 'while :; do :; done' &
	a=$!
	sh -c 'while :; do :; done' &
	b=$!
	wait
}

# the unit tests: each is a test of ours
for program in perfctr_test perfctr_asan; do
	PERFCTR_TYPE=$type $program >/tmp/tests 2>&1
	sed -n -e "s/^\(not \)\{0,1\}ok [0-9]* \([a-z_]*\.[a-z_]*\).*/\1ok - $program: \2/p" \
		-e 's/^# \(.*_test.c:.*\)/# \1/p' /tmp/tests
	check "$program came to its end" grep '^# Totals:' /tmp/tests
done

# perfctr's own; signal has periods of 25 events
echo 1 >/proc/sys/kernel/vpmc_period_min
check "global says that there is no global mode" run 1 global
check "global: ENOSYS" says '^gperfctr_open: Function not implemented$'
if [ "$type" = 0 ]; then
	check "self counts run time" run 0 self
	check "self has no counters" says '^cpu_type		0 (Generic x86 with TSC)$'
	check "signal knows no such processor" run 1 signal
	check "signal: type 0" says 'unsupported cpu type 0$'
	check "perfex counts run time" run 3 perfex32 sh -c 'exit 3'
	check "perfex: a line" says '^tsc				 *[1-9][0-9]*$'
	check "perfex cannot count events" run 1 perfex32 -e 0x4100c0 true
	check "perfex: why" says 'receiving fd/status: No such device$'
	echo "== end"
	exit
fi
check "self runs" run 0 self
check "self computes" says '^fac(15) == 2004310016$'
check "self: the type" says "^cpu_type		$type ("
check "self counts the same in each run" same 'grep "^pmc.0.	.*[1-9]"' self
check "signal runs" run 0 signal
# the events of its choice count nothing on the emulator, but the branches
check "signal sees as many overflows in each run" same 'grep -c "on_sigio: PMC overflow"' signal
if [ "$type" = 20 ]; then
	check "signal sees overflows of both counters" says 'overflow set 0x2'
fi
check "perfex has the command's status" run 5 perfex32 -e 0x4100c0 sh -c 'exit 5'
check "perfex counts the same in each run" same 'grep ^event' perfex32 -e 0x4100c0@0 -e 0x4100c4@1 true
check "perfex -i" run 0 perfex32 -i
check "perfex -i: the type" says "^cpu_type		$type ("
if [ "$type" = 18 ] || [ "$type" = 20 ]; then
	fixed_too() {
		perfex32 -e 0x4100c0@0 true 2>&1 | sed -n 's/^event.*	//p' >/tmp/one
		perfex32 -e 0x410000@0x40000000 true 2>&1 | tee /tmp/said | sed -n 's/^event.*	//p' >/tmp/two
		cat /tmp/one /tmp/two
		[ -s /tmp/one ] && cmp /tmp/one /tmp/two
	}
	check "perfex counts the same on a fixed counter" fixed_too
	check "perfex gets the event select that it gave" says '^event 0x00410000@0x40000000	'
fi
# with any library: it expects a control message of 24 bytes where kernels give 20
check "perfex as a 64-bit program fails on today's kernels" run 1 perfex64 -e 0x4100c0 true
check "perfex64: the message's length" says 'receiving fd/status: Protocol error$'
echo "== end"
