#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# vpmc graph. The files go to /out, where check-graph checks them.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
export LD_LIBRARY_PATH=/add
# The address of the stack decides how many instructions some calls of libc take.
sysctl -qw kernel.randomize_va_space=0

# total COMMAND...: all instructions, with an environment as long as graph's
total() {
	env LD_PRELOAE=/bin/../lib/vpmc/libvpmc-graph.so VPMC_GRAPH=/tmp/vpmc-graph-XXXXXX \
		vpmc stat -x , -o csv -e instructions -- "$@" || echo "status $?"
	awk -F , '$3 == "instructions:u" { print $4 }' csv
}
# numbers FILE: the program's instructions, without those of the library
numbers() {
	awk -F '[][,]' '/^"total"/ { all = $2 } /^"own"/ && !own { own = $2 } END { print all - own }' "$1"
}
# graph NAME COMMAND...: writes files /out/NAME.*
graph() {
	_graph=$1
	shift
	vpmc graph -e instructions,branches -o "/out/$_graph" -- "$@" >said 2>&1
}

# Beyond stat, graph counts only what the loader executes to load the library.
graph first calls plain 1000
loader=$(($(numbers /out/first.json) - $(total calls plain 1000)))
status=0
[ $loader -gt 0 ] || status=1
result "the loader's part" $status said
for scene in "plain 20000" "recursive 1000" "mutual 1000" "jumping 1000" "signals 1000"; do
	# shellcheck disable=SC2086 # words
	graph "${scene% *}" calls $scene
	# shellcheck disable=SC2086
	equal "graph and stat count the same: calls $scene" "$(($(total calls $scene) + loader))" \
		"$(numbers "/out/${scene% *}.json")"
done
graph threads calls threads 400000
vpmc stat --per-thread -x , -o /out/threads.csv -e instructions -- calls threads 400000
graph serial calls serial 1000
for scene in forking vforking loading executing; do
	graph $scene calls $scene 1000
	equal "calls $scene: status" 0 $?
done
graph throwing throwing 1000
equal "throwing: status" 0 $?

sh -c 'while :; do :; done' &
one=$!
sh -c 'while :; do :; done' &
two=$!
graph disturbed calls threads 3000000
kill $one $two
wait

graph killed calls killed 1000
equal "a program that is killed in the middle: its status" 137 $?
graph none stripped plain 1000
equal "a stripped program: a line says so" \
	"vpmc: 3 functions: have no name, as in stripped, and have an address instead; do not strip it, or install its debug symbols" \
	"$(grep '^vpmc: [0-9]' said)"
vpmc graph -e none -o /out/time -- calls plain 1000 >said 2>&1
equal "without events: status" 0 $?

graph leaving sh -c 'echo instructions | accept; calls plain 1'
equal "a child with counters of its own: a line says so" \
	"vpmc: 1 threads: programmed counters of their own; what they did later is not in the graph" \
	"$(grep '^vpmc: [0-9]' said)"

# shellcheck disable=SC2016 # for the other shell
graph living sh -c 'sleep 100 & echo $! >sleeper; calls plain 1'
equal "a child that lives on: a line says so" \
	"vpmc: 1 threads: live on and are not in the graph any more; let COMMAND wait for them" "$(grep '^vpmc: [0-9]' said)"
kill "$(cat sleeper)"
equal "a child that lives on: the JSON has it" '"living":1,' "$(grep living /out/living.json)"
equal "a program whose threads have all ended" '"living":0,' "$(grep living /out/plain.json)"

# SIGTERM while dot draws: all other files are there
mkdir -p slow
printf '#!/bin/sh\necho >>drawing\nexec sleep 100\n' >slow/dot
chmod 755 slow/dot
(PATH=$PWD/slow:$PATH exec vpmc graph -e instructions -o drawn -- calls plain 10 2>said) &
pid=$!
signalled TERM test -s drawing
equal "SIGTERM while dot draws" "0 drawn.dot drawn.folded drawn.json" "$? $(echo drawn.*)"
equal "SIGTERM while dot draws: a line says so" \
	"vpmc: drawn.svg: is not drawn: signal 15 (Terminated) has ended dot; run dot -Tsvg drawn.dot" "$(grep '^vpmc: ' said)"

