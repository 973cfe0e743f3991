#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Bad input must give one line and its status, and leave nothing behind.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

V='vpmc: '
# events
bad "no COMMAND" 125 "${V}COMMAND: there is none; name one, or a process by -p, a thread by -t, or all processors by -a" vpmc stat
bad "no COMMAND after --" 125 "${V}COMMAND: there is none; name one, or a process by -p, a thread by -t, or all processors by -a" vpmc stat -e none --
begins "an unknown event" 125 "${V}instuctions: no event has that name; did you mean instructions" vpmc stat -e instuctions true
bad "none beside an event" 125 "${V}-e none: counts no event; leave out none, or all others" vpmc stat -e instructions,none true
bad "none twice" 125 "${V}-e none: counts no event; leave out none, or all others" vpmc stat -e none -e none true
begins "a doubled event" 125 "${V}cycles:u: the same as 'cycles', event 0 of the list; name it once" vpmc stat -e cycles,cycles:u true
begins "events in conflict" 125 "${V}branches@1: " vpmc stat -e cycles@1,branches@1 true
begins "an empty list" 125 "${V}" vpmc stat -e '' true
begins "an empty element" 125 "${V}" vpmc stat -e 'cycles,,branches' true
begins "an event that needs an MSR" 125 "${V}OFFCORE_RESPONSE_0:" vpmc stat -e OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT true
bad "too many events" 125 "${V}6 events: the first 4 fit into the counters at once, no more; leave some out, or let vpmc stat --split run the command once for each group" \
	vpmc stat -e rd0,rd1,rd2,rd3,rd4,rd5 true
begins "more events than any processor counts" 125 "${V}40 events: the first 4 fit into the counters at once, no more; " \
	vpmc stat -e "$(seq -s , 10 49 | sed 's/[0-9]*/rd&/g')" true

# COMMAND
bad "a COMMAND that is not there" 127 "${V}nonesuch: no such command; name one that is in PATH, or give its path" vpmc stat -e none nonesuch
bad "a COMMAND with control characters" 127 "${V}none\\x0asuch\\x1b[31m: no such command; name one that is in PATH, or give its path" \
	vpmc stat -e none "$(printf 'none\nsuch\033[31m')"
begins "an event with control characters" 125 "${V}cyc les [31m: there is a blank or a control character in it; " \
	vpmc stat -e "$(printf 'cyc\nles\033[31m')" true
bad "a path that is not there" 127 "${V}/none/such: no such command; name one that is in PATH, or give its path" vpmc stat /none/such
bad "a directory" 126 "${V}/tmp: is a directory; name a program in it" vpmc stat /tmp
: >plain
bad "a file that is no program" 126 "${V}./plain: cannot be executed: Permission denied; name a program" vpmc stat ./plain
printf '#!/none/such\n' >script
chmod +x script
bad "a script whose interpreter is not there" 127 \
	"${V}./script: the program that its first line or its header names is not there; install that" vpmc stat ./script

# options
for n in 0 -1 x 1000001 1x ''; do
	bad "-r '$n'" 125 "${V}-r $n: not a number from 1 to 1000000; give one" vpmc stat -r "$n" true
done
bad "-x with two characters" 125 "${V}-x ab: not a single character; give one, such as -x ," vpmc stat -x ab true
bad "-x with none" 125 "${V}-x : not a single character; give one, such as -x ," vpmc stat -x '' true
bad "-x with a quote" 125 "${V}-x: quotes and ends of lines cannot separate fields; give another character, such as -x ," vpmc stat -x '"' true
bad "-j and -x" 125 "${V}-j and -x: one format is possible at a time; leave out the other one" vpmc stat -j -x , true
bad "-j and --format csv" 125 "${V}-j and --format csv: one format is possible at a time; leave out the other one" vpmc stat -j --format csv true
bad "-x and --format json" 125 "${V}-x and --format json: one format is possible at a time; leave out the other one" vpmc stat -x , --format json true
bad "--format text and -j" 125 "${V}-j and --format text: one format is possible at a time; leave out the other one" vpmc stat --format text -j true
for words in "-x ; --format csv" "--format csv -x ;"; do
	# shellcheck disable=SC2086 # words
	equal "$words: the separator is that of -x" "thread;name;event" "$(vpmc stat $words -o - -e none true | head -n 1 | cut -c 1-17)"
done
bad "-p and -t" 125 "${V}-p and -t: one of them is possible at a time; leave out the other one" vpmc stat -p 1 -t 1
bad "--per-thread and -r" 125 "${V}--per-thread: the threads of several runs are not the same; leave out -r and --split" vpmc stat --per-thread -r 2 true
for option in '-r 2' '--warmup 1' '--compare none' '--vs true' --split --stopped '-t 1' '--format openmetrics -o x'; do
	# shellcheck disable=SC2086 # words
	bad "-m and $option" 125 "${V}-m: shows the regions of one run, from its beginning; leave out -r, --warmup, --compare, --vs, --split, --stopped, -p, -t and --format openmetrics" \
		vpmc stat -m $option true
