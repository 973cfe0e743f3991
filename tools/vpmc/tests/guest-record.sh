#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vpmc record and report: samples of known loops, and damaged files. The files go to
# /out, where check-samples checks them.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
# shellcheck source=/dev/null
. /add/sampled.lines
export LD_LIBRARY_PATH=/add
sysctl -qw kernel.vpmc_overflow_rate=1000000000
V='vpmc: '

# record SCENE TURNS OPTION...: records that scene
record() {
	_scene=$1 _turns=$2
	shift 2
	vpmc record -o "/out/$_scene.record" "$@" -- sampled "$_scene" "$_turns" >said 2>&1
}
# samples FILE FUNCTION: prints the number of its samples
samples() {
	vpmc report "$1" 2>/dev/null | awk -v f="$2" 'NF > 3 && $5 == f && $6 == "sampled" { gsub(",", "", $3); print $3 }'
}
# at FILE FUNCTION: prints the lines of its samples, and how many each line has
at() {
	vpmc report "$1" 2>/dev/null | awk -v f="$2" '$5 ~ /sampled\.c:/ && $6 == f { sub(".*:", "", $5); print $5 ":" $3 }'
}

# A loop of K periods has K samples, wherever it begins: here of 2, 4 and 6 million
# instructions.
for period in 1000 10000 1000000; do
	record plain 1000000 -c $period
	equal "a sample each $period: status and messages" "0 " "$? $(cat said)"
	equal "a sample each $period: one()" $((2000000 / period)) "$(samples /out/plain.record one)"
	equal "a sample each $period: two()" $((4000000 / period)) "$(samples /out/plain.record two)"
	equal "a sample each $period: its line" "$LINE_one:$(vpmc report /out/plain.record 2>/dev/null | awk '$5 == "one" && $6 == "sampled" { print $3 }')" \
		"$(at /out/plain.record one)"
done
record threads 1000000 -c 10000 -e instructions,branches
equal "threads: status and messages" "0 " "$? $(cat said)"
equal "threads: three()" 1200 "$(samples /out/threads.record three)"
equal "threads: each thread's" "6000000 6000000" \
	"$(vpmc report --folded /out/threads.record | awk '/^(first|second)-.*;three / { print $2 }' | xargs)"
record moving 1000000 -c 10000
equal "threads that move: three()" 3201 "$(samples /out/moving.record three)"
equal "threads that move: their migrations" "first 3 second 4" \
	"$(vpmc report /out/moving.record 2>/dev/null | awk '$9 == "first" || $9 == "second" { print $9, $8 }' | xargs)"
record children 1000000 -c 10000
equal "children: status and messages" "0 " "$? $(cat said)"
equal "children: one()" 400 "$(samples /out/children.record one)"
equal "children: two()" 800 "$(samples /out/children.record two)"
equal "children: three()" 1200 "$(samples /out/children.record three)"
record killed 1000000 -c 10000
equal "a program that is killed: its status" 137 $?
equal "a program that is killed: one()" 200 "$(samples /out/killed.record one)"
for scene in plain threads moving children killed; do
	vpmc report -j -o /out/$scene.samples /out/$scene.record
	vpmc report --html -o /out/$scene.html /out/$scene.record
	equal "$scene: a page" 1 "$(grep -c '<script id="data"' /out/$scene.html)"
done
vpmc stat -x , -o csv -e instructions -- sampled plain 1000000

# a program without .debug_aranges, as clang and rustc make them
vpmc record -c 10000 -o units.record -- sampled-units plain 1000000
for function in one two; do
	equal "without .debug_aranges: the lines of $function()" "$(at /out/plain.record $function | cut -d: -f1)" \
		"$(vpmc report units.record 2>/dev/null | awk -v f=$function '$5 ~ /sampled\.c:/ && $6 == f { sub(".*:", "", $5); print $5 }')"
done

# names as compilers of several languages make them
vpmc record -c 10000 -o mangled.record -- mangled 1000000
for name in 'void space::add<int>(int)' 'crate::module::add' 'crate::module::sub' 'module.add()' '_Dodd'; do
	equal "a name that was mangled: $name" 1 "$(vpmc report mangled.record 2>/dev/null | grep -cF " $name " | sed 's/^[1-9].*/1/')"