# Two processes with one number are not one process that executes two programs.
# shellcheck disable=SC2016 # for the other shell
graph spaces sh -c 'for turn in 1 2; do unshare -p -f -m sh -c "mount -t proc none /proc; exec calls plain 1000"; done'
equal "two pid namespaces: status" 0 $?
equal "two pid namespaces: no thread has more than the whole" "part part" \
	"$(vpmc report /out/spaces.json | awk '$1 == 1 && $3 == "%" { print ($2 < 100 ? "part" : $0) }' | xargs)"

# A program that restricts itself runs on. What could not be recorded is counted:
# KIND, threads without a tree, threads that stopped
while read -r kind unrecorded stopped; do
	graph "restricted-$kind" restricted "$kind"
	equal "it restricts itself ($kind): it runs on" "0 1" "$? $(grep -c '^all done' said)"
	equal "it restricts itself ($kind): what is missing" "$unrecorded $stopped" \
		"$(sed -n 's/^ *"*unrecorded":\([0-9]*\),*$/\1/p; s/.*"unrecorded":\([0-9]*\).*/\1/p' "/out/restricted-$kind.json" | head -n 1) $(
			sed -n 's/.*"stopped":\([0-9]*\).*/\1/p' "/out/restricted-$kind.json" | head -n 1)"
	equal "it restricts itself ($kind): a line says so" "$((unrecorded + stopped))" \
		"$(grep -c -e '^vpmc: 1 threads: are in no tree' -e '^vpmc: 1 threads: have forbidden' said)"
done <<'END'
nothing 0 0
strict 0 1
filter 1 0
syscall 1 0
tsc 1 1
root 1 0
user 1 0
files 1 0
size 1 0
space 0 0
END

# libraries that are loaded one after the other, each at the address of the one before
plugins="/add/libplugin-one.so /add/libplugin-two.so /add/libplugin-one.so /add/libplugin-three.so"
# shellcheck disable=SC2086 # words
equal "plugins: at one address" 1 "$(plugins $plugins | sort -u | wc -l)"
# shellcheck disable=SC2086
graph plugins plugins $plugins
equal "plugins: status" 0 $?
for plugin in "one 2" "two 1" "three 1"; do
	equal "plugins: calls of work_${plugin% *}() and its run()" "${plugin#* } ${plugin#* }" \
		"$(grep "\"module\":\"libplugin-${plugin% *}.so\"" /out/plugins.json | sed -n 's/.*"name":"\(work_[a-z]*\|run\)".*"calls":\([0-9]*\),.*/\2/p' | xargs)"
done
equal "plugins: instructions of work_three()" 8 \
	"$(sed -n 's/.*"name":"work_three".*"exclusive":\[\([0-9]*\)[0-9]\{6\},.*/\1/p' /out/plugins.json)"

# a program that is replaced while it runs
cp /add/calls replaced
cp /add/throwing other
graph replaced sh -c './replaced plain 1000; mv other replaced'
equal "a program that is replaced: a line says so" \
	"vpmc: 1 files: were replaced while the program ran, so their functions have no names; let them be as they are meanwhile" \
	"$(grep '^vpmc: [0-9]' said)"
equal "a program that is replaced: no name" "0 1" \
	"$(grep -c '"name":"main"' /out/replaced.json) $(grep -c '"name":"\[replaced, has changed\]","module":"replaced"' /out/replaced.json)"

graph coroutines coroutines
equal "coroutines: a line says so" 1 "$(grep -c '^vpmc: [0-9]* ends of functions: had no beginning, as in coroutines ' said)"

V='vpmc: '
bad "no COMMAND" 125 "${V}COMMAND: there is none; name a program that was compiled with -finstrument-functions" vpmc graph
bad "-o without a name" 125 "${V}-o: the name is empty; give the beginning of the files' names" vpmc graph -o '' calls
bad "a program without hooks" 125 "${V}known: none of its functions calls the hooks; compile it with -finstrument-functions, and do not link it with -static" \
	vpmc graph -e instructions known
