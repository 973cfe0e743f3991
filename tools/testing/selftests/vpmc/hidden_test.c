// SPDX-License-Identifier: GPL-2.0
/*
 * Counts that a process may not see, although it may use RDPMC by a mapped event of
 * perf or by sysfs: what root counts of the kernel in it, and what CPUs count. It
 * reads zero in these counters meanwhile, and the truth in perf's. Afterwards
 * nothing is left in the counters. Where selects can hide counters, the kernel does
 * nothing for its reads, and other counters of vpmc are readable.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "caps.h"
#include "global.h"
#include "inherit.h"
#include "isolation.h"
#include "msr.h"
#include "perf_page.h"

#define USER		1000
#define PERF_PARANOID	"/proc/sys/kernel/perf_event_paranoid"
#define ISOLATION	"/proc/sys/kernel/vpmc_isolation"
#define ALWAYS		"/sys/bus/event_source/devices/cpu/rdpmc"
#define FEW		10
#define MANY		1000
#define TURNS		2000
#define EVTSEL_HIDE	(1ULL << 37)
#define FIXED_MODES	3ULL		/* of fixed counter 0 */
#define FIXED_HIDE	(1ULL << 33)
#define STAGE_FD	100	/* the shared memory, for a watcher that execs */

/* What is counted. */
enum counted {
	THREAD,			/* the watcher's kernel mode */
	REPLACED,		/* the same; then root counts user mode */
	SPINS,			/* the same as THREAD; it keeps its CPU to the end */
	FAMILY,			/* that of its father and the father's children */
	HEIR,			/* the same; the father counts itself */
	EXEC,			/* the same as THREAD, since before execve() */
	PERIODS,		/* that of the watcher, with periods */
	CPUS,			/* both modes of all CPUs */
	CPUS_STOPPED,		/* the same, and stopped */
	CPUS_REPLACED,		/* the same; then they count another event */
};

/* Why the watcher may use RDPMC. */
enum why {
	MAPPED_BEFORE,		/* it has mapped an event of perf */
	MAPPED_AFTER,		/* it does that when the counters run */
	EVERYBODY,		/* sysfs rdpmc is 2 */
	OWN_SET,		/* it programs and maps a set afterwards */
};

/* In shared memory. */
struct hidden {
	enum why why;
	uint64_t mask;		/* vpmc's counters while they count */
	uint64_t during[64];	/* the greatest value of each while they count */
	uint32_t kernel;	/* instructions of the kernel for the reads, at least */
	uint64_t after[64];	/* the value afterwards */
	uint64_t perf;			/* what its event counted in a loop */
	bool spins;			/* it does not sleep until root has ended */
	volatile bool ended;
	long syscalls;
	int second;
	int to_watcher[2], to_root[2];
};

static const struct perf_event_mmap_page *event_page;

static int map_event(void)
{
	int fd = perf_open(PERF_TYPE_HARDWARE,
			   PERF_COUNT_HW_BRANCH_INSTRUCTIONS, PERF_USER, -1);

	if (fd < 0)
		return -1;
	event_page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	return event_page == MAP_FAILED || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
}

/* A bit of a mask of counters, as an index */
static uint32_t index_of(unsigned int bit)
{
	return bit < 32 ? bit : FIXED(bit - 32);
}

/* NetBurst's counters have two indexes, and the greater value is what counts. */
static uint64_t look_at(unsigned int bit)
{
	uint64_t fast, full;

	if (!machine_is_p4())
		return vpmc_rdpmc(index_of(bit));
	fast = vpmc_rdpmc(P4_RDPMC_FAST | bit);
	full = (uint32_t)vpmc_rdpmc(bit);
	return fast > full ? fast : full;
}

static void look_at_all(const struct hidden *h, uint64_t *value)
{
	unsigned int i;

	for (i = 0; i < 64; i++)
		if (h->mask & 1ULL << i)
			value[i] = look_at(i);
}

