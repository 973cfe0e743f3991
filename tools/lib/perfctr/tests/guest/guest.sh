# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Runs in the guest: sh guest.sh TYPE. Runs libperfctr's tests and perfctr's own
# programs, on a processor of cpu_type TYPE. Prints a line for each test.
type=$1
cd /tmp || exit
# What a program executes depends on the addresses of its stack and libraries.
echo 0 >/proc/sys/kernel/randomize_va_space

# check NAME COMMAND...
check() {
	name=$1
	shift
	if "$@" >/tmp/check 2>&1; then
		echo "ok - $name"
	else
		awk '{ print "# " $0 }' /tmp/check
		echo "not ok - $name"
	fi
}
says() {
	grep -q -e "$1" /tmp/said || { cat /tmp/said; return 1; }
}
# run STATUS COMMAND...: keeps the output and compares the status
run() {
	wanted=$1
	shift
	rc=0
	"$@" >/tmp/said 2>&1 || rc=$?
	[ $rc = "$wanted" ] || { echo "status $rc"; tail -n 20 /tmp/said; return 1; }
}
# same FILTER COMMAND...: four runs must give the same lines through FILTER, and at
# least one. The last run has a program beside it that competes for both CPUs.
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

# Unit tests: each becomes a line.
for program in perfctr_test perfctr_asan; do
	PERFCTR_TYPE=$type $program >/tmp/tests 2>&1
	# Skipped ones are for another processor.
	sed -n -e '/# SKIP/d' -e "s/^\(not \)\{0,1\}ok [0-9]* \([a-z_]*\.[a-z_]*\).*/\1ok - $program: \2/p" \
		-e 's/^# \(.*_test.c:.*\)/# \1/p' /tmp/tests
	check "$program came to its end" grep '^# Totals:' /tmp/tests
done

