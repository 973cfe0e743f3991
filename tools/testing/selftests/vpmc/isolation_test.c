// SPDX-License-Identifier: GPL-2.0
/*
 * A process that may use RDPMC learns nothing from the raw counters about what
 * ran in other address spaces: it sees the same values whatever they did.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "disturb.h"

#define GP	4
#define FIX	3
#define RAW	(GP + FIX)

/* What the watcher saw: all raw values before and after the victim ran. */
struct view {
	uint64_t before[RAW];
	uint64_t after[RAW];
	int victim_error;
	int watcher_error;
};

FIXTURE(isolation)
{
	struct view *view;
};

/*
 * COUNTS and STANDS say what the watcher's set does, OTHER_THREAD has no set and
 * looks from beside one that counts. The last two map the page only when the
 * victim is done: themselves, or another thread does while they sleep.
 */
enum watcher { COUNTS, STANDS, OTHER_THREAD, MAPS_LATE, MAPPED_ASLEEP };

FIXTURE_VARIANT(isolation)
{
	enum watcher watcher;
	struct choice watched[5];	/* the watcher's set */
	struct choice victim[5];
	bool victim_exits;
	bool victim_plain;		/* it has no set at all */
	bool through_idle;
	bool other_cpu;			/* the watcher goes to the victim's */
};

#define SAME	{ { EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 1 } }
#define OTHER	{ { EV_BRANCHES, 2 }, { EV_CYCLES, FIXED(1) }, { EV_INSNS, 3 } }
#define KERNEL	{ { 0x300c0, 0 }, { 0x200c4, 1 } }

FIXTURE_VARIANT_ADD(isolation, same_selection) {
	.watcher = COUNTS, .watched = SAME, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, other_selection) {
	.watcher = COUNTS, .watched = SAME, .victim = OTHER,
};

FIXTURE_VARIANT_ADD(isolation, watcher_stands) {
	.watcher = STANDS, .watched = SAME, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, watcher_stands_other_selection) {
	.watcher = STANDS, .watched = OTHER, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, unmonitored_thread_of_a_mapper) {
	.watcher = OTHER_THREAD, .watched = SAME, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, victim_counts_the_kernel) {
	.watcher = STANDS, .watched = SAME, .victim = KERNEL,
};

FIXTURE_VARIANT_ADD(isolation, victim_without_counters) {
	.watcher = COUNTS, .watched = SAME,
};

/* Its CPU's counters go on for it, until somebody else comes. */
FIXTURE_VARIANT_ADD(isolation, unmonitored_thread_in_between) {
	.watcher = OTHER_THREAD, .watched = SAME, .victim_plain = true,
};

FIXTURE_VARIANT_ADD(isolation, victim_exits) {
	.watcher = COUNTS, .watched = SAME, .victim = OTHER,
	.victim_exits = true,
};

FIXTURE_VARIANT_ADD(isolation, victim_exits_watcher_stands) {
	.watcher = STANDS, .watched = SAME, .victim = SAME,
	.victim_exits = true,
};

FIXTURE_VARIANT_ADD(isolation, through_idle) {
	.watcher = STANDS, .watched = SAME, .victim = SAME,
	.through_idle = true,
};

FIXTURE_VARIANT_ADD(isolation, through_idle_counting) {
	.watcher = COUNTS, .watched = SAME, .victim = OTHER,
	.through_idle = true,
};

FIXTURE_VARIANT_ADD(isolation, maps_late) {
	.watcher = MAPS_LATE, .watched = SAME, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, maps_late_other_selection) {
	.watcher = MAPS_LATE, .watched = OTHER, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, mapped_asleep) {
	.watcher = MAPPED_ASLEEP, .watched = SAME, .victim = SAME,
};

FIXTURE_VARIANT_ADD(isolation, watcher_comes_from_another_cpu) {
	.watcher = COUNTS, .watched = SAME, .victim = SAME, .other_cpu = true,
};

FIXTURE_VARIANT_ADD(isolation, watcher_stands_comes_from_another_cpu) {
	.watcher = STANDS, .watched = OTHER, .victim = SAME, .other_cpu = true,
};

FIXTURE_VARIANT_ADD(isolation, unmonitored_thread_from_another_cpu) {
	.watcher = OTHER_THREAD, .watched = SAME, .victim = OTHER,
	.other_cpu = true,
};

FIXTURE_SETUP(isolation)
{
	struct vpmc_info info;
	int fd = vpmc_open();

	ASSERT_EQ(0, pin(0));
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, vpmc_info(fd, &info));
	ASSERT_EQ(GP, info.nr_gp);
	ASSERT_EQ(FIX, info.nr_fixed);
	close(fd);
	self->view = mmap(NULL, 2 * sizeof(*self->view), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->view);
}