done
bad "-r with -p alone" 125 "${V}COMMAND: there is none to be repeated; name one, such as -- sleep 5, or leave out -r and --split" vpmc stat -r 2 -p 1
bad "--metrics of nothing" 125 "${V}--metrics: there are no ratios of no events; leave out -e none" vpmc stat -e none --metrics true
bad "an unknown option" 125 "${V}--none: no such option; vpmc stat --help lists them" vpmc stat --none true
bad "an unknown letter" 125 "${V}-Z: no such option; vpmc stat --help lists them" vpmc stat -Z true
bad "an unknown letter among others" 125 "${V}-Z: no such option; vpmc stat --help lists them" vpmc stat -jZa true
bad "a letter without its value" 125 "${V}-e: its value is missing; write -e EVENTS" vpmc stat -e
bad "a letter among others without its value" 125 "${V}-r: its value is missing; write -r N" vpmc stat -jr
bad "an option without its value" 125 "${V}--repeat: its value is missing; write --repeat=N" vpmc stat --repeat
bad "an option with a value too much" 125 "${V}--json=1: --json takes no value; leave it out" vpmc stat --json=1 true
bad "the beginning of two options" 125 "${V}--re: can be --repeat and --revoke; write more of the name" vpmc stat --re 2 true
bad "vpmc itself: an unknown option" 125 "${V}-e: no such option; vpmc --help lists them" vpmc -e instructions true
bad "an unknown command" 125 "${V}none: no such command; there are stat, info, list, ctl, bench, graph, record, report, compare, cpus and help (vpmc help)" vpmc none
vpmc --help >wanted
for words in '' help 'help help' 'help --help'; do
	# shellcheck disable=SC2086 # words
	equal "vpmc $words: the help" "0 yes" "$(vpmc $words >said 2>&1; echo $?) $(cmp -s said wanted && echo yes)"
done
for command in stat info list ctl bench graph record report compare cpus; do
	vpmc $command --help >wanted
	equal "vpmc help $command" "0 yes" "$(vpmc help $command >said 2>&1; echo $?) $(cmp -s said wanted && echo yes)"
done
bad "help of an unknown command" 125 "${V}none: no such command; there are stat, info, list, ctl, bench, graph, record, report, compare, cpus and help (vpmc help)" \
	vpmc help none
bad "help --version" 0 "$(vpmc --version)" vpmc help --version
bad "help with an unknown option" 125 "${V}-e: no such option; vpmc --help lists them" vpmc help -e
bad "info with an argument" 125 "${V}x: vpmc info takes no arguments; leave it out" vpmc info x
bad "list without a match" 125 "${V}zzz*: no event's name matches it; vpmc list without a pattern lists all" vpmc list 'zzz*'
bad "ctl without a process" 125 "${V}-p: there is none; name a process, or a thread by -t" vpmc ctl start
bad "ctl -p and -t" 125 "${V}-p and -t: one of them is possible at a time; leave out the other one" vpmc ctl start -p 1 -t 1
bad "ctl -p 0" 125 "${V}-p 0: not a number from 1 to 2147483647; give one" vpmc ctl start -p 0
bad "ctl start -j" 125 "${V}-j: vpmc ctl start prints nothing; leave it out" vpmc ctl start -j -p 1
bad "ctl without a word" 125 "${V}ctl: nothing to do is named; use start, stop, clear or read" vpmc ctl -t 1
bad "ctl with a wrong word" 125 "${V}jump: vpmc ctl cannot do that; use start, stop, clear or read" vpmc ctl jump -t 1
bad "ctl of a thread without counters" 125 "${V}thread 1: has no counters; program some, as by vpmc stat --stopped" vpmc ctl start -t 1

# targets
begins "-p of no process" 125 "${V}thread 99999: there is no such thread" vpmc stat -p 99999
begins "-t of no thread" 125 "${V}thread 99999: there is no such thread" vpmc stat -t 99999
begins "-p of a thread of the kernel" 125 "${V}thread 2: threads of the kernel have no counters; " vpmc stat -p 2
bad "-p 0" 125 "${V}-p 0: not a number from 1 to 2147483647; give one" vpmc stat -p 0
# a process that has ended and has not been waited for
sh -c 'sleep 0.01 & echo $! >zombie; exec sleep 1000' &
await sh -c 'grep "^State:.Z" "/proc/$(cat zombie)/status"' 
begins "-p of a process that is exiting" 125 "${V}" vpmc stat -p "$(cat zombie)"
kill $!
sleep 1000 &
target=$!
await grep sleep /proc/$target/comm
begins "-p of another user's process" 125 "${V}thread $target: " confined -u vpmc stat -p $target
vpmc stat -t $target -e branches >/dev/null 2>&1 &
first=$!
await sh -c "vpmc ctl read -t $target | tee /tmp/before | grep branches"
bad "-p of a process that is counted already" 125 \
	"${V}thread $target (sleep): is counted already: 1 events, the first one's select is 0x100c4; end what programmed that, or wait for it" \
	vpmc stat -p $target -e cycles
