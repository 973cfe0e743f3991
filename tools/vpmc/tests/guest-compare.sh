#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# Checks stat --compare, --vs and --warmup, and compare with files of stat. What compare
# does with files that are made up is in check-compare.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
V='vpmc: '

# json WORD FILE: the first value of that member
json() {
	tr -d ' \n' <"$2" | grep -o "\"$1\":[^],}]*" | head -n 1 | sed 's/[^:]*://; s/^\[//'
}

# two builds that differ by one instruction in a loop of a million turns
vpmc stat -j -o base.json -e instructions -- /add/base/turns
vpmc stat -j -o more.json -e instructions -- /add/more/turns
vpmc compare base.json more.json >text
equal "one instruction in a million turns: status and difference" "0 +1,000,000" \
	"$? $(awk '$1 == "instructions:u" { print $4 }' text)"
vpmc compare -j -o two.json base.json more.json
equal "the same by files, as JSON" 1000000 "$(json difference two.json)"
for limit in 999999 1000000; do
	vpmc stat --compare base.json --limit instructions=$limit -o text -- /add/more/turns
	equal "--compare --limit $limit: status and difference" "$((limit < 1000000)) +1,000,000" \
		"$? $(awk '$1 == "instructions:u" { print $4 }' text)"
done
vpmc stat --compare base.json --limit 0.5% -o text -- /add/base/turns
equal "--compare: the same program" "0 0 0.000% same Within the limits." \
	"$? $(awk '$1 == "instructions:u" { print $4, $5, $6 }' text) $(tail -n 1 text)"
vpmc stat --compare base.json --limit 0.5% --format markdown -o markdown -- /add/more/turns
equal "--format markdown" '1 **Beyond the limit: instructions:u.**' "$? $(head -n 1 markdown)"
vpmc stat --vs /add/base/turns -r 5 --warmup 1 -j -o vs.json -e instructions -- /add/more/turns
equal "--vs: status, difference, test, runs" '0 1000000 "exact" 5 1' \
	"$? $(json difference vs.json) $(json test vs.json) $(json runs vs.json) $(json warmup vs.json)"
cp two.json vs.json more.json /out

vpmc stat -j -o left.json -e 'instructions,OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT?' -- /add/base/turns
vpmc stat --compare left.json --limit 0 -o text -- /add/base/turns
equal "--compare: an event that the base left out is left out" "0 OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT left out" \
	"$? $(grep OFFCORE text | xargs)"

# The usual events have one that the kernel leaves out here when it is programmed.
vpmc stat -j -o usual.json -- /add/base/turns
vpmc stat --compare usual.json --limit 1% -o text -- /add/base/turns
equal "--compare: the usual events, of which one is left out" "0 branch-misses:u left out" "$? $(grep branch-misses text | xargs)"
bad "--compare: an event that the kernel leaves out, and -e insists" 125 \
	"${V}branch-misses:u: usual.json has left out the event, and COMMAND has not; leave it out of both" \
	vpmc stat --compare usual.json -e instructions,cycles,branches,branch-misses -- touch ran
sed 's/"left_out": *"[^"]*"/"values":[1]/' usual.json >had.json
bad "--compare: an event that the base has, and the kernel leaves out" 125 \
	"${V}branch-misses:u: COMMAND has left out the event, and had.json has not; leave it out of both" \
	vpmc stat --compare had.json -e 'instructions,cycles,branches,branch-misses?' -- true

# A gate must not pass because nothing was counted.
events='instructions,branch-misses?'
none="the event is left out and has no count; name one of instructions:u"
rm -rf ran
bad "--limit of an event that is left out" 125 "${V}--limit branch-misses:u=1%: $none,run-time,elapsed" \
	vpmc stat --vs true --limit branch-misses=1%,instructions=0 -e "$events" -- true
bad "--compare --limit of an event that is left out" 125 "${V}--limit branch-misses=1%: $none,cycles:u,branches:u,run-time,elapsed" \
	vpmc stat --compare usual.json --limit branch-misses=1% -- touch ran
bad "--limit of no event" 125 "${V}--limit 1%: is of all events, and none is compared; count one, or name one of run-time,elapsed" \
	vpmc stat --vs true --limit 1% -e none -- touch ran
early="a run ended before the delay of -D was over; count both with a shorter delay"
bad "--vs -D: both end before" 125 "${V}--vs: $early" vpmc stat -D 100000 -e instructions --vs true --limit 0% -- true
vpmc stat -D 100000 -j -o early.json -e instructions -- true
bad "--compare -D: the base has ended before" 125 "${V}early.json: $early" vpmc stat -D 100000 --compare early.json --limit 0% -- touch ran
stopped="nobody has started the counters of a run, and --stopped counts nothing until then; let the program start them, or vpmc ctl start, or leave out --stopped"
bad "--vs --stopped: nobody starts" 125 "${V}--vs: $stopped" vpmc stat --stopped -e instructions --vs true --limit 0% -- true
vpmc stat --stopped -j -o stopped.json -e instructions -- true
bad "--compare --stopped: nobody has started the base" 125 "${V}stopped.json: $stopped" \
	vpmc stat --stopped --compare stopped.json --limit 0% -- touch ran