FIXTURE_TEARDOWN(isolation)
{
}

static inline __attribute__((__always_inline__)) void read_raw(uint64_t *raw)
{
	unsigned int i;

	for (i = 0; i < GP; i++)
		raw[i] = vpmc_rdpmc(i);
	for (i = 0; i < FIX; i++)
		raw[GP + i] = vpmc_rdpmc(FIXED(i));
}

struct watch {
	struct view *view;
	int go;		/* a byte tells the victim to run */
	int done;	/* it is over */
	int cpu;	/* where to look again */
	int late_fd;	/* to be mapped before that */
	int asleep[2];	/* pipes to and from the thread that does it, if any */
};

/* Maps the page on the other CPU, while the owner waits for it. */
static void *map_thread(void *arg)
{
	struct watch *w = arg;
	char byte;

	if (pin(1) || write(w->asleep[1], "", 1) != 1 ||
	    read(w->asleep[0], &byte, 1) != 1)
		exit(1);
	/* The owner goes to sleep: its CPU is idle. */
	usleep(10000);
	if (vpmc_map(w->late_fd) == MAP_FAILED ||
	    write(w->asleep[1], "", 1) != 1)
		exit(1);
	return NULL;
}

/* The thread is on its CPU and waits when this returns. */
static int start_map_thread(struct watch *w)
{
	static struct watch other;
	int to[2], from[2];
	pthread_t thread;
	char byte;

	if (pipe(to) || pipe(from))
		return -1;
	other = *w;
	other.asleep[0] = to[0];
	other.asleep[1] = from[1];
	w->asleep[0] = from[0];
	w->asleep[1] = to[1];
	return pthread_create(&thread, NULL, map_thread, &other) ||
	       read(w->asleep[0], &byte, 1) != 1;
}

static int map_late(struct watch *w)
{
	char byte;

	if (!w->asleep[1])
		return vpmc_map(w->late_fd) == MAP_FAILED;
	/*
	 * Until the victim has ended. Then the counters are this set's, with
	 * what the victim left in them, and after that nobody moves them.
	 */
	usleep(20000);
	code_loop(1000, 0);
	return write(w->asleep[1], "", 1) != 1 ||
	       read(w->asleep[0], &byte, 1) != 1;
}

/*
 * Reads, lets the victim run, and reads again as the first thing that it does
 * on the CPU: the watcher is the more urgent one, so nothing comes between.
 */
static int watch(struct watch *watch)
{
	char byte = 0;

	/* Warm: the pages that read_raw() writes are there. */
	memset(watch->view->before, 1, sizeof(watch->view->before));
	memset(watch->view->after, 1, sizeof(watch->view->after));
	if (!watch->late_fd)
		read_raw(watch->view->before);
	if (write(watch->go, &byte, 1) != 1 || read(watch->done, &byte, 1) < 0)
		return 1;
	if (watch->cpu && pin(watch->cpu))
		return 2;
	if (watch->late_fd && map_late(watch))
		return 3;
	read_raw(watch->view->after);
	return 0;
}

static void *watch_thread(void *arg)
{
	struct watch *w = arg;

	w->view->watcher_error = watch(w);
	return NULL;
}

static int watcher(const FIXTURE_VARIANT(isolation) *variant, struct watch *w)
{
	pthread_t thread;
	struct set set;
	int err = 0;

	if (set_fifo(50))
		return 10;
	if (set_open(&set, variant->watched))
		return 11;
	if (variant->watcher != STANDS)
		err = vpmc_ioctl(set.fd, VPMC_IOC_START, 0);
	if (err)
		return 12;
	if (variant->watcher == MAPS_LATE || variant->watcher == MAPPED_ASLEEP) {
		munmap(set.page, PAGE);
		w->late_fd = set.fd;
		if (variant->watcher == MAPPED_ASLEEP && start_map_thread(w))
			return 14;
	}
	if (variant->watcher != OTHER_THREAD)
		return watch(w);
	if (pthread_create(&thread, NULL, watch_thread, w) ||
	    pthread_join(thread, NULL))
		return 13;
	return w->view->watcher_error;
}

static int victim(const FIXTURE_VARIANT(isolation) *variant, int go, int done,
		  long n)
{
	static const struct timespec ts = { .tv_nsec = 1000000 };
	struct set set;
	char byte;

	if ((variant->other_cpu && pin(1)) || set_fifo(40))
		return 20;
	if (!variant->victim_plain &&
	    (set_open(&set, variant->victim) ||
	     vpmc_ioctl(set.fd, VPMC_IOC_START, 0)))
		return 21;
	if (read(go, &byte, 1) != 1)
		return 22;
	code_loop(n, 0);
	if (variant->through_idle)
		nanosleep(&ts, NULL);
	/* Its end closes the pipe, too. */
	if (!variant->victim_exits && write(done, &byte, 1) != 1)
		return 23;
	if (variant->victim_exits)
		_exit(0);
	/* The watcher has seen enough before this goes on. */
	return 0;
}

