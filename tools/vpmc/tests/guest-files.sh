#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Where results go, what they leave alone, and who gets signals.
# shellcheck disable=SC2086 # $STAT is a command with its options
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
V='vpmc: '
STAT='vpmc stat -e instructions'

# results FILE: how many results it has
results() {
	grep -c ' instructions:u$' "$1"
}
# A descriptor of this program is used as it is.
for name in /dev/stdout /dev/fd/1 /proc/self/fd/1 -; do
	echo before >out
	$STAT -o $name true >>out
	$STAT -o $name true >>out
	equal "-o $name: both results are appended" "before 2" "$(head -n 1 out) $(results out)"
done
$STAT -o /dev/stderr true 2>out
equal "-o /dev/stderr" 1 "$(results out)"
$STAT -o /dev/fd/7 true 7>out
equal "-o /dev/fd/7" 1 "$(results out)"
bad "-o of a descriptor that is closed" 125 "${V}/dev/fd/7: cannot write it: Bad file descriptor; open that descriptor, or name a file by -o" \
	$STAT -o /dev/fd/7 true

# A file stays what it is.
echo before >target
chmod 600 target
chown 65534:65534 target
ln target hard
ln -s target link
for name in target link hard; do
	$STAT -o $name true
	equal "-o $name: mode, owner, links, content" "600 65534 65534 2 1" "$(stat -c '%a %u %g %h' target) $(results target)"
	: >target
done
equal "the link is one" target "$(readlink link)"
ln -s nowhere dangling
$STAT -o dangling true
equal "-o of a link that leads nowhere" "nowhere 1" "$(readlink dangling) $(results nowhere)"
mkfifo fifo
cat fifo >out &
$STAT -o fifo true
wait
equal "-o of a pipe" "1 fifo" "$(results out) $(stat -c %F fifo)"
$STAT -o /dev/null true
equal "-o of a device" "character special file" "$(stat -c %F /dev/null)"
mkdir -p closed
echo before >closed/file
chmod 666 closed/file
chmod 555 closed
confined -u $STAT -o closed/file true
equal "-o of a file in a directory that may not be written to" 1 "$(results closed/file)"
bad "a command that is not there: no file is made" 127 "${V}nonesuch: no such command; name one that is in PATH, or give its path" \
	$STAT -o unmade nonesuch
equal "none is there" "" "$(ls unmade 2>/dev/null)"
# What is wrong behind -o, or before it, leaves the file as it was, whichever command it is.
vpmc stat -j -o good.json true
while read -r status words; do
	rm -rf of-names
	mkdir of-names
	for name in kept unmade; do
		echo before >of-names/kept
		# shellcheck disable=SC2046 # words
		timeout 20 $(echo "$words" | sed "s,FILE,of-names/$name,") >/tmp/said 2>&1 </dev/null
		equal "$words: status, one message, and $name" "$status 1 before kept" \
			"$? $(grep -cE '^(perfex|vpmc): ' /tmp/said) $(cat of-names/kept) $(ls of-names)"
	done
