// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Every call of MPI that returns an error number, by way of the profiling interface.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <mpi.h>
#include <stdio.h>

#include "mpi-count.h"

/* some have a parameter "result" */
#define CALL(name, parameters, arguments)		\
EXPORT int MPI_##name parameters			\
{							\
	int vpmc_result;				\
							\
	count_enter();					\
	vpmc_result = PMPI_##name arguments;		\
	count_leave(CALL_##name);			\
	return vpmc_result;				\
}
#include "calls.inc"

void calls_begin(void)
{
	static bool begun;
	struct vpmc_error error;
	int rank, initialized = 0;

	/* MPI_Init() may have failed, and a Fortran binding may call that of C. */
	PMPI_Initialized(&initialized);
	if (!initialized || begun)
		return;
	begun = true;
	if (!count_begin(&error))
		return;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	fprintf(stderr, "vpmc: rank %d: is not counted: %s\n", rank, error.text);
}

void calls_end(void)
{
	static bool ended;

	if (!ended)
		gather(count_end());
	ended = true;
}

EXPORT int MPI_Init(int *argc, char ***argv)
{
	int result = PMPI_Init(argc, argv);

	calls_begin();
	return result;
}

EXPORT int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int result = PMPI_Init_thread(argc, argv, required, provided);

	calls_begin();
	return result;
}

EXPORT int MPI_Finalize(void)
{
	calls_end();
	return PMPI_Finalize();
}
