#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Ranks of a parallel program, and OpenMetrics. The files go to /out, where check-ranks
# and check-openmetrics check them.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

# launch VARIABLE SIZE-VARIABLE NUMBER COMMAND...: runs ranks as mpirun would
launch() {
	_rank_is=$1 _ranks_are=$2 _ranks=$3
	shift 3
	for _rank in $(seq 0 $((_ranks - 1))); do
		env "$_rank_is=$_rank" "$_ranks_are=$_ranks" "$@" &
	done
	wait
}
# each rank works for another time
# shellcheck disable=SC2016
work='exec calls plain $(((${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}} + 1) * 10000))'
launch OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE 4 vpmc stat --rank -o /out/ranks -e instructions,branches -- sh -c "$work"
equal "4 ranks, 4 files" "/out/ranks/rank-0.json /out/ranks/rank-1.json /out/ranks/rank-2.json /out/ranks/rank-3.json" \
	"$(echo /out/ranks/*)"
vpmc report -j -o /out/ranks.json /out/ranks
equal "report of ranks: status" 0 $?
vpmc report -o /out/ranks.txt /out/ranks
equal "report of ranks: the text's instructions" "$(grep -A9 '"name":"instructions:u"' /out/ranks.json | sed -n 's/.*"sum":\([0-9]*\),/\1/p')" \
	"$(awk '$1 == "instructions:u" { print $3 }' /out/ranks.txt | tr -d ,)"
for variable in PMIX_RANK PMI_RANK SLURM_PROCID; do
	env $variable=7 vpmc stat --rank -o "$variable" -e none -- true
	equal "$variable" 7 "$(sed -n 's/ *"rank":\([0-9]*\),/\1/p' $variable/rank-7.json)"
done

# Regions go there, too. calls DIR: those of a region in its report
calls() {
	vpmc report "$1" | awk '/^Region / { on = $2 == "region:" } on && $1 == "calls" { print $3 }'
}
PMI_RANK=3 vpmc stat --rank -o /out/fresh -e instructions,branches -- sh -c 'cd /; marked forks; marked' >said 2>&1
equal "regions of a rank: status, what is said" "0 0" "$? $(wc -l <said)"
equal "regions of a rank: those of all processes are added up" 102 "$(calls /out/fresh)"
equal "regions of a rank: its processes, each with its number" "4 4" \
	"$(sed -n 's/.*"processes":\([0-9]*\).*/\1/p' /out/fresh/regions-3.json) $(grep -o '"pid":[0-9]*}' /out/fresh/regions-3.json | sort -u | wc -l)"
equal "regions of a rank: none is missing" 0 "$(vpmc report /out/fresh | grep -c 'are missing')"
PMI_RANK=3 vpmc stat --rank -o turns -r 3 -e instructions -- marked >said 2>&1
equal "regions of a rank: with -r those of the last run" 100 "$(calls turns)"
printf '#!/bin/sh\nrm only-once\nmarked\n' >only-once
chmod +x only-once
PMI_RANK=3 vpmc stat --rank -o begun -r 3 -e instructions -- ./only-once 2>said
equal "regions of a rank: the next run cannot begin: those of the run before" "127 100 1" \
	"$? $(calls begun) $(grep -c 'only-once: no such command' said)"
# The second run is over when the process that the first one has left behind is.
mkfifo may-report has-reported
# shellcheck disable=SC2016 # for the other shell
PMI_RANK=3 vpmc stat --rank -o left -r 2 -e instructions -- sh -c 'if mkdir of-rank 2>/dev/null; then
	(read -r _ <may-report; marked; marked; echo >has-reported) &
else
	marked; echo >may-report; read -r _ <has-reported
fi' >said 2>&1
equal "regions of a rank: a process of an earlier run that reports late" "0 100" "$? $(calls left)"
PMI_RANK=3 VPMC_REPORT=own.json vpmc stat --rank -o cut -m -e instructions -- sh -c 'marked; marked exec' >said 2>&1
equal "regions of a rank: what is missing is told" \
	"200 Rank 3: 1 processes with regions ended by a signal, _exit() or execve(): their regions are missing." \
	"$(calls cut) $(vpmc report cut | grep 'are missing')"
equal "regions of a rank: VPMC_REPORT is left as it is" 1 "$(grep -c '"kind":"regions"' own.json)"
rm cut/rank-3.json
V='vpmc: '
bad "regions of a rank: those of another run" 125 "${V}cut/regions-3.json: is another run's; name another directory by -o for each run" \
	env PMI_RANK=3 vpmc stat --rank -o cut -e none true