/* What this CPU has executed in kernel mode, modulo 2^32 */
static uint32_t kernel_total(void)
{
	uint32_t a, b, c, d;

	__cpuid_count(PMU_TEST_TOTALS, PMU_TEST_CYCLES, a, b, c, d);
	return a;
}

/* Look at vpmc's counters while they count. */
static void look_meanwhile(struct hidden *h)
{
	uint64_t value[64] = {};
	unsigned int i, k;
	uint32_t kernel;

	h->kernel = -1;
	for (k = 0; k < 2; k++) {
		kernel = kernel_total();
		look_at_all(h, value);
		kernel = kernel_total() - kernel;
		/* A tick may come in one of them. */
		if (kernel < h->kernel)
			h->kernel = kernel;
		for (i = 0; i < 64; i++)
			if (value[i] > h->during[i])
				h->during[i] = value[i];
		code_syscalls(h->syscalls, 0);
	}
	if (event_page)
		h->perf = perf_page_of_loop(event_page, TURNS);
}

static int map_own_set(void)
{
	static const struct choice own[] = { { EV_BRANCHES, VPMC_ANY }, {} };
	static struct set set;
	struct vpmc_read read;
	uint64_t seen;

	if (set_open(&set, own) || vpmc_ioctl(set.fd, VPMC_IOC_START, 0))
		return -1;
	seen = vpmc_rdpmc(set.page->slot[0].index);
	code_loop(TURNS, 0);
	seen = vpmc_rdpmc(set.page->slot[0].index) - seen;
	if (vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0) || vpmc_read(set.fd, &read))
		return -1;
	/* The loop has a branch for each turn, and little is around it. */
	return seen < TURNS || read.sum[0] < seen || read.sum[0] > TURNS + 10 * FEW;
}

static int wait_for_end(struct hidden *h)
{
	if (!h->spins)
		return await(h->to_watcher);
	while (!h->ended)
		__asm__ __volatile__("pause");
	return 0;
}

/* What the watcher does. Its set, if it has one, is root's. */
static int watch(struct hidden *h)
{
	if (h->why == MAPPED_BEFORE && map_event())
		return 2;
	if (wake(h->to_root) || await(h->to_watcher))
		return 3;
	if (h->why == MAPPED_AFTER && map_event())
		return 4;
	if (h->why == OWN_SET)
		code_syscalls(h->syscalls, 0);
	else
		look_meanwhile(h);
	if (wake(h->to_root) || wait_for_end(h))
		return 5;
	if (h->why == OWN_SET && map_own_set())
		return 6;
	look_at_all(h, h->after);
	return 0;
}

/* The first one gets a fixed counter, the second one a programmable one. */
static const struct choice kernel_mode[] = {
	{ EV_KERNEL_INSNS, VPMC_ANY }, { 0x200c4, VPMC_ANY }, {}
};
/* Has a fixed counter of its own. */
static const struct choice reference[] = { { 0x30300, VPMC_ANY }, {} };
static const struct choice user_mode[] = { { EV_INSNS, VPMC_ANY }, {} };
static const struct choice both_modes[] = {
	{ 0x300c0, VPMC_ANY }, { 0x300c4, VPMC_ANY }, {}
};

/* Called as root. The new program is the watcher. */
static int count_and_exec(struct hidden *h)
{
	char name[] = "hidden_test", *argv[] = { name, NULL };
	char which[] = "HIDDEN_WATCHER=0", *env[] = { which, NULL };
	struct vpmc_control control;
	int fd = open(THREAD_FILE, O_RDWR | O_CREAT, 0);

	control_of(&control, kernel_mode, 0);
	if (fd < 0 || vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control) ||
	    become_with(USER, 0) || prctl(PR_SET_DUMPABLE, 1))
		return 8;
	which[sizeof(which) - 2] += h->second;
	execve("/proc/self/exe", argv, env);
	return 9;
}

