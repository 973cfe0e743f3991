// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The global mode, which counts CPUs through /dev/perfctr.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define DEVICE		"/dev/perfctr"
#define MIN_INTERVAL	10000		/* microseconds */

/* The control of a CPU, as the program passed it. */
struct gperfctr_cpu {
	struct gperfctr_cpu_control control;
	struct gperfctr_cpu *next;
};

/* State that changes. Most calls take a const handle. */
struct gperfctr_state {
	struct gperfctr_cpu *cpus;
	unsigned int interval_ms;	/* of all programmed CPUs */
};

struct gperfctr {
	int fd;
	struct gperfctr_state *state;
};

static int not_there(void)
{
	return perfctr_result(-ENOSYS);
}

EXPORT struct gperfctr *gperfctr_open(void)
{
	struct gperfctr *global = calloc(1, sizeof(*global));

	if (!global)
		return NULL;
	global->state = calloc(1, sizeof(*global->state));
	if (!global->state)
		goto free_global;
	global->fd = open(DEVICE, O_RDWR | O_CLOEXEC);
	if (global->fd >= 0)
		return global;
	if (errno == ENOENT || errno == ENXIO)
		not_there();
	free(global->state);
free_global:
	free(global);
	return NULL;
}

EXPORT void gperfctr_close(struct gperfctr *global)
{
	struct gperfctr_cpu *cpu, *next;

	if (!global)
		return;
	for (cpu = global->state->cpus; cpu; cpu = next) {
		next = cpu->next;
		free(cpu);
	}
	close(global->fd);
	free(global->state);
	free(global);
}

/* Returns the link to the CPU's element, or to where it would be. */
static struct gperfctr_cpu **find(struct gperfctr_state *state, unsigned int cpu)
{
	struct gperfctr_cpu **at = &state->cpus;

	while (*at && (*at)->control.cpu != cpu)
		at = &(*at)->next;
	return at;
}

/* A CPU's set, as far as perfctr_place() does not know it. */
struct target {
	int fd;
	struct vpmc_global_control set;
};

static int request(void *to, struct vpmc_control *set)
{
	struct target *target = to;
	int err;

	target->set.nr_counters = set->nr_counters;
	memcpy(target->set.counter, set->counter, sizeof(target->set.counter));
	err = perfctr_request(target->fd, VPMC_IOC_G_CONTROL, &target->set);
	set->bad_counter = target->set.bad_counter;
	set->reason = target->set.reason;
	return err;
}

/*
 * Programs a CPU. Counters that interrupt are refused, because no thread would
 * get the signal.
 */
static int program(const struct gperfctr *global,
		   const struct gperfctr_cpu_control *control,
		   unsigned int interval_ms)
{
	struct vperfctr_control virtual = {
		.cpu_control = control->cpu_control,
	};
	struct target target = {
		.fd = global->fd,
		.set = {
			.size = sizeof(target.set),
			.cpu = control->cpu,
			.interval_ms = interval_ms,
		},
	};
	struct vpmc_control set;
	int err;

	if (control->cpu_control.nrictrs)
		return -EPERM;
	/* the kernel takes this number to mean all CPUs */
	if (control->cpu == VPMC_ALL_CPUS)
		return -EINVAL;
	if (control->cpu_control.tsc_on && !control->cpu_control.nractrs)
		return -EOPNOTSUPP;
	err = perfctr_to_vpmc(global->fd, &virtual, &set);
	return err ?: perfctr_place(request, &target, &set);
}

EXPORT int gperfctr_control(const struct gperfctr *global,
			    struct gperfctr_cpu_control *control)
{
	struct gperfctr_cpu **at, *cpu;
	int err;

	if (!global)
		return not_there();
	at = find(global->state, control->cpu);
	cpu = *at ? *at : calloc(1, sizeof(*cpu));
	if (!cpu)
		return -1;
	err = program(global, control, global->state->interval_ms);
	if (!err) {
		cpu->control = *control;
		*at = cpu;
	} else if (!*at) {
		free(cpu);
	}
	return perfctr_result(err);
}

EXPORT int gperfctr_read(const struct gperfctr *global,
			 struct gperfctr_cpu_state *state)
{
	struct vpmc_global_cpu sums;
	struct vpmc_global_read read = {
		.size = sizeof(read),
		.nr_cpus = 1,
		.element_size = sizeof(sums),
		.elements = (uintptr_t)&sums,
	};
	struct gperfctr_cpu *cpu;
	unsigned int i;
	int err;

	if (!global)
		return not_there();
	read.first_cpu = state->cpu;
	err = perfctr_request(global->fd, VPMC_IOC_G_READ, &read);
	if (err)
		return perfctr_result(err);
	memset(state, 0, sizeof(*state));
	state->cpu = sums.cpu;
	cpu = *find(global->state, sums.cpu);
	if (!cpu)
		return 0;
	state->cpu_control = cpu->control.cpu_control;
	if (state->cpu_control.tsc_on)
		state->sum.tsc = sums.ticks;
	for (i = 0; i < sums.nr_counters && i < PERFCTR_X86_MAX_COUNTERS; i++)
		state->sum.pmc[i] = sums.sum[i];
	return 0;
}

/* If there are no counters, or they were taken away, they count as stopped. */
EXPORT int gperfctr_stop(const struct gperfctr *global)
{
	int err;

	if (!global)
		return not_there();
	err = perfctr_request(global->fd, VPMC_IOC_G_STOP, NULL);
	return perfctr_result(err == -ENODATA ? 0 : err);
}

/*
 * In vpmc the interval is part of a CPU's control, so all CPUs are programmed
 * again.
 */
static int set_interval(const struct gperfctr *global, unsigned int interval_ms)
{
	struct gperfctr_cpu *cpu;
	int err = 0;

	if (global->state->interval_ms == interval_ms)
		return 0;
	for (cpu = global->state->cpus; cpu && !err; cpu = cpu->next)
		err = program(global, &cpu->control, interval_ms);
	if (!err)
		global->state->interval_ms = interval_ms;
	return err;
}

EXPORT int gperfctr_start(const struct gperfctr *global,
			  unsigned int interval_usec)
{
	int err;

	if (!global)
		return not_there();
	if (interval_usec && interval_usec < MIN_INTERVAL)
		return perfctr_result(-EINVAL);
	err = set_interval(global, interval_usec / 1000);
	if (!err)
		err = perfctr_request(global->fd, VPMC_IOC_G_START, NULL);
	return perfctr_result(err == -ENODATA ? -EINVAL : err);
}

EXPORT int gperfctr_info(const struct gperfctr *global, struct perfctr_info *info)
{
	return global ? perfctr_info(global->fd, info) : not_there();
}

EXPORT struct perfctr_cpus_info *gperfctr_cpus_info(const struct gperfctr *global)
{
	if (global)
		return perfctr_cpus_info(global->fd);
	not_there();
	return NULL;
}