done

# a program without symbols
vpmc record -c 10000 -o stripped.record -- sampled-stripped plain 1000000 >said 2>&1
vpmc report stripped.record >said 2>&1
equal "a stripped program: a line says so" \
	"vpmc: 2 files: have samples without a function's name, as in stripped programs; do not strip them, or install their debug symbols" \
	"$(grep '^vpmc: [0-9]' said)"
equal "a stripped program: its samples" 1 "$(grep -c '\[sampled-stripped\] *sampled-stripped$' said)"

# Programs that are no longer what they were: names are never those of another file.
# changed NAME FILE FUNCTION [OPTION]...: FUNCTION has no name, and a line says so
changed() {
	_case=$1 _file=$2 _function=$3
	shift 3
	vpmc report "$@" "$_file" >said 2>&1
	equal "$_case: status" 0 $?
	equal "$_case: a line says so" \
		"${V}1 files: have changed since they were sampled, or are gone; name a directory with those that were sampled by --symfs" \
		"$(grep '^vpmc: .*changed' said)"
	equal "$_case: no name" "0 1" "$(grep -c " $_function *prog$" said) $(grep -c '\[prog, has changed\] *prog$' said)"
}
# same NAME FILE [OPTION]...: one() has its name
same() {
	_case=$1 _file=$2
	shift 2
	equal "$_case" 1 "$(vpmc report "$@" "$_file" 2>/dev/null | grep -c ' one *prog$')"
}
mkdir -p old moved
cp /add/sampled prog
vpmc record -c 10000 -o changed.record -- ./prog plain 1000000
same "a program as it was" changed.record
cp prog moved && mv moved/prog prog
same "a program that was copied: its build id is the same" changed.record
cp /add/sampled-stripped prog.new && mv prog.new prog
equal "a program that was stripped: it is the same" 1 "$(vpmc report changed.record 2>/dev/null | grep -c '\[prog\] *prog$')"
cp /add/sampled-bare prog.new && mv prog.new prog
changed "a program that was built anew" changed.record one
cp /add/sampled "old/$(basename "$PWD")-is-not-its-name"
changed "--symfs without the program" changed.record one --symfs old
cp /add/sampled old/prog
same "--symfs by the file's name" changed.record --symfs old
bad "--symfs of no directory" 125 "${V}--symfs none: No such file or directory; name a directory with the files that were sampled" \
	vpmc report --symfs none changed.record
bad "--symfs of a file" 125 "${V}--symfs changed.record: Not a directory; name a directory with the files that were sampled" \
	vpmc report --symfs changed.record changed.record
rm old/prog
mkdir -p "old$PWD"
cp /add/sampled "old$PWD/prog"
same "--symfs by the whole path" changed.record --symfs old
cp /add/sampled-bare "old$PWD/prog"
changed "--symfs with another program of that name" changed.record one --symfs old
rm prog
changed "a program that is gone" changed.record one
# without a build id
cp /add/sampled-bare prog
vpmc record -c 10000 -o bare.record -- ./prog plain 1000000
same "a program without a build id" bare.record
cp -p prog "old$PWD/prog"
touch prog
changed "a program without a build id, with another time" bare.record one
same "--symfs by the file's size" bare.record --symfs old
echo >>"old$PWD/prog"
changed "--symfs with another size" bare.record one --symfs old
rm prog
# Through /proc/PID/root: while the process lives, its own files are found.
cp /add/sampled prog
vpmc record -c 100000 -o living.record -- ./prog forever 1000000 >said 2>&1 &
recorder=$!
await sh -c '[ "$(stat -c %s living.record)" -gt 20000 ]'
same "a program that still runs" living.record
kill -9 "$(pidof prog)"
wait $recorder
rm prog

# libraries that are loaded one after the other, each at the address of the one before
vpmc record -c 10000 -o plugins.record -- plugins /add/libplugin-one.so /add/libplugin-two.so /add/libplugin-three.so /add/libplugin-one.so >said 2>&1
equal "plugins: at one address" "4 1" "$(grep -c '^0x' said) $(grep '^0x' said | sort -u | wc -l)"
equal "plugins: each has its name" "one 400 three 800 two 400" \
	"$(vpmc report plugins.record 2>/dev/null | awk '$6 ~ /^libplugin-/ && $5 ~ /^work_/ { gsub(",", "", $3); sub("work_", "", $5); print $5, $3 }' | sort | xargs)"