# until: a program that ends well, by SIGTERM alone
until='trap "exit 0" TERM; while :; do :; done'
vpmc stat --timeout 50 -j -o cut.json -e instructions -- sh -c "$until"
bad "--compare: a base with another --timeout" 125 "${V}cut.json: was ended by --timeout 50, and COMMAND was counted with --timeout 20; count both alike" \
	vpmc stat --timeout 20 --compare cut.json --limit 0% -- touch ran
bad "--compare: a base with --timeout" 125 "${V}cut.json: was ended by --timeout 50, and COMMAND was counted without it; count both alike" \
	vpmc stat --compare cut.json --limit 0% -- touch ran
bad "--compare --timeout: COMMAND alone is ended" 125 "${V}COMMAND: was ended by --timeout 20, and base.json was counted without it; count both alike" \
	vpmc stat --timeout 20 --compare base.json --limit 0% -- sh -c "$until"
bad "--vs --timeout: one is ended" 125 "${V}--vs: was ended by --timeout 20, and COMMAND ended by itself; give a longer --timeout, or one that ends both" \
	vpmc stat --timeout 20 --vs "sleep 1000" --limit 0% -e instructions -- true
test ! -e ran
result "COMMAND has not run if it can be told before" $?
for command in "sh -c '$until'" "sleep 1000"; do
	timeout 20 vpmc stat --timeout 50 -r 2 --compare cut.json --limit 1000% -o text -- sh -c "exec $command"
	equal "--timeout: both are ended: $command" "0 Within the limits. 1" "$? $(tail -n 1 text) $(grep -c '^both sides were ended by --timeout 50: ' text)"
done
timeout 20 vpmc stat --timeout 100000 --compare base.json --limit 0.5% -o text -- /add/base/turns
equal "--timeout that ends nothing changes nothing" "0 Within the limits. 0" "$? $(tail -n 1 text) $(grep -c timeout text)"

# A file has one result.
cp base.json several.json
vpmc stat -j -o /dev/stdout -e instructions -- /add/more/turns >>several.json
vpmc stat -I 1 -j -o intervals.json -e instructions -- /add/base/turns
for file in several intervals; do
	bad "more than one result: $file" 125 \
		"${V}$file.json: has more than one result, or something else behind it; give each result a file of its own, by vpmc stat -j -o FILE" \
		vpmc compare $file.json $file.json
done
tail -n 1 intervals.json >last.json
vpmc compare base.json last.json >text
equal "the last line of -I -j is a result" "0 same" "$? $(awk '$1 == "instructions:u" { print $6 }' text)"

# A comparison adds nothing to what is counted.
value x -r 2 -e instructions,branches -- known many
vpmc stat -j -o known.json -r 2 -e instructions,branches -- known many
for option in "--compare known.json" "--vs true"; do
	# shellcheck disable=SC2086 # words
	vpmc stat $option -j -r 2 -o compared.json -e instructions,branches -- known many
	equal "$option: the counts are as without it" "$KNOWN_MANY,$KNOWN_MANY $(field 4 branches:u),$(field 4 branches:u)" \
		"$(tr -d ' \n' <compared.json | grep -o '"new":{"min"[^]]*' | sed 's/.*\[//' | head -n 2 | xargs)"
done

# the runs take turns, those of --warmup first
rm -f order
vpmc stat -r 3 --warmup 2 --vs "sh -c 'echo A >>order'" -o text -e none -- sh -c 'echo B >>order'
equal "--vs: the runs take turns" "A B A B A B A B A B" "$(xargs <order)"
equal "--vs: the words are split as by a shell" "Base: --vs, medians of 3 runs after 2 to warm up: sh -c echo A >>order" \
	"$(head -n 1 text)"
rm -f order
vpmc stat -r 2 --warmup 1 -j -o json -e none -- sh -c 'echo >>order'
equal "--warmup: one run more, and not kept" "3 2 1" "$(wc -l <order) $(json runs json) $(json warmup json)"
vpmc stat --warmup 1 -o text -e none -- sh -c 'if mkdir ran 2>/dev/null; then exit 3; fi'
equal "--warmup: its status counts" "3 The command ended with status 3." "$? $(tail -n 1 text)"
seq 9 >numbers
vpmc stat --warmup 1 -o text -e none -- cat <numbers >/dev/null
equal "--warmup reads standard input" "The first run has read standard input: the other runs had what was left of it." \
	"$(grep input text)"
