// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What all files of this library know of the process and of the calling thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dlfcn.h>
#include <errno.h>

#include "hooks.h"

static struct hot nobody;
__thread struct hot *hot = &nobody;
struct process process;
struct thread *graph_trial;
void (*graph_real_jump[4])(void);

void graph_find_jumps(void)
{
	static const char *const name[] = { "longjmp", "_longjmp", "siglongjmp",
					    "__longjmp_chk" };
	int i, error = errno;

	for (i = 0; i < 4; i++)
		graph_real_jump[i] = (void (*)(void))dlsym(RTLD_NEXT, name[i]);
	errno = error;
}