# vpmc record is killed; what it had written can be read
vpmc record -c 100000 -o cut.record -- sampled forever 1000000 >said 2>&1 &
recorder=$!
await sh -c '[ "$(stat -c %s cut.record)" -gt 20000 ]'
kill -9 $recorder
wait $recorder
kill -9 "$(pidof sampled)"
vpmc report cut.record >said 2>&1
equal "vpmc record is killed: status of report" 0 $?
equal "vpmc record is killed: a line says so" 1 \
	"$(grep -c '^vpmc: cut.record: is cut off: vpmc record was ended, or its disk was full; the first [0-9]* samples are there$' said)"

# a file that is cut off at any place
size=$(stat -c %s /out/children.record)
head -c $((size / 2 + 4)) /out/children.record >half.record
vpmc report half.record >said 2>&1
equal "a file that is cut off: status of report" 0 $?
# samples of one CPU precede those of the next one, so this may be any of the functions
there=$(sed -n 's/^vpmc: half.record: is cut off: .* the first \([0-9]*\) samples are there$/\1/p' said)
equal "a file that is cut off: what is there" "some of $there" \
	"$(awk '/^[0-9,]* samples of / { gsub(",", "", $1); print ($1 > 0 ? "some" : "none"), "of", $1 }' said)"
head -c 40 /out/plain.record >short.record
bad "a file without samples" 125 "${V}short.record: is cut off before its first sample; run vpmc record again" vpmc report short.record
head -c 8 /out/plain.record >short.record
bad "a file of 8 bytes" 125 "${V}short.record: is cut off before its first sample; run vpmc record again" vpmc report short.record
{ head -c 8 /out/plain.record && printf '\002\000\000\000' && tail -c +13 /out/plain.record; } >earlier.record
bad "a file of an earlier version" 125 "${V}earlier.record: has the version 2, and this vpmc reads version 3; use the vpmc that wrote it" \
	vpmc report earlier.record
echo nothing >nothing.record
bad "a file of something else" 125 \
	"${V}nothing.record: cannot be read: it is no file of vpmc record, and no JSON, or cut off; name a file of vpmc record, or run vpmc graph again" \
	vpmc report nothing.record
bad "a pipe" 125 "${V}/dev/stdin: is a pipe or a device, which cannot be read; let vpmc graph or vpmc record write a file by -o, and name that" \
	sh -c 'vpmc record -o - -- true 2>/dev/null | vpmc report /dev/stdin'
equal "a file as standard input" "0 1" "$(vpmc report /dev/stdin </out/plain.record >said 2>/dev/null; echo $?) $(grep -c ' one *sampled$' said)"
# Names of threads may have characters that command a terminal, and bytes that are none.
odd=$(printf '\033[7m\302\233\303\274\377\\x1')
cp "$(command -v known)" "$odd"
vpmc record -e instructions -c 10000 -o odd.record -- "./$odd"
equal "--folded: control characters are escaped" "$(printf '\\x1b[7m\\xc2\\x9b\303\274\\xff\\x5cx1')" \
	"$(vpmc report --folded odd.record | sed -n '1s,-[0-9]*/.*,,p')"
bad "two formats" 125 "${V}-j, --html and --folded: one format is possible at a time; leave out the others" vpmc report -j --html /out/plain.record

# a full disk
mkdir -p full
mount -t tmpfs -o size=8k full full
vpmc record -c 1000 -o full/record -- sampled plain 1000000 >said 2>&1
equal "a full disk: status and message" \
	"125 vpmc: full/record: cannot write it: No space left on device; free some space, or name another file by -o; what was sampled before is kept" "$? $(cat said)"
