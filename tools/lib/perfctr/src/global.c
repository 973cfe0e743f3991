// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The global mode, which counts a CPU: the kernel has none yet.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stddef.h>

#include "internal.h"

static int not_there(void)
{
	return perfctr_result(-ENOSYS);
}

EXPORT struct gperfctr *gperfctr_open(void)
{
	not_there();
	return NULL;
}

/* Nobody has a handle. */
EXPORT void gperfctr_close(struct gperfctr *global)
{
	(void)global;
}

EXPORT int gperfctr_control(const struct gperfctr *global,
			    struct gperfctr_cpu_control *control)
{
	(void)global;
	(void)control;
	return not_there();
}

EXPORT int gperfctr_read(const struct gperfctr *global,
			 struct gperfctr_cpu_state *state)
{
	(void)global;
	(void)state;
	return not_there();
}

EXPORT int gperfctr_stop(const struct gperfctr *global)
{
	(void)global;
	return not_there();
}

EXPORT int gperfctr_start(const struct gperfctr *global,
			  unsigned int interval_usec)
{
	(void)global;
	(void)interval_usec;
	return not_there();
}

EXPORT int gperfctr_info(const struct gperfctr *global, struct perfctr_info *info)
{
	(void)global;
	(void)info;
	return not_there();
}

EXPORT struct perfctr_cpus_info *gperfctr_cpus_info(const struct gperfctr *global)
{
	(void)global;
	not_there();
	return NULL;
}
