// SPDX-License-Identifier: GPL-2.0
/*
 * kernel.vpmc_counters is "yield": sets are paused while perf has an event, and
 * go on afterwards. Sums are exact all the time, and so is perf. What one set
 * shows and accepts meanwhile.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "pause.h"
#include "global.h"
#include "poller.h"

#define REVOKE_FILE	"/proc/sys/kernel/vpmc_revoke"

/* Before, during and after; stopped whenever perf comes or goes. */
TEST_F(pause, stopped)
{
	struct set *set = &self->set;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 100000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 12345));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 2000, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums(set, &read, code_add(measured(1000),
						     measured(2000))));
}

/* It runs all the time. What it does in between is counted, too. */
TEST_F(pause, running)
{
	struct set *set = &self->set;
	uint64_t generation, count[NR];
	struct vpmc_read read;

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	generation = set->page->generation;
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	EXPECT_NE(generation, set->page->generation);
	EXPECT_EQ(VPMC_STATE_PAUSED, state_of(set->fd));
	EXPECT_LT(0, set->page->slot[INSNS].base);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	generation = set->page->generation;
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(VPMC_STATE_RUNNING, set->page->state);
	EXPECT_EQ(VPMC_STATE_RUNNING, state_of(set->fd));
	EXPECT_NE(generation, set->page->generation);
	vpmc_read_n(set->page, NR, count, NULL);
	EXPECT_LT(read.sum[INSNS], count[INSNS]);
	EXPECT_EQ(0, set_clear(set));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* All requests that can be made meanwhile. */
TEST_F(pause, requests)
{
	struct set *set = &self->set;
	struct vpmc_control control;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_RESUME, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(VPMC_STATE_STOPPED, set->page->state);
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));

	/* A new set is refused, and nothing changes. */
	control = set->control;
	EXPECT_EQ(-EBUSY, vpmc_ioctl(set->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, control.reason);
	EXPECT_EQ(NR, control.bad_counter);
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(VPMC_STATE_PAUSED, read.state);
	EXPECT_EQ(0, read.sum[INSNS] | read.sum[BRANCHES] | read.ticks);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(VPMC_STATE_STOPPED, state_of(set->fd));
	ASSERT_EQ(0, set_measure(set, code_loop, 500, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(500)));

	/* perf keeps the PMU when the last set is gone. */
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(500)));
	set_close(set);
	EXPECT_EQ(-EBUSY, set_open(set, pair));
	EXPECT_EQ(VPMC_REASON_PMU_PERF, set->control.reason);
	ASSERT_EQ(0, close(self->perf));
	self->perf = -1;
	ASSERT_EQ(0, set_program(set, pair));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* The run time stands, too, when the thread leaves the CPU and comes back. */
TEST_F(pause, time_stands)
{
	const struct timespec ts = short_sleep(100000);
	struct set *set = &self->set;
	uint64_t switches, ticks;
	struct vpmc_read read;
	int i;

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	code_loop(1000, 0);
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	ticks = read.ticks;
	switches = read.switches;
	EXPECT_LT(CODE_LOOP(1000).insns, ticks);
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(0, nanosleep(&ts, NULL));
		EXPECT_EQ(ticks, vpmc_read_ticks(set->page));
		ASSERT_EQ(0, pin(i & 1));
	}
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(ticks, read.ticks);
	EXPECT_LE(switches + 10, read.switches);
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_LT(ticks, read.ticks);
	/* Far less than it would be with one error of the TSC's size. */
	EXPECT_GT(ticks + 1000000000ULL, read.ticks);
}

static void *poll_for_pause(void *arg)
{
	struct poller *poller = arg;
	struct pollfd p = { .fd = poller->fd, .events = POLLPRI };

	poller->tid = my_tid();
	poller->n = poll(&p, 1, -1);
	poller->revents = p.revents;
	return NULL;
}

