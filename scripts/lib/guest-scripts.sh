# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Runs scripts of tools/vpmc/tests in a guest. Sourced after tap.sh, with $build and
# $log set.

# guest NAME SCRIPT... -- OPTION...: runs the tests' scripts in a guest. The results
# count as this suite's.
guest() {
	_guest=$1
	shift
	_scripts=''
	while [ "$1" != -- ]; do
		_scripts="$_scripts sh /add/guest-$1 && echo '== end';"
		shift
	done
	shift
	_rc=0
	scripts/vm --add "$build/test-tools/guest" --out "$tmp/$_guest" --log "$log/${0##*/}-$_guest.klog" "$@" -- \
		sh -c "exec 2>&1; $_scripts" </dev/null >"$log/${0##*/}-$_guest.out" 2>&1 || _rc=$?
	: >"$tmp/why"
	while read -r _line; do
		case $_line in
		'ok - '*) result "$_guest: ${_line#ok - }" 0 ;;
		'not ok - '*) result "$_guest: ${_line#not ok - }" 1 "$tmp/why" ;;
		'#'*)
			echo "${_line#\# }" >>"$tmp/why"
			continue
			;;
		# something before has printed a line without its end
		*'not ok - '*) result "$_guest: ${_line#*not ok - }" 1 "$tmp/why" ;;
		*) ;;
		esac
		: >"$tmp/why"
	done <"$log/${0##*/}-$_guest.out"
	check "$_guest: all scripts came to their end" ends "$_rc" "$log/${0##*/}-$_guest.out" "$_scripts"
}
# ends STATUS FILE SCRIPTS
ends() {
	tail -n 20 "$2"
	[ "$1" = 0 ] && [ "$(grep -cx '== end' "$2")" = "$(echo "$3" | grep -o '== end' | wc -l)" ]
}