/* One run with a victim that executes n turns of a loop. */
static int run(const FIXTURE_VARIANT(isolation) *variant, struct view *view,
	       long n)
{
	int go[2], done[2], err;
	struct watch w = { .view = view, .cpu = variant->other_cpu };
	pid_t watching, running;

	if (pipe(go) || pipe(done))
		return 1;
	running = fork();
	if (!running) {
		close(done[0]);
		_exit(victim(variant, go[0], done[1], n));
	}
	watching = fork();
	if (!watching) {
		close(done[1]);
		w.go = go[1];
		w.done = done[0];
		_exit(watcher(variant, &w));
	}
	close(done[1]);
	err = child_status(watching);
	close(go[1]);
	return err ?: child_status(running);
}

/* All that the watcher saw is the same after 1000 turns and after 3000000. */
TEST_F(isolation, same_view)
{
	struct view *a = &self->view[0], *b = &self->view[1];
	int i;

	ASSERT_EQ(0, run(variant, a, 1000));
	ASSERT_EQ(0, run(variant, b, 3000000));
	for (i = 0; i < RAW; i++) {
		EXPECT_EQ(a->before[i], b->before[i]) {
			TH_LOG("counter %d before the victim ran", i);
		}
		EXPECT_EQ(a->after[i], b->after[i]) {
			TH_LOG("counter %d after the victim ran", i);
		}
	}
}

/* What "isolation_test --spin N" does: see program_started_by_vfork. */
static __attribute__((__constructor__(101))) void spin(int argc, char **argv)
{
	if (argc != 3 || strcmp(argv[1], "--spin"))
		return;
	code_loop(atol(argv[2]), 0);
	_exit(0);
}

/* vfork() and execve() take a thread from one address space to another. */
static void spawn(bool attached, const char *n)
{
	char *argv[] = { "isolation_test", "--spin", (char *)n, NULL };
	pid_t pid = vfork();
	int status;

	if (!pid) {
		/* Counters that never ran: exec must park what runs. */
		if (attached)
			syscall(SYS_open, THREAD_FILE, O_RDWR | O_CREAT, 0);
		execv("/proc/self/exe", argv);
		_exit(1);
	}
	waitpid(pid, &status, 0);
}

struct spawner {
	struct view *view;
	const char *n;
	bool attached;
	bool stands;
};

static int spawner(struct spawner *spawner)
{
	static const struct choice same[5] = SAME;
	struct set set;

	if (set_fifo(50) || set_open(&set, same))
		return 1;
	if (vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return 2;
	if (spawner->stands && vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0))
		return 3;
	memset(spawner->view, 1, sizeof(*spawner->view));
	read_raw(spawner->view->before);
	spawn(spawner->attached, spawner->n);
	read_raw(spawner->view->after);
	return 0;
}

TEST(program_started_by_vfork)
{
	struct view *view = mmap(NULL, 2 * sizeof(*view),
				 PROT_READ | PROT_WRITE,
				 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct spawner spawn = {};
	int i, j;

	ASSERT_NE(MAP_FAILED, view);
	ASSERT_EQ(0, pin(0));
	for (j = 0; j < 4; j++) {
		spawn.attached = j & 1;
		spawn.stands = j & 2;
		for (i = 0; i < 2; i++) {
			pid_t pid = fork();

			spawn.view = &view[i];
			spawn.n = i ? "3000000" : "1000";
			if (!pid)
				_exit(spawner(&spawn));
			ASSERT_EQ(0, child_status(pid));
		}
		for (i = 0; i < RAW; i++) {
			EXPECT_EQ(view[0].before[i], view[1].before[i]);
			EXPECT_EQ(view[0].after[i], view[1].after[i]) {
				TH_LOG("counter %d, case %d", i, j);
			}
		}
	}
}

/* The check can fail: what a process itself executes does move its counters. */
TEST(own_counters_move)
{
	static const struct choice same[5] = SAME;
	uint64_t a[RAW], b[RAW];
	struct set set;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&set, same));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	read_raw(a);
	code_loop(1000, 0);
	read_raw(b);
	EXPECT_LT(2000, b[GP] - a[GP]);
	EXPECT_LT(2000, b[1] - a[1]);
	EXPECT_LT(1000, b[0] - a[0]);
	EXPECT_EQ(a[3], b[3]);
}

TEST_HARNESS_MAIN