# Ranks that counted nothing, or not all: the report says so as vpmc stat does.
# remark DIR OPTION...: what it says of two ranks that are counted so
remark() {
	_dir=$1
	shift
	launch PMI_RANK PMI_SIZE 2 vpmc stat --rank -o "$_dir" -e instructions "$@" >said 2>&1
	echo "$(vpmc report "$_dir" | grep '^Rank'); $(vpmc report -j "$_dir" | tr -d ' \n' | grep -o '"ended":.*,"living"')"
}
equal "ranks that end within -D" \
	'Rank 0, 1: nothing was counted: it ended before the delay of -D was over.; "ended":[],"remarks":[{"rank":0,"runs":1,"early":true},{"rank":1,"runs":1,"early":true}],"living"' \
	"$(remark early -D 100000 -- known)"
equal "ranks that nobody has started" \
	'Rank 0, 1: nothing was counted: nobody has started the counters (--stopped).; "ended":[],"remarks":[{"rank":0,"runs":1,"not_started":true},{"rank":1,"runs":1,"not_started":true}],"living"' \
	"$(remark stopped --stopped -- known)"
equal "ranks that --timeout has ended" \
	'Rank 0, 1: the time of --timeout was over, and the command got SIGTERM.; "ended":[],"remarks":[{"rank":0,"runs":1,"timed_out":1},{"rank":1,"runs":1,"timed_out":1}],"living"' \
	"$(remark late --timeout 50 -- sleep 100)"
# shellcheck disable=SC2016 # for the other shell
equal "ranks that do something else at the time of --timeout" \
	'Rank 0, 1: the time of --timeout was over, and the command got SIGTERM.
Rank 0 ended with status 7.
Rank 1 ended with status 7.; "ended":[{"rank":0,"exit_status":7},{"rank":1,"exit_status":7}],"remarks":[{"rank":0,"runs":1,"timed_out":1},{"rank":1,"runs":1,"timed_out":1}],"living"' \
	"$(remark seven --timeout 500 -- sh -c 'trap "kill \$!; exit 7" TERM; sleep 100 & wait')"
equal "nothing is said of ranks that were counted" '; "ended":[],"remarks":[],"living"' "$(remark well -- known)"

bad "--rank without a launcher" 125 "${V}--rank: no launcher has set OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK or SLURM_PROCID; start vpmc by one, such as mpirun" \
	vpmc stat --rank -o d true
bad "a rank that is no number" 125 "${V}PMI_RANK one: not a number from 0 to 10000000; give one" env PMI_RANK=one vpmc stat --rank -o d true
bad "a rank that is too great" 125 "${V}PMI_RANK 2: is not below PMI_SIZE 2; start vpmc by one launcher" env PMI_RANK=2 PMI_SIZE=2 vpmc stat --rank -o d true
bad "--rank without -o" 125 "${V}--rank: there is no directory for the ranks' files; name one by -o" env PMI_RANK=0 vpmc stat --rank true
bad "--rank and -x" 125 "${V}--rank: writes JSON; leave out -x and --format" env PMI_RANK=0 vpmc stat --rank -x , -o d true
bad "--rank and -p" 125 "${V}--rank: counts a COMMAND; name one, and leave out -p and -t" env PMI_RANK=0 vpmc stat --rank -o d -p 1
bad "two runs in one directory" 125 "${V}/out/ranks/rank-2.json: is another run's; name another directory by -o for each run" \
	env PMI_RANK=2 vpmc stat --rank -o /out/ranks -e none true
bad "a directory that cannot be made" 125 "${V}/none/such: cannot be made: No such file or directory; name a directory by -o that can be, or that is there" \
	env PMI_RANK=2 vpmc stat --rank -o /none/such -e none true

# metrics FILE NAME: prints its value
metrics() {
	sed -n "s/^$2 //p" "$1"
}
instructions='vpmc_events_total{event="instructions:u",unit="events"}'
prom="vpmc stat --format openmetrics -e instructions -o app.prom"
$prom -- known
equal "openmetrics: a program" "$KNOWN_ALONE" "$(metrics app.prom "$instructions")"
$prom -- known
equal "openmetrics: once more, it goes on" "$((2 * KNOWN_ALONE))" "$(metrics app.prom "$instructions")"
vpmc stat --format openmetrics -e branches -o app.prom -- known
equal "openmetrics: of other events, it stays" "$((2 * KNOWN_ALONE))" "$(metrics app.prom "$instructions")"
cp app.prom /out/look-00.prom
time=$(metrics app.prom vpmc_run_seconds_total)

# one vpmc after the other counts a running process; a reader looks in between
sh -c 'while :; do known; done' &
target=$!
n=0
for run in 1 2 3; do
	$prom --interval 0.05 -p $target &
	pid=$!
	for _ in 1 2 3 4 5 6; do
		sleep 0.06
		# what was counted before stays in the file
		[ "$run $n" != "1 3" ] || vpmc ctl clear -p $target
		n=$((n + 1))
		cp app.prom "/out/look-$(printf %02d $n).prom"
	done
	# the second one is killed; what it had written must stay
	[ $run != 2 ] || kill -9 $pid
	kill $pid
	wait $pid
