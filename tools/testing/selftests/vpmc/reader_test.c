// SPDX-License-Identifier: GPL-2.0
/*
 * The read loop that the ABI header prints, compiled from there: disturbed at
 * each of its instructions, and ten million times at random.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "vpmc_test.h"
#include "printed_read.h"
#include "disturb.h"

#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#define MAX_N	7

/* One read in a process that is traced, and what came of it. */
struct traced {
	struct set set;
	struct vpmc_read read;
	uint64_t count[VPMC_MAX_COUNTERS];
	uint64_t ticks;
	unsigned int turns;
	int error;
};

static long traced_body(long arg, long unused)
{
	struct traced *traced = (struct traced *)arg;

	traced->turns = read_printed(traced->set.page, traced->count,
				     &traced->ticks);
	return 0;
}

/* The shape of read_printed() for a set of n counters. */
struct shape {
	unsigned int n;
	unsigned int position[MAX_N];	/* instructions before RDPMC i */
	unsigned int turn;		/* instructions in one turn */
	uint64_t total;			/* sum at STOP after one turn */
};

FIXTURE(reader)
{
	struct traced *traced;		/* shared with the traced process */
	struct shape shape;
	unsigned int n;
};

FIXTURE_VARIANT(reader)
{
	struct choice choice[MAX_N + 1];
};

FIXTURE_VARIANT_ADD(reader, one)
{
	.choice = { { EV_INSNS, FIXED(0) } },
};

FIXTURE_VARIANT_ADD(reader, five)
{
	.choice = { { EV_INSNS, 2 }, { EV_INSNS, FIXED(0) }, { EV_INSNS, 3 },
		    { EV_INSNS, 0 }, { EV_INSNS, 1 } },
};

FIXTURE_SETUP(reader)
{
	ASSERT_EQ(0, pin(0));
	self->traced = mmap(NULL, sizeof(*self->traced), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->traced);
	while (variant->choice[self->n].evtsel)
		self->n++;
}

FIXTURE_TEARDOWN(reader)
{
}

