// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the rank of this process in a parallel program.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/options.h"
#include "common/rank.h"

/*
 * environment variables of Open MPI, PMIx, MPICH and its derivatives, and Slurm
 */
static const struct {
	const char *number, *ranks, *job;
} launcher[] = {
	{ "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMIX_NAMESPACE" },
	{ "PMIX_RANK", "PMIX_SIZE", "PMIX_NAMESPACE" },
	{ "PMI_RANK", "PMI_SIZE", "PMI_JOBID" },
	{ "SLURM_PROCID", "SLURM_NTASKS", "SLURM_JOB_ID" },
};

void rank_find(struct rank *rank)
{
	size_t i, nr = sizeof(launcher) / sizeof(launcher[0]);
	const char *text;

	for (i = 0; i < nr && !getenv(launcher[i].number); i++)
		;
	if (i == nr)
		fail(STATUS_OURS, "--rank: no launcher has set OMPI_COMM_WORLD_RANK, PMIX_RANK, PMI_RANK or SLURM_PROCID; start vpmc by one, such as mpirun");
	rank->is_set = true;
	rank->number = options_number(launcher[i].number,
				      getenv(launcher[i].number), 0, MOST_RANKS);
	text = getenv(launcher[i].ranks);
	if (text)
		rank->ranks = options_number(launcher[i].ranks, text, 1, MOST_RANKS + 1ULL);
	if (text && rank->number >= rank->ranks)
		fail(STATUS_OURS, "%s %u: is not below %s %u; start vpmc by one launcher",
		     launcher[i].number, rank->number, launcher[i].ranks, rank->ranks);
	rank->job = getenv(launcher[i].job);
}

char *rank_regions(const struct rank *rank, const char *directory)
{
	return get_text("%s/regions-%u.json", directory, rank->number);
}

char *rank_output(const struct rank *rank, const char *directory)
{
	char *file = get_text("%s/rank-%u.json", directory, rank->number);
	char *regions = rank_regions(rank, directory);

	if (mkdir(directory, 0777) && errno != EEXIST)
		fail(STATUS_OURS, "%s: cannot be made: %s; name a directory by -o that can be, or that is there",
		     directory, strerror(errno));
	if (!access(file, F_OK) || !access(regions, F_OK))
		fail(STATUS_OURS, "%s: is another run's; name another directory by -o for each run",
		     access(file, F_OK) ? regions : file);
	free(regions);
	return file;
}