TEST_F(pause, poll)
{
	struct set *set = &self->set;
	struct pollfd p = { .fd = set->fd, .events = POLLPRI };
	struct poller poller = { .fd = set->fd };

	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, pthread_create(&poller.thread, NULL, poll_for_pause,
				    &poller));
	while (!poller.tid || task_state(poller.tid) != 'S')
		usleep(100);
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(POLLPRI, end_poller(&poller));
	EXPECT_EQ(1, poll(&p, 1, 0));
	EXPECT_EQ(POLLPRI, p.revents);
	EXPECT_EQ(0, poll_now(set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	EXPECT_EQ(0, poll(&p, 1, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	EXPECT_EQ(0, poll(&p, 1, 0));
}

/* The administrator's word also ends paused sets. */
TEST_F(pause, revoked)
{
	struct set *set = &self->set;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, perf_begin(&self->perf));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "1"));
	EXPECT_EQ(VPMC_STATE_REVOKED, set->page->state);
	EXPECT_EQ(VPMC_STATE_REVOKED, state_of(set->fd));
	EXPECT_EQ(VPMC_HOLDER_REVOKED, pmu_holder(set->fd));
	EXPECT_EQ(read.sum[INSNS], set->page->slot[INSNS].base);
	EXPECT_EQ(0, wrong_while_paused(set, self->perf, 1000));
	ASSERT_EQ(0, write_file(REVOKE_FILE, "0"));
	EXPECT_EQ(VPMC_HOLDER_PERF, pmu_holder(set->fd));
	ASSERT_EQ(0, close(self->perf));
	self->perf = -1;
	usleep(100000);
	EXPECT_EQ(VPMC_STATE_REVOKED, state_of(set->fd));
	EXPECT_EQ(VPMC_HOLDER_NONE, pmu_holder(set->fd));
	ASSERT_EQ(0, set_program(set, pair));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* As many periods pass as the sums say. */
TEST_F(pause, periods)
{
	struct set *set = &self->set;
	struct vpmc_read read;
	int i;

	ASSERT_EQ(0, set_rate(INT_MAX));
	control_init(&set->control, VPMC_CONTROL_STOPPED | VPMC_CONTROL_REARM);
	control_add_period(&set->control, EV_INSNS, VPMC_ANY, 1000);
	ASSERT_EQ(0, set_control(set));
	for (i = 1; i <= 5; i++) {
		ASSERT_EQ(0, set_measure(set, code_loop, 9999, 0));
		ASSERT_EQ(0, perf_begin(&self->perf));
		ASSERT_EQ(0, set_measure(set, code_loop, 7777, 0));
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
		EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
		ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
		ASSERT_EQ(0, perf_end(&self->perf, set->fd));
		ASSERT_EQ(0, vpmc_read(set->fd, &read));
		EXPECT_EQ(i * measured(9999).insns, read.sum[0]);
		EXPECT_EQ(read.sum[0] / 1000, set->page->overflows);
	}
}

/* perf comes and goes. Every other piece of the loop is counted. */
TEST_F(pause, again_and_again)
{
	const int turns = test_times(1000);
	struct set *set = &self->set;
	struct code_count want = {};
	struct vpmc_read read;
	int i;

	for (i = 1; i <= turns; i++) {
		ASSERT_EQ(0, set_measure(set, code_loop, i, 0));
		want = code_add(want, measured(i));
		ASSERT_EQ(0, perf_begin(&self->perf));
		ASSERT_EQ(0, set_measure(set, code_loop, 2 * i, 0));
		ASSERT_EQ(0, wrong_while_paused(set, self->perf, i));
		ASSERT_EQ(0, perf_end(&self->perf, set->fd));
	}
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(0, wrong_sums(set, &read, want));
}

/* The watchdog is a user of perf. With "all" it would stay out. */
TEST_F(pause, by_the_watchdog)
{
	struct set *set = &self->set;
	struct vpmc_read read;

	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_START, 0));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/nmi_watchdog", "1"));
	EXPECT_EQ(VPMC_STATE_PAUSED, set->page->state);
	EXPECT_EQ(VPMC_HOLDER_WATCHDOG, pmu_holder(set->fd));
	ASSERT_EQ(0, vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, write_file("/proc/sys/kernel/nmi_watchdog", "0"));
	ASSERT_EQ(0, wait_for_pmu(set->fd));
	ASSERT_EQ(0, vpmc_read(set->fd, &read));
	EXPECT_EQ(VPMC_STATE_STOPPED, read.state);
	ASSERT_EQ(0, set_clear(set));
	ASSERT_EQ(0, set_measure(set, code_loop, 1000, 0));
	EXPECT_EQ(0, wrong_after(set, CODE_LOOP(1000)));
}

/* The administrator's choice: a word, and not while there are sets. */
TEST_F(pause, sysctl)
{
	static const char *const bad[] = {
		"yields", "yield 1", "yield,", "yield all", "Yield",
	};
	struct set *set = &self->set;
	char text[48];
	int i;

	ASSERT_EQ(0, kept_counters(text, sizeof(text)));
	EXPECT_STREQ("yield\n", text);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		EXPECT_EQ(-EINVAL, keep_counters(bad[i]));
	EXPECT_EQ(-EBUSY, keep_counters("all"));
	EXPECT_EQ(-EBUSY, keep_counters("yield"));
	/* Sets have the PMU although they are paused. */
	ASSERT_EQ(0, perf_begin(&self->perf));
	EXPECT_EQ(-EBUSY, keep_counters("all"));
	set_close(set);
	set->fd = -1;
	set->page = NULL;
	ASSERT_EQ(0, keep_counters("all"));
	ASSERT_EQ(0, close(self->perf));
	self->perf = -1;
	ASSERT_EQ(0, set_open(set, pair));
	EXPECT_EQ(-EBUSY, perf_open_insns());
}

/* The counters of CPUs are not paused. */
TEST_F(pause, counters_of_cpus)
{
	int fd;

	set_close(&self->set);
	self->set.fd = -1;
	self->set.page = NULL;
	fd = global_open();
	ASSERT_LE(0, fd);
	ASSERT_EQ(0, global_program(fd, VPMC_ALL_CPUS, pair));
	ASSERT_EQ(0, global_start(fd));
	EXPECT_EQ(-EBUSY, perf_open_insns());
	ASSERT_EQ(0, close(fd));
	EXPECT_EQ(0, perf_error(1000));
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS | FIFO },
);

TEST_HARNESS_MAIN
