# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Functions for tests in the guest. Each test prints one line, "ok - NAME" or
# "not ok - NAME", after lines with "#" that show why it failed.

# shellcheck source=/dev/null
. /add/known.numbers
mkdir -p /tmp/t
cd /tmp/t || exit

# result NAME STATUS [FILE]...: shows the files if STATUS is not 0
result() {
	_name=$1 _status=$2
	shift 2
	if [ "$_status" = 0 ]; then
		echo "ok - $_name"
	else
		for _file; do
			awk '{ print "# " $0 }' "$_file"
		done
		echo "not ok - $_name"
	fi
}

# equal NAME WANTED GOT
equal() {
	printf 'wanted: %s\ngot:    %s\n' "$2" "$3" >/tmp/differ
	_status=0
	[ "$2" = "$3" ] || _status=1
	result "$1" $_status /tmp/differ
}

# bad NAME STATUS LINE COMMAND...: must end with STATUS, and print only LINE
bad() {
	_name=$1 _want=$2 _line=$3
	shift 3
	_rc=0
	timeout 20 "$@" >/tmp/out 2>/tmp/err </dev/null || _rc=$?
	cat /tmp/err >>/tmp/out
	equal "$_name" "$_want: $_line" "$_rc: $(cat /tmp/out)"
}

# What each command that counts is called with
# shellcheck disable=SC2034 # for the scripts
COUNTING='stat true
stat -e none true
stat -a true
stat -p 1
record -o /dev/null true
graph calls plain 1
cpus -n 1
ctl read -t 1
bench -n 2'

# begins NAME STATUS WORDS COMMAND...: must print one line that begins with WORDS
begins() {
	_name=$1 _want=$2 _words=$3
	shift 3
	_rc=0
	timeout 20 "$@" >/tmp/out 2>/tmp/err </dev/null || _rc=$?
	cat /tmp/err >>/tmp/out
	printf 'wanted: %s: %s\ngot:    %s: ' "$_want" "$_words" "$_rc" >/tmp/differ
	cat /tmp/out >>/tmp/differ
	_status=1
	case $(cat /tmp/out) in
	"$_words"*) [ $_rc = "$_want" ] && [ "$(wc -l </tmp/out)" = 1 ] && _status=0 ;;
	esac
	result "$_name" $_status /tmp/differ
}

# value EVENT OPTION...: what stat counts for EVENT, from its CSV
value() {
	_event=$1
	shift
	timeout 60 vpmc stat -x , -o /tmp/csv "$@" >/tmp/out 2>&1 || echo "status $?: $(cat /tmp/out)"
	awk -F , -v event="$_event" '$1 == "" && $3 == event { print $4 }' /tmp/csv
}

# field NUMBER EVENT [FILE]: another field of the same line, or of a line in another file
field() {
	awk -F , -v field="$1" -v event="$2" '$1 == "" && $3 == event { print $field }' "${3:-/tmp/csv}"
}

# await COMMAND...: repeats COMMAND until it succeeds, for some seconds
await() {
	_left=1000
	while ! "$@" >/dev/null 2>&1; do
		_left=$((_left - 1))
		[ $_left -gt 0 ] || {
			echo "not ok - $* does not come true"
			return 1
		}
		sleep 0.01
	done
}

# undisturbed: ends the processes that busybox's timeout leaves behind. They look each second
# whether their command still runs, which counts on some processor.
undisturbed() {
	killall timeout 2>/dev/null
	await sh -c '! pidof timeout'
}

# end PID: waits for a child and returns its status; kills it after some seconds
end() {
	_left=1000
	while [ $_left -gt 0 ] && kill -0 "$1" 2>/dev/null; do
		_left=$((_left - 1))
		sleep 0.01
	done
	[ $_left -gt 0 ] || kill -9 "$1"
	wait "$1"
}

# signalled SIGNAL COMMAND...: sends it to $pid when COMMAND succeeds; returns the status
signalled() {
	_signal=$1
	shift
	await "$@"
	# shellcheck disable=SC2154 # of the caller
	kill "-$_signal" "$pid"
	end "$pid"
}