done <<'END'
125 perfex -o FILE -e xyz true
125 perfex -e 0x4100c0 -o FILE --nonsense true
125 perfex -o FILE
125 perfex -o FILE -e 0x4100c0@0 -e 0x4100c4@0 true
125 perfex -o FILE -e 0x4100c0@0x11 true
125 perfex -o FILE -o /nonsense/file true
127 perfex -o FILE -e 0x4100c0 /nonsense
125 perfex -o FILE -e 0x4100c0 selfish unlink
125 vpmc stat -o FILE -e nonsense true
125 vpmc stat -o FILE --none true
125 vpmc stat -o FILE -r 0 true
125 vpmc stat -o FILE -a -e nonsense true
125 vpmc stat -o FILE -e instructions --compare nonsense.json -- true
127 vpmc stat -o FILE nonesuch
125 vpmc record -o FILE -e nonsense true
125 vpmc record -o FILE -c 0 true
127 vpmc record -o FILE nonesuch
125 vpmc graph -o FILE -e nonsense -- plain 1
127 vpmc graph -o FILE nonesuch
125 vpmc compare -o FILE good.json nonsense.json
125 vpmc compare -o FILE --limit x good.json good.json
125 vpmc report -o FILE nonsense
END
echo before >kept
perfex -o kept -e 0x4100c0 -i >/tmp/said
equal "perfex -i has no use for -o" "0 before" "$? $(cat kept)"
perfex -o not-wanted -o kept -e 0x4100c0 true
equal "perfex -o twice: the last one" "0 2 no" "$? $(wc -l <kept) $([ -e not-wanted ] && echo yes || echo no)"
echo before >kept
vpmc stat -e instructions -o kept nonesuch 2>/dev/null
equal "and one that is there keeps its content" before "$(cat kept)"
# openmetrics replaces the file, through a link
echo '# EOF' >prom
chmod 640 prom
ln -s prom prom-link
vpmc stat --format openmetrics -o prom-link -e instructions true
equal "openmetrics through a link" "prom 640 1" "$(readlink prom-link) $(stat -c %a prom) $(grep -c '^vpmc_events_total' prom)"

# What a report is made of is not replaced by it.
vpmc record -o samples -e instructions true
LD_LIBRARY_PATH=/add vpmc graph -e instructions -o calls calls plain 1 >out 2>&1
for name in samples calls.json; do
	cp $name copy
	bad "report -o of its file: $name" 125 "${V}$name: the result is made of it, and would replace it; name another file by -o" \
		vpmc report --html -o $name $name
	equal "it is as it was: $name" 0 "$(cmp $name copy; echo $?)"
done

# Names that nobody has given are not followed.
mkdir -p planted
cd planted || exit
echo secret >../victim
for name in vpmc.record vpmc-graph.json vpmc-graph.svg; do
	ln -s ../victim $name
done
bad "record: a link at the usual name" 125 "${V}vpmc.record: cannot create it: Too many levels of symbolic links; a link is followed only if -o names it" \
	vpmc record -e instructions true
LD_LIBRARY_PATH=/add vpmc graph -e instructions calls plain 1 >out 2>&1
equal "graph: likewise" "125 1" "$? $(grep -c 'vpmc-graph.json: cannot create it: ' out)"
equal "nothing was written there" secret "$(cat ../victim)"
cd ..
vpmc record -o link -e instructions true
equal "record: a link that is named" "vpmcrec target" "$(head -c 7 target) $(readlink link)"
vpmc record -o - -e instructions -c 1000 true >piped
equal "record: standard output" 1 "$(vpmc report piped | grep -c 'samples of instructions')"

# a pipe that nobody reads
vpmc record -o fifo -e instructions true &
pid=$!
sleep 0.5
kill -TERM $pid
end $pid
equal "record: it waits for a reader, and SIGTERM ends it" 143 $?
cat fifo >piped &
vpmc record -o fifo -e instructions -c 1000 true
wait
equal "record: to a pipe" 1 "$(vpmc report piped | grep -c 'samples of instructions')"

# with closed standard descriptors
for closed in '<&-' '>&-' '2>&-' '<&- >&- 2>&-'; do
	rm -f result
	sh -c "exec vpmc stat -o result -e instructions -- sh -c 'ls -l /proc/self/fd | grep -c result >counted' $closed"
	equal "closed $closed: the result is in its file, and COMMAND has no descriptor of it" "1 0" \
		"$(results result) $(cat counted)"
done
sh -c 'exec vpmc stat -e instructions -o result -- sh -c "[ ! -e /proc/self/fd/2 ]" 2>&-'
equal "what is closed is closed for COMMAND" 0 $?

# Each signal is handed on, and the result is there.
for signal in HUP INT QUIT USR1 USR2 ALRM TERM ABRT PIPE WINCH CONT PROF XCPU URG; do
	rm -f ready result
	# shellcheck disable=SC2016 # for the other shell
	plain $STAT -o result -- sh -c 'trap "exit 7" "$1"; echo >ready; while :; do :; done' sh $signal &
	pid=$!
	signalled $signal test -s ready
	equal "SIG$signal is handed on" "7 1" "$? $(results result)"