vpmc stat -r 3 -o text -e instructions -- known
equal "-r: least, median, greatest, outliers" "$KNOWN_ALONE $KNOWN_ALONE $KNOWN_ALONE 0" \
	"$(awk '$5 == "instructions:u" && NF == 5 { print $1, $2, $3, $4 }' text | tr -d ,)"

# A program that fails is neither within the limit nor beyond it.
echo before >kept
bad "COMMAND ends with status 1" 2 "${V}COMMAND: the command ended with status 1; compare runs that succeed" \
	vpmc stat --compare base.json -o kept -- sh -c 'exit 1'
bad "COMMAND is ended by a signal" 143 "${V}COMMAND: the command was ended by signal 15; compare runs that succeed" \
	vpmc stat --compare base.json -o kept -- sh -c 'kill $$'
bad "COMMAND is not there" 127 "${V}nonesuch: no such command; name one that is in PATH, or give its path" \
	vpmc stat --compare base.json -o kept -- nonesuch
bad "the other command fails" 2 "${V}--vs: the command ended with status 3; compare runs that succeed" \
	vpmc stat --vs "sh -c 'exit 3'" -e none -o kept -- true
bad "the other command is not there" 127 "${V}nonesuch: no such command; name one that is in PATH, or give its path" \
	vpmc stat --vs nonesuch -e none -o kept -- true
bad "one run of several fails" 2 "${V}COMMAND: the command ended with status 4; compare runs that succeed" \
	vpmc stat --vs true -r 3 -e none -o kept -- sh -c 'if mkdir once 2>/dev/null; then exit 4; fi'
equal "the file of -o is as before" before "$(cat kept)"
vpmc stat -r 100 --vs true -e none -- sleep 1000 2>said &
pid=$!
signalled TERM pidof sleep
equal "a signal in the middle" "143 ${V}--vs: has not all runs: signal 15 came; count it again" "$? $(cat said)"

# A base that cannot be compared is found before COMMAND runs.
rm -rf ran
sed 's/"cpu": *"[^"]*"/"cpu":"Another"/' base.json >cpu.json
sed 's/"version": *1,/"version":2,/' base.json >version.json
head -c 500 base.json >cut.json
vpmc stat -j -o none.json --no-inherit -e instructions -- /add/base/turns
begins "a base of another processor" 125 "${V}cpu.json: was counted on another processor, Another (" \
	vpmc stat --compare cpu.json -- touch ran
bad "a base of a newer version" 125 "${V}version.json: has format version 2, and this vpmc knows up to version 1; use a vpmc that is as new as the one that wrote it" \
	vpmc stat --compare version.json -- touch ran
bad "a base that is cut off" 125 "${V}cut.json: is cut off, or not JSON; record it again, by vpmc stat -j -o cut.json" \
	vpmc stat --compare cut.json -- touch ran
bad "a base that is not there" 125 "${V}/none.json: cannot be read: No such file or directory; name a file that vpmc stat -j has written" \
	vpmc stat --compare /none.json -- touch ran
bad "a base of other events" 125 "${V}COMMAND: has no instructions:u, which base.json has; count the same events, -e instructions:u" \
	vpmc stat --compare base.json -e instructions:k -- touch ran
bad "a base with --no-inherit" 125 "${V}none.json: was counted with --no-inherit, and COMMAND without it; count both alike" \
	vpmc stat --compare none.json -- touch ran
bad "a limit of no event" 125 "${V}--limit cycles=1: nothing, or more than one, of that name is compared; name one of instructions:u,run-time,elapsed" \
	vpmc stat --compare base.json --limit cycles=1 -- touch ran
bad "a directory for -o" 125 "${V}/tmp: cannot write it: Is a directory; name a file by -o, not a directory" \
	vpmc stat --compare base.json -o /tmp -- touch ran
test ! -e ran
result "COMMAND has not run" $?
vpmc stat --compare cpu.json --other-cpu -o text -- /add/base/turns
equal "--other-cpu" "0 same another processor: Another" \
	"$? $(awk '$1 == "instructions:u" { print $6 }' text) $(grep -o '^another processor: Another' text)"

# events as perf writes them, and names without a counter
event=cpu/event=0xc0,umask=0/u
vpmc stat -j -o perf.json -e "$event,cs" -- /add/base/turns
for limit in 999999 1000000; do
	vpmc stat --compare perf.json --limit "$event=$limit,elapsed=1000%" -o text -- /add/more/turns
	equal "$event: --limit $limit: status and difference" "$((limit < 1000000)) +1,000,000" \
		"$? $(awk '/^cpu/ { print $4 }' text)"
