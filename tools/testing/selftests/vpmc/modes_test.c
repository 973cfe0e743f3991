// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters: what each processor begins with, which texts the file takes
 * and from whom, and what a text does that it refuses. With "all" perf or sets have
 * the PMU: on processors whose counters perf cannot lend that is all there is.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "beside.h"
#include "caps.h"
#include "log.h"
#include "runner.h"

/* What the kernel says once per boot when it does not know a text. */
#define TAKES	"vpmc: kernel.vpmc_counters takes \"shared\", \"shared P,F\" "	\
		"(numbers of programmable and of fixed counters) or \"all\"\n"

static const struct choice one[] = { { EV_INSNS, VPMC_ANY }, {} };

/* On these perf runs a sequence of events on all counters. */
static bool is_nehalem_or_westmere(void)
{
	static const unsigned int models[] = {
		0x1a, 0x1e, 0x1f, 0x2e, 0x25, 0x2c, 0x2f,
	};
	unsigned int eax = 0, ebx, ecx, edx, model, i;

	__get_cpuid(1, &eax, &ebx, &ecx, &edx);
	model = (eax >> 4 & 0xf) | (eax >> 12 & 0xf0);
	for (i = 0; i < ARRAY_SIZE(models); i++)
		if ((eax >> 8 & 0xf) == 6 && model == models[i])
			return true;
	return false;
}

static bool can_lend(void)
{
	if (machine.kind == VPMC_KIND_AMD)
		return true;
	return machine.kind == VPMC_KIND_INTEL && machine.pmu_version >= 2 &&
	       !machine_is_zhaoxin() && !is_nehalem_or_westmere();
}

/* How many counters perf can lend, whoever has them now. */
static int nr_lendable(void)
{
	uint64_t all = machine.own_mask | machine.borrowed_mask |
		       machine.perf_mask;

	/* Fixed counters from the fourth one on stay perf's. */
	return can_lend() ? __builtin_popcountll(all & (7ULL << 32 | ~0U)) : 0;
}

/* Nobody has written to it since the kernel started. */
TEST(by_default)
{
	char text[64];

	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ(nr_lendable() > 1 ? "shared\n" : "all\n", text);
}

/* More counters than there are: that is no old text, and the kernel says nothing. */
TEST(too_many)
{
	const int err = can_lend() ? -EINVAL : -EOPNOTSUPP;
	int lines = times_in_log(TAKES);
	char text[64];

	ASSERT_EQ(0, choose_counters("all"));
	EXPECT_EQ(err, choose_counters("shared 9,9"));
	EXPECT_EQ(err, choose_counters("shared 33,0"));
	EXPECT_EQ(lines, times_in_log(TAKES));
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ("all\n", text);
}

FIXTURE(modes)
{
	struct set set;
	char before[64];
};

FIXTURE_SETUP(modes)
{
	ASSERT_EQ(0, chosen_counters(self->before, sizeof(self->before)));
	ASSERT_EQ(0, choose_counters("all"));
	self->set.page = MAP_FAILED;
	self->set.fd = vpmc_open();
	ASSERT_LE(0, self->set.fd);
}

FIXTURE_TEARDOWN(modes)
{
	set_close(&self->set);
	EXPECT_EQ(0, choose_counters(self->before));
}

/* Masks, "yield" and the like change no choice. The kernel says once what it takes. */
TEST_F(modes, old_texts)
{
	static const char * const choices[] = { "all", "shared", "shared 2,0" };
	static const char * const old[] = {
		"yield", "0xc,0x1", "3,1", "0x1,0", "0x3,0x0", "yields", "none",
	};
	/* Where one counter can be lent, or none, there is no other choice. */
	const int n = nr_lendable() > 1 ? ARRAY_SIZE(choices) : 1;
	char before[64], text[64];
	int i, j;

	for (i = 0; i < n; i++) {
		ASSERT_EQ(0, choose_counters(choices[i]));
		ASSERT_EQ(0, chosen_counters(before, sizeof(before)));
		EXPECT_EQ(0, strncmp(choices[i], before, strlen(choices[i])));
		for (j = 0; j < ARRAY_SIZE(old); j++) {
			EXPECT_EQ(-EINVAL, choose_counters(old[j]))
				TH_LOG("'%s'", old[j]);
			ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
			EXPECT_STREQ(before, text);
		}
	}
	EXPECT_EQ(1, times_in_log(TAKES));
	EXPECT_EQ(1, times_in_log("kernel.vpmc_counters takes"));
}

/*
 * Where perf cannot lend, "all" is the only choice. One counter is not shared by
 * default, because nothing would be left to perf.
 */
TEST_F(modes, shared_if_perf_can_lend)
{
	const int by_default = nr_lendable() > 1 ? 0 :
			       can_lend() ? -EINVAL : -EOPNOTSUPP;
	char text[64];

	EXPECT_EQ(can_lend() ? 0 : -EOPNOTSUPP, choose_counters("shared 1,0"));
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ(can_lend() ? "shared 1,0\n" : "all\n", text);
	ASSERT_EQ(0, choose_counters("all"));
	EXPECT_EQ(by_default, choose_counters("shared"));
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ(by_default ? "all\n" : "shared\n", text);
}

