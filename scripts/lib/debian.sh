# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Source and binary packages of another Debian release, from the archive that
# this machine's own apt configuration names. The system's package lists do not
# change, because apt gets a separate sources file, lists and cache. It also gets an
# empty status file, because a newer package that is installed here would hide the
# one of the other release. Sourced after common.sh.

downloads=$cache/download
debian_other=QEMU_SRC
debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

# debian_mirrors [SUITE]: prints the archives that apt knows for this machine's release, or
# for its security updates if SUITE is NAME-security
debian_mirrors() {
	(
		# shellcheck source=/dev/null
		. /etc/os-release
		case ${1:-} in
		*-security) _kind=-security ;;
		*) _kind='' ;;
		esac
		# shellcheck disable=SC2016 # apt's own variables
		# security and updates are in other archives, or in the same one again
		apt-get indextargets --format '$(TARGET_OF) $(RELEASE) $(REPO_URI)' 'Created-By: Packages' |
			awk -v name="${VERSION_CODENAME:-none}$_kind" -v stable="stable$_kind" \
				'($1 == "deb" || $1 == "deb-src") &&
				($2 == name || $2 == stable) && !seen[$3]++ { print $3 }'
	)
}

# private_apt DIR SUITE MIRROR: writes apt's files for one archive, and for $debian_arch
# if it is set
private_apt() {
	mkdir -p "$1/lists/partial" "$1/archives/partial"
	: >"$1/status"
	printf '%s [signed-by=%s] %s %s main\n' \
		deb "$debian_keyring" "$3" "$2" deb-src "$debian_keyring" "$3" "$2" >"$1/sources.list"
	cat >"$1/apt.conf" <<-CONF
		Dir::Etc::SourceList "$1/sources.list";
		Dir::Etc::SourceParts "-";
		Dir::Etc::Preferences "-";
		Dir::Etc::PreferencesParts "-";
		Dir::State::Lists "$1/lists";
		Dir::State::Status "$1/status";
		Dir::Cache "$1";
		Dir::Cache::Archives "$1/archives";
		APT::Sandbox::User "root";
		APT::Get::List-Cleanup "false";
		Acquire::Retries "3";
		${debian_arch:+APT::Architecture "$debian_arch"; APT::Architectures { "$debian_arch"; \};}
	CONF
}

# find_download PATTERN: prints the newest such file of an earlier download
find_download() {
	find "$downloads" -maxdepth 1 -name "$1" 2>/dev/null | sort -V | tail -n 1
}

# fetch VARIABLE SUITE APT-ARGUMENTS...: puts whole files into $downloads, or none.
# Error messages say that VARIABLE can name another source.
fetch() {
	debian_other=$1 _of=$2
	shift 2
	mkdir -p "$downloads"
	_new=$(mktemp -d "$downloads/.new.XXXXXX")
	debian_fetch "$_of" "$_new" "$@"
	find "$_new" -type f -exec mv -f {} "$downloads/" \;
	rm -rf "$_new"
}

# debian_fetch SUITE DIR COMMAND...: runs an apt-get command in DIR that gets
# packages of SUITE, from the first of the machine's archives that has it
debian_fetch() {
	_suite=$1 _dir=$2
	shift 2
	[ -r "$debian_keyring" ] || die "$debian_keyring is missing: run 'make deps'"
	_mirrors=$(debian_mirrors "$_suite")
	[ -n "$_mirrors" ] ||
		die "apt's configuration names no archive of this Debian release; set $debian_other=DIR or $debian_other=TARBALL"
	for _m in $_mirrors; do
		_apt=$cache/apt/$(echo "$_m $_suite${debian_arch:+ $debian_arch}" | short_hash)
		private_apt "$_apt" "$_suite" "$_m"
		say "asking $_m for $_suite"
		APT_CONFIG=$_apt/apt.conf
		export APT_CONFIG
		if run_logged apt-lists apt-get -q update &&
			run_logged apt-fetch env -C "$_dir" apt-get -q "$@"; then
			unset APT_CONFIG
			return
		fi
		unset APT_CONFIG
	done
	die "none of this machine's archives gave $_suite's packages (logs: $logdir/apt-*.log); set $debian_other=DIR or $debian_other=TARBALL"
}

# this_release: prints the name of this machine's release, or none
this_release() {
	_name=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	echo "${_name:-none}"
}

# i386_file PACKAGE FILE: prints the path of FILE from Debian's PACKAGE for i386, which is
# downloaded once. To be called in a subshell, because it sets debian_arch.
i386_file() {
	_dir=$cache/download/i386
	if [ ! -e "$_dir/$2" ]; then
		lock "i386-$1" 6
		mkdir -p "$_dir"
		rm -f "$_dir/$1"_*_i386.deb
		debian_arch=i386
		debian_fetch "$(this_release)" "$_dir" download "$1" >&2
		dpkg-deb -x "$_dir/$1"_*_i386.deb "$_dir"
	fi
	echo "$_dir/$2"
}

# check_debootstrap RELEASE: dies if minimal_debian cannot make it
check_debootstrap() {
	[ "$(id -u)" = 0 ] || die "only root can make a chroot"
	need chroot apt-get
	command -v debootstrap >/dev/null ||
		die "debootstrap is not installed: run 'apt-get install debootstrap'"
	[ -e "${DEBOOTSTRAP_DIR:-/usr/share/debootstrap}/scripts/$1" ] ||
		die "debootstrap knows no release $1: it is too old"
	[ -n "$(debian_mirrors | head -n 1)" ] ||
		die "apt's configuration names no archive of this Debian release"
}

# minimal_debian ROOT RELEASE PACKAGES: makes ROOT the smallest Debian with PACKAGES, which
# are separated by commas, for $debian_arch if it is set. apt in there uses the archives that apt uses here, except those
# of other vendors.
minimal_debian() {
	_here=$(this_release)
	run_logged debootstrap debootstrap --variant=minbase --include="$3" \
		${debian_arch:+"--arch=$debian_arch"} \
		"$2" "$1" "$(debian_mirrors | head -n 1)" || return 1
	rm -f "$1/etc/apt/sources.list"
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format 'deb [signed-by='"$debian_keyring"'] $(REPO_URI) $(RELEASE) $(COMPONENT)' \
		'Created-By: Packages' | grep -F " $_here" | sed "s/ $_here/ $2/" |
		sort -u >"$1/etc/apt/sources.list"
	# What packages have brought here comes with them there, and dpkg would ask about it.
	for _conf in /etc/apt/apt.conf.d/*; do
		[ ! -e "$_conf" ] || dpkg-query -S "$_conf" >/dev/null 2>&1 || cp -a "$_conf" "$1/etc/apt/apt.conf.d/"
	done
	cp -L /etc/resolv.conf /etc/hosts "$1/etc/" 2>/dev/null || :
}