static struct hidden *map_stage(void)
{
	return mmap(NULL, 2 * sizeof(struct hidden), PROT_READ | PROT_WRITE,
		    MAP_SHARED, STAGE_FD, 0);
}

/* The watcher's new program begins here. */
static __attribute__((constructor)) void watch_after_exec(void)
{
	const char *which = getenv("HIDDEN_WATCHER");
	struct hidden *h;

	if (!which)
		return;
	h = map_stage();
	_exit(h == MAP_FAILED ? 10 : watch(&h[*which - '0']));
}

static void watcher(struct hidden *h, enum counted counted)
{
	pid_t pid;

	if (pin(0) || (counted != EXEC && become_with(USER, 0)))
		_exit(1);
	if (counted == EXEC)
		_exit(count_and_exec(h));
	if (counted != FAMILY)
		_exit(watch(h));
	/* The father is counted. */
	if (wake(h->to_root) || await(h->to_watcher))
		_exit(7);
	pid = fork();
	if (!pid)
		_exit(watch(h));
	_exit(child_status(pid));
}

FIXTURE(hidden)
{
	struct hidden *h;
	struct set keeper;
};

FIXTURE_VARIANT(hidden)
{
	enum counted counted;
	enum why why;
};

#define HIDDEN(name, ...) \
	FIXTURE_VARIANT_ADD(hidden, name) { __VA_ARGS__ }

HIDDEN(thread_mapped_before, THREAD, MAPPED_BEFORE);
HIDDEN(thread_mapped_after, THREAD, MAPPED_AFTER);
HIDDEN(thread_everybody, THREAD, EVERYBODY);
HIDDEN(thread_own_set, THREAD, OWN_SET);
HIDDEN(replaced_mapped_before, REPLACED, MAPPED_BEFORE);
HIDDEN(replaced_everybody, REPLACED, EVERYBODY);
HIDDEN(replaced_own_set, REPLACED, OWN_SET);
HIDDEN(spins_mapped_before, SPINS, MAPPED_BEFORE);
HIDDEN(spins_everybody, SPINS, EVERYBODY);
HIDDEN(family_mapped_before, FAMILY, MAPPED_BEFORE);
HIDDEN(family_mapped_after, FAMILY, MAPPED_AFTER);
HIDDEN(family_everybody, FAMILY, EVERYBODY);
HIDDEN(heir_mapped_before, HEIR, MAPPED_BEFORE);
HIDDEN(heir_mapped_after, HEIR, MAPPED_AFTER);
HIDDEN(exec_mapped_before, EXEC, MAPPED_BEFORE);
HIDDEN(exec_mapped_after, EXEC, MAPPED_AFTER);
HIDDEN(periods_mapped_before, PERIODS, MAPPED_BEFORE);
HIDDEN(periods_mapped_after, PERIODS, MAPPED_AFTER);
HIDDEN(periods_everybody, PERIODS, EVERYBODY);
HIDDEN(cpus_mapped_before, CPUS, MAPPED_BEFORE);
HIDDEN(cpus_mapped_after, CPUS, MAPPED_AFTER);
HIDDEN(cpus_everybody, CPUS, EVERYBODY);
HIDDEN(cpus_own_set, CPUS, OWN_SET);
HIDDEN(cpus_stopped_mapped_before, CPUS_STOPPED, MAPPED_BEFORE);
HIDDEN(cpus_stopped_mapped_after, CPUS_STOPPED, MAPPED_AFTER);
HIDDEN(cpus_stopped_everybody, CPUS_STOPPED, EVERYBODY);
HIDDEN(cpus_replaced_mapped_before, CPUS_REPLACED, MAPPED_BEFORE);
HIDDEN(cpus_replaced_everybody, CPUS_REPLACED, EVERYBODY);

static bool is_family(enum counted counted)
{
	return counted == FAMILY || counted == HEIR;
}