# perfex of this project. known is a program without libc, so it always executes the
# same.
lines() {
	grep -vE '^(tsc				 {0,18}[0-9]+|event 0x[0-9A-F]{8}(/0x[0-9A-F]{8})?@([0-9]+		|0x[0-9a-f]{8}	) {0,18}[0-9]+)$' "$1"
}
perfex_bad() {
	what=$1 status=$2 words=$3
	shift 3
	check "perfex: $what" run "$status" perfex "$@"
	check "perfex: $what: one line" sh -c '[ "$(wc -l <"$0")" = 1 ] || cat "$0"; [ "$(wc -l <"$0")" = 1 ]' /tmp/said
	check "perfex: $what: why" says "^perfex: $words"
}
our_perfex() {
	case $type in
	15 | 19) branches=0x4100c2 ;;
	*) branches=0x4100c4 ;;
	esac
	check "our perfex has the command's status" run 5 perfex -e 0x4100c0 sh -c 'exit 5'
	check "our perfex tells a signal" run 137 perfex sh -c 'kill -9 $$'
	check "our perfex prints perfctr's lines" run 0 perfex -e 0x4100c0 -e "$branches" -o /tmp/counts known
	check "our perfex: three of them" [ "$(wc -l </tmp/counts)" = 3 ]
	check "our perfex: of their form" [ -z "$(lines /tmp/counts)" ]
	vpmc stat -x, -o /tmp/stat -e "instructions:u,branches:u" -- known >/dev/null
	sed -n 's/^,,\(instructions\|branches\):u,\([0-9]*\),.*/\2/p' /tmp/stat >/tmp/of-stat
	sed -n '2,$s/.* //p' /tmp/counts >/tmp/of-perfex
	check "our perfex has stat's counts" sh -c 'cat /tmp/stat /tmp/counts; [ -s /tmp/of-stat ] && cmp /tmp/of-stat /tmp/of-perfex'
	check "our perfex counts the same in each run" same 'grep ^event' perfex -e 0x4100c0@0 true
	check "our perfex -i" run 0 perfex -i
	cp /tmp/said /tmp/info
	check "perfctr's perfex -i" run 0 perfex32 -i
	# perfex64 was built for another size of long
	check "both -i are equal" cmp /tmp/info /tmp/said
	check "our perfex -l" run 0 perfex -l
	cp /tmp/said /tmp/list
	check "perfctr's perfex -l" run 0 perfex64 -l
	check "both -l are equal" cmp /tmp/list /tmp/said
	check "our perfex -L" run 0 perfex -L
	cp /tmp/said /tmp/list
	check "perfctr's perfex -L" run 0 perfex64 -L
	check "both -L are equal" cmp /tmp/list /tmp/said
	check "-L has numbers" says 'RETIRED:0xC0:0x\|RETIRED_INSTRUCTIONS:0xC0:0x'
	check "our perfex -h" run 0 perfex -h
	check "numbers without 0x are hexadecimal, with a warning" run 0 perfex -e 4100c0 true
	check "the warning is perfctr's" says "^perfex: warning: string '4100c0' is base-dependent, assuming base 16. Please"
	check "the event is 0x4100c0" says '^event 0x004100C0@0'
	check "-x: no warning" run 0 perfex -x -e 4100c0 true
	check "-x: no warning, two lines" [ "$(wc -l </tmp/said)" = 2 ]
	check "-d: decimal" run 0 perfex -d -e 4260032@1 true
	check "-d: the event" says '^event 0x004100C0@1'
	perfex_bad "no command" 125 'command missing; perfex -h'
	perfex_bad "no such option" 125 '--nonsense: no such option' --nonsense true
	perfex_bad "no argument" 125 '-e: needs an argument' -e
	perfex_bad "no number" 125 'xyz: not a number of 32 bits' -e xyz true
	perfex_bad "a number too large" 125 '0x1004100c0: not a number' -e 0x1004100c0 true
	perfex_bad "no counter" 125 'a number that is empty: not a number' -e 0x4100c0@ true
	perfex_bad "a specifier that goes on" 125 '0x4100c0:u: invalid event specifier' -e 0x4100c0:u true
	perfex_bad "no enable bit" 125 '0x100c0: the enable bit' -e 0x100c0 true
	perfex_bad "no mode" 125 '0x4000c0: ' -e 0x4000c0 true
	perfex_bad "no such counter" 125 '0x4100c0@0x11: ' -e 0x4100c0@0x11 true
	perfex_bad "a counter twice" 125 '0x4100c4@0: ' -e 0x4100c0@0 -e 0x4100c4@0 true
	perfex_bad "Nehalem's register" 125 '--nhlm_offcore_rsp_0=1: vpmc does not program' --nhlm_offcore_rsp_0=1 true
	perfex_bad "the Pentium 4's register" 125 '--p4pe=1: this processor is no Pentium 4' --p4pe=1 true
	perfex_bad "the Pentium 4's other register" 125 '--p4_pebs_matrix_vert=1: this' --p4_pebs_matrix_vert=1 true
	perfex_bad "a file that cannot be written" 125 '/nonsense/file: cannot create it: No such file' -o /nonsense/file true
	perfex_bad "no such command" 127 '/nonsense: no such command' /nonsense
	set --
	for n in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18; do
		set -- "$@" -e "0x4100c0@$n"
	done
	perfex_bad "19 events" 125 '0x4100c0@18: too many event specifiers' -x "$@" true
}
if [ "$type" != 0 ]; then
	our_perfex
else
	check "our perfex counts run time" run 3 perfex sh -c 'exit 3'
	check "our perfex: a line" says '^tsc				 *[1-9][0-9]*$'
	perfex_bad "no PMU" 125 'counting: there is no PMU' -e 0x4100c0 true
	check "our perfex -l" run 0 perfex -l
	check "our perfex: no list" says 'does not include an event list for this CPU type (this is not an error)'
fi

# perfctr's own programs; signal has periods of 25 events
echo 1 >/proc/sys/kernel/vpmc_period_min
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
check "global samples until it is ended" run 143 timeout 2 global
# of the events that the program signal chooses, the emulator counts only branches
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
# This fails with any library, because it expects a control message of 24 bytes and
# kernels send 20.
check "perfex as a 64-bit program fails on today's kernels" run 1 perfex64 -e 0x4100c0 true
check "perfex64: the message's length" says 'receiving fd/status: Protocol error$'
echo "== end"
