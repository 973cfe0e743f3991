# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Functions for suites in shell. Each call prints one TAP line, and the plan comes at
# the end. Sourced with $top set. $tmp is a directory that is removed at the end.

tests=0 failures=0 planned=
VPMC_CACHE=${VPMC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vpmc}
case $VPMC_CACHE in
/*) ;;
*) VPMC_CACHE=$(pwd -P)/$VPMC_CACHE ;;
esac
export VPMC_CACHE
work=${VPMC_BUILD:-$top/build}/test
mkdir -p "$work"
tmp=$(mktemp -d "$work/${0##*/}.XXXXXX")
trap 'finish' EXIT
trap 'exit 130' INT TERM HUP

# finish: shows the last output of a suite that dies in a test
# shellcheck disable=SC2317 # called by the trap
finish() {
	[ -n "$planned" ] || tail -n 20 "$tmp/check" >&2
	rm -rf "$tmp"
}

# result NAME STATUS [FILE]: shows FILE if STATUS is not 0
result() {
	tests=$((tests + 1))
	if [ "$2" = 0 ]; then
		echo "ok $tests - $1"
	else
		failures=$((failures + 1))
		[ $# -lt 3 ] || tail -n 40 "$3" | awk '{ print "# " $0 }'
		echo "not ok $tests - $1"
	fi
}

# check NAME COMMAND...: COMMAND must succeed
check() {
	_check=$1
	shift
	_status=0
	"$@" >"$tmp/check" 2>&1 || _status=$?
	result "$_check" $_status "$tmp/check"
}

# once KEY COMMAND...: runs COMMAND, unless it has passed with this KEY on this machine.
# KEY is a hash of all that the result depends on.
once() {
	_passed=$VPMC_CACHE/passed/$1
	shift
	if [ -e "$_passed" ]; then
		touch "$_passed"
		echo "it has passed with the same files"
		return 0
	fi
	"$@" || return
	mkdir -p "${_passed%/*}"
	: >"$_passed"
}

# refuse NAME STATUS WORDS COMMAND...: COMMAND must end with STATUS and print WORDS (a
# basic regular expression) on standard error
refuse() {
	_name=$1 _want=$2 _words=$3
	shift 3
	_rc=0
	"$@" >"$tmp/out" 2>"$tmp/err" </dev/null || _rc=$?
	{
		echo "status $_rc, wanted $_want; standard error, wanted '$_words':"
		cat "$tmp/err"
	} >"$tmp/check"
	_bad=0
	[ $_rc = "$_want" ] && grep -q -e "$_words" "$tmp/err" || _bad=1
	result "$_name" $_bad "$tmp/check"
}

# is_silent COMMAND...: fails if it prints anything, and shows that
is_silent() {
	"$@" >"$tmp/silent" 2>&1 || :
	cat "$tmp/silent"
	[ ! -s "$tmp/silent" ]
}

# as_users_have_it: all guests from here on have the default sysctls and the hard-lockup
# watchdog, as users' machines do. So perf keeps some counters.
as_users_have_it() {
	export VPMC_APPEND=nmi_watchdog=1
}

plan() {
	planned=1
	echo "1..$tests"
	[ "$failures" = 0 ]
}