/* Root begins to count. Returns a descriptor or -errno. */
static int begin(enum counted counted, pid_t pid)
{
	struct vpmc_control control;
	int fd, err;

	if (counted >= CPUS) {
		fd = global_open();
		err = fd < 0 ? fd :
		      global_program(fd, VPMC_ALL_CPUS, both_modes) ?:
		      global_start(fd);
		return err ?: fd;
	}
	fd = open_of(pid, O_RDWR | O_CREAT);
	control_of(&control, kernel_mode,
		   is_family(counted) ? VPMC_CONTROL_INHERIT_PROCESSES : 0);
	if (counted == PERIODS) {
		control.counter[0].period = 1ULL << 40;
	}
	err = fd < 0 ? fd : vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
	return err ?: fd;
}

/* What root has counted. */
static uint64_t sum_of(enum counted counted, int fd)
{
	struct vpmc_read read = {
		.flags = is_family(counted) ? LIVING | FINISHED : 0,
	};

	if (counted >= CPUS)
		return global_sum(fd, 0, 0);
	read.size = sizeof(read);
	return vpmc_ioctl(fd, VPMC_IOC_READ, &read) ? 0 : read.sum[0];
}

static int end(enum counted counted, int fd)
{
	struct vpmc_control control;

	if (counted == CPUS_REPLACED)
		return global_stop(fd) ?:
		       global_program(fd, VPMC_ALL_CPUS, reference) ?:
		       global_start(fd);
	if (counted >= CPUS)
		return close(fd);
	if (counted != REPLACED)
		return vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
	control_of(&control, user_mode, VPMC_CONTROL_STOPPED);
	return vpmc_ioctl(fd, VPMC_IOC_CONTROL, &control);
}

FIXTURE_SETUP(hidden)
{
	int fd = memfd_create("hidden", 0);

	ASSERT_EQ(STAGE_FD, dup2(fd, STAGE_FD));
	ASSERT_EQ(0, close(fd));
	ASSERT_EQ(0, ftruncate(STAGE_FD, 2 * sizeof(*self->h)));
	self->h = map_stage();
	ASSERT_NE(MAP_FAILED, self->h);
	ASSERT_EQ(0, write_file(PERF_PARANOID, "2"));
	ASSERT_EQ(0, write_file(ALWAYS, variant->why == EVERYBODY ? "2" : "1"));
	ASSERT_EQ(0, pin(1));
	/* With another claim on the PMU no CPU gives its counters back. */
	if (variant->counted < CPUS && variant->counted != HEIR)
		ASSERT_EQ(0, set_open(&self->keeper, user_mode));
}

FIXTURE_TEARDOWN(hidden)
{
	EXPECT_EQ(0, write_file(ALWAYS, "1"));
}

static void play_both(struct __test_metadata *_metadata, struct hidden *h,
		      enum counted counted)
{
	uint64_t sum;
	pid_t pid;
	int fd;

	ASSERT_EQ(0, pipe(h->to_root));
	ASSERT_EQ(0, pipe(h->to_watcher));
	fd = counted == HEIR ? begin(counted, getpid()) : 0;
	pid = fork();
	if (!pid)
		watcher(h, counted);
	ASSERT_EQ(0, await(h->to_root));
	if (counted == EXEC)
		fd = open_of(pid, O_RDWR);
	else if (counted != HEIR)
		fd = begin(counted, pid);
	ASSERT_LE(0, fd);
	h->mask = vpmc_counters();
	ASSERT_NE(0, h->mask);
	ASSERT_EQ(0, wake(h->to_watcher));
	if (counted == FAMILY) {
		ASSERT_EQ(0, await(h->to_root));
		ASSERT_EQ(0, wake(h->to_watcher));
	}
	if (counted == CPUS_STOPPED) {
		usleep(1000);
		ASSERT_EQ(0, global_stop(fd));
	}
	ASSERT_EQ(0, await(h->to_root));
	/* Something was hidden: system calls have many instructions. */
	sum = sum_of(counted, fd);
	EXPECT_LT(10 * h->syscalls, sum);
	EXPECT_EQ(0, end(counted, fd));
	h->ended = true;
	ASSERT_EQ(0, wake(h->to_watcher));
	EXPECT_EQ(0, child_status(pid));
	if (counted == CPUS_REPLACED)
		EXPECT_EQ(0, close(fd));
}

