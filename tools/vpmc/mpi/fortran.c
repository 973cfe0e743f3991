// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The calls of MPI from Fortran. The Fortran bindings of Open MPI do not use the profiling
 * interface of C, but they have one of their own: mpi_send_() and pmpi_send_(), and with the
 * module mpi_f08 mpi_send_f08_() and pmpi_send_f08_().
 *
 * All arguments of these subroutines are addresses, or lengths of strings, which come last. So a
 * wrapper passes on as many words as the longest list has. A subroutine ignores those that it
 * does not have. In a program without Fortran there are none of them, and nobody calls the
 * wrappers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "mpi-count.h"

#define PARAMETERS	void *a, void *b, void *c, void *d, void *e, void *f, void *g, \
			void *h, void *i, void *j, void *k, void *l, void *m, void *n
#define ARGUMENTS	a, b, c, d, e, f, g, h, i, j, k, l, m, n

#define SUBROUTINE(symbol, before, after)				\
void symbol(PARAMETERS);						\
extern void p##symbol(PARAMETERS) __attribute__((__weak__));		\
EXPORT void symbol(PARAMETERS)						\
{									\
	before;								\
	p##symbol(ARGUMENTS);						\
	after;								\
}

#define CALL(name, lower)						\
	SUBROUTINE(mpi_##lower##_, count_enter(), count_leave(CALL_##name)) \
	SUBROUTINE(mpi_##lower##_f08_, count_enter(), count_leave(CALL_##name))
#include "fortran.inc"

/* The same functions for type(c_ptr) */
#define POINTER(name, lower)						\
	SUBROUTINE(mpi_##lower##_cptr_, count_enter(), count_leave(CALL_##name))
POINTER(Alloc_mem, alloc_mem)
POINTER(Win_allocate, win_allocate)
POINTER(Win_allocate_shared, win_allocate_shared)
POINTER(Win_shared_query, win_shared_query)

#define NOTHING		((void)0)

SUBROUTINE(mpi_init_, NOTHING, calls_begin())
SUBROUTINE(mpi_init_f08_, NOTHING, calls_begin())
SUBROUTINE(mpi_init_thread_, NOTHING, calls_begin())
SUBROUTINE(mpi_init_thread_f08_, NOTHING, calls_begin())
SUBROUTINE(mpi_finalize_, calls_end(), NOTHING)
SUBROUTINE(mpi_finalize_f08_, calls_end(), NOTHING)