done
cp app.prom /out/look-99.prom
kill $target
wait $target
equal "openmetrics: the run time goes on" 1 "$(echo "$time $(metrics app.prom vpmc_run_seconds_total)" | awk '{ print ($2 > $1) }')"
equal "openmetrics: nothing else is left" app.prom "$(echo *.prom* .vpmc* | sed 's/ .vpmc\*//')"

# Two would replace each other's counts.
# shellcheck disable=SC2086 # words
for interval in '' '--interval 0.05'; do
	before=$(metrics app.prom "$instructions")
	$prom $interval -- sh -c 'echo >counting; sleep 0.3; known' &
	await [ -e counting ]
	[ -z "$interval" ] || sleep 0.15
	bad "openmetrics${interval:+ with $interval}: another one writes the file" 125 \
		"${V}app.prom: another vpmc stat writes it; name another file by -o, or wait until that has ended" $prom true
	wait $!
	rm counting
	equal "openmetrics${interval:+ with $interval}: nothing is lost" 1 \
		"$(echo "$before $(metrics app.prom "$instructions") $KNOWN_ALONE" | awk '{ print ($2 >= $1 + $3) }')"
done
# The second program begins when the first one is about to write the file for the first time.
at-rename "vpmc stat --format openmetrics -o both.prom -e instructions -- known 2>said; echo \$? >status" \
	vpmc stat --format openmetrics -o both.prom -e instructions -- known
equal "openmetrics: two programs begin a file" "0 125 $KNOWN_ALONE" "$? $(cat status) $(metrics both.prom "$instructions")"
equal "openmetrics: the second one says why it does not begin" \
	"${V}both.prom: another vpmc stat writes it; name another file by -o, or wait until that has ended" "$(cat said)"
# A program that may only read the file cannot hold up those that write it.
before=$(metrics app.prom "$instructions")
# shellcheck disable=SC2086 # words
read-locked app.prom $prom known
equal "openmetrics: a reader has locked the file" "0 1" "$? $(echo "$before $(metrics app.prom "$instructions") $KNOWN_ALONE" | awk '{ print ($2 >= $1 + $3) }')"
bad "openmetrics without -o" 125 "${V}--format openmetrics: goes on from what its file has; name the file by -o" vpmc stat --format openmetrics true
for name in - /dev/stdout /dev/fd/1; do
	vpmc stat --format openmetrics -o $name true >appended 2>said
	equal "openmetrics to a descriptor, which cannot be replaced: -o $name" \
		"125 0 ${V}--format openmetrics: goes on from what its file has; name the file by -o" "$? $(wc -c <appended) $(cat said)"
done
mkfifo pipe
bad "openmetrics to a pipe" 125 "${V}pipe: is no regular file, and --format openmetrics goes on from what its file has; name another one by -o" \
	vpmc stat --format openmetrics -o pipe true
: >empty
vpmc stat --format openmetrics -o empty -e instructions -- known
equal "openmetrics: an empty file is as good as none" "$KNOWN_ALONE" "$(metrics empty "$instructions")"
vpmc stat --format openmetrics --no-inherit -o replaced.prom -e instructions --interval 0.01 -- \
	sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done; exec selfish control' >said
equal "openmetrics: a set that is replaced stays in the sum" "1 1" \
	"$(metrics replaced.prom 'vpmc_left_threads_total{way="replacement"}') $(metrics replaced.prom "$instructions" | awk '{ print ($1 > 0) }')"
bad "openmetrics and -r" 125 "${V}--format openmetrics: is of one run; leave out -r and --split" vpmc stat --format openmetrics -o x -r 2 true
for option in --per-thread --metrics; do
	bad "openmetrics and $option" 125 "${V}--format openmetrics: has the sums alone; leave out --per-thread and --metrics" \
		vpmc stat --format openmetrics -o x $option true
done
bad "openmetrics and -j" 125 "${V}--format openmetrics: one format is possible at a time; leave out -j and -x" vpmc stat --format openmetrics -j -o x true
bad "-x and openmetrics" 125 "${V}--format openmetrics: one format is possible at a time; leave out -j and -x" vpmc stat -x , --format openmetrics -o x true
bad "--interval of another format" 125 "${V}--interval: is for --format openmetrics; add that" vpmc stat --interval 1 true
bad "--interval 0" 125 "${V}--interval 0: not a number from 0.001 to 1000000; give one" vpmc stat --interval 0 true
bad "an unknown format" 125 "${V}--format xml: there is none of that name; use text, json, csv or openmetrics, and markdown for a comparison" vpmc stat --format xml true
echo 'one 1' >other
bad "a file that is not ours" 125 "${V}other: is not what vpmc wrote: one 1; remove it, or name another file by -o" \
	vpmc stat --format openmetrics -o other -e none true
equal "it is as it was" "one 1" "$(cat other)"
sed '$d' app.prom >short
bad "a file that is cut off" 125 "${V}short: is not what vpmc wrote: it has no end; remove it, or name another file by -o" \
	vpmc stat --format openmetrics -o short -e none true