vpmc ctl read -t $target >/tmp/after
equal "its counters are as they were" "$(cat /tmp/before)" "$(cat /tmp/after)"
bad "stat of a process that stat counts" 125 "${V}counting: the thread has a set of counters already; let its owner end it" \
	vpmc stat -o /dev/null -e instructions -- vpmc stat -e cycles -- true
kill $first
end $first
bad "what stat has programmed is gone" 125 "${V}thread $target: has no counters; program some, as by vpmc stat --stopped" vpmc ctl read -t $target
bad "-p and a COMMAND that is not there" 127 "${V}nonesuch: no such command; name one that is in PATH, or give its path" \
	vpmc stat -p $target -- nonesuch
bad "that leaves nothing programmed" 125 "${V}thread $target: has no counters; program some, as by vpmc stat --stopped" vpmc ctl read -t $target
kill $target

# output
bad "-o in a directory that is not there" 125 "${V}/none/such: cannot create it: No such file or directory; make its directory, or name another file by -o" \
	vpmc stat -o /none/such true
bad "-o of a directory" 125 "${V}/tmp: cannot write it: Is a directory; name a file by -o, not a directory" vpmc stat -o /tmp true
bad "-o without a name" 125 "${V}-o: the file's name is empty; name a file" vpmc stat -o '' true
mkdir -p full
mount -t tmpfs -o size=4k full full
echo before >full/result
bad "a full disk" 125 "${V}full/result: cannot write it: No space left on device; free some space, or name another file by -o" \
	vpmc stat -o full/result true "$(printf %05000d 0)"
equal "the file is as it was, and alone" "before full/result" "$(cat full/result) $(find full -type f)"
umount full
bad "a full device" 125 "${V}/dev/full: cannot write it: No space left on device; free some space, or name another file by -o" \
	sh -c '[ -e /dev/full ] || mknod /dev/full c 1 7; exec vpmc stat -o /dev/full true'
bad "a closed pipe" 125 "${V}standard output: cannot write it: Broken pipe; keep its reader running, or name a file by -o" \
	sh -c '(vpmc stat -o - true; echo $? >status) | sleep 0; exit $(cat status)'
vpmc stat -j -o new true
chmod 600 new
vpmc stat -j -o new true
equal "a good file is alone, and keeps its mode" "600 " "$(stat -c %a new) $(find . -name '.vpmc-*')"

# other users of the PMU
bad "perf has the PMU" 125 "${V}counting: perf has events on the PMU; end perf's measurement, or wait for it" \
	sh -c 'perfcount --hold & sleep 0.1; vpmc stat -e instructions true; s=$?; kill $!; exit $s'
sysctl -qw kernel.vpmc_revoke=1
bad "the administrator keeps the PMU" 125 "${V}counting: the administrator keeps the PMU; sysctl kernel.vpmc_revoke=0" vpmc stat -e instructions true
sysctl -qw kernel.vpmc_revoke=0
vpmc stat -x , -o csv -e instructions -- sh -c 'known; sysctl -qw kernel.vpmc_revoke=1; known; sysctl -qw kernel.vpmc_revoke=0; known; exit 7'
equal "revoked in the middle: COMMAND's status" 7 $?
equal "revoked in the middle: marked" revoked "$(awk -F , '$3 == "instructions:u" { print $13 }' csv)"
# one known and not two; the rest is the shell's, whose share depends on the C library
equal "revoked in the middle: the counts up to then" 1 \
	"$(awk -F , '$3 == "instructions:u" { print ($4 > 2000007 && $4 < 2 * 2000007) }' csv)"
if [ -e /proc/sys/kernel/nmi_watchdog ] && sysctl -qw kernel.nmi_watchdog=1 && [ "$(cat /proc/sys/kernel/nmi_watchdog)" = 1 ]; then
	bad "the watchdog has the PMU" 125 "${V}counting: the hard-lockup watchdog has the PMU or a counter of it; sysctl kernel.nmi_watchdog=0; if perf has events, the next refusal says so" vpmc stat -e instructions true
	equal "info says so" "Counting is not possible. counting: the hard-lockup watchdog has the PMU or a counter of it; sysctl kernel.nmi_watchdog=0; if perf has events, the next refusal says so" \
		"$(vpmc info | tail -n 1)"
	sysctl -qw kernel.nmi_watchdog=0
else
	result "the watchdog has the PMU" 1
fi
bad "no vpmc in the kernel" 125 "${V}this thread's counters: this kernel has no vpmc, or /proc is not mounted; boot a kernel with CONFIG_VPMC=y" \
	unshare -m sh -c 'umount -l /proc; vpmc stat true'
