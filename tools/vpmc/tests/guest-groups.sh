#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2154 # known.numbers
# Checks groups of metrics, and -d.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
V='vpmc: '
mkdir -p /tmp/groups
cd /tmp/groups || exit

# The events that a result has, and the lines of -M
events() {
	awk -F , 'NR > 1 && $5 == "events" { print $3 }' csv | xargs
}
metric() {
	awk -F , -v name="$1" '$1 == "" && $3 == name { print $4 }' csv
}
# of_group OPTION...: counts known, with CSV
of_group() {
	rm -f csv
	vpmc stat -x , -o csv "$@" -- known >said 2>&1 || cat said
}

of_group -M basic
equal "a group alone counts its events alone" "instructions:u cycles:u" "$(events)"
equal "instructions per cycle" 1.000000 "$(metric "basic: instructions per cycle")"
of_group --group basic -e branches,instructions
equal "-e and a group have one event in common, which is counted once" "branches:u instructions:u cycles:u" "$(events)"
branches=$(field 4 branches:u csv)
of_group -M branch,basic
equal "two groups" "instructions:u branches:u branch-misses:u cycles:u" "$(events)"
equal "what is left out" ",unavailable" \
	"$(awk -F , '$3 == "branch: misses per branch" { print $4 "," $13 }' csv)"
equal "the other metrics are there" "$(awk "BEGIN { printf \"%.6f\", $branches / $KNOWN_ALONE }")" \
	"$(metric "branch: branches per instruction")"
of_group -M cache
equal "a divisor that is 0" ",zero" "$(awk -F , '$3 == "cache: L1 misses per load" { print $4 "," $13 }' csv)"
vpmc stat -M cache -o text -- known
equal "text says so" "- % L1 misses per load the divisor loads is 0" "$(grep 'per load' text | xargs)"
vpmc stat -M cache -j -o json -- known
equal "JSON says so" '"why":"the divisor loads is 0"' "$(grep 'why.*divisor' json | xargs -0 | tr -d '\n' | sed 's/^ *//; s/ *$//')"
equal "no metric without -M" 0 "$(of_group -e cycles; grep -c ': ' csv)"

# A group of one's own
mkdir -p groups-mine groups-theirs
cat >groups-mine/own.json <<-'JSON'
	{
	  "version": 1, "name": "own", "description": "Known numbers",
	  "alternatives": [
	    {"processors": ["amd"], "events": {"I": "cycles"}, "metrics": [{"name": "wrong", "unit": "x", "formula": "I"}]},
	    {
	      "processors": ["hsw", "intel"],
	      "events": {"I": "instructions", "B": "branches"},
	      "metrics": [
	        {"name": "rest", "unit": "instructions", "formula": "I - 2 * B"},
	        {"name": "per call", "unit": "instructions", "formula": "I / 100"},
	        {"name": "time", "unit": "s", "formula": "min(time, elapsed) - time"}
	      ]
	    },
	    {"events": {"I": "instructions"}, "metrics": [{"name": "late", "unit": "x", "formula": "I"}]}
	  ]
	}
JSON
sed 's/I - 2/I - 3/' groups-mine/own.json >groups-theirs/own.json
export VPMC_GROUPS=":groups-mine:groups-theirs:/nowhere"
of_group -M own
equal "the first alternative for the processor is taken, of the first directory" \
	"$((KNOWN_ALONE - 2 * branches)).000000 $((KNOWN_ALONE / 100)).070000 0.000000" \
	"$(for name in rest "per call" time; do metric "own: $name"; done | xargs)"
of_group -M groups-theirs/own.json
equal "a path" "$((KNOWN_ALONE - 3 * branches)).000000" "$(metric "own: rest")"
equal "the list has those of the directories, and the installed ones" "basic branch cache llc own tlb topdown" \
	"$(vpmc list --groups -n | xargs)"
equal "a pattern" "own Known numbers" "$(vpmc list --groups 'O*' | xargs)"
sed 's/"name": "own"/"name": "bad"/' groups-mine/own.json >groups-mine/worse.json
sed 's/"own"/"bad"/; s/"cycles"/1/' groups-mine/own.json >groups-mine/bad.json
equal "the list says what is wrong with a file" \
	"worse - has the name bad, and the file another one; rename one of them" "$(vpmc list --groups worse | tr -d '"' | xargs)"
