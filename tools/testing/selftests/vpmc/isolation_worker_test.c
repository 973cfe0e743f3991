// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: kernel threads that run in its own address
 * space. They are switched to like user threads, but execute no user code. So
 * nothing needs to be hidden from them, but everything from the thread that
 * runs next.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <linux/io_uring.h>
#include <linux/vhost.h>
#include "isolation.h"

FIXTURE(isolation_worker)
{
	struct stage *stage;
};

FIXTURE_VARIANT(isolation_worker)
{
	struct scene scene;
};

#define SCENE(name, ...) \
	FIXTURE_VARIANT_ADD(isolation_worker, name) { .scene = { __VA_ARGS__ } }

/* The number of the thread called @name in a directory of threads, or -1 */
static pid_t find_thread(const char *directory, const char *name)
{
	char path[300], comm[20];
	struct dirent *entry;
	pid_t found = -1;
	DIR *dir = opendir(directory);
	ssize_t n;
	int fd;

	while (dir && (entry = readdir(dir))) {
		snprintf(path, sizeof(path), "%s/%s/comm", directory,
			 entry->d_name);
		fd = open(path, O_RDONLY);
		if (fd < 0)
			continue;
		n = read(fd, comm, sizeof(comm) - 1);
		close(fd);
		if (n > 0 && !strncmp(comm, name, n - 1) && !name[n - 1])
			found = atoi(entry->d_name);
	}
	if (dir)
		closedir(dir);
	return found;
}

/* The worker comes next when the victim sleeps, and before all others. */
static int place_behind_victim(pid_t tid)
{
	struct sched_param param = { .sched_priority = 30 };

	return tid < 0 ? -1 : sched_setscheduler(tid, SCHED_FIFO, &param);
}

static int worker;		/* the file behind which it is */

/*
 * vhost's worker is a kernel thread that has adopted the owner's mm, or a thread
 * of the owner's process that never leaves the kernel.
 */
static int start_vhost(struct player *p, __u8 mode)
{
	char name[20];
	cpu_set_t mask;
	pid_t tid;

	worker = open("/dev/vhost-net", O_RDWR);
	if (worker < 0 || ioctl(worker, VHOST_SET_FORK_FROM_OWNER, &mode) ||
	    ioctl(worker, VHOST_SET_OWNER, 0))
		return -1;
	snprintf(name, sizeof(name), "vhost-%d", getpid());
	tid = find_thread(mode == VHOST_FORK_OWNER_KTHREAD ?
			  "/proc" : "/proc/self/task", name);
	CPU_ZERO(&mask);
	CPU_SET(0, &mask);
	if (tid < 0 || sched_setaffinity(tid, sizeof(mask), &mask))
		return -1;
	return place_behind_victim(tid);
}

static int start_kthread(struct player *p)
{
	return start_vhost(p, VHOST_FORK_OWNER_KTHREAD);
}

static int start_task(struct player *p)
{
	return start_vhost(p, VHOST_FORK_OWNER_TASK);
}

/*
 * Sleeps until the worker has done something, which is after the victim: that
 * one is more urgent. The worker has the CPU between the two.
 */
static int meet_before_vhost(struct player *p)
{
	int none = VHOST_FILE_UNBIND;

	return wake(p->go) ?: ioctl(worker, VHOST_SET_LOG_FD, &none);
}

/* io_uring's thread that polls a submission queue is of the second kind. */
struct ring {
	struct io_uring_params params;
	void *sq, *cq;
	struct io_uring_sqe *sqe;
};

static struct ring ring;

static int start_poller(struct player *p)
{
	struct io_uring_params *params = &ring.params;
	char name[20];

	params->flags = IORING_SETUP_SQPOLL | IORING_SETUP_SQ_AFF; /* CPU 0 */
	params->sq_thread_idle = 1;	/* ms: asleep when it is needed */
	worker = syscall(SYS_io_uring_setup, 1, params);
	if (worker < 0)
		return -1;
	ring.sq = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, worker,
		       IORING_OFF_SQ_RING);
	ring.sqe = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, worker,
			IORING_OFF_SQES);
	if (ring.sq == MAP_FAILED || ring.sqe == MAP_FAILED)
		return -1;
	/* It has a name, and sleeps. */
	while (!(*(volatile unsigned int *)(ring.sq + params->sq_off.flags) &
		 IORING_SQ_NEED_WAKEUP))
		usleep(2000);
	snprintf(name, sizeof(name), "iou-sqp-%d", getpid());
	return place_behind_victim(find_thread("/proc/self/task", name));
}

static int meet_before_poller(struct player *p)
{
	unsigned int *tail = ring.sq + ring.params.sq_off.tail;
	unsigned int *array = ring.sq + ring.params.sq_off.array;

	memset(ring.sqe, 0, sizeof(*ring.sqe));
	ring.sqe->opcode = IORING_OP_NOP;
	array[0] = 0;
	__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
	if (wake(p->go))
		return -1;
	return syscall(SYS_io_uring_enter, worker, 0, 1,
		       IORING_ENTER_SQ_WAKEUP | IORING_ENTER_GETEVENTS, NULL,
		       0) < 0;
}

