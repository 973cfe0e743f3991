// SPDX-License-Identifier: GPL-2.0
/*
 * The tracepoints, for a kernel with CONFIG_ENABLE_DEFAULT_TRACERS or a tracer:
 * each event appears once, with the right values.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>

#include "overflow.h"

#define TRACING		"/sys/kernel/tracing/"

static const struct choice two[] = {
	{ EV_INSNS, FIXED(0) }, { EV_BRANCHES, 3 }, {}
};

FIXTURE(tracepoint) {
	char text[1 << 14];
};

FIXTURE_SETUP(tracepoint)
{
	int fd;

	/* Done by the first test. */
	if (access(TRACING "trace", F_OK))
		ASSERT_EQ(0, mount("tracefs", TRACING, "tracefs", 0, NULL));
	ASSERT_EQ(0, write_file(TRACING "events/vpmc/enable", "1"));
	/* That empties it; what is written does not. */
	fd = open(TRACING "trace", O_WRONLY | O_TRUNC);
	ASSERT_LE(0, fd);
	close(fd);
}

FIXTURE_TEARDOWN(tracepoint)
{
	EXPECT_EQ(0, write_file(TRACING "events/vpmc/enable", "0"));
}

/* How often the trace has a line with this event. */
static int times(char *text, size_t size, const char *event)
{
	int fd = open(TRACING "trace", O_RDONLY), n = 0;
	size_t used = 0;
	ssize_t got;
	char *at;

	while ((got = read(fd, text + used, size - 1 - used)) > 0)
		used += got;
	close(fd);
	text[used] = 0;
	for (at = text; (at = strstr(at, event)); at++)
		n++;
	return n;
}

static int traced(char *text, size_t size, const char *format, ...)
{
	char event[256];
	va_list args;

	va_start(args, format);
	vsnprintf(event, sizeof(event), format, args);
	va_end(args);
	return times(text, size, event);
}

#define TRACED(...)	traced(self->text, sizeof(self->text), __VA_ARGS__)

/* A life: attached, programmed, unlinked. */
TEST_F(tracepoint, life)
{
	struct set set;

	ASSERT_EQ(0, set_open(&set, two));
	EXPECT_EQ(1, TRACED("vpmc_attach: tid=%d\n", my_tid()));
	EXPECT_EQ(1, TRACED("vpmc_control: tid=%d nr_counters=2 mask=0x100000008 ",
			    my_tid()));
	EXPECT_EQ(1, TRACED(" flags=%#x\n", VPMC_CONTROL_STOPPED));
	EXPECT_EQ(0, TRACED("vpmc_refuse"));
	set_close(&set);
	EXPECT_EQ(1, TRACED("vpmc_detach: tid=%d state=%u\n", my_tid(),
			    VPMC_STATE_UNLINKED));
	EXPECT_EQ(1, TRACED("vpmc_control"));
}

TEST_F(tracepoint, exit)
{
	pid_t pid = fork();
	struct set set;

	if (!pid)
		_exit(set_open(&set, two) ? 1 : 0);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(1, TRACED("vpmc_attach: tid=%d\n", pid));
	EXPECT_EQ(1, TRACED("vpmc_detach: tid=%d state=%u\n", pid,
			    VPMC_STATE_EXITED));
}

TEST_F(tracepoint, refuse)
{
	/* Bit 21 is reserved. */
	static const struct choice bad[] = {
		{ EV_INSNS, FIXED(0) }, { EV_BRANCHES | 1 << 21, 0 }, {}
	};
	struct set set = { .fd = vpmc_open() };

	ASSERT_EQ(-EINVAL, set_program(&set, bad));
	EXPECT_EQ(1, TRACED("vpmc_refuse: counter=1 reason=%u err=%d\n",
			    VPMC_REASON_RESERVED_BIT, -EINVAL));
	EXPECT_EQ(0, TRACED("vpmc_control"));
}

/* Each overflow is traced, with the address at which it was. */
TEST_F(tracepoint, overflow)
{
	const uint64_t period = 20001;
	struct set set;
	int i;

	ASSERT_EQ(0, open_with_period(&set, period, 0));
	set.control.flags |= VPMC_CONTROL_REARM;
	ASSERT_EQ(0, set_control(&set));
	ASSERT_EQ(0, set_measure(&set, code_loop, 5 * period / 2, 0));
	EXPECT_EQ(5, TRACED("vpmc_overflow: "));
	for (i = 1; i <= 2; i++)
		EXPECT_EQ(i == 1 ? 3 : 2,
			  TRACED("vpmc_overflow: tid=%d mask=0x1 periods=1 ip=%#lx\n",
				 my_tid(), loop_ip(i * period)));
	set_close(&set);
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT, "CONFIG_FTRACE=y", "/sys/kernel/tracing" },
);

TEST_HARNESS_MAIN
