# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Finds and unpacks sources. A source is a tarball or a directory, and has an id that
# changes whenever its content does. Sourced after common.sh.

# kernel_source: prints the tarball or directory to use. The package of some bases is not
# installed, but downloaded.
kernel_source() {
	_src=${KSRC:-/usr/src/$KERNEL_PACKAGE.tar.xz}
	if [ -n "${KSRC:-}" ]; then
		[ -e "$_src" ] || die "KSRC=$KSRC: no such file or directory"
	elif [ -n "$KERNEL_RELEASE" ]; then
		_src=$("$top/scripts/lib/kernel-package" "$KERNEL_RELEASE:$KERNEL_PACKAGE") || exit 1
	else
		[ -e "$_src" ] ||
			die "$_src is missing: run 'make deps', or set KSRC=DIR or KSRC=TARBALL"
	fi
	readlink -f "$_src"
}

# source_id PATH: prints the id of a tarball (its hash, cached by size and time) or of a
# directory (from the names, sizes and times in it)
source_id() {
	if [ -d "$1" ]; then
		(cd "$1" && find . -name .git -prune -o -type f -printf '%P %s %T@\n' |
			sort) | short_hash
		return
	fi
	_stat=$(stat -c '%n %s %Y' "$1")
	_memo=$cache/hash/$(echo "$_stat" | short_hash)
	if [ ! -s "$_memo" ]; then
		mkdir -p "$cache/hash"
		short_hash <"$1" >"$_memo.$$"
		mv "$_memo.$$" "$_memo"
	fi
	cat "$_memo"
}

# unpack_kernel SOURCE TREE: unpacks the kernel that the series is made for. A tree from
# before may be too old for the series of today.
unpack_kernel() {
	unpack "$1" "$(source_id "$1")" "$2" check_kernel
	check_kernel "$2" "$1"
}

# fits VERSION OLDEST SERIES...: succeeds if VERSION is one of SERIES, and not too old
fits() {
	_version=$1 _oldest=$2
	shift 2
	is_version "$_version" "$@" && printf '%s\n' "$_oldest" "$_version" | sort -CV
}

# base_for VERSION: prints the bases that are for this version of Linux
base_for() {
	for _b in "$top"/bases/*/base; do
		# shellcheck disable=SC2016,SC2046 # the other shell's; versions
		! fits "$1" $(sh -c '. "$1"; echo "$KERNEL_OLDEST $KERNEL_SERIES"' sh "$_b") || basename "${_b%/base}"
	done
}

# check_kernel DIR SOURCE: dies if DIR, made from SOURCE, is another kernel
check_kernel() {
	[ -f "$1/Makefile" ] || die "$2: no kernel source (there is no Makefile)"
	_found=$(sed -n 's/^\(VERSION\|PATCHLEVEL\|SUBLEVEL\) = *//p' "$1/Makefile" | paste -sd.)
	# shellcheck disable=SC2086 # versions
	! fits "$_found" "$KERNEL_OLDEST" $KERNEL_SERIES || return 0
	_for=$(base_for "$_found" | paste -sd' ')
	[ -z "$_for" ] ||
		die "the kernel in $2 is version $_found; the base $KBASE is for $KERNEL_SERIES: set KBASE=$_for"
	# shellcheck disable=SC2086 # versions
	is_version "$_found" $KERNEL_SERIES ||
		die "the kernel in $2 is version ${_found:-unknown}; the series is for $KERNEL_SERIES"
	_mend=
	[ "$2" != "/usr/src/$KERNEL_PACKAGE.tar.xz" ] ||
		_mend="; 'apt-get update' and 'apt-get install $KERNEL_PACKAGE' get the newest package, or set KSRC=DIR or KSRC=TARBALL"
	die "the kernel in $2 is version $_found; that is too old:" \
		"the series is for $KERNEL_OLDEST and later ones of $KERNEL_SERIES$_mend"
}

