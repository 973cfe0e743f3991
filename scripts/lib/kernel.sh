# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Configures and compiles kernels. Sourced after common.sh.

# fragment NAME: prints base, then the changes of NAME, each with what the version of Linux
# needs besides. The last line of an option wins.
fragment() {
	{
		cat "$top/configs/base" "$top/bases/$KBASE/config"
		[ "$1" = base ] || cat "$top/configs/$1"
		[ ! -f "$top/bases/$KBASE/config-$1" ] || cat "$top/bases/$KBASE/config-$1"
	} |
		sed -n 's/^# \(CONFIG_[A-Z0-9_a-z]*\) is not set$/\1=n/p; /^CONFIG_/p' |
		awk -F= '!($1 in v) { n[++k] = $1 } { v[$1] = $0 } END { for (i = 1; i <= k; i++) print v[n[i]] }'
}

# verify FRAGMENT CONFIG: prints options that Kconfig has dropped
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

# leave_out TREE FRAGMENT: removes options of the base that this version of Linux does not
# know
leave_out() {
	sed -n 's/^CONFIG_\([A-Z0-9_]*\)=.*/\1/p' "$top/bases/$KBASE/config" | while read -r _option; do
		grep -rqsx --include='Kconfig*' "config $_option" "$1" || sed -i "/^CONFIG_$_option=/d" "$2"
	done
}

# configure NAME TREE OBJ: makes OBJ/.config from configs/NAME. The caller must verify
# it.
configure() {
	mkdir -p "$3"
	fragment "$1" >"$3/fragment"
	leave_out "$2" "$3/fragment"
	run_logged "config-$1" env KCONFIG_ALLCONFIG="$3/fragment" \
		make -C "$2" O="$3" ARCH=x86 LOCALVERSION= allnoconfig
}

# reproducible: makes the same input give the same bytes, so that ccache finds them
reproducible() {
	KBUILD_BUILD_TIMESTAMP='2024-01-01 00:00:00 UTC'
	KBUILD_BUILD_USER=vpmc KBUILD_BUILD_HOST=vpmc KBUILD_BUILD_VERSION=1
	export KBUILD_BUILD_TIMESTAMP KBUILD_BUILD_USER KBUILD_BUILD_HOST KBUILD_BUILD_VERSION
	use_ccache
}
