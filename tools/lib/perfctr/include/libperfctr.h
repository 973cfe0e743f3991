/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * perfctr 2.6's library interface, on vpmc.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Programs that were written for perfctr compile and run unchanged. New
 * programs should use libvpmc. libperfctr(7) describes the calls and the
 * differences.
 *
 * On failure, calls that return int return -1 and set errno. Calls that return
 * a pointer return NULL. The calls _vperfctr_*() take a descriptor from
 * _vperfctr_open(). It may come from another process, and its thread may have
 * ended.
 */
#ifndef LIBPERFCTR_H
#define LIBPERFCTR_H

#ifndef CONFIG_KPERFCTR
#define CONFIG_KPERFCTR	1
#endif
#include <linux/perfctr.h>

#ifdef __cplusplus
extern "C" {
#endif

/* free() of this structure also frees all that it points to. */
struct perfctr_cpus_info {
	struct perfctr_cpu_mask *cpus;
	struct perfctr_cpu_mask *cpus_forbidden;
};

/* The calling thread's counters, through a descriptor. */
int _vperfctr_open(int creat);
int _vperfctr_control(int fd, const struct vperfctr_control *control);
int _vperfctr_read_control(int fd, struct vperfctr_control *control);
int _vperfctr_read_sum(int fd, struct perfctr_sum_ctrs *sum);

/* The calling thread's counters, through a handle. */
struct vperfctr;

#define VPERFCTR_OPEN_CREAT_EXCL	3

struct vperfctr *vperfctr_open(void);
struct vperfctr *vperfctr_open_mode(unsigned int mode);
int vperfctr_info(const struct vperfctr *self, struct perfctr_info *info);
struct perfctr_cpus_info *vperfctr_cpus_info(const struct vperfctr *self);
unsigned long long vperfctr_read_tsc(const struct vperfctr *self);
unsigned long long vperfctr_read_pmc(const struct vperfctr *self, unsigned int i);
int vperfctr_read_ctrs(const struct vperfctr *self, struct perfctr_sum_ctrs *sum);
int vperfctr_read_state(const struct vperfctr *self, struct perfctr_sum_ctrs *sum,
			struct vperfctr_control *control);
int vperfctr_control(const struct vperfctr *self, struct vperfctr_control *control);
int vperfctr_stop(const struct vperfctr *self);
int vperfctr_is_running(const struct vperfctr *self);
int vperfctr_iresume(const struct vperfctr *self);
int vperfctr_unlink(const struct vperfctr *self);
void vperfctr_close(struct vperfctr *self);

/* Another thread's counters. */
struct rvperfctr;

struct rvperfctr *rvperfctr_open(int pid);
int rvperfctr_pid(const struct rvperfctr *other);
int rvperfctr_info(const struct rvperfctr *other, struct perfctr_info *info);
int rvperfctr_read_ctrs(const struct rvperfctr *other, struct perfctr_sum_ctrs *sum);
int rvperfctr_read_state(const struct rvperfctr *other, struct perfctr_sum_ctrs *sum,
			 struct vperfctr_control *control);
int rvperfctr_control(const struct rvperfctr *other, struct vperfctr_control *control);
int rvperfctr_stop(const struct rvperfctr *other);
int rvperfctr_iresume(const struct rvperfctr *other);
int rvperfctr_unlink(const struct rvperfctr *other);
void rvperfctr_close(struct rvperfctr *other);

/*
 * The counters of CPUs, which count all threads that run there. gperfctr_open()
 * fails with ENOSYS if the kernel has none.
 */
struct gperfctr;

struct gperfctr *gperfctr_open(void);
void gperfctr_close(struct gperfctr *global);
int gperfctr_control(const struct gperfctr *global, struct gperfctr_cpu_control *control);
int gperfctr_read(const struct gperfctr *global, struct gperfctr_cpu_state *state);
int gperfctr_stop(const struct gperfctr *global);
int gperfctr_start(const struct gperfctr *global, unsigned int interval_usec);
int gperfctr_info(const struct gperfctr *global, struct perfctr_info *info);
struct perfctr_cpus_info *gperfctr_cpus_info(const struct gperfctr *global);

/* The events of a processor. */
enum perfctr_unit_mask_type {
	perfctr_um_type_fixed,		/* one value, which is required */
	perfctr_um_type_exclusive,	/* one of several values */
	perfctr_um_type_bitmask,	/* any of several bits */
};

struct perfctr_unit_mask_value {
	unsigned int value;
	const char *description;	/* "NAME:text" */
};

struct perfctr_unit_mask {
	unsigned short default_value;
	enum perfctr_unit_mask_type type:8;
	unsigned char nvalues;
	struct perfctr_unit_mask_value values[1];	/* there are nvalues */
};

struct perfctr_event {
	unsigned short evntsel;
	unsigned short counters_set;	/* bit n: counter n may count it */
	const struct perfctr_unit_mask *unit_mask;	/* NULL if there is none */
	const char *name;
	const char *description;
};

struct perfctr_event_set {
	unsigned int cpu_type;
	const char *event_prefix;
	const struct perfctr_event_set *include;
	unsigned int nevents;
	const struct perfctr_event *events;
};

const struct perfctr_event_set *perfctr_cpu_event_set(unsigned int cpu_type);

/* The processor and its driver. */
int _perfctr_abi_check_fd(int fd, unsigned int user_abi_version);
static __inline__ int perfctr_abi_check_fd(int fd)
{
	return _perfctr_abi_check_fd(fd, PERFCTR_ABI_VERSION);
}

int perfctr_info(int fd, struct perfctr_info *info);
int perfctr_get_info(struct perfctr_info *info);
struct perfctr_cpus_info *perfctr_cpus_info(int fd);
unsigned int perfctr_info_nrctrs(const struct perfctr_info *info);
const char *perfctr_info_cpu_name(const struct perfctr_info *info);
void perfctr_info_print(const struct perfctr_info *info);
void perfctr_cpus_info_print(const struct perfctr_cpus_info *info);
void perfctr_cpu_control_print(const struct perfctr_cpu_control *control);

/* Names of perfctr 2.4. */
#ifdef LIBPERFCTR_OLD_NAMES
#define perfctr_cpu_name(info)		perfctr_info_cpu_name(info)
#define perfctr_cpu_nrctrs(info)	perfctr_info_nrctrs(info)
#define evntsel_aux			p4.escr
#endif

#ifdef __cplusplus
}
#endif

#endif /* LIBPERFCTR_H */