done
rm -f ready result
(trap '' HUP INT; exec $STAT -r 3 -o result -- sh -c 'echo >>ready; sleep 0.3') &
pid=$!
await test -s ready
kill -HUP $pid
kill -INT $pid
end $pid
equal "signals that are ignored stay so" "0 3" "$? $(wc -l <ready)"
equal "no run is missing" "" "$(grep 'were made' result)"
rm -f ready
$STAT -r 5 -o result -- sh -c 'echo >>ready; sleep 0.5; exit 0' &
pid=$!
signalled USR1 test -s ready
equal "a signal that ends COMMAND ends the repetition" "138 1" "$? $(wc -l <ready)"
equal "that is told" "Of 5 runs, 1 were made: signal 10 (User defined signal 1) came." "$(grep 'were made' result)"
rm -f ready
# COMMAND ends well, but the runs are fewer
# shellcheck disable=SC2016
$STAT -r 5 -o result -- sh -c 'trap "exit 0" TERM; echo >>ready; while :; do :; done' &
pid=$!
signalled TERM test -s ready
equal "fewer runs are no success" "143 Of 5 runs, 1 were made: signal 15 (Terminated) came." "$? $(grep 'were made' result)"
rm -f ready
plain $STAT -o result -- sh -c 'echo >ready; while [ ! -e over ]; do sleep 0.01; done' &
pid=$!
await test -s ready
kill -TSTP $pid
await grep -q '^State:.T' "/proc/$pid/status"
kill -CONT $pid
echo >over
end $pid
equal "it can be stopped and goes on" "0 1" "$? $(results result)"

# a directory that goes away
mkdir gone
vpmc stat --format openmetrics --interval 0.05 -o gone/prom -e instructions -- sh -c 'mv gone went; sleep 0.3; mv went gone; sleep 0.2' 2>said
equal "openmetrics goes on" "0 1 1" \
	"$? $(grep -c 'cannot be written: No such file or directory; it is tried again' said) $(grep -c '^vpmc_events_total' gone/prom)"

# more threads than descriptors
crew &
target=$!
await sh -c "[ \$(ls /proc/$target/task | wc -l) = 4 ]"
# shellcheck disable=SC3045 # busybox has -S
(ulimit -Sn 8; exec $STAT -o result -p $target -- true)
equal "the limit of open files is raised" "0 1" "$? $(results result)"
# shellcheck disable=SC3045
begins "more threads than the hard limit of open files" 125 "${V}thread " \
	sh -c "ulimit -n 8; exec $STAT -p $target -- true"
equal "the remedy is named" 1 "$(grep -c ': Too many open files; close files, or raise the limit of open files (ulimit -n)$' /tmp/out)"
kill $target
# shellcheck disable=SC2016,SC3045
equal "COMMAND has the limit that it had" 8 "$(ulimit -Sn 8; vpmc stat -o /dev/null -e instructions -- sh -c 'ulimit -Sn')"

# text in a UTF-8 locale is shown as text, elsewhere without what a terminal may not know
cp "$(command -v known)" "$(printf 'gr\303\274n')"
vpmc record -e instructions -c 10000 -o green.record -- "$(printf './gr\303\274n')"
equal "a name in a UTF-8 locale" yes "$(LC_ALL=C.UTF-8 vpmc report green.record 2>/dev/null | grep -q "$(printf ' gr\303\274n')" && echo yes)"
equal "a name in the C locale" yes "$(LC_ALL=C vpmc report green.record 2>/dev/null | grep -q ' gr\\xc3\\xbcn' && echo yes)"

# JSON is UTF-8 whatever COMMAND is called
vpmc stat -j -o /out/odd.json -e instructions -- true "$(printf '\377\376 gr\303\274n \303')"
vpmc record -e instructions -o odd.record -- true "$(printf '\377')"
vpmc report -j -o /out/odd-record.json odd.record