equal "it names what can be used alone" "basic branch" "$(vpmc list -n --groups 'b[ar]*' | xargs)"
rm groups-mine/worse.json groups-mine/bad.json

# Several runs, and several groups of events
of_group -M own -r 3
equal "-r: of the means" "$((KNOWN_ALONE - 2 * branches)).000000" "$(metric "own: rest")"
vpmc stat -M own -r 3 -j -o json -- known
equal "-r: JSON has the values of the runs" "$((KNOWN_ALONE - 2 * branches)).000000 4" \
	"$(grep -o "[0-9]*\.000000" json | sort | uniq -c | awk -v n="$((KNOWN_ALONE - 2 * branches)).000000" '$2 == n { print $2, $1 }')"
# perf has its watchdog, as on machines of users
bad "too many events" 125 "${V}-M topdown: 5 events: the first 3 fit into the counters at once, no more; leave some out, or let vpmc stat --split run the command once for each group" \
	vpmc stat -M topdown -- known
of_group -M topdown,own --split
equal "--split: the events of a metric are in several runs" "1 $((KNOWN_ALONE - 2 * branches)).000000" \
	"$(awk -F , '$3 == "branches:u" { print $10 }' csv) $(metric "own: rest")"
equal "the slots of an emulated pipeline" "0.000000 0.000000 0.000000 100.000000" \
	"$(for name in retiring "bad speculation" "frontend bound" "backend bound"; do metric "topdown: $name"; done | xargs)"

# Regions, threads, processes
vpmc stat -m -M own -x , -o csv -- marked >said
equal "-m: metrics of a region" "101.000000" "$(awk -F , '$1 == "region" && $2 == "region" && $3 == "own: per call" { print $4 }' csv)"
equal "-m: they are of inclusive values" 142.020000 "$(awk -F , '$1 == "region" && $2 == "outer region" && $3 == "own: per call" { print $4 }' csv)"
equal "-m: metrics of the whole" "$(($(field 4 instructions:u csv) / 100))" "$(metric "own: per call" | sed 's/\..*//')"
equal "-m: of a region, elapsed has no value" ",not-run" \
	"$(awk -F , '$1 == "region" && $2 == "region" && $3 == "own: time" { print $4 "," $13 }' csv)"
vpmc stat -m -M own -j -o marked.json -- marked >said
cp marked.json /out
vpmc stat --per-thread -M own -x , -o csv -- known many
equal "--per-thread: metrics of the whole" "1 $(($(field 4 instructions:u csv) / 100))" \
	"$(grep -c 'own: per call' csv) $(metric "own: per call" | sed 's/\..*//')"
sleep 1000 &
target=$!
of_group -M basic -p $target
equal "-p: a process that does nothing" ",zero" "$(awk -F , '$3 == "basic: instructions per cycle" { print $4 "," $13 }' csv)"
kill $target
PMI_RANK=0 vpmc stat --rank -M own -o ranks-of-groups -- known
equal "report reads a rank with metrics" 1 "$(vpmc report ranks-of-groups | grep -c instructions:u)"
vpmc stat -M own -j -o base-own.json -- known
equal "a result with metrics is a base" 0 "$(vpmc stat --compare base-own.json -e instructions,branches -- known >/dev/null 2>said; echo $?)"

# What cannot be
bad "an unknown group" 125 "${V}-M nix: there is no such group; vpmc list --groups names them, or write a path with a slash" vpmc stat -M nix true
bad "an empty name" 125 "${V}-M: a name in the list is empty; name a group, as vpmc list --groups does" vpmc stat -M own, true
bad "a group twice" 125 "${V}-M: the group own is in the list twice; name it once" vpmc stat -M own -M groups-theirs/own.json true
for option in -a "--compare base-own.json" "--vs true"; do
	# shellcheck disable=SC2086 # words
	bad "-M $option" 125 "${V}-M: is not for -a, -C, --compare and --vs, which show events alone; name these by -e" vpmc stat -M own $option true
done
bad "-d -a" 125 "${V}-d: is not for -a, -C, --compare and --vs, which show events alone; name these by -e" vpmc stat -d -a true
bad "-M and OpenMetrics" 125 "${V}-M: OpenMetrics has counts alone; name the events by -e, or use another format" \
	vpmc stat -M own --format openmetrics -o own.prom true