# base_series: sets $series and $patches to the series for the base
base_series() {
	# shellcheck disable=SC2034 # for the callers
	series=$top/series patches=$top/patches
	set -- "$top/bases/$KBASE"/*.patch
	[ -e "$1" ] || return 0
	_made=$("$top/scripts/lib/base-series") || exit 1
	# shellcheck disable=SC2034 # for the callers
	series=$_made/series patches=$_made/patches
}

# unpack SOURCE ID TREE CHECK: makes TREE a copy of SOURCE. An existing tree keeps the
# files that did not change. $TREE.state is for sync-series. CHECK DIR SOURCE dies if
# DIR is not what is wanted; then nothing changes. Files that change get the present time:
# with their own, make would keep objects of another version.
unpack() {
	[ "$(cat "$3.state/source" 2>/dev/null)" = "$2" ] && [ -d "$3" ] && return
	if [ -d "$1" ]; then
		"$4" "$1" "$1"
		say "copying $1"
		mkdir -p "$3.state" "$3"
		rm -f "$3.state/source" "$3.state/key"
		rsync -a --no-times --checksum --delete --exclude=.git --exclude='*.o' --exclude='*.cmd' \
			--exclude=/.config --exclude=/build --exclude=/.pc --exclude=/include/config \
			--exclude=/include/generated --exclude='/arch/*/include/generated' \
			"$1/" "$3/"
	else
		say "unpacking $1"
		rm -rf "$3.new"
		mkdir "$3.new"
		tar -xmf "$1" -C "$3.new" --strip-components=1 ||
			die "$1: not a source tarball (or the disk is full)"
		("$4" "$3.new" "$1") || { rm -rf "$3.new"; exit 1; }
		mkdir -p "$3.state"
		rm -f "$3.state/source" "$3.state/key"
		rm -rf "$3"
		mv "$3.new" "$3"
	fi
	rm -rf "$3.state/orig" "$3.state/added" "$3.state/overlay"
	echo "$2" >"$3.state/source"
}

# series_id SERIES PATCHES: prints an id of the patches in their order
series_id() {
	patch_list "$1" | while read -r _p; do
		[ -f "$2/$_p" ] || die "$1 names $_p, which is not in $2"
		echo "$_p"
		cat "$2/$_p"
	done | short_hash
}

# patch_list SERIES: prints the patches it names, without comments and options
patch_list() {
	[ -f "$1" ] || return 0
	sed 's/#.*//' "$1" | awk 'NF { print $1 }'
}

# named_from KEY PATCH: prints "NUMBER NAME" for each test program (KEY is "Tests") or
# guest ("Guests") that its text names. The program or guest passes from patch
# NUMBER on. That is this patch, or the one of "(from NUMBER)" after the names.
named_from() {
	sed -n "/^---\$/q; s/^$1: //p" "$2" | awk -v own="$(basename "$2" | cut -c1-4)" '{
		from = own
		if (match($0, / \(from [0-9]+\)$/)) {
			from = substr($0, RSTART + 7, RLENGTH - 8)
			$0 = substr($0, 1, RSTART - 1)
		}
		for (i = 1; i <= NF; i++)
			print from, $i
	}'
}

# prefix_tree TREE SERIES PATCHES: makes TREE the kernel source of now with another series. It
# starts as hard links to the tree of prepare-tree. sync-series replaces files and never
# writes into one.
prefix_tree() {
	_from=$(kernel_source) && _from=$(source_id "$_from") || return 1
	if [ ! -d "$1" ] || [ "$(cat "$1.state/source" 2>/dev/null)" != "$_from" ]; then
		"$top/scripts/lib/prepare-tree" -- sh -ec 'rm -rf "$1" "$1.state" "$1.new"
			cp -al . "$1.new"
			cp -a "$PWD.state" "$1.state"
			cd "$1.new"
			xargs -r rm -f <"$1.state/overlay"
			rm -f "$1.state/overlay" "$1.state/key"
			mv "$1.new" "$1"' sh "$1" || return 1
	fi
	"$top/scripts/lib/sync-series" "$1" "$2" "$3"
}
