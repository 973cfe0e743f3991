#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Open MPI, with 3 ranks over shared memory. The files go to /out, where check-mpi checks
# them.
# shellcheck source=tools/vpmc/tests/guest-lib.sh
. /add/guest-lib.sh

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_mca_base_component_path=/add/openmpi3
# PMIx has these components built in. The other ones are not in the guest.
export PMIX_MCA_mca_base_component_path=/add/pmix PMIX_MCA_pcompress_base_silence_warning=1
library=/add/libvpmc-mpi.so

run() {
	mpirun --oversubscribe -n 3 --mca plm isolated --mca btl self,vader --mca pml ob1 "$@" >said 2>&1
}
run vpmc stat --rank -o /out/ranks -e instructions,branches ranks 100000
result "vpmc stat by mpirun" $? said
equal "it says nothing" 0 "$(wc -l <said)"
run -x LD_PRELOAD=$library -x VPMC_MPI_REPORT=/out/alone.json ranks 100000
result "the library for MPI programs" $? said
equal "with a file it says nothing" 0 "$(wc -l <said)"
run -x LD_PRELOAD=$library -x VPMC_MPI_EVENTS=branches,instructions ranks 100000
result "the library with other events" $? said
cp said /out/mpi.txt
run -x VPMC_MPI_REPORT=/out/within.json vpmc stat --rank -o /out/within -e instructions,branches env LD_PRELOAD=$library ranks 100000
result "the library below vpmc stat" $? said
run -x LD_PRELOAD=$library -x VPMC_MPI_REPORT=/out/thread.json ranks 100000 thread
result "a program with a thread" $? said
run -x LD_PRELOAD=$library ranks 100000 many
result "threads that end leave no descriptor" $? said
run -x LD_PRELOAD=$library ranks 100000 other
result "a program with a thread that counts other events" $? said
equal "that thread is left out" 3 "$(grep -c '^Rank [0-2]: 1 threads are left out' said)"
all_count() {
	# shellcheck disable=SC2046 # numbers
	set -- $(pidof ranks)
	[ $# = 3 ] || return 1
	for _pid; do
		[ "$(vpmc ctl read -t "$_pid" | awk '$2 == "state" { print $1 }')" = running ] || return 1
	done
}
(await all_count; echo 1 >/proc/sys/kernel/vpmc_revoke) &
run -x LD_PRELOAD=$library ranks 30000000
result "the administrator takes the counters: the program goes on" $? said
wait
echo 0 >/proc/sys/kernel/vpmc_revoke
equal "the administrator takes the counters: no rank has counts" "3 0" \
	"$(grep -c '^Rank [0-2] is missing: .*, or has lost its counters\.$' said) $(grep -cE '^ *[0-2] +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+$' said)"
for how in clear stop; do
	run -x LD_PRELOAD=$library ranks 100000 $how
	equal "$how: the program goes on" 0 $?
	equal "$how: no rank has counts" "3 0" \
		"$(grep -c '^Rank [0-2] is missing: .*, or has lost its counters\.$' said) $(grep -cE '^ *[0-2] +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+$' said)"
done
# heads: those of the tables
heads() {
	grep -x 'run time (ns):\|instructions[:a-z]*:\|branches:u:\|0x1f0:u:' said | xargs
}
run -x LD_PRELOAD=$library ranks 100000 added
equal "what others have added to the set is counted" "run time (ns): instructions:u: branches:u:" "$(heads)"
equal "it stays when they take it away" 9 "$(grep -cE '^ *[0-2] +[0-9]+ +[0-9]{3,12} +[0-9]{3,12} +[0-9.]+$' said)"
run -x LD_PRELOAD=$library -x VPMC_MPI_EVENTS=0x1f0:u,instructions:uk ranks 100000
equal "events have the names that they were given, with their modes" "run time (ns): 0x1f0:u: instructions:uk:" \
	"$(heads)"
run vpmc stat -o /dev/null -e instructions:uk env LD_PRELOAD=$library ranks 100000
equal "what vpmc stat counts has its modes" "run time (ns): instructions:uk:" "$(heads)"
run -x LD_PRELOAD=$library -x VPMC_MPI_REPORT=/none/x.json ranks 100000
equal "a file that cannot be made: a line says so" \
	"vpmc: VPMC_MPI_REPORT=/none/x.json: cannot be written: No such file or directory; here it is, name another file" \
	"$(head -n 1 said)"
equal "what was counted is kept" 9 "$(grep -cE '^ *[0-2] +[0-9]+ +[0-9]+ +[0-9]+ +[0-9.]+$' said)"
run -x LD_PRELOAD=$library -x VPMC_MPI_EVENTS=nonesuch ranks 100000
equal "an unknown event: each rank says so, the program goes on" 0 $?
equal "an unknown event: lines" 3 "$(grep -c '^vpmc: rank [0-2]: is not counted: nonesuch: no event has that name' said)"
for program in ranks-fortran ranks-f08; do
	run -x LD_PRELOAD=$library -x VPMC_MPI_EVENTS=instructions,branches -x VPMC_MPI_REPORT=/out/$program.json $program
	result "a program in Fortran: $program" $? said
	equal "$program: it says nothing" 0 "$(wc -l <said)"
done
LD_PRELOAD=$library ranks 0
equal "a program that ends before MPI_Init(): its status" 2 $?
cd /out || exit
vpmc stat --format openmetrics -e instructions,branches -o vpmc.prom -- known
equal "openmetrics: status" 0 $?