bad "-M and no events" 125 "${V}-M: counts events; leave out -e none" vpmc stat -M own -e none true
bad "-d and no events" 125 "${V}-d: counts events; leave out -e none" vpmc stat -d -e none true

# wrong NAME EDIT WORDS: a file that was changed by sed must be refused with these words
wrong() {
	sed "$2" groups-mine/own.json >odd.json
	sed -i 's/"name": "own"/"name": "odd"/' odd.json
	bad "$1" 125 "${V}./odd.json: $3" vpmc stat -M ./odd.json true
}
wrong "another version" 's/"version": 1/"version": 2/' "has version 2 of the format, and this vpmc knows version 1; use a newer vpmc, or write that version"
wrong "no version" 's/"version": 1,//' 'the file has no "version" that is a number; add it, see vpmc-group(5)'
wrong "a version of another type" 's/"version": 1/"version": "1"/' 'the file has no "version" that is a number; add it, see vpmc-group(5)'
wrong "an unknown member" 's/"description"/"text": 1, &/' 'the file has a member "text", which vpmc-group(5) does not know; leave it out'
wrong "a description of another type" 's/"Known numbers"/[]/' 'the file has no "description" that is a text; add it, see vpmc-group(5)'
wrong "an empty description" 's/Known numbers//' 'the file has a "description" that is empty or has control characters; write a plain text'
wrong "a command for the terminal" 's/Known numbers/\\u001b[2J/' 'the file has a "description" that is empty or has control characters; write a plain text'
wrong "an alternative of another type" 's/"alternatives": \[/&1,/' 'an alternative is no object; write {"events": ..., "metrics": ...}'
wrong "processors of another type" 's/\["amd"\]/"amd"/' 'an alternative has no "processors" that is an array; add it, see vpmc-group(5)'
wrong "no processor" 's/\["amd"\]/[]/' 'an alternative has an empty array "processors"; write at least one element'
wrong "a number as a processor" 's/\["amd"\]/[1]/' 'an alternative has "processors" that are no texts; write names as vpmc info prints them'
wrong "events of another type" 's/{"I": "cycles"}/[]/' 'an alternative has no "events" that is an object; add it, see vpmc-group(5)'
wrong "an event of another type" 's/"cycles"/1/' 'an alternative has an event "I" that is no text; write a name as for -e'
wrong "a name that is no name" 's/"B":/"B-1":/' 'an alternative has an event "B-1", which is no name for formulas; use letters, digits and _, and none of min, max, time and elapsed'
wrong "a name with a meaning" 's/"B":/"time":/' 'an alternative has an event "time", which is no name for formulas; use letters, digits and _, and none of min, max, time and elapsed'
wrong "an unused name" 's/I - 2 \* B/I/' 'no formula uses the event "B"; leave it out'
wrong "an unknown name" 's/I - 2 \* B/I - Q/' "the formula of \"rest\": 'Q' is no name of \"events\"; add it there, or use time or elapsed"
wrong "two metrics of one name" 's/"per call"/"rest"/' 'two metrics are called "rest"; give them different names'
wrong "no unit" 's/"unit": "s",//' 'time has no "unit" that is a text; add it, see vpmc-group(5)'
wrong "a metric of another type" 's/"metrics": \[/&1,/' 'an alternative has "metrics" that are no objects; write {"name": ..., "unit": ..., "formula": ...}'
wrong "an empty formula" 's/I - 2 \* B//' 'rest has a "formula" that is empty or has control characters; write a plain text'
wrong "a blank formula" 's/I - 2 \* B/ /' "the formula of \"rest\": a number, a name or a '(' is missing at the end; write it there"
wrong "a huge number" 's/I - 2/1e999 + I/' 'the formula of "rest": 1e999 is too large; write a smaller number'
wrong "no number" 's/I - 2/1.2.3 + I/' "the formula of \"rest\": '1.2.3 + I * B' does not begin with a decimal number; write one, such as 1000 or 0.5"
wrong "a hexadecimal number" 's/I - 2/0x10 + I/' "the formula of \"rest\": '0x10 + I * B' does not begin with a decimal number; write one, such as 1000 or 0.5"
wrong "no operation" 's/I - 2/I 2/' "the formula of \"rest\": an operation, one of + - * /, is missing before '2 * B'; write it there"
wrong "an open parenthesis" 's/I - 2/(I - 2/' "the formula of \"rest\": a ')' is missing at the end; write it there"
wrong "a parenthesis too many" 's/\* B/* B)/' "the formula of \"rest\": an operation, one of + - * /, is missing before ')'; write it there"
wrong "min of one" 's/I - 2/min(I) - 2/' "the formula of \"rest\": a comma between two operands is missing before ') - 2 * B'; write it there"
wrong "a sign" 's/I - 2/-I - 2/' "the formula of \"rest\": '-I - 2 * B' begins with a sign, which no operand has; write 0-x for -x"
wrong "a function that is none" 's/I - 2/sqrt(I) - 2/' "the formula of \"rest\": 'sqrt' is no name of \"events\"; add it there, or use time or elapsed"
open=$(printf '%33s' '' | tr ' ' '(')
wrong "33 parentheses" "s/I - 2/${open}I/" 'the formula of "rest": more than 32 parentheses are nested; use fewer'
open=$(printf '%100000s' '' | tr ' ' '(')
printf '{"version": 1, "name": "odd", "description": "%s"}' "$open" >odd.json
bad "a file that is too large" 125 "${V}./odd.json: is too large: a file of a group has at most 65536 bytes; name another one" vpmc stat -M ./odd.json true
many=$(printf '%129s' '' | sed 's/ /I+/g')
wrong "a long formula" "s/I - 2/${many}I/" 'the formula of "rest": it has more than 256 numbers, names and operations; make two metrics of it'
wrong "an event that does not exist" 's/"branches"/"branchez"/' "branchez: no event has that name; did you mean branches?"
wrong "two events" 's/"branches"/"branches,cycles"/' 'the event "B" is a list of 2; write one event'
wrong "a file that is cut off" '$d' "is not JSON, or is cut off; write it as vpmc-group(5) says"
wrong "no JSON" '1s/^/x/' "is not JSON, or is cut off; write it as vpmc-group(5) says"
# behind NAME TEXT: a file that goes on must be refused
behind() {
	wrong "$1" "\$s/\$/$2/" "has something behind the object of the group; leave that out"
}
behind "words behind the object" " xx {"
behind "a second object" "{}"
# twice NAME EDIT MEMBER: a member that is there twice
twice() {
	wrong "$1" "$2" "an object has two members \"$3\"; give them different names, or leave one out"
}
twice "an event twice" 's/"B": "branches"/&, "B": "cycles"/' B
twice "an event twice, written in two ways" 's/"B": "branches"/&, "\\u0042" : "cycles"/' B
twice "a formula twice" 's/"formula": "I \/ 100"/&, "formula": "I"/' formula
twice "a description twice" 's/"version": 1/&, "description": "{\\"}"/' description
twice "a command for the terminal, twice" 's/"version": 1/&, "\\u001b[2J": 1, "\\u001b[2J": 2/' '?[2J'
sed 's/"own"/"odd"/; s/Known numbers/\\"x\\": {:/; s/^    {"events"/\/* "a": "a": *\/&/; 1s/^/\/\/ "a": "a":\n/' groups-mine/own.json >odd.json
of_group -M ./odd.json
equal "what looks like members is none" "$((KNOWN_ALONE / 100)).070000" "$(metric "odd: per call")"
wrong "another name" 's/"name": "own"/"name": "even"/' 'has the name "even", and the file another one; rename one of them'
wrong "no alternative for this processor" 's/"hsw", "intel"/"hsw"/; s/^    {"events"/    {"processors": ["zen"], "events"/' \
	"has no events for this processor, skl; write an alternative for it, see vpmc-group(5)"