static void set_counts(struct __test_metadata *_metadata, struct set *set)
{
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 10000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(10000)));
}

/* While perf has an event, no set gets a counter. */
TEST_F(modes, perf_first)
{
	struct set *set = &self->set;
	int event = perf_open_insns();

	ASSERT_LE(0, event);
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	EXPECT_EQ(-EBUSY, set_program(set, one));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, set->control.reason);
	EXPECT_EQ(1, set->control.bad_counter);
	ASSERT_EQ(0, close(event));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
	ASSERT_EQ(0, set_program(set, one));
	set_counts(_metadata, set);
}

/* While a set has a counter, perf gets no event; also while the set is stopped. */
TEST_F(modes, set_first)
{
	struct set *set = &self->set;
	int event;

	ASSERT_EQ(0, set_program(set, one));
	EXPECT_EQ(VPMC_HOLDER_VPMC, pmu_holder(set->fd));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	EXPECT_EQ(-EBUSY, perf_open(PERF_TYPE_RAW, 0xc0, PERF_USER, -1));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	set_counts(_metadata, set);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
	event = perf_open_insns();
	EXPECT_LE(0, event);
	close(event);
}

/*
 * perf counts while sets are refused, and again on each CPU after the last set, at
 * once and a second later.
 */
TEST_F(modes, perf_counts_again)
{
	struct set *set = &self->set;
	int cpu, turn, event = perf_open_insns();

	ASSERT_LE(0, event);
	EXPECT_EQ(-EBUSY, set_program(set, one));
	EXPECT_EQ(0, perf_error(10000));
	ASSERT_EQ(0, close(event));
	set_close(set);
	for (turn = 0; turn < 4; turn++) {
		cpu = turn & 1;
		ASSERT_EQ(0, pin(cpu));
		EXPECT_EQ(0, perf_error(10000));
		ASSERT_EQ(0, set_open(set, one));
		set_counts(_metadata, set);
		EXPECT_EQ(-EBUSY, perf_open_insns());
		set_close(set);
		EXPECT_EQ(0, perf_error(10000));
		if (turn > 1)
			sleep(1);
		for (cpu = 0; cpu < 2; cpu++) {
			ASSERT_EQ(0, pin(cpu));
			EXPECT_EQ(0, perf_error(10000));
		}
	}
	set->page = MAP_FAILED;
	set->fd = vpmc_open();
	ASSERT_LE(0, set->fd);
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
}

/*
 * Counts until the test stops it: between the last turn's look at the state but one,
 * and the last. Its set must run in each turn before.
 */
static int run_until_stopped(struct runner *runner)
{
	struct set *set = &runner->set;
	struct vpmc_read read;
	uint64_t insns, m;

	set_measure(set, code_until, (long)&set->page->state,
		    (long)&runner->turns);
	if (runner->go)
		return 10;
	if (vpmc_read(set->fd, &read) || read.state != VPMC_STATE_STOPPED)
		return 11;
	m = runner->turns;
	insns = read.sum[0] - CODE_MEASURE_HEAD.insns;
	/* Before the jump back, after it, or after the increment. */
	if (insns >= 3 * m - 4 && insns <= 3 * m - 2)
		return 0;
	fprintf(stderr, "# %llu instructions in %llu turns\n",
		(unsigned long long)insns, (unsigned long long)m);
	return 12;
}

/* Writes that fail, or choose what is chosen, do not disturb a set that runs. */
TEST_F(modes, refused_meanwhile)
{
	struct runner runner = {
		.kind = RUNS, .cpu = 1, .choice = one, .body = run_until_stopped,
	};
	const int err = can_lend() ? -EINVAL : -EOPNOTSUPP;
	char text[64];
	int i;

	ASSERT_EQ(0, pin(0));
	ASSERT_EQ(0, runner_start(&runner));
	for (i = 0; i < test_times(1000); i++) {
		ASSERT_EQ(err, choose_counters("shared 9,9"));
		ASSERT_EQ(err, choose_counters("shared 0,0"));
		ASSERT_EQ(-EINVAL, choose_counters("yield"));
		ASSERT_EQ(-EINVAL, choose_counters("0x3,0x0"));
		ASSERT_EQ(0, choose_counters("all"));
	}
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ("all\n", text);
	runner_wait_turns(&runner, 1000);
	ASSERT_EQ(0, runner.wrong);
	EXPECT_EQ(VPMC_STATE_RUNNING, runner.set.page->state);
	runner.go = 0;
	ASSERT_EQ(0, vpmc_ioctl(runner.set.fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, runner_finish(&runner));
}

/* The administrator's choice takes effect although a set has counters. */
TEST_F(modes, chosen_meanwhile)
{
	struct set *set = &self->set;
	char text[64];

	ASSERT_EQ(0, set_program(set, one));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, choose_counters("shared 1,0"));
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ("shared 1,0\n", text);
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, perf_error(1000));
	ASSERT_EQ(0, set_program(set, one));
	ASSERT_EQ(0, choose_counters("all"));
	EXPECT_EQ(-ENODATA, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, set_program(set, one));
	set_counts(_metadata, set);
}

