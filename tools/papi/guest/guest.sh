# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh
# Runs in the guest: sh guest.sh NAME... runs PAPI's test programs. The verdict of a
# program is the last one that it prints, because a skipped program also ends with 0.
LD_LIBRARY_PATH=/add
export LD_LIBRARY_PATH
cd /add || exit
# if nothing can be counted, do not fill the table with failures
if ! vpmc info | grep -qx 'Counting is possible.'; then
	echo "nothing can be counted: $(vpmc info | tail -n 1)"
	exit 1
fi
echo 25 >/proc/sys/kernel/vpmc_period_min
for name; do
	rc=0
	if [ -x "./$name" ]; then
		timeout -k 5 60 "./$name" >/tmp/said 2>&1 </dev/null || rc=$?
		verdict=$(grep -oE 'PASSED with WARNING|PASSED|SKIPPED|FAILED' /tmp/said | tail -n 1)
		# busybox's timeout ends with the status of the signal
		case $rc in
		124 | 137 | 143) verdict='no end in 60 s' ;;
		esac
	else
		verdict='not built'
		: >/tmp/said
	fi
	{
		grep '^not ok' /tmp/said
		tail -n 12 /tmp/said
	} | awk '{ print "| " $0 }'
	echo "== $name $rc ${verdict:-no verdict}"
done
echo "== end"