echo '{"version": 1, "name": "odd", "description": "x", "alternatives": []}' >odd.json
bad "no alternatives" 125 "${V}./odd.json: the file has an empty array \"alternatives\"; write at least one element" vpmc stat -M ./odd.json true
echo '[]' >odd.json
bad "an array" 125 "${V}./odd.json: is no JSON object; see vpmc-group(5)" vpmc stat -M ./odd.json true
rm odd.json
bad "a file that is not there" 125 "${V}./odd.json: No such file or directory; vpmc list --groups names those that there are" vpmc stat -M ./odd.json true
mkfifo odd.json
bad "a FIFO" 125 "${V}./odd.json: is no file, but a directory or a device; name a file" vpmc stat -M ./odd.json true
bad "a directory" 125 "${V}./groups-mine: is no file, but a directory or a device; name a file" vpmc stat -M ./groups-mine true

rm odd.json
: >odd.json
chmod 600 odd.json
bad "an empty file" 125 "${V}./odd.json: is not JSON, or is cut off; write it as vpmc-group(5) says" vpmc stat -M ./odd.json true
bad "another user's file" 125 "${V}./odd.json: cannot be read: Permission denied; ask its owner, or name another one" \
	confined -u vpmc stat -M ./odd.json true
rm odd.json

of_group --metrics -e "branch-misses?,cycles"
equal "--metrics: an event that the kernel leaves out has one row" 1 "$(events | xargs -n 1 | grep -c '^branch-misses:u$')"

