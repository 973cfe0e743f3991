// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Programs and reads the counters of processors through /dev/perfctr.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "internal.h"

#define CPUS_FILE	"/dev/perfctr"

struct vpmc_cpus {
	int fd;
};

static int cpus_request(const struct vpmc_cpus *cpus, unsigned long request,
			void *arg)
{
	int saved = errno, err = 0;

	if (ioctl(cpus->fd, request, arg) < 0)
		err = -errno;
	errno = saved;
	return err;
}

static int open_error(struct vpmc_error *error, int err)
{
	switch (err) {
	case -ENOENT:
	case -ENXIO:
		return vpmc_error_set(error, -ENOSYS, VPMC_WHY_NO_KERNEL,
				      CPUS_FILE,
				      "this kernel has no counters of processors",
				      "boot a kernel with CONFIG_VPMC_GLOBAL=y");
	case -EACCES:
	case -EPERM:
		return vpmc_error_set(error, -EACCES, VPMC_WHY_NO_ACCESS,
				      CPUS_FILE,
				      "only users who may count whole processors by perf may use it",
				      "be root, or have CAP_PERFMON and the file's permission");
	}
	return vpmc_error_system(error, err, CPUS_FILE);
}

EXPORT int vpmc_cpus_open(struct vpmc_cpus **cpus, struct vpmc_error *error)
{
	struct vpmc_cpus *made = malloc(sizeof(*made));
	int saved = errno, err;

	*cpus = NULL;
	vpmc_error_none(error);
	if (!made)
		return vpmc_error_system(error, -ENOMEM, CPUS_FILE);
	made->fd = open(CPUS_FILE, O_RDWR | O_CLOEXEC);
	if (made->fd < 0) {
		err = -errno;
		free(made);
		errno = saved;
		return open_error(error, err);
	}
	*cpus = made;
	return 0;
}

EXPORT void vpmc_cpus_close(struct vpmc_cpus *cpus)
{
	int saved = errno;

	if (!cpus)
		return;
	close(cpus->fd);
	free(cpus);
	errno = saved;
}

/* CONTROL's arguments other than the events. */
struct request {
	struct vpmc_cpus *cpus;
	unsigned int cpu, flags, interval_ms;
};

static int control_request(void *to, struct vpmc_control *control)
{
	const struct request *request = to;
	struct vpmc_global_control set = {
		.size = offsetof(struct vpmc_global_control,
				 counter[control->nr_counters]),
		.flags = request->flags,
		.cpu = request->cpu,
		.interval_ms = request->interval_ms,
		.nr_counters = control->nr_counters,
	};
	int err;

	memcpy(set.counter, control->counter,
	       control->nr_counters * sizeof(*set.counter));
	err = cpus_request(request->cpus, VPMC_IOC_G_CONTROL, &set);
	control->bad_counter = set.bad_counter;
	control->reason = set.reason;
	return err;
}

/* Is the number beyond those that the kernel can have? */
static bool is_beyond(const struct vpmc_cpus *cpus, unsigned int cpu)
{
	struct vpmc_global_cpu element;

	return vpmc_cpus_read(cpus, cpu, &element, 1) == -EINVAL;
}

/*
 * CONTROL refuses flags, CPU and interval by EINVAL alone, in this order. Says which one it
 * was.
 */
static void say_which(const struct request *request, struct vpmc_error *error)
{
	char what[32];

	if (request->flags & ~VPMC_GLOBAL_REVOKE) {
		snprintf(what, sizeof(what), "flags %#x", request->flags);
		vpmc_error_set(error, -EINVAL, VPMC_WHY_SYSTEM, what,
			       "VPMC_GLOBAL_REVOKE is the only one that this kernel may know",
			       "leave the others out");
	} else if (request->interval_ms && (request->cpu == VPMC_ALL_CPUS ||
					    !is_beyond(request->cpus, request->cpu))) {
		snprintf(what, sizeof(what), "interval of %u ms", request->interval_ms);
		vpmc_error_set(error, -EINVAL, VPMC_WHY_SYSTEM, what, "it is not possible",
			       "0, or 10 to 60000");
	} else if (request->cpu != VPMC_ALL_CPUS) {
		snprintf(what, sizeof(what), "processor %u", request->cpu);
		vpmc_error_set(error, -EINVAL, VPMC_WHY_SYSTEM, what,
			       "there is no such processor",
			       "lscpu -e lists those that there are, and VPMC_ALL_CPUS means all");
	}
}

/* Names what the kernel has not named: the argument that is wrong, or the processor. */
static void name_it(const struct request *request, struct vpmc_error *error)
{
	char what[32], why[sizeof(error->why)], remedy[sizeof(error->remedy)];

	if (error->errnum == EINVAL && error->reason == VPMC_WHY_SYSTEM)
		return say_which(request, error);
	if (error->reason != VPMC_REASON_CPU_RUNNING || request->cpu == VPMC_ALL_CPUS)
		return;
	snprintf(what, sizeof(what), "processor %u", request->cpu);
	memcpy(why, error->why, sizeof(why));
	memcpy(remedy, error->remedy, sizeof(remedy));
	vpmc_error_set(error, -error->errnum, error->reason, what, why, remedy);
}

EXPORT int vpmc_cpus_program(struct vpmc_cpus *cpus, unsigned int cpu,
			     struct vpmc_event *events, unsigned int nr,
			     unsigned int flags, unsigned int interval_ms,
			     struct vpmc_error *error)
{
	struct request request = {
		.cpus = cpus,
		.cpu = cpu,
		.flags = flags,
		.interval_ms = interval_ms,
	};
	unsigned int i, element = 0;
	int n;

	if (!events)
		nr = 0;
	n = vpmc_program_events(control_request, &request, events, nr, 0, error);
	if (n < 0 && error)
		name_it(&request, error);
	for (i = 0; n >= 0 && i < nr; i++)
		if (!(events[i].flags & VPMC_EVENT_LEFT_OUT)) {
			events[i].element = element++;
			events[i].counter = events[i].index;
		}
	return n;
}

EXPORT int vpmc_cpus_start(struct vpmc_cpus *cpus)
{
	return cpus_request(cpus, VPMC_IOC_G_START, NULL);
}

EXPORT int vpmc_cpus_stop(struct vpmc_cpus *cpus)
{
	return cpus_request(cpus, VPMC_IOC_G_STOP, NULL);
}

EXPORT int vpmc_cpus_clear(struct vpmc_cpus *cpus)
{
	return cpus_request(cpus, VPMC_IOC_G_CLEAR, NULL);
}

EXPORT int vpmc_cpus_read_sized(const struct vpmc_cpus *cpus, unsigned int first,
				void *cpu, unsigned int nr, size_t size)
{
	struct vpmc_global_read read = {
		.size = sizeof(read),
		.first_cpu = first,
		.nr_cpus = nr,
		.element_size = size,
		.elements = (uintptr_t)cpu,
	};
	int err = cpus_request(cpus, VPMC_IOC_G_READ, &read);

	return err ? err : (int)read.nr_cpus;
}
