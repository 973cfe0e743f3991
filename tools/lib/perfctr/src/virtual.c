// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The calling thread's counters, and those of another thread, through a handle.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "internal.h"

/* perfctr's calls take a pointer to const, but some change the handle. */
static struct vperfctr *changed(const struct vperfctr *self)
{
	return (struct vperfctr *)self;
}

/* Creates counters, and fails if there are some; or opens those that exist. */
static int open_self(struct vpmc **v, bool create)
{
	int err;

	if (!create)
		return vpmc_open(v, VPMC_OPEN_EXISTING, NULL);
	err = vpmc_open(v, VPMC_OPEN_EXISTING, NULL);
	if (!err) {
		vpmc_close(*v);
		return -EEXIST;
	}
	return err == -ENOENT ? vpmc_open(v, 0, NULL) : err;
}

EXPORT struct vperfctr *vperfctr_open_mode(unsigned int mode)
{
	struct vperfctr *self;
	int err;

	if (mode && mode != VPERFCTR_OPEN_CREAT_EXCL) {
		errno = EINVAL;
		return NULL;
	}
	self = calloc(1, sizeof(*self));
	if (!self)
		return NULL;
	err = open_self(&self->v, mode);
	if (err) {
		free(self);
		errno = -err;
		return NULL;
	}
	return self;
}

EXPORT struct vperfctr *vperfctr_open(void)
{
	return vperfctr_open_mode(VPERFCTR_OPEN_CREAT_EXCL);
}

EXPORT void vperfctr_close(struct vperfctr *self)
{
	vpmc_close(self->v);
	free(self);
}

/*
 * Returns the descriptor. In the child of a fork(), returns -1 and sets errno.
 */
static int fd_of(const struct vperfctr *self)
{
	int fd = vpmc_fd(self->v);

	if (fd >= 0)
		return fd;
	errno = -fd;
	return -1;
}

EXPORT int vperfctr_info(const struct vperfctr *self, struct perfctr_info *info)
{
	int fd = fd_of(self);

	return fd < 0 ? -1 : perfctr_info(fd, info);
}

EXPORT struct perfctr_cpus_info *vperfctr_cpus_info(const struct vperfctr *self)
{
	int fd = fd_of(self);

	return fd < 0 ? NULL : perfctr_cpus_info(fd);
}

/* Returns true if this handle's last control left out run time. */
static bool without_tsc(const struct vperfctr *self)
{
	return self->known && !self->last.cpu_control.tsc_on;
}

EXPORT int vperfctr_read_ctrs(const struct vperfctr *self,
			      struct perfctr_sum_ctrs *sum)
{
	uint64_t ticks;
	int err;

	_Static_assert(sizeof(sum->pmc[0]) == sizeof(uint64_t), "64 bits each");
	err = vpmc_read(self->v, (uint64_t *)sum->pmc, PERFCTR_X86_MAX_COUNTERS,
			&ticks);
	sum->tsc = without_tsc(self) ? 0 : ticks;
	return perfctr_result(err);
}

EXPORT unsigned long long vperfctr_read_tsc(const struct vperfctr *self)
{
	struct perfctr_sum_ctrs sum;

	vperfctr_read_ctrs(self, &sum);
	return sum.tsc;
}

EXPORT unsigned long long vperfctr_read_pmc(const struct vperfctr *self,
					    unsigned int i)
{
	struct perfctr_sum_ctrs sum;

	vperfctr_read_ctrs(self, &sum);
	return i < PERFCTR_X86_MAX_COUNTERS ? sum.pmc[i] : 0;
}

/* What the thread has now */
struct look {
	uint64_t set_number;
	unsigned int state;
};

static int look(const struct vperfctr *self, struct look *now)
{
	const struct vpmc_page *page = vpmc_page(self->v);
	struct vpmc_read sums = {};
	int err;

	/* another thread may change it at any moment */
	if (page && vpmc_fd(self->v) >= 0) {
		now->set_number = *(const volatile __u64 *)&page->set_number;
		now->state = *(const volatile __u32 *)&page->state;
		return 0;
	}
	err = vpmc_read_sums(self->v, 0, &sums);
	now->set_number = sums.set_number;
	now->state = sums.state;
	return err;
}

/*
 * Returns the control of the set that is programmed now. If this handle has
 * programmed it, the control has the fields that the kernel does not keep.
 */
static int read_control(const struct vperfctr *self, int fd,
			struct vperfctr_control *control)
{
	struct vpmc_control set;
	struct look now;
	int err = perfctr_get_set(fd, &set);

	memset(control, 0, sizeof(*control));
	if (err == -ENODATA)
		return 0;
	if (err)
		return err;
	/* What others have added to it stays out of sight. */
	if (self->known && !look(self, &now) && now.set_number == self->set_number) {
		*control = self->last;
		control->preserve = 0;
		return 0;
	}
	return perfctr_from_vpmc(fd, &set, control);
}