static bool hides_by_select(void)
{
	return machine.features & VPMC_FEATURE_HIDE;
}

/* CPUID leaf 23H, EBX bit 2: RDPMC_USR_DISABLE. */
static bool cpuid_hides(int cpu)
{
	uint32_t a, b = 0, c, d;

	return !pin(cpu) && __get_cpuid_count(0x23, 0, &a, &b, &c, &d) && b & 1 << 2;
}

/* A hypervisor may drop the bit, or refuse it. Nothing counts on CPU 0. */
static bool select_hides(bool *refused)
{
	uint64_t before, found = 0;

	*refused = true;
	if (msr_read(0, MSR_EVTSEL0, &before))
		return false;
	*refused = msr_write(0, MSR_EVTSEL0, before | EVTSEL_HIDE);
	msr_read(0, MSR_EVTSEL0, &found);
	msr_write(0, MSR_EVTSEL0, before);
	return !*refused && found & EVTSEL_HIDE;
}

/* The bits of a CPU that hide counters, of all its control registers together */
static uint64_t hiding_bits(int cpu)
{
	uint64_t value, all = 0;
	uint32_t i;

	for (i = 0; i < 4; i++)
		if (!msr_read(cpu, MSR_EVTSEL0 + i, &value))
			all |= value & EVTSEL_HIDE;
	return msr_read(cpu, MSR_FIXED_CTR_CTRL, &value) ? all : all | value >> 32;
}

/* All CPUs must have it, and it must work. Nothing is hidden while nothing counts. */
TEST(feature)
{
	bool hides = true, refused;
	int cpu;

	for (cpu = 0; cpu < sysconf(_SC_NPROCESSORS_ONLN); cpu++) {
		hides = cpuid_hides(cpu) && hides;
		/* Elsewhere somebody else may hide counters, or write their registers. */
		if (exact_machine())
			EXPECT_EQ(0, hiding_bits(cpu));
	}
	if (hides && exact_machine())
		hides = select_hides(&refused);
	EXPECT_EQ(hides, hides_by_select());
}

/* The watcher learns nothing of what the kernel did for it. */
TEST_F(hidden, counts)
{
	struct hidden *h = self->h;
	unsigned int i, k, zero = 0;

	for (k = 0; k < 2; k++) {
		h[k].why = variant->why;
		h[k].spins = variant->counted == SPINS;
		h[k].second = k;
		h[k].syscalls = k ? MANY : FEW;
		play_both(_metadata, &h[k], variant->counted);
	}
	for (i = 0; i < 64; i++) {
		if (!(h[0].mask & h[1].mask & 1ULL << i))
			continue;
		if (!hides_by_select()) {
			EXPECT_EQ(0, h[0].during[i]);
			EXPECT_EQ(0, h[1].during[i]);
		}
		zero += !h[0].during[i];
		EXPECT_EQ(h[0].during[i], h[1].during[i]);
		EXPECT_EQ(h[0].after[i], h[1].after[i]);
	}
	EXPECT_NE(0, zero);
	/* Without a bit in the selects, the kernel reads for it. */
	if (exact_machine() && variant->why != OWN_SET) {
		EXPECT_EQ(hides_by_select(), !h[0].kernel);
		EXPECT_EQ(hides_by_select(), !h[1].kernel);
	}
	if (variant->why > MAPPED_AFTER)
		return;
	/* Its own event is right. */
	EXPECT_EQ(TURNS, h[0].perf);
	EXPECT_EQ(TURNS, h[1].perf);
}

