#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Each command with an output that takes nothing, without rights,
# and with files that are not what they should be: one line, a status, and no long wait.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh
V='vpmc: '
export LD_LIBRARY_PATH=/add

vpmc record -e instructions -c 10000 -o good -- known
vpmc stat --rank -e instructions -o ranks -- true 2>/dev/null || PMI_RANK=0 vpmc stat --rank -e instructions -o ranks -- true
[ -e /dev/full ] || mknod /dev/full c 1 7

# What each command prints goes to standard output.
printing='info
list
bench -n 2
report good
report -j good
report --html good
report ranks
stat -o - true
stat -j -o - true
stat -a -o - -- true
record -o - true
cpus -n 1 -d 0.01
help
stat --help
--version'
while read -r words; do
	# shellcheck disable=SC2016 # for the other shell
	begins "$words: standard output is closed" 125 "${V}standard output: cannot write it: Bad file descriptor; " \
		sh -c 'exec vpmc $1 >&-' sh "$words"
	# shellcheck disable=SC2016
	begins "$words: standard output is full" 125 "${V}standard output: cannot write it: No space left on device; " \
		sh -c 'exec vpmc $1 >/dev/full' sh "$words"
done <<END
$printing
END
for option in -h -i -l -L; do
	# shellcheck disable=SC2016
	begins "perfex $option: standard output is full" 125 "perfex: standard output: cannot write it: No space left on device; " \
		sh -c 'exec perfex $1 >/dev/full' sh $option
done

sysctl -qw kernel.vpmc_paranoid=2
while read -r words; do
	# shellcheck disable=SC2086 # words
	begins "$words: without rights" 125 "$V" confined -u vpmc $words
done <<END
$COUNTING
END
sysctl -qw kernel.vpmc_paranoid=-1

# Files: of 0 bytes, of other versions, and large ones without anything in them
mkdir bad
: >bad/empty
head -c 16 good >bad/head
truncate -s 4G bad/zeros
printf '{' >bad/brace
truncate -s 4G bad/brace
{ head -c 8 good; printf '\143\0\0\0\010\0\0\0'; head -c 100 good; } >bad/version
cp good bad/long
truncate -s 4G bad/long
printf '{"version":99,"kind":"graph"}' >bad/graph-version
for file in empty head zeros brace version graph-version; do
	begins "report of a file: $file" 125 "${V}bad/$file: " vpmc report bad/$file
	mkdir -p "bad/of-$file"
	mv bad/$file "bad/of-$file/rank-0.json"
	begins "report of a rank: $file" 125 "${V}bad/of-$file/rank-0.json: " vpmc report "bad/of-$file"
	# one that is empty has nothing to go on from
	[ "$file" = empty ] || begins "openmetrics goes on from it: $file" 125 "${V}bad/of-$file/rank-0.json: " \
		vpmc stat --format openmetrics -e none -o "bad/of-$file/rank-0.json" true
done
printf '{"version":1,"kind":"graph"}\n{}\n' >bad/two
bad "report of a file with two objects" 125 \
	"${V}bad/two: has more than one object, or something else behind it; run vpmc graph again" vpmc report bad/two
vpmc report good >wanted
timeout 20 vpmc report bad/long >said 2>&1
equal "zeros after a good record change nothing" "0 yes" "$? $(cmp -s said wanted && echo yes)"