EXPORT int vperfctr_read_state(const struct vperfctr *self,
			       struct perfctr_sum_ctrs *sum,
			       struct vperfctr_control *control)
{
	int fd = fd_of(self);

	if (fd < 0 || _vperfctr_read_sum(fd, sum) < 0)
		return -1;
	if (without_tsc(self))
		sum->tsc = 0;
	return control ? perfctr_result(read_control(self, fd, control)) : 0;
}

EXPORT int vperfctr_stop(const struct vperfctr *self)
{
	int fd = fd_of(self);

	return fd < 0 ? -1 : perfctr_result(perfctr_stop_fd(fd));
}

static int program(void *v, struct vpmc_control *set)
{
	return vpmc_program_raw(v, set, NULL);
}

EXPORT int vperfctr_control(const struct vperfctr *self,
			    struct vperfctr_control *control)
{
	struct vpmc_control set;
	struct look now;
	int fd = fd_of(self), err;

	if (fd < 0)
		return -1;
	if (perfctr_is_stop(control))
		return vperfctr_stop(self);
	err = perfctr_to_vpmc(fd, control, &set);
	/* run time that was not counted is not continued */
	if (!err && without_tsc(self))
		set.flags &= ~VPMC_CONTROL_PRESERVE;
	if (!err)
		err = perfctr_place(program, self->v, &set);
	if (err < 0) {
		perfctr_stop_fd(fd);
		return perfctr_result(err);
	}
	changed(self)->last = *control;
	changed(self)->known = !look(self, &now);
	changed(self)->set_number = now.set_number;
	return 0;
}

EXPORT int vperfctr_is_running(const struct vperfctr *self)
{
	struct look now;

	if (look(self, &now))
		return 0;
	return now.state == VPMC_STATE_RUNNING ||
	       (now.state == VPMC_STATE_OVERFLOWED && !without_tsc(self));
}

/*
 * Fails with EPERM if no overflow has stopped the counters. The request comes
 * last and its result is returned as it is, because what follows is counted in
 * the next period.
 */
EXPORT int vperfctr_iresume(const struct vperfctr *self)
{
	struct look now;
	int err = look(self, &now);

	if (!err && (now.state == VPMC_STATE_EXITED || now.state == VPMC_STATE_UNLINKED))
		err = -ESRCH;
	else if (!err && now.state != VPMC_STATE_OVERFLOWED)
		err = -EPERM;
	if (err)
		return perfctr_result(err);
	return ioctl(vpmc_fd(self->v), VPMC_IOC_RESUME, 0);
}

/* May be called more than once. */
EXPORT int vperfctr_unlink(const struct vperfctr *self)
{
	int fd = fd_of(self), err;

	if (fd < 0)
		return -1;
	err = vpmc_unlink(self->v);
	return perfctr_result(err == -ESRCH ? 0 : err);
}

static int open_other(struct vpmc **v, int pid)
{
	int err = vpmc_open_thread(v, pid, VPMC_OPEN_EXISTING, NULL);

	if (!err) {
		vpmc_close(*v);
		return -EEXIST;
	}
	return err == -ENOENT ? vpmc_open_thread(v, pid, 0, NULL) : err;
}

EXPORT struct rvperfctr *rvperfctr_open(int pid)
{
	struct rvperfctr *other = calloc(1, sizeof(*other));
	int err;

	if (!other)
		return NULL;
	other->pid = pid;
	err = open_other(&other->counters.v, pid);
	if (err) {
		free(other);
		errno = -err;
		return NULL;
	}
	return other;
}

EXPORT int rvperfctr_pid(const struct rvperfctr *other)
{
	return other->pid;
}

EXPORT int rvperfctr_info(const struct rvperfctr *other, struct perfctr_info *info)
{
	return vperfctr_info(&other->counters, info);
}

EXPORT int rvperfctr_read_ctrs(const struct rvperfctr *other,
			       struct perfctr_sum_ctrs *sum)
{
	return vperfctr_read_state(&other->counters, sum, NULL);
}

EXPORT int rvperfctr_read_state(const struct rvperfctr *other,
				struct perfctr_sum_ctrs *sum,
				struct vperfctr_control *control)
{
	return vperfctr_read_state(&other->counters, sum, control);
}

EXPORT int rvperfctr_control(const struct rvperfctr *other,
			     struct vperfctr_control *control)
{
	return vperfctr_control(&other->counters, control);
}

EXPORT int rvperfctr_stop(const struct rvperfctr *other)
{
	return vperfctr_stop(&other->counters);
}

EXPORT int rvperfctr_iresume(const struct rvperfctr *other)
{
	return vperfctr_iresume(&other->counters);
}

EXPORT int rvperfctr_unlink(const struct rvperfctr *other)
{
	return vperfctr_unlink(&other->counters);
}

EXPORT void rvperfctr_close(struct rvperfctr *other)
{
	vpmc_close(other->counters.v);
	free(other);
}
