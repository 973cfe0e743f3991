# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Functions that the scripts share. The caller has set -eu and $top, the clone.

umask 022
LC_ALL=C
export LC_ALL
prog=${0##*/}
VPMC_TOP=$top
VPMC_CACHE=${VPMC_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/vpmc}
case $VPMC_CACHE in
/*) ;;
*) VPMC_CACHE=$(pwd -P)/$VPMC_CACHE ;;
esac
VPMC_BUILD=$top/build
VPMC_T0=${VPMC_T0:-$(date +%s)}
export VPMC_TOP VPMC_CACHE VPMC_BUILD VPMC_T0
# shellcheck disable=SC2034 # for the callers
cache=$VPMC_CACHE
logdir=$VPMC_BUILD/log
# shellcheck source=scripts/lib/versions
. "$top/scripts/lib/versions"

# say TEXT: prints one step, with the time since the outermost command started
say() {
	_t=$(($(date +%s) - VPMC_T0))
	printf '[%3d:%02d] %s: %s\n' $((_t / 60)) $((_t % 60)) "$prog" "$*" >&2
}

die() {
	printf '%s: %s\n' "$prog" "$*" >&2
	exit 1
}

# set_base NAME: takes the kernel of bases/NAME. $kcache is for what is made of its source.
# $of_base ends the names of links and trees in the build directory.
set_base() {
	case $1 in
	*/* | .*) _base='' ;;
	*) _base=$top/bases/$1/base ;;
	esac
	[ -f "$_base" ] ||
		die "KBASE=$1: there is no such base in bases/; there are: $(cd "$top/bases" && echo *)"
	# shellcheck source=bases/6.12/base
	. "$_base"
	KBASE=$1 kcache=$cache of_base=''
	# shellcheck disable=SC2034 # of_base is for the callers
	[ "$1" = "$KBASE_DEFAULT" ] || kcache=$cache/base-$1 of_base=-$1
	VPMC_KCACHE=$kcache
	export KBASE VPMC_KCACHE
}
set_base "${KBASE:-$KBASE_DEFAULT}"

# usage TEXT: prints it and ends, for --help
usage() {
	printf '%s\n' "$*"
	exit 0
}

# need COMMAND...: fails if one is missing, and says how to get it: by $deps, if it is set
need() {
	for _c; do
		command -v "$_c" >/dev/null ||
			die "$_c is not installed: run '${deps:-make deps}'"
	done
}

# at_exit COMMAND: COMMAND runs when this shell ends, also if a signal ends it or nobody
# reads its output any more. Nothing interrupts COMMAND, and it may fail.
at_exit() {
	_at_exit=$1
	trap 'trap "" HUP INT PIPE QUIT TERM; set +e; eval "$_at_exit"' EXIT
	trap 'exit 129' HUP
	trap 'exit 130' INT
	trap 'exit 131' QUIT
	trap 'exit 141' PIPE
	trap 'exit 143' TERM
}

# short_hash: prints 16 hex digits of the hash of standard input
short_hash() {
	sha256sum | cut -c1-16
}

# beat: tells run-tests that there is progress
beat() {
	[ ! -e "${VPMC_PROGRESS:-}" ] || touch "$VPMC_PROGRESS"
}

# make_results: makes the directory for results, which is in the clone
make_results() {
	_err=$(LC_ALL=C mkdir -p "$logdir" 2>&1) && [ -w "$logdir" ] ||
		die "$logdir cannot be written${_err:+ (${_err##*: })}: results need a directory of yours; use a clone of your own"
}

# check_path NAME PATH HELP: dies if make and the shell's commands cannot build there
check_path() {
	case $2 in
	*[[:space:]\"\$%\&\'\(\)*:\;\<\>?\\\`\|]*)
		die "the path of $1 has a blank, a colon or another character that make does not take ($2): $3" ;;
	esac
}

# make_cache: makes the directory for downloads and builds
make_cache() {
	check_path "this clone" "$top" "move it to another directory"
	check_path "the cache" "$cache" "VPMC_CACHE=DIR takes another one"
	mkdir -p "$cache/lock" && [ -w "$cache/lock" ] ||
		die "$cache cannot be written: downloads and builds need a directory of yours; VPMC_CACHE=DIR takes another one"
}

# lock NAME FD: holds the lock until this process and its children end
lock() {
	case ",${VPMC_LOCKS:-}," in
	*",$1,"*) return 0 ;;
	esac
	need flock
	make_cache
	eval "exec $2>>\"\$cache/lock/\$1\""
	flock -n "$2" || await_lock "$1" "$2"
	hold_lock "$1"
}

# await_lock NAME FD: says who has the lock, and waits for it
await_lock() {
	say "waiting for the $1 lock, held by" \
		"$(cat "$cache/lock/$1.holder" 2>/dev/null || echo 'another run')"
	# the holder makes progress, or run-tests ends it
	until flock -w 5 "$2"; do
		beat
	done
}

# hold_lock NAME: tells other runs who has the lock, and children that they need not take it
hold_lock() {
	echo "process $$ ($prog of $top)" >"$cache/lock/$1.holder"
	VPMC_LOCKS=${VPMC_LOCKS:-},$1
	export VPMC_LOCKS
}

# has_tree: does prepare-tree run this command? Then its lock keeps the tree from changing.
has_tree() {
	case ",${VPMC_LOCKS:-}," in
	*",kernel$of_base,"*) ;;
	*) return 1 ;;
	esac
}

