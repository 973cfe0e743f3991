# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# How a kernel is configured and compiled. Sourced after common.sh.

# fragment NAME: base, and what NAME changes of it: the last line of a name wins
fragment() {
	{ cat "$top/configs/base"; [ "$1" = base ] || cat "$top/configs/$1"; } |
		sed -n 's/^# \(CONFIG_[A-Z0-9_a-z]*\) is not set$/\1=n/p; /^CONFIG_/p' |
		awk -F= '!($1 in v) { n[++k] = $1 } { v[$1] = $0 } END { for (i = 1; i <= k; i++) print v[n[i]] }'
}

# verify FRAGMENT CONFIG: Kconfig drops what it does not know or cannot have
verify() {
	_bad=0
	while read -r _line; do
		case $_line in
		*=n) ! grep "^${_line%=n}=" "$2" || { echo "wanted: $_line"; _bad=1; } ;;
		*) grep -qxF "$_line" "$2" || { echo "missing: $_line"; _bad=1; } ;;
		esac
	done <"$1"
	[ $_bad = 0 ]
}

# configure NAME TREE OBJ: OBJ/.config as configs/NAME asks for it; to be verified
configure() {
	mkdir -p "$3"
	fragment "$1" >"$3/fragment"
	run_logged "config-$1" env KCONFIG_ALLCONFIG="$3/fragment" \
		make -C "$2" O="$3" ARCH=x86 LOCALVERSION= allnoconfig
}

# reproducible: the same input gives the same bytes, and ccache its hits
reproducible() {
	KBUILD_BUILD_TIMESTAMP='2024-01-01 00:00:00 UTC'
	KBUILD_BUILD_USER=vpmc KBUILD_BUILD_HOST=vpmc KBUILD_BUILD_VERSION=1
	export KBUILD_BUILD_TIMESTAMP KBUILD_BUILD_USER KBUILD_BUILD_HOST KBUILD_BUILD_VERSION
	use_ccache
}
