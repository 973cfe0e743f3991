// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opens and closes handles, and invalidates them in the child of fork().
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "internal.h"

#define OWN_FILE	"/proc/thread-self/perfctr"

/* All handles of this process. The child of a fork() invalidates them. */
static struct vpmc *handles;
static pthread_mutex_t handles_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int fork_error;

static size_t page_size(void)
{
	return sysconf(_SC_PAGESIZE);
}

static void fork_prepare(void)
{
	vpmc_table_lock();
	pthread_mutex_lock(&handles_lock);
}

static void fork_parent(void)
{
	pthread_mutex_unlock(&handles_lock);
	vpmc_table_unlock();
}

/*
 * Maps zeros in place of the counters, which the kernel does not map in the
 * child. Leaves the place alone if something else is mapped there. Reads
 * through old pointers then find an empty set.
 */
static void put_zeros(void *at, size_t size)
{
	if (at)
		mmap(at, size, PROT_READ,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

static void fork_child(void)
{
	struct vpmc *v;

	for (v = handles; v; v = v->next) {
		if (!v->local || v->fd < 0)
			continue;
		put_zeros((void *)v->page, page_size());
		put_zeros(v->ring, v->ring_size);
		v->owner = NULL;
		v->reader = NULL;
		close(v->fd);
		v->fd = -1;
	}
	fork_parent();
}

static void watch_forks(void)
{
	fork_error = pthread_atfork(fork_prepare, fork_parent, fork_child);
}

int vpmc_request(const struct vpmc *v, unsigned long request, unsigned long arg)
{
	int saved = errno, err = 0;

	if (v->fd < 0)
		return -ESRCH;
	if (ioctl(v->fd, request, arg) < 0)
		err = -errno;
	errno = saved;
	return err;
}

static void add(struct vpmc *v)
{
	pthread_mutex_lock(&handles_lock);
	v->next = handles;
	v->link = &handles;
	if (handles)
		handles->link = &v->next;
	handles = v;
	pthread_mutex_unlock(&handles_lock);
}

static void remove_from_list(struct vpmc *v)
{
	pthread_mutex_lock(&handles_lock);
	*v->link = v->next;
	if (v->next)
		v->next->link = v->link;
	pthread_mutex_unlock(&handles_lock);
}

void vpmc_set_ring(struct vpmc *v, struct vpmc_ring *ring, size_t size)
{
	pthread_mutex_lock(&handles_lock);
	if (v->ring)
		munmap(v->ring, v->ring_size);
	v->ring = ring;
	v->ring_size = size;
	pthread_mutex_unlock(&handles_lock);
}

void vpmc_take_page(struct vpmc *v)
{
	const struct vpmc_page *page = v->page;

	v->reader = NULL;
	v->running = NOT_RUNNING;
	v->nr = 0;
	if (!page)
		return;
	v->nr = page->nr_counters;
	if (v->nr)
		v->running = (uint64_t)v->nr << 32 | VPMC_STATE_RUNNING;
	if (page->caps & VPMC_CAP_RDPMC)
		v->reader = v->owner;
}

/*
 * Maps the page if the thread is of this process. The kernel refuses it for a thread of
 * another process, and for counters that were detached: these are read by READ.
 */
static int map_page(struct vpmc *v)
{
	void *page = mmap(NULL, page_size(), PROT_READ, MAP_SHARED, v->fd, 0);

	if (page == MAP_FAILED)
		return errno == ENOMEM || (v->local && errno != ESRCH) ? -errno : 0;
	v->page = page;
	v->local = true;
	return 0;
}

/*
 * Makes the handle of @fd. @fd belongs to the handle, and is closed on errors.
 */
static int make_handle(struct vpmc **out, int fd, bool local, bool own)
{
	struct vpmc *v = calloc(1, sizeof(*v));
	int err;

	pthread_once(&fork_once, watch_forks);
	if (!v || fork_error) {
		free(v);
		close(fd);
		return -ENOMEM;
	}
	v->fd = fd;
	v->local = local;
	err = map_page(v);
	if (err) {
		free(v);
		close(fd);
		return err;
	}
	if (v->page && (own || v->page->tid == (uint32_t)gettid()))
		v->owner = thread_pointer();
	vpmc_take_page(v);
	add(v);
	*out = v;
	return 0;
}

/*
 * Returns 0 if the descriptor has counters, or a negative error number. Counters of the
 * kernel that it may not read are counters, too.
 */
static int has_counters(int fd)
{
	struct vpmc_read sums = { .size = sizeof(sums) };

	return ioctl(fd, VPMC_IOC_READ, &sums) < 0 && errno != EACCES ? -errno : 0;
}

static int open_error(struct vpmc_error *error, int err, const char *what,
		      bool own)
{
	if (err == -ENOENT && access(OWN_FILE, F_OK))
		return vpmc_error_set(error, -ENOSYS, VPMC_WHY_NO_KERNEL, what,
				      NULL, NULL);
	switch (err) {
	case -ENOENT:
	case -ESRCH:
		return vpmc_error_set(error, -ESRCH, VPMC_WHY_NO_THREAD, what,
				      NULL, NULL);
	case -ENODEV:
		return vpmc_error_set(error, err, VPMC_WHY_OFF, what, NULL,
				      NULL);
	case -EACCES:
	case -EPERM:
		return vpmc_error_set(error, err, own ? VPMC_REASON_PARANOID :
				      VPMC_WHY_NO_ACCESS, what, NULL, NULL);
	case -EOPNOTSUPP:
		return vpmc_error_set(error, err, VPMC_WHY_KERNEL_THREAD, what,
				      NULL, NULL);
	}
	return vpmc_error_system(error, err, what);
}

static int open_mode(unsigned int flags)
{
	if (flags & VPMC_OPEN_READ)
		return O_RDONLY | O_CLOEXEC;
	if (flags & VPMC_OPEN_EXISTING)
		return O_RDWR | O_CLOEXEC;
	return O_RDWR | O_CREAT | O_CLOEXEC;
}

static int open_file(struct vpmc **v, int fd, const char *what,
		     unsigned int flags, bool local, bool own,
		     struct vpmc_error *error)
{
	int err = fd < 0 ? -errno : 0;

	if (err)
		return open_error(error, err, what, own);
	if (flags) {
		err = has_counters(fd);
		if (err) {
			close(fd);
			return vpmc_error_set(error, err, VPMC_WHY_NO_THREAD,
					      what, "it has no counters", "");
		}
	}
	err = make_handle(v, fd, local, own);
	/* The page cannot be mapped: RDPMC would show the counts of all threads. */
	if (err == -EACCES)
		return vpmc_error_set(error, err, VPMC_REASON_KERNEL_MODE, what,
				      "somebody counts the kernel in a thread of this process, which it may not see",
				      "end that, or run it with CAP_PERFMON");
	return err ? vpmc_error_system(error, err, what) : 0;
}

static int check_flags(unsigned int flags, struct vpmc_error *error)
{
	if (!(flags & ~(VPMC_OPEN_EXISTING | VPMC_OPEN_READ)))
		return 0;
	return vpmc_error_set(error, -EINVAL, VPMC_WHY_SYSTEM,
			      "opening counters", "unknown flags", "");
}

EXPORT int vpmc_open(struct vpmc **v, unsigned int flags,
		     struct vpmc_error *error)
{
	int saved = errno, err;

	*v = NULL;
	vpmc_error_none(error);
	err = check_flags(flags, error);
	if (!err)
		err = open_file(v, open(OWN_FILE, open_mode(flags), 0666),
				"this thread's counters", flags, true, true,
				error);
	errno = saved;
	return err;
}

EXPORT int vpmc_open_thread(struct vpmc **v, pid_t tid, unsigned int flags,
			    struct vpmc_error *error)
{
	int saved = errno, mode = open_mode(flags), err, fd;
	char path[64], what[40];
	bool local = true;

	*v = NULL;
	vpmc_error_none(error);
	snprintf(what, sizeof(what), "thread %d", (int)tid);
	err = check_flags(flags, error);
	if (err)
		return err;
	if (tid <= 0)
		return vpmc_error_set(error, -ESRCH, VPMC_WHY_NO_THREAD, what,
				      NULL, NULL);
	/*
	 * The process's own directory has only its own threads. So an open that
	 * succeeds here proves that the thread is local.
	 */
	snprintf(path, sizeof(path), "/proc/self/task/%d/perfctr", (int)tid);
	fd = open(path, mode, 0666);
	if (fd < 0 && errno == ENOENT) {
		local = false;
		snprintf(path, sizeof(path), "/proc/%d/task/%d/perfctr",
			 (int)tid, (int)tid);
		fd = open(path, mode, 0666);
	}
	err = open_file(v, fd, what, flags, local, false, error);
	errno = saved;
	return err;
}

EXPORT int vpmc_open_fd(struct vpmc **v, int fd, struct vpmc_error *error)
{
	int saved = errno, err, copy;
	char what[40];

	*v = NULL;
	vpmc_error_none(error);
	snprintf(what, sizeof(what), "descriptor %d", fd);
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	err = copy < 0 ? -errno : has_counters(copy);
	if (!err) {
		err = make_handle(v, copy, false, false);
		copy = -1;
	}
	if (copy >= 0)
		close(copy);
	errno = saved;
	if (err == -ENOENT)
		return vpmc_error_set(error, err, VPMC_WHY_NO_THREAD, what,
				      "there were no counters when it was opened",
				      "open it with O_CREAT");
	if (err == -ENOTTY)
		return vpmc_error_set(error, err, VPMC_WHY_SYSTEM, what,
				      "it is not a file perfctr", "");
	return err ? vpmc_error_system(error, err, what) : 0;
}

EXPORT void vpmc_close(struct vpmc *v)
{
	int saved = errno;

	if (!v)
		return;
	remove_from_list(v);
	if (v->page)
		munmap((void *)v->page, page_size());
	if (v->ring)
		munmap(v->ring, v->ring_size);
	if (v->fd >= 0)
		close(v->fd);
	free(v);
	errno = saved;
}

EXPORT int vpmc_fd(const struct vpmc *v)
{
	return v->fd < 0 ? -ESRCH : v->fd;
}

EXPORT const struct vpmc_page *vpmc_page(const struct vpmc *v)
{
	return v->page;
}

EXPORT int vpmc_get_info_sized(struct vpmc_info *info, size_t size)
{
	int saved = errno, err = 0, fd = open(OWN_FILE, O_RDONLY | O_CLOEXEC);

	memset(info, 0, size);
	info->size = size;
	if (fd < 0)
		err = errno == ENOENT ? -ENOSYS : -errno;
	else if (ioctl(fd, VPMC_IOC_INFO, info) < 0)
		err = -errno;
	if (fd >= 0)
		close(fd);
	if (err)
		memset(info, 0, size);
	errno = saved;
	return err;
}