vpmc report full/record >said 2>&1
equal "a full disk: what is kept" 1 "$(grep -c 'is cut off' said)"
# what the caller has written to the same descriptor stays
rm full/record
{
	echo before
	head -c 4090 /dev/zero
	vpmc record -c 1000 -o - -- sampled plain 1000000 2>said
} >full/both
equal "a full disk, standard output: what was there before, and samples" "before vpmcrec yes" \
	"$(head -n 1 full/both) $(tail -c +4098 full/both | head -c 7) $([ "$(stat -c %s full/both)" -gt 7000 ] && echo yes)"
umount full
{ vpmc record -c 1000 -o - -- sampled plain 1000000 2>said; echo $? >status; } | :
equal "a pipe without a reader: status and message" \
	"125 vpmc: standard output: cannot write it: Broken pipe; keep its reader running, or name a file by -o; what was sampled before is kept" \
	"$(cat status) $(cat said)"

bad "no COMMAND" 125 "${V}COMMAND: there is none; name one" vpmc record
bad "-c 0" 125 "${V}-c 0: not a number from 1 to 9223372036854775807; give one" vpmc record -c 0 true
bad "-e none" 125 "${V}-e: its first event makes the samples, and there is none; name one, such as instructions" vpmc record -e none true
bad "-o without a name" 125 "${V}-o: the file's name is empty; name a file" vpmc record -o '' true
begins "a period that is too short" 125 "${V}instructions: the period is shorter than the administrator allows; " vpmc record -c 10 true
begins "-o in a directory that is not there" 125 "${V}/none/such: cannot create it: " vpmc record -o /none/such true
echo before >there.record
begins "a COMMAND that is not there" 127 "${V}nonesuch: no such command; " vpmc record -o there.record nonesuch
equal "a COMMAND that is not there: the file is as before" before "$(cat there.record)"
begins "a COMMAND that is not there, and no file" 127 "${V}nonesuch: no such command; " vpmc record nonesuch
equal "a COMMAND that is not there: no file is left" 1 "$(find vpmc.record 2>&1 | grep -c 'No such file')"
bad "not enough memory" 125 "${V}samples: need more locked memory than allowed; raise ulimit -l" \
	confined -u sh -c 'ulimit -l 8; exec vpmc record -o /dev/null true'
sysctl -qw kernel.vpmc_paranoid=2
begins "not permitted" 125 "${V}" confined -u vpmc record -o /dev/null true
sysctl -qw kernel.vpmc_paranoid=-1

# A program does not let vpmc record run. Each sample is there or is counted as lost.
taskset 1 vpmc record -c 1000 -o lost.record -- sampled alone 10000000 >said 2>&1
equal "lost samples: status and message" "0 1" "$? $(grep -c '^vpmc: [0-9]* samples: were lost, because' said)"
vpmc report lost.record 2>/dev/null | head -n 2 | tr -d , >said
equal "lost samples: all are counted" "$(awk 'NR == 2 { print int($1 / 1000) }' said)" \
	"$(awk 'NR == 1 && $9 == "lost" { print $1 + $8 }' said)"
sysctl -qw kernel.vpmc_overflow_rate=100000

# Samples that come too fast: what is delayed until a system call is not the system call's.
record blocking 300000 -c 1000
equal "delayed samples: status and messages" "0 " "$? $(cat said)"
vpmc report /out/blocking.record >said 2>&1
equal "delayed samples: the report says so" 1 "$(grep -c '^vpmc: [0-9]* periods: have no address, because they came faster than kernel.vpmc_overflow_rate permits; ' said)"
equal "delayed samples: how many periods there are" 1 \
	"$(awk '/ samples of / && / periods without an address$/ { n++ } END { print n + 0 }' said)"
# two() ends before the first system call
equal "delayed samples: one() has nearly all others" yes \
	"$(awk '$6 == "sampled" && $5 == "one" { one = $1 } $6 == "sampled" && $5 == "two" { two = $1 }
		END { print (one > .95 * (100 - two) ? "yes" : one "% beside " two "%") }' said)"
equal "delayed samples: no system call has a share" 0 \
	"$(awk '$2 == "%" && NF == 6 && $6 == "libc.so.6" { sum += $1 } END { print int(sum + 0.5) }' said)"
vpmc report -j -o /out/blocking.samples /out/blocking.record 2>/dev/null
vpmc report --html -o /out/blocking.html /out/blocking.record 2>/dev/null
