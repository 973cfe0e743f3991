# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154 # top, cache and tmp come from those who source this
# What the compiler and sparse report about the files of the series. Sourced by suites
# after tap.sh, common.sh, source.sh and kernel.sh. series-exceptions lists the accepted
# reports, and exceptions of the base those of its tools alone.
tree=$VPMC_TREE
exceptions=$tmp/exceptions
cat "$top/scripts/suites/series-exceptions" "$top/bases/$KBASE/exceptions" >"$exceptions"

# expected TOOL: reads TOOL's reports, "FILE:LINE: TEXT", from standard input. Fails on
# reports without an exception, and on exceptions without a report.
expected() {
	sed "s|^$tree/||; s|^\./||; s/^\([^: ]*\):[0-9]*:\([0-9]*:\)\? */\1: /; s/ *\$//" | sort -u >"$tmp/reports"
	sed -n "s/^$1: \(.*[^ ]\) *-- [^ ].*/\1/p" "$exceptions" | sort -u >"$tmp/known"
	comm -23 "$tmp/reports" "$tmp/known" >"$tmp/new"
	comm -13 "$tmp/reports" "$tmp/known" | sed 's/^/an exception that is not needed: /' >>"$tmp/new"
	cat "$tmp/new"
	[ ! -s "$tmp/new" ]
}

# left: reads names of files, and prints those that exist in the tree, sorted
left() {
	sort -u | while read -r f; do
		[ ! -e "$tree/$f" ] || echo "$f"
	done
}

# ours: prints the files with code that the series makes and leaves in the tree
ours() {
	sed -n '/^--- \/dev\/null/{ n; s/^+++ [^\/]*\/\([^\t]*\.[ch]\).*/\1/p; }' "$patches"/*.patch | left
}

# touched: prints the objects of existing files that the series changes
touched() {
	ours >"$tmp/made-by-us"
	sed -n '/^--- [^\/]*\/.*\.c/{ n; s/^+++ [^\/]*\/\([^\t]*\.c\).*/\1/p; }' "$patches"/*.patch |
		left | comm -13 "$tmp/made-by-us" - | sed 's/\.c$/.o/' | sort
}

# made FROM TREE OBJ CONFIG ARGUMENT...: compiles the objects that file FROM names in a
# separate object directory, and prints the reports
made() {
	_from=$1 _tree=$2 _obj=$3 _config=$4
	shift 4
	(cd "$_obj" 2>/dev/null && xargs rm -f) <"$_from"
	if configure "$_config" "$_tree" "$_obj" >"$tmp/made" 2>&1 && verify "$_obj/fragment" "$_obj/.config" >>"$tmp/made" &&
		xargs make -C "$_tree" O="$_obj" ARCH=x86 LOCALVERSION= -j"$(jobs)" "$@" <"$_from" >>"$tmp/made" 2>&1 &&
		(cd "$_obj" && xargs ls) <"$_from" >/dev/null 2>>"$tmp/made"; then
		grep -E '^[^ ]+:[0-9]+(:[0-9]+)?: .*(warning|error|note):' "$tmp/made" || :
	else
		tail -n 30 "$tmp/made" >&2
		echo "it does not compile"
	fi
}

# warnings FILES CONFIG ARGUMENT...
warnings() {
	_tool=$1-$2
	made "$tmp/$1" "$tree" "$VPMC_KCACHE/obj/check-$2" "$2" "$3" "${4:-W=1}" | expected "$_tool"
}

# list_objects: writes the lists of objects for warnings(): ours, touched-64 and touched
list_objects() {
	ours | sed -n 's/\.c$/.o/p' >"$tmp/ours"
	touched >"$tmp/touched-64"
	# FRED needs 64 bits, and few configurations have it
	grep -v /entry_fred.o "$tmp/touched-64" >"$tmp/touched"
}