begins "a COMMAND that is not there" 127 "${V}nonesuch: no such command; " vpmc graph nonesuch
begins "an unknown event" 125 "${V}instuctions: no event has that name; " vpmc graph -e instuctions calls
mkdir taken.svg
for base in /none/such/g taken; do
	vpmc graph -e instructions -o $base -- sh -c 'echo >ran; exec calls plain 1' >said 2>&1
	equal "-o $base: the files cannot be written, so COMMAND does not run" "125 1 " "$? $(wc -l <said) $(ls ran taken.json 2>/dev/null)"
done
echo before >old.json
vpmc graph -e instructions -o old -- nonesuch >said 2>&1
equal "a COMMAND that is not there: files are as they were" "127 before old.json" "$? $(cat old.json) $(echo old.*)"
bad "TMPDIR that is not there" 125 "${V}/none/such: no directory can be made there: No such file or directory; set TMPDIR to one that you may write to" \
	env TMPDIR=/none/such vpmc graph calls plain 1
long=/tmp/$(printf %0200d 0)
mkdir "$long"
bad "TMPDIR that is too long" 125 "${V}$long: is too long for the names of files; set TMPDIR to a shorter one" \
	env "TMPDIR=$long" vpmc graph calls plain 1
vpmc graph -o /none/such/g calls plain 1 >said 2>&1
equal "-o in a directory that is not there: status" 125 $?
equal "-o in a directory that is not there: a line says so" \
	"${V}/none/such/g.json: cannot create it: No such file or directory; make its directory, or name another file by -o" "$(cat said)"
mkdir gone
vpmc graph -o gone/g -- sh -c 'rmdir gone; exec calls plain 1' >said 2>&1
equal "a directory that COMMAND removes: the line is the last one" \
	"125 ${V}gone/g.json: cannot create it: No such file or directory; make its directory, or name another file by -o" "$? $(tail -n 1 said)"
equal "what was counted is told" 1 "$(grep -c ' main$' said)"
graph dot calls plain 1
equal "without dot: a line says so" "vpmc: /out/dot.svg: is not drawn: dot is not installed; install graphviz, and run dot -Tsvg /out/dot.dot" \
	"$(grep 'dot is' said)"
# a program that shows how it was called
mkdir -p programs
printf '#!/bin/sh\necho "$1" >&2; grep digraph "$2"\n' >programs/dot
chmod +x programs/dot
PATH=$PATH:$PWD/programs graph drawn calls plain 1
equal "with dot: a picture" "digraph calls { -Tsvg" "$(cat /out/drawn.svg) $(grep -- -T said)"
printf '#!/bin/sh\nexit 1\n' >programs/dot
PATH=$PATH:$PWD/programs graph failing calls plain 1
equal "dot fails: a line says so" "vpmc: /out/failing.svg: is not drawn: dot has failed; run dot -Tsvg /out/failing.dot" \
	"$(grep 'dot has' said)"
equal "dot fails: nothing is left" 0 "$(find /out -name 'failing.svg*' | wc -l)"

# a disk that is full from the beginning, and one with room for the first nodes
mkdir -p full
mount -t tmpfs -o size=4k full full
bad "a full disk" 125 "${V}calls: no file can be made there; free some space, or set TMPDIR" \
	env TMPDIR=full vpmc graph -e instructions calls plain 1
umount full
mount -t tmpfs -o size=64k full full
TMPDIR=full vpmc graph -e instructions -o /out/full -- calls wide 3000 >said 2>&1
equal "a disk that fills: status" 0 $?
equal "a disk that fills: a line says so" 1 "$(grep -c '^vpmc: [0-9]* calls: are with their callers, ' said)"
equal "nothing is left there" 0 "$(find full -type f | wc -l)"
umount full
mount -t tmpfs -o size=4k full full
vpmc graph -o full/g -- calls wide 300 >said 2>&1
equal "a full disk for the result: status" 125 $?
equal "a full disk for the result: a line says so" \
	"${V}full/g.json: cannot write it: No space left on device; free some space, or name another file by -o" "$(tail -n 1 said)"
equal "what was counted is told" 1 "$(grep -c ' main$' said)"
equal "nothing is left there" 0 "$(find full -type f | wc -l)"
umount full
sysctl -qw kernel.randomize_va_space=2
equal "nothing is left in /tmp" 0 "$(find /tmp -name 'vpmc-graph-*' | wc -l)"