TEST(bad_input)
{
	static const char * const bad[] = {
		"\n", "0", "none", "0,0", "3,1", "0xc,0x1", "0xf,0x7", "0xc", ",1",
		"all,1", "all 1", "All", "yield", "shared,1,1", "shared1,1",
		"shared 1", "shared 0,0", "shared 5,0", "shared 1,4", "shared 9,9",
		"shared -1,0", "shared 0x1,0", "shared 1,1,1",
		"shared 4294967295,1", "shared 1,", "shared ,1",
		"shared 000000000000000000000000000000000000000000001,1",
		"all                                            and more",
		"shared 1,0                                           ,1",
	};
	char text[64];
	int i, fd;

	ASSERT_EQ(0, choose_counters("all"));
	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		EXPECT_EQ(-EINVAL, choose_counters(bad[i]))
			TH_LOG("'%s'", bad[i]);
		ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
		EXPECT_STREQ("all\n", text);
	}
	/* A second write has no place, also after a whole line. */
	fd = open(COUNTERS, O_WRONLY);
	ASSERT_LE(0, fd);
	EXPECT_EQ(4, write(fd, "all\n", 4));
	EXPECT_EQ(-1, write(fd, "all", 3));
	EXPECT_EQ(EINVAL, errno);
	close(fd);
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ("all\n", text);
	/* The choice that is in force stays so. */
	ASSERT_EQ(0, choose_counters(" shared 3,2\n"));
	EXPECT_EQ(-EINVAL, choose_counters("shared 5,0"));
	ASSERT_EQ(0, chosen_counters(text, sizeof(text)));
	EXPECT_STREQ("shared 3,2\n", text);
	ASSERT_EQ(0, choose_counters("all"));
}

/* The owner of the file, with these capabilities, and in a user namespace or not. */
static int choose_with(uint64_t caps, bool namespace)
{
	pid_t pid = fork();

	if (!pid) {
		if (set_capabilities(caps) ||
		    (namespace && unshare(CLONE_NEWUSER)))
			_exit(255);
		_exit(-choose_counters("shared 1,0"));
	}
	return child_status(pid);
}

TEST(not_privileged)
{
	EXPECT_EQ(EPERM, choose_with(0, false));
	EXPECT_EQ(EPERM, choose_with(~0ULL >> (63 - CAP_LAST_CAP), true));
	EXPECT_EQ(can_lend() ? 0 : EOPNOTSUPP,
		  choose_with(1ULL << CAP_PERFMON, false));
	EXPECT_EQ(0, choose_counters("all"));
}

/* All of them, whoever has them now. */
static bool has_four_and_three(void)
{
	return can_lend() &&
	       (machine.own_mask | machine.borrowed_mask | machine.perf_mask) ==
	       (7ULL << 32 | 0xf);
}

/*
 * perf writes 48 bits of Zhaoxin's counters, as these processors take them. The
 * emulator takes 32 bits there.
 */
static bool perf_is_exact(void)
{
	return !machine_is_zhaoxin();
}

static bool is_emulator(void)
{
	return emulator();
}

/*
 * Another machine's administrator may have chosen, and take_counters() does if it is
 * asked to.
 */
static bool nobody_has_chosen(void)
{
	char text[4096];

	putback_read("/proc/cmdline", text, sizeof(text));
	return emulator() && asked_to_disturb() != 1 && *text &&
	       !strstr(text, "kernel.vpmc_counters");
}

NEEDS(
	{ "global.by_default", VPMC,
	  "the emulator, booted without sysctl.kernel.vpmc_counters, and no VPMC_TEST_DISRUPTIVE=1",
	  NULL, nobody_has_chosen },
	{ "global.bad_input", VPMC | DISTURBS | ROOT,
	  "four programmable counters and three fixed ones, which perf can lend",
	  NULL, has_four_and_three },
	{ "modes.old_texts", COUNTER | DISTURBS | ROOT,
	  "the emulator, whose log has all of this boot", NULL, is_emulator },
	{ "modes.perf_counts_again", COUNTER | DISTURBS | ROOT | TWO_CPUS,
	  "another processor than the emulator's Zhaoxin", NULL, perf_is_exact },
	{ "modes.refused_meanwhile", TRUE_COUNTS | DISTURBS | ROOT | TWO_CPUS },
	{ "modes.chosen_meanwhile", COUNTER | DISTURBS | ROOT,
	  "a PMU that perf can lend", NULL, can_lend },
	{ "*", COUNTER | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