done
for option in "--compare perf.json" "--vs true"; do
	# shellcheck disable=SC2086 # words
	bad "$option with a name without a counter" 125 "${V}page-faults: takes no counter, and is not compared; leave it out: run time and the time that passed are compared anyway" \
		vpmc stat $option -e "$event,page-faults" -- touch ran
done
vpmc stat -r 3 -o text -e instructions,page-faults,cs -- /add/base/turns
equal "-r: names without a counter have a line in both tables" "2 2" "$(grep -c ' page-faults' text) $(grep -c ' cs$' text)"
equal "-r: and what is shown anyway" "2 2" "$(grep -c ' seconds user time$' text) $(grep -c ' migrations$' text)"

# options
bad "--limit with a separator in it" 125 "${V}--limit 1,000: can be one number with a separator, or two limits; write digits and a point alone, as in 1000 or 0.5%, or a --limit for each" \
	vpmc stat --compare base.json --limit 1,000 -- touch ran
bad "--limit alone" 125 "${V}--limit: is for a comparison; add --compare BASE.json or --vs COMMAND" vpmc stat --limit 1 true
bad "--other-cpu alone" 125 "${V}--other-cpu: is for a comparison; add --compare BASE.json" vpmc stat --other-cpu true
bad "--other-cpu with --vs" 125 "${V}--other-cpu: both commands of --vs run on this one; leave it out" \
	vpmc stat --other-cpu --vs true true
bad "Markdown alone" 125 "${V}--format markdown: is for a comparison; add --compare BASE.json or --vs COMMAND" \
	vpmc stat --format markdown true
bad "--compare and --vs" 125 "${V}--compare and --vs: one base is possible at a time; leave out the other one" \
	vpmc stat --compare base.json --vs true true
bad "--compare without COMMAND" 125 "${V}--compare: counts a COMMAND; name one, and leave out -p, -t and -a" \
	vpmc stat --compare base.json
bad "--vs with -p" 125 "${V}--vs: counts a COMMAND; name one, and leave out -p, -t and -a" vpmc stat --vs true -p 1 true
bad "--compare with CSV" 125 "${V}--compare: has no CSV and no openmetrics; use --format text, json or markdown" \
	vpmc stat --compare base.json -x , true
for words in "-j --format markdown" "--format markdown -j"; do
	# shellcheck disable=SC2086 # words
	bad "compare $words" 125 "${V}-j and --format markdown: one format is possible at a time; leave out the other one" \
		vpmc compare $words base.json base.json
done
cp base.json same.json
ln same.json other-name.json
for name in same.json ./same.json other-name.json; do
	bad "--compare: -o of the base: $name" 125 "${V}$name: the result is made of it, and would replace it; name another file by -o" \
		vpmc stat --compare same.json -o $name -- sh -c 'echo >ran'
	bad "compare: -o of one of both: $name" 125 "${V}$name: the result is made of it, and would replace it; name another file by -o" \
		vpmc compare -o $name base.json same.json
done
equal "the base is as it was, and nothing ran" "0 " "$(cmp base.json same.json; echo $?) $(ls ran 2>/dev/null)"
bad "--compare in two formats" 125 "${V}-j and --format markdown: one format is possible at a time; leave out the other one" \
	vpmc stat --compare base.json --format markdown -j true
bad "--compare with --metrics" 125 "${V}--compare: compares events; leave out --per-thread, --metrics and --rank" \
	vpmc stat --compare base.json --metrics true
bad "--warmup with -p" 125 "${V}--warmup: is for a COMMAND that is counted; leave out -p, -t, -a, -C and --format openmetrics" \
	vpmc stat --warmup 1 -p 1 true
bad "--warmup x" 125 "${V}--warmup x: not a number from 0 to 1000000; give one" vpmc stat --warmup x true
for words in "a | b" "a; b" "a > b"; do
	bad "--vs '$words'" 125 "${V}--vs: has one of |&;<>(){} outside of quotes, and no shell runs it; quote that, or write sh -c '...'" \
		vpmc stat --vs "$words" -e none true
done
bad "--vs with a command within" 125 "${V}--vs: has a command within the command, and no shell runs it; write what it prints" \
	vpmc stat --vs 'echo $(pwd)' -e none true
bad "--vs with a variable" 125 "${V}--vs: has a variable that is not set; set it, or quote the \$" \
	vpmc stat --vs "echo \$NONE_SUCH" -e none true
bad "--vs with half a quote" 125 "${V}--vs: has a quote or a brace without its end; write both" \
	vpmc stat --vs "echo 'a" -e none true
bad "--vs ''" 125 "${V}--vs: the command is empty; name one" vpmc stat --vs '' -e none true