/* Starts a process that is stopped at its first counted instruction. */
static pid_t start_traced(struct traced *traced, const struct choice *choice)
{
	struct user_regs_struct regs;
	int status, steps = 0;
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		traced->error = set_open(&traced->set, choice);
		if (traced->error || ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(1);
		raise(SIGSTOP);
		if (set_measure(&traced->set, traced_body, (long)traced, 0))
			_exit(2);
		_exit(vpmc_read(traced->set.fd, &traced->read) ? 3 : 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return -1;
	do {
		if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
		    ptrace(PTRACE_GETREGS, pid, 0, &regs) || steps++ > 10000)
			return -1;
	} while (regs.rip != (unsigned long)code_measure_started);
	return pid;
}

/* Executes one instruction. Returns where the next one is, 0 on error. */
static unsigned long step(pid_t pid)
{
	struct user_regs_struct regs;
	int status;

	if (ptrace(PTRACE_SINGLESTEP, pid, 0, 0) ||
	    waitpid(pid, &status, 0) != pid ||
	    !WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP ||
	    ptrace(PTRACE_GETREGS, pid, 0, &regs))
		return 0;
	return regs.rip;
}

static int migrate(pid_t pid, int cpu)
{
	cpu_set_t mask;

	CPU_ZERO(&mask);
	CPU_SET(cpu, &mask);
	return sched_setaffinity(pid, sizeof(mask), &mask);
}

/* Lets the process run to its end without a stop. */
static int finish(pid_t pid)
{
	if (ptrace(PTRACE_CONT, pid, 0, 0))
		return -1;
	return child_status(pid);
}

static bool is_rdpmc(unsigned long ip)
{
	const unsigned char *code = (const unsigned char *)ip;

	return code[0] == 0x0f && code[1] == 0x33;
}

/*
 * Learns the shape by single steps: each is a context switch, so the loop never
 * ends meanwhile, and each is one instruction.
 */
static int learn(struct shape *shape, struct traced *traced,
		 const struct choice *choice, unsigned int n)
{
	unsigned long ip = (unsigned long)code_measure_started;
	unsigned int steps = 0, seen = 0, position[3 * MAX_N] = {}, i;
	pid_t pid = start_traced(traced, choice);

	if (pid < 0)
		return -1;
	while (seen < 3 * n && steps < 3000) {
		if (is_rdpmc(ip))
			position[seen++] = steps;
		ip = step(pid);
		if (!ip)
			return -2;
		steps++;
	}
	if (seen < 3 * n || finish(pid))
		return -3;
	shape->n = n;
	shape->turn = position[n] - position[0];
	for (i = 0; i < n; i++) {
		shape->position[i] = position[i];
		if (position[n + i] - position[i] != shape->turn ||
		    position[2 * n + i] - position[n + i] != shape->turn)
			return -4;
	}
	/* Undisturbed: one turn. */
	for (i = 0; i < test_tries(100); i++) {
		pid = start_traced(traced, choice);
		if (pid < 0 || finish(pid))
			return -5;
		shape->total = traced->read.sum[0];
		if (traced->turns == 1)
			return 0;
	}
	return -6;
}

/* What is wrong with a read that took traced->turns turns. */
static int wrong_read(const struct shape *shape, const struct traced *traced)
{
	uint64_t more = (uint64_t)(traced->turns - 1) * shape->turn;
	unsigned int i;
	int wrong = 0;

	for (i = 0; i < shape->n; i++) {
		uint64_t want = shape->position[i] + more;

		if (traced->count[i] != want) {
			wrong++;
			fprintf(stderr, "# counter %u, %u turns: expected %llu, got %llu\n",
				i, traced->turns, (unsigned long long)want,
				(unsigned long long)traced->count[i]);
		}
		if (traced->read.sum[i] != shape->total + more) {
			wrong++;
			fprintf(stderr, "# sum %u, %u turns: expected %llu, got %llu\n",
				i, traced->turns,
				(unsigned long long)(shape->total + more),
				(unsigned long long)traced->read.sum[i]);
		}
	}
	return wrong;
}

/*
 * Executes the first k instructions one by one, perhaps migrates the thread, and lets it
 * run to the end.
 */
static void stop_at_each_until(struct __test_metadata *_metadata,
			       FIXTURE_DATA(reader) *self,
			       const struct choice *choice, unsigned int k, bool move)
{
	pid_t pid = start_traced(self->traced, choice);
	unsigned int i;

	ASSERT_LT(0, pid);
	for (i = 0; i < k; i++)
		ASSERT_NE(0, step(pid));
	ASSERT_EQ(0, move ? migrate(pid, 1) : 0);
	ASSERT_EQ(0, finish(pid));
	EXPECT_EQ(0, wrong_read(&self->shape, self->traced)) {
		TH_LOG("after %u instructions", k);
	}
	EXPECT_EQ(move, self->traced->read.migrations);
}

/*
 * This for each k up to the second turn. The tracer has counters of its own on the same
 * CPU. Something else may switch the thread after its last stop, and it retries for that.
 * So a place needs no retry if it has none in one of three runs.
 */
static void each_instruction(struct __test_metadata *_metadata,
			     FIXTURE_DATA(reader) *self,
			     const struct choice *choice, bool move)
{
	static const struct choice other[] = { { EV_BRANCHES, 2 }, {} };
	unsigned int k, runs, last, first = ~0U, retried = 0;
	struct shape *shape = &self->shape;
	struct set mine;

	ASSERT_EQ(0, learn(shape, self->traced, choice, self->n));
	ASSERT_EQ(0, set_open(&mine, other));
	ASSERT_EQ(0, vpmc_ioctl(mine.fd, VPMC_IOC_START, 0));
	last = shape->position[0] + shape->turn;
	for (k = 0; k <= last; k++) {
		for (runs = first == ~0U ? 3 : 1; runs; runs--) {
			stop_at_each_until(_metadata, self, choice, k, move);
			if (self->traced->turns == 1)
				break;
		}
		if (runs)
			continue;
		retried++;
		if (first == ~0U)
			first = k;
	}
	TH_LOG("%u counters: %u places, retried from place %u on; a turn has %u instructions",
	       shape->n, k, first, shape->turn);
	EXPECT_EQ(last + 1, k);
	/* Always from the load of the generation on, and never before. */
	EXPECT_EQ(k - first, retried);
	EXPECT_LT(0, first);
	EXPECT_GT(shape->position[0], first);
	set_close(&mine);
}

TEST_F(reader, preempted_at_each_instruction)
{
	each_instruction(_metadata, self, variant->choice, false);
}

TEST_F(reader, migrated_at_each_instruction)
{
	each_instruction(_metadata, self, variant->choice, true);
}

static int set_breakpoint(pid_t pid, unsigned long ip)
{
	const size_t reg = offsetof(struct user, u_debugreg);

	return ptrace(PTRACE_POKEUSER, pid, reg, ip) ||
	       ptrace(PTRACE_POKEUSER, pid, reg + 7 * sizeof(long),
		      ip ? 1L : 0L);
}

/*
 * The same with a single stop, by a hardware breakpoint, at each address that
 * is reached from START to the loop's end.
 */
TEST_F(reader, one_stop_at_each_address)
{
	struct traced *traced = self->traced;
	struct shape *shape = &self->shape;
	unsigned long address[512], ip;
	unsigned int n = 0, i, steps, retried = 0, unreached = 0;
	int status, move;
	pid_t pid;

	ASSERT_EQ(0, learn(shape, traced, variant->choice, self->n));
	/* One turn and what is left when the loop is over. */
	pid = start_traced(traced, variant->choice);
	ASSERT_LT(0, pid);
	ip = (unsigned long)code_measure_started;
	for (steps = 0; steps < shape->position[0] + shape->turn; steps++) {
		for (i = 0; i < n && address[i] != ip; i++)
			;
		if (i == n)
			address[n++] = ip;
		ASSERT_GT(ARRAY_SIZE(address), n);
		ip = step(pid);
		ASSERT_NE(0, ip);
	}
	ASSERT_EQ(0, finish(pid));

	for (i = 0; i < 2 * n; i++) {
		move = i & 1;
		pid = start_traced(traced, variant->choice);
		ASSERT_LT(0, pid);
		ASSERT_EQ(0, set_breakpoint(pid, address[i / 2]));
		ASSERT_EQ(0, ptrace(PTRACE_CONT, pid, 0, 0));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		if (WIFEXITED(status)) {
			/* The single steps reached this only in a retry. */
			unreached++;
			EXPECT_EQ(1, traced->turns);
			EXPECT_EQ(0, wrong_read(shape, traced));
			continue;
		}
		ASSERT_TRUE(WIFSTOPPED(status));
		ASSERT_EQ(SIGTRAP, WSTOPSIG(status));
		ASSERT_EQ(0, set_breakpoint(pid, 0));
		ASSERT_EQ(0, move ? migrate(pid, 1) : 0);
		ASSERT_EQ(0, finish(pid));
		EXPECT_EQ(0, wrong_read(shape, traced)) {
			TH_LOG("at address %u of %u, %s", i / 2, n,
			       move ? "migrated" : "preempted");
		}
		EXPECT_GE(2, traced->turns);
		retried += traced->turns > 1;
	}
	TH_LOG("%u addresses, %u stops, %u retries", n, i - unreached, retried);
	/* At most the jump back and the load that it leads to. */
	EXPECT_GE(2 * 2, unreached);
	EXPECT_LT(0, retried);
	EXPECT_GT(2 * n, retried);
}

/* In a turn, counters of one event differ by the distance of their RDPMCs. */
TEST_F(reader, one_snapshot)
{
	struct traced *traced = self->traced;
	struct shape *shape = &self->shape;
	unsigned int i, j;
	struct set set;
	uint64_t ticks;

	ASSERT_EQ(0, learn(shape, traced, variant->choice, self->n));
	ASSERT_EQ(0, set_open(&set, variant->choice));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	for (j = 0; j < 1000; j++) {
		read_printed(set.page, traced->count, &ticks);
		for (i = 1; i < self->n; i++)
			ASSERT_EQ(shape->position[i] - shape->position[0],
				  traced->count[i] - traced->count[0]);
	}
	set_close(&set);
}

/* Of a set that stands, user space reads what READ says. */
TEST_F(reader, equals_read_when_stopped)
{
	uint64_t count[VPMC_MAX_COUNTERS], ticks;
	struct vpmc_read read;
	struct set set;
	unsigned int i, j;

	ASSERT_EQ(0, set_open(&set, variant->choice));
	for (j = 1; j < 100; j++) {
		ASSERT_EQ(0, set_measure(&set, code_yield, 2, 1000 * j));
		ASSERT_EQ(0, read_printed(set.page, count, &ticks));
		ASSERT_EQ(0, vpmc_read(set.fd, &read));
		EXPECT_EQ(VPMC_STATE_STOPPED, set.page->state);
		EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
		ASSERT_EQ(self->n, read.nr_counters);
		ASSERT_EQ(self->n, set.page->nr_counters);
		EXPECT_EQ(read.ticks, ticks);
		EXPECT_EQ(read.switches, set.page->switches);
		EXPECT_EQ(read.migrations, set.page->migrations);
		EXPECT_EQ(read.tid, set.page->tid);
		for (i = 0; i < self->n; i++)
			EXPECT_EQ(read.sum[i], count[i]);
		vpmc_read_page(set.page, count, &ticks);
		EXPECT_EQ(read.ticks, ticks);
		EXPECT_EQ(read.sum[0], count[0]);
	}
	set_close(&set);
}

/* The functions of the reader header return the same. */
TEST(reader_header)
{
	static const struct choice all[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 1 },
		{ EV_CYCLES, FIXED(1) }, { EV_INSNS, 2 }, {}
	};
	uint64_t a[VPMC_MAX_COUNTERS], b[VPMC_MAX_COUNTERS], ticks, more;
	struct vpmc_read read;
	struct set set;

	ASSERT_EQ(0, set_open(&set, all));
	ASSERT_EQ(0, set_measure(&set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	vpmc_read_page(set.page, a, &ticks);
	EXPECT_EQ(0, memcmp(a, read.sum, 5 * sizeof(*a)));
	EXPECT_EQ(read.ticks, ticks);
	EXPECT_EQ(read.ticks, vpmc_read_ticks(set.page));
	EXPECT_EQ(read.sum[0], vpmc_read_1(set.page));
	vpmc_read_2(set.page, b, &more);
	EXPECT_EQ(0, memcmp(b, read.sum, 2 * sizeof(*b)));
	EXPECT_EQ(read.ticks, more);
	vpmc_read_4(set.page, b, NULL);
	EXPECT_EQ(0, memcmp(b, read.sum, 4 * sizeof(*b)));

	set_close(&set);
}

/* While counters run, what one read costs is a constant. */
TEST(reader_header_running)
{
	static const struct choice all[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 0 }, { EV_INSNS, 1 },
		{ EV_CYCLES, FIXED(1) }, { EV_INSNS, 2 }, {}
	};
	uint64_t a[VPMC_MAX_COUNTERS], b[VPMC_MAX_COUNTERS], ticks, more;
	struct set set;
	unsigned int i;

	ASSERT_EQ(0, set_open(&set, all));
	ASSERT_EQ(0, set_fifo(50));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	for (i = 0; i < 100; i++) {
		static uint64_t cost[3];
		uint64_t one, two;

		one = vpmc_read_1(set.page);
		two = vpmc_read_1(set.page);
		if (i)
			EXPECT_EQ(cost[0], two - one);
		cost[0] = two - one;
		vpmc_read_4(set.page, a, &ticks);
		vpmc_read_4(set.page, b, &more);
		EXPECT_EQ(b[2] - a[2], b[0] - a[0]);
		EXPECT_EQ(b[3] - a[3], b[0] - a[0]);
		EXPECT_LT(ticks, more);
		if (i)
			EXPECT_EQ(cost[1], b[0] - a[0]);
		cost[1] = b[0] - a[0];
		vpmc_read_page(set.page, a, &ticks);
		vpmc_read_page(set.page, b, &more);
		EXPECT_EQ(b[4] - a[4], b[0] - a[0]);
		if (i)
			EXPECT_EQ(cost[2], b[0] - a[0]);
		cost[2] = b[0] - a[0];
		if (i == 99)
			TH_LOG("instructions: %llu for 1, %llu for 4 and time, %llu for a page of 5",
			       (unsigned long long)cost[0],
			       (unsigned long long)cost[1],
			       (unsigned long long)cost[2]);
	}
	set_close(&set);
}

#define READS	10000000

struct tally {
	uint64_t turns;
	uint64_t reads;
	uint64_t distance;	/* instructions between the last two reads */
	uint64_t wrong;
};

/*
 * Between two reads lies a constant number of instructions and the retries. No
 * branch here depends on what was read, unless it was wrong. Without @distance
 * it is only found out.
 */
static void __attribute__((__noinline__))
many_reads(const struct vpmc_page *page, const struct shape *shape,
	   unsigned int n, uint64_t distance, struct tally *tally)
{
	const uint64_t apart = shape->position[1] - shape->position[0];
	const uint64_t later = distance ? ~0ULL : 0;
	uint64_t count[2], last, ticks, last_ticks, moved, wrong, check = 0;
	unsigned int i, turns;

	memset(tally, 0, sizeof(*tally));
	read_printed(page, count, &last_ticks);
	last = count[0];
	for (i = 0, wrong = 0; i < n && !wrong; i++) {
		turns = read_printed(page, count, &ticks);
		moved = count[0] - last - (uint64_t)(turns - 1) * shape->turn;
		wrong = (moved ^ distance) & check;
		wrong |= (count[1] - count[0]) ^ apart;
		wrong |= (ticks - last_ticks - 1) >> 62;
		tally->turns += turns;
		last = count[0];
		last_ticks = ticks;
		check = later;
	}
	tally->reads = i;
	tally->distance = moved;
	tally->wrong = wrong;
}

TEST(ten_million_reads)
{
	static const struct choice mine[] = {
		{ EV_INSNS, FIXED(0) }, { EV_INSNS, 1 }, {}
	};
	static const struct choice other[] = {
		{ EV_BRANCHES, 1 }, { EV_CYCLES, 0 }, {}
	};
	struct traced *traced = mmap(NULL, sizeof(*traced),
				     PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct vpmc_read read;
	struct shape shape;
	struct tally tally;
	uint64_t distance;
	struct set set;
	pid_t pid[3];
	int i;

	ASSERT_NE(MAP_FAILED, traced);
	ASSERT_EQ(0, learn(&shape, traced, mine, 2));
	ASSERT_EQ(0, set_open(&set, mine));
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_START, 0));
	many_reads(set.page, &shape, 2, 0, &tally);
	ASSERT_EQ(0, tally.wrong);
	distance = tally.distance;
	pid[0] = start_counting_preempter(0, 100000, other);
	pid[1] = start_preempter(1, 100000);
	pid[2] = start_migrator(my_tid(), 200000);
	for (i = 0; i < 3; i++)
		ASSERT_LT(0, pid[i]);
	many_reads(set.page, &shape, READS, distance, &tally);
	ASSERT_EQ(0, vpmc_ioctl(set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(set.fd, &read));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(0, stop_disturber(pid[i]));
	EXPECT_EQ(0, tally.wrong) {
		TH_LOG("read %llu: expected %llu more than the one before, got %llu",
		       (unsigned long long)tally.reads,
		       (unsigned long long)distance,
		       (unsigned long long)tally.distance);
	}
	EXPECT_EQ(READS, tally.reads);
	EXPECT_LE(test_often(1000), tally.turns - READS);
	EXPECT_LE(test_often(1000), read.switches);
	EXPECT_LE(test_often(500), read.migrations);
	TH_LOG("%d reads, %llu retries, %llu switches, %llu migrations", READS,
	       (unsigned long long)tally.turns - READS,
	       (unsigned long long)read.switches,
	       (unsigned long long)read.migrations);
	set_close(&set);
}

NEEDS(
	{ "reader.*.equals_read_when_stopped", PMU },
	{ "global.reader_header", PMU },
	{ "reader.*.one_snapshot", TRUE_COUNTS | TWO_CPUS },
	{ "global.ten_million_reads", TRUE_COUNTS | FIFO | TWO_CPUS },
	{ "*", EXACT },
);

TEST_HARNESS_MAIN