/* CPU 0's counters that are on, and those of them that their selects hide, as masks */
static void read_selects(uint64_t *on, uint64_t *hidden)
{
	uint64_t value;
	uint32_t i;

	*on = 0;
	*hidden = 0;
	for (i = 0; i < 4; i++) {
		if (msr_read(0, MSR_EVTSEL0 + i, &value) || !(value & EVTSEL_ENABLE))
			continue;
		*on |= 1ULL << i;
		*hidden |= value & EVTSEL_HIDE ? 1ULL << i : 0;
	}
	if (msr_read(0, MSR_FIXED_CTR_CTRL, &value))
		return;
	for (i = 0; i < 3; i++) {
		if (!(value & FIXED_MODES << 4 * i))
			continue;
		*on |= 1ULL << (32 + i);
		*hidden |= value & FIXED_HIDE << 4 * i ? 1ULL << (32 + i) : 0;
	}
}

/* Hide CPU 0's counters in @mask. Linux 7 has done so for events of CPUs. */
static void hide_by_selects(uint64_t mask)
{
	uint64_t value;
	uint32_t i;

	if (!cpuid_hides(0))
		return;
	for (i = 0; i < 4; i++)
		if (mask & 1ULL << i && !msr_read(0, MSR_EVTSEL0 + i, &value))
			msr_write(0, MSR_EVTSEL0 + i, value | EVTSEL_HIDE);
	/* A set that hides its own fixed counters writes the register when it runs. */
	if (hides_by_select() || msr_read(0, MSR_FIXED_CTR_CTRL, &value))
		return;
	for (i = 0; i < 3; i++)
		value |= mask & 1ULL << (32 + i) ? FIXED_HIDE << 4 * i : 0;
	msr_write(0, MSR_FIXED_CTR_CTRL, value);
}