# -d
# counted: the events that have a count; reason NAME: why this processor does not count it
counted() {
	awk -F , '$5 == "events" && $4 != "" { print $3 }' csv | xargs
}
reason() {
	vpmc stat -x , -o reason -e "$1?" true
	awk -F , '$5 == "events" { print $13 }' reason
}
of_group -d
equal "-d: as many as fit beside the usual ones" \
	"instructions:u cycles:u branches:u L1-dcache-loads:u" "$(counted)"
equal "-d: the others have a row that says why they are left out" \
	"branch-misses:u $(reason branch-misses) L1-dcache-load-misses:u no-counter LLC-loads $(reason LLC-loads) LLC-load-misses $(reason LLC-load-misses)" "$(awk -F , '$5 == "events" && $4 == "" { print $3, $13 }' csv | xargs)"
of_group -dd --split
equal "-dd --split: all that the processor has, and each once" \
	"instructions:u cycles:u branches:u L1-dcache-loads:u L1-dcache-load-misses:u dTLB-load-misses:u iTLB-loads:u iTLB-load-misses:u" \
	"$(counted)"
LIBPFM_FORCE_PMU=nhm of_group -d -d -d -e cycles --split
equal "-d -d -d: another processor has prefetches, and -e is kept" \
	"cycles:u L1-dcache-loads:u L1-dcache-load-misses:u dTLB-loads:u dTLB-load-misses:u iTLB-loads:u iTLB-load-misses:u L1-dcache-prefetches:u L1-dcache-prefetch-misses:u" \
	"$(counted)"
# All counters that sets can have, without the one of perf's. One event more is not more than the
# processor has.
full=instructions nr=1
for event in cpu/ref-cycles/ cycles r1 r2 r3 r4 r5 r6; do
	vpmc stat -e "$full,$event" true >said 2>&1 || break
	full=$full,$event nr=$((nr + 1))
done
for option in --metrics -d -ddd; do
	of_group $option -e "$full"
	equal "$option: all counters are in use already" "$nr" "$(counted | wc -w)"
done
of_group --split -e "$full,r99"
equal "--split: one event more" "$((nr + 1)) 0,1" "$(counted | wc -w) $(awk -F , '$5 == "events" { print $10 }' csv | sort -u | xargs | tr ' ' ,)"
bad "one event more" 125 "${V}$((nr + 1)) events: the first $nr fit into the counters at once, no more; leave some out, or let vpmc stat --split run the command once for each group" \
	vpmc stat -e "$full,r99" true
for command in record graph; do
	bad "$command: one event more" 125 "${V}$((nr + 1)) events: the first $nr fit into the counters at once, no more; leave some out, or let vpmc stat --split run the command once for each group" \
		vpmc $command -e "$full,r99" true
done
echo shared 1,1 >/proc/sys/kernel/vpmc_counters
of_group
equal "the usual events, as far as the administrator leaves counters" "instructions:u cycles:u" "$(counted)"
echo shared >/proc/sys/kernel/vpmc_counters
LIBPFM_FORCE_PMU=core of_group -dd --split -e branches
equal "-dd: misses are per load, in whichever run these were" "0.000000 per iTLB-load" \
	"$(awk -F , '$3 == "iTLB-load-misses:u" { print $11, $12 }' csv)"