# progress LOG: prints how far a build is, from its log
progress() {
	_n=$(tail -c 400 "$1" | tr '\r' '\n' | sed -n 's/^\[\([0-9]*\/[0-9]*\)\].*/\1/p' | tail -n 1)
	[ -n "$_n" ] || _n=$(grep -c '^  *\(CC\|AS\|LD\|AR\|HOSTCC\) ' "$1") || :
	if [ "$_n" = 0 ]; then
		tail -n 1 "$1" | cut -c1-60
	else
		echo "$_n objects"
	fi
}

# old_traps: signals do again what they did before run_logged
old_traps() {
	trap - HUP INT PIPE QUIT TERM
	eval "$_traps"
}

# stop_logged NUMBER: ends the command of run_logged with all its children. Then this
# shell gets the signal again: its own trap cleans up, or it ends as the signal ends it.
stop_logged() {
	old_traps
	# setsid may not have run yet
	[ -z "$_pid" ] || kill -- "-$_pid" 2>/dev/null || kill "$_pid" 2>/dev/null || :
	[ -z "$_pid" ] || wait "$_pid" || :
	say "$_name was interrupted; run it again to go on" || :
	kill "-$1" $$
	exit $((128 + $1)) # a subshell
}

# end_stalled: ends the command of run_logged when it has stalled
end_stalled() {
	echo "ended: no new line in this log for ${VPMC_BUILD_STALL:-1800} s" >>"$_log"
	kill -- "-$_pid" 2>/dev/null || :
	sleep 5
	kill -KILL "-$_pid" 2>/dev/null || :
}

# run_logged NAME PROGRAM...: writes output to build/log/NAME.log, prints progress every
# ten seconds, and the end of the log on failure. Ends a program that writes no new line
# for half an hour. The program gets a session, so that ending it also ends everything
# that it started. The caller's traps are back afterwards.
run_logged() {
	_name=$1
	_log=$logdir/$1.log
	shift
	make_results
	: >"$_log"
	# not $(trap): some shells have no traps in there
	trap >"$logdir/.traps.$$"
	_traps=$(cat "$logdir/.traps.$$") _pid=''
	rm "$logdir/.traps.$$"
	trap 'stop_logged 1' HUP
	trap 'stop_logged 2' INT
	trap 'stop_logged 3' QUIT
	trap 'stop_logged 13' PIPE
	trap 'stop_logged 15' TERM
	setsid "$@" >"$_log" 2>&1 </dev/null &
	_pid=$!
	_last=$(date +%s) _size=0 _still=0
	while kill -0 "$_pid" 2>/dev/null; do
		sleep 0.2
		_now=$(date +%s)
		[ $((_now - _last)) -ge 10 ] || continue
		if [ "$(stat -c %s "$_log")" != "$_size" ]; then
			_size=$(stat -c %s "$_log") _still=0
			beat
		else
			_still=$((_still + _now - _last))
			[ $_still -lt "${VPMC_BUILD_STALL:-1800}" ] || end_stalled
		fi
		_last=$_now
		say "$_name: $(progress "$_log")" || :
	done
	_rc=0
	wait "$_pid" || _rc=$?
	old_traps
	[ $_rc -ne 0 ] || return 0
	tail -n 30 "$_log" >&2
	say "$_name failed (status $_rc); the whole log: $_log"
	return 1
}

# use_ccache: calls compilers through ccache, and keeps the user's limits for it. In depend
# mode ccache does not run the preprocessor first, which saves a fifth of a build from
# nothing. In return, if a header changes, all files that include it are compiled again.
# scripts/lib/ccache/gcc calls ccache, which searches CCACHE_PATH for the compiler. That
# path must not have this directory, or both would call each other.
use_ccache() {
	need ccache
	case :$PATH in
	*/scripts/lib/ccache:*) ;;
	*) CCACHE_PATH=$PATH PATH=$top/scripts/lib/ccache:$PATH ;;
	esac
	CCACHE_DIR=${CCACHE_DIR:-$cache/ccache}
	CCACHE_COMPILERCHECK=content
	CCACHE_DEPEND=1
	export PATH CCACHE_PATH CCACHE_DIR CCACHE_COMPILERCHECK CCACHE_DEPEND
}

# jobs: prints the number of CPUs unless VPMC_JOBS is set
jobs() {
	echo "${VPMC_JOBS:-$(nproc)}"
}

# publish NAME DIR: makes build/NAME a link to DIR, in one step
publish() {
	make_results
	if [ "$(readlink "$VPMC_BUILD/$1" 2>/dev/null)" != "$2" ]; then
		ln -sfn "$2" "$VPMC_BUILD/.$1.$$"
		mv -Tf "$VPMC_BUILD/.$1.$$" "$VPMC_BUILD/$1"
	fi
	touch -c "$2"
}

# is_version FOUND WANTED...: is FOUND one of WANTED, or WANTED.x?
is_version() {
	_is=$1
	shift
	for _w; do
		case $_is in
		"$_w" | "$_w".*) return 0 ;;
		esac
	done
	return 1
}

# check_version WHAT FOUND WANTED: FOUND must be WANTED or WANTED.x
check_version() {
	is_version "$2" "$3" || die "$1 is version ${2:-unknown}; the series is for $3"
}