/* What selects hide of perf's events stays hidden while vpmc answers RDPMC. */
TEST(hidden_by_perf)
{
	struct hidden *h = mmap(NULL, sizeof(*h), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t on, hidden, still_on, still_hidden;
	int fd, cycles, branches, i;
	bool hides, refused = false;
	struct set same;
	pid_t pid;

	ASSERT_NE(MAP_FAILED, h);
	h->why = MAPPED_BEFORE;
	h->syscalls = FEW;
	ASSERT_EQ(0, pipe(h->to_root));
	ASSERT_EQ(0, pipe(h->to_watcher));
	ASSERT_EQ(0, write_file(PERF_PARANOID, "2"));
	hides = cpuid_hides(0) && select_hides(&refused);
	/* The watcher's set finds its selects written, and writes no control register. */
	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, set_open(&same, kernel_mode));
	ASSERT_EQ(0, vpmc_ioctl(same.fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, pin(1));
	cycles = perf_open_pinned_cycles(0);
	ASSERT_LE(0, cycles);
	branches = perf_open_pinned(0, PERF_TYPE_HARDWARE,
				    PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	ASSERT_LE(0, branches);
	pid = fork();
	if (!pid)
		watcher(h, THREAD);
	ASSERT_EQ(0, await(h->to_root));
	fd = begin(THREAD, pid);
	ASSERT_LE(0, fd);
	/* The watcher sleeps, so that only events of the CPU are on. */
	read_selects(&on, &hidden);
	h->mask = on & ~vpmc_counters();
	/* If the bit is refused, perf of Linux 7 cannot write the select of such an event. */
	if (!refused)
		EXPECT_LE(2, __builtin_popcountll(h->mask));
	hide_by_selects(h->mask);
	read_selects(&on, &hidden);
	EXPECT_EQ(hides, !!hidden);
	EXPECT_EQ(0, wake(h->to_watcher));
	EXPECT_EQ(0, await(h->to_root));
	read_selects(&still_on, &still_hidden);
	EXPECT_EQ(on, still_on);
	EXPECT_EQ(hidden, still_hidden);
	EXPECT_EQ(0, wake(h->to_watcher));
	EXPECT_EQ(0, child_status(pid));
	/* perf's counters are far from zero. */
	for (i = 0; i < 64; i++)
		if (h->mask & 1ULL << i)
			EXPECT_EQ(!(hidden & 1ULL << i), !!h->during[i]);
	EXPECT_EQ(TURNS, h->perf);
	close(branches);
	close(cycles);
}

/* Maps an event on CPU 1 when it is told to, and stays. */
static void *map_for_sibling(void *arg)
{
	struct hidden *h = arg;

	if (pin(1) || await(h->to_watcher) || map_event() || wake(h->to_root))
		_exit(20);
	for (;;)
		pause();
	return NULL;
}

/* Runs on CPU 0 once it is counted, sleeps meanwhile, and then looks. */
static int watch_asleep(struct hidden *asleep, struct hidden *h)
{
	pthread_t thread;

	if (pin(0) || become_with(USER, 0) ||
	    pthread_create(&thread, NULL, map_for_sibling, h) ||
	    wake(asleep->to_root) || await(asleep->to_watcher) ||
	    wake(asleep->to_root) || await(asleep->to_watcher))
		return 21;
	look_meanwhile(asleep);
	return 0;
}

/*
 * kernel.vpmc_isolation is 0, and the process gets RDPMC while its counted thread
 * sleeps. Kernel counts are hidden all the same.
 */
TEST(without_isolation)
{
	struct hidden *h = mmap(NULL, 2 * sizeof(*h), PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int i;
	pid_t pid;
	int fd;

	ASSERT_NE(MAP_FAILED, h);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pipe(h[i].to_root));
		ASSERT_EQ(0, pipe(h[i].to_watcher));
	}
	ASSERT_EQ(0, write_file(PERF_PARANOID, "2"));
	ASSERT_EQ(0, pin(1));
	pid = fork();
	if (!pid)
		_exit(watch_asleep(&h[0], &h[1]));
	ASSERT_EQ(0, await(h[0].to_root));
	fd = begin(THREAD, pid);
	ASSERT_LE(0, fd);
	h[0].mask = vpmc_counters();
	h[0].syscalls = FEW;
	EXPECT_EQ(0, wake(h[0].to_watcher));
	EXPECT_EQ(0, await(h[0].to_root));
	EXPECT_EQ(0, write_file(ISOLATION, "0"));
	EXPECT_EQ(0, wake(h[1].to_watcher));
	EXPECT_EQ(0, await(h[1].to_root));
	EXPECT_EQ(0, wake(h[0].to_watcher));
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(0, write_file(ISOLATION, "1"));
	for (i = 0; i < 64; i++)
		EXPECT_EQ(0, h[0].during[i]);
}

/* A child that may see kernel counts reads them by RDPMC, as before. */
TEST(not_from_those_who_may)
{
	struct vpmc_read read;
	uint64_t before, after;
	struct set set;
	pid_t pid;

	ASSERT_EQ(0, set_open(&set, kernel_mode));
	set_close(&set);
	set.fd = begin(FAMILY, getpid());
	ASSERT_LE(0, set.fd);
	pid = fork();
	if (!pid) {
		int fd = open(THREAD_FILE, O_RDONLY);
		const struct vpmc_page *page = vpmc_map(fd);

		if (page == MAP_FAILED || page->state != VPMC_STATE_RUNNING)
			_exit(1);
		before = page->slot[0].base +
			 (vpmc_rdpmc(page->slot[0].index) ^ page->sign);
		if (vpmc_read(fd, &read))
			_exit(2);
		after = page->slot[0].base +
			(vpmc_rdpmc(page->slot[0].index) ^ page->sign);
		_exit(before && before < read.sum[0] && read.sum[0] < after ?
		      0 : 3);
	}
	EXPECT_EQ(0, child_status(pid));
}

NEEDS(
	{ "*", PMU | TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
);

TEST_HARNESS_MAIN