/*
 * Sleeps at once with its set running, and wakes nobody: the worker runs next.
 */
static int victim_before_worker(struct player *p)
{
	if (open_set(p, p->scene->victim) || start_set(p))
		return 60;
	if (await_watcher(p))
		return 61;
	run_loop(p);
	return 0;
}

static int unmap(struct player *p)
{
	return munmap(p->set.page, PAGE);
}

static int map(struct player *p)
{
	p->set.page = vpmc_map(p->set.fd);
	return p->set.page == MAP_FAILED;
}

#define BY_KTHREAD	.prepare = start_kthread, .meet = meet_before_vhost, \
			.victim_body = victim_before_worker
#define BY_TASK		.prepare = start_task, .meet = meet_before_vhost, \
			.victim_body = victim_before_worker
#define BY_POLLER	.prepare = start_poller, .meet = meet_before_poller, \
			.victim_body = victim_before_worker

SCENE(kthread, BY_KTHREAD, .watched = SAME, .victim = SAME);
SCENE(kthread_other_selection, BY_KTHREAD, .watched = OTHER, .victim = SAME);
SCENE(kthread_watcher_stands, BY_KTHREAD, .watched = SAME, .victim = SAME,
	.stands = true, .still = true);
SCENE(kthread_victim_counts_the_kernel, BY_KTHREAD, .watched = SAME,
	.victim = KERNEL);
SCENE(kthread_victim_counts_the_kernel_watcher_stands, BY_KTHREAD,
	.watched = SAME, .victim = KERNEL, .stands = true, .still = true);
SCENE(kthread_unmonitored_thread, BY_KTHREAD, .watched = SAME, .victim = SAME,
	.look = look_from_thread);
SCENE(kthread_mapped_late, BY_KTHREAD, .watched = SAME, .victim = SAME,
	.late = true, .started = unmap, .back = map);

SCENE(user_worker, BY_TASK, .watched = SAME, .victim = SAME);
SCENE(user_worker_other_selection, BY_TASK, .watched = OTHER, .victim = SAME);
SCENE(user_worker_watcher_stands, BY_TASK, .watched = SAME, .victim = SAME,
	.stands = true, .still = true);
SCENE(user_worker_victim_counts_the_kernel, BY_TASK, .watched = SAME,
	.victim = KERNEL);
SCENE(user_worker_victim_counts_the_kernel_watcher_stands, BY_TASK,
	.watched = SAME, .victim = KERNEL, .stands = true, .still = true);
SCENE(user_worker_unmonitored_thread, BY_TASK, .watched = SAME, .victim = SAME,
	.look = look_from_thread);

SCENE(poller, BY_POLLER, .watched = SAME, .victim = SAME);
SCENE(poller_watcher_stands, BY_POLLER, .watched = SAME, .victim = SAME,
	.stands = true, .still = true);
SCENE(poller_victim_counts_the_kernel_watcher_stands, BY_POLLER,
	.watched = SAME, .victim = KERNEL, .stands = true, .still = true);

/*
 * After the worker the CPU is idle, with the watcher's address space still
 * loaded. So it is not loaded again for the watcher either. The victim calls
 * before its loop, so that the worker is wanted when it sleeps.
 */
static int victim_that_calls_early(struct player *p)
{
	if (open_set(p, p->scene->victim) || start_set(p) || await_watcher(p) ||
	    wake(p->done))
		return 62;
	code_loop(1000000, 0);
	run_loop(p);
	return 0;
}

static int flush(struct player *p)
{
	int none = VHOST_FILE_UNBIND;

	return ioctl(worker, VHOST_SET_LOG_FD, &none);
}

SCENE(kthread_and_idle, .prepare = start_kthread, .asleep = flush,
	.victim_body = victim_that_calls_early, .watched = SAME,
	.victim = SAME);
SCENE(kthread_and_idle_victim_counts_the_kernel, .prepare = start_kthread,
	.asleep = flush, .victim_body = victim_that_calls_early,
	.watched = SAME, .victim = KERNEL, .stands = true, .still = true);
SCENE(user_worker_and_idle_victim_counts_the_kernel, .prepare = start_task,
	.asleep = flush, .victim_body = victim_that_calls_early,
	.watched = SAME, .victim = KERNEL, .stands = true, .still = true);

FIXTURE_SETUP(isolation_worker)
{
	self->stage = open_stage(-1);
	ASSERT_NE(NULL, self->stage);
}

FIXTURE_TEARDOWN(isolation_worker)
{
}

TEST_F(isolation_worker, same_view)
{
	play_twice(_metadata, &variant->scene, self->stage);
}

NEEDS(
	/* What the kernel does differs by more than a victim shows. */
	{ "*counts_the_kernel*", TRUE_COUNTS | ROOT },
	{ "*", PMU | ROOT | FIFO | TWO_CPUS },
);

TEST_HARNESS_MAIN
