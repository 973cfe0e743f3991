# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# The configuration of a kernel that make kernel-deb builds. Sourced after common.sh.

# what is changed in a configuration: a file for each flavour, and one for all
parts=$top/scripts/lib/kernel-deb

# loaded_modules FILE: prints the names of the modules in /proc/modules or in the output of lsmod
loaded_modules() {
	[ -r "$1" ] || return 0
	sed '1{/^Module  *Size /d}' "$1" | awk '{ print $1 }' | sort
}

# keep_modules TREE OBJ MODULES: takes all modules but those that the file MODULES names, and
# those that they need, from OBJ/.config. The kernel's script asks about options that are
# new, so olddefconfig answers before.
keep_modules() {
	awk 'BEGIN { print "Module Size Used by" } { print $1, 1, 0 }' "$3" >"$3.lsmod"
	make -C "$1" O="$2" ARCH=x86 olddefconfig &&
		make -C "$1" O="$2" ARCH=x86 LSMOD="$3.lsmod" localmodconfig </dev/null
}

# make_config TREE OBJ FLAVOUR FROM MODULES: makes OBJ/.config. FLAVOUR is local, vm or
# empty. FROM is a configuration, for vm empty. MODULES is for local only.
make_config() {
	case $3 in
	vm) make -C "$1" O="$2" ARCH=x86 x86_64_defconfig kvm_guest.config ;;
	local) cp "$4" "$2/.config" && keep_modules "$1" "$2" "$5" ;;
	*) cp "$4" "$2/.config" ;;
	esac || return 1
	# shellcheck disable=SC2086 # a file or nothing
	(cd "$1" && ARCH=x86 scripts/kconfig/merge_config.sh -m -O "$2" "$2/.config" \
		${3:+"$parts/$3"} "$parts/vpmc") &&
		make -C "$1" O="$2" ARCH=x86 olddefconfig
}

# absent_modules: prints the modules that the kernel's script could not keep, from what it says
absent_modules() {
	sed -n 's/^\([^ ]*\) config not found!!$/\1/p; s/^module \([^ ]*\) did not have configs.*/\1/p'
}
