// SPDX-License-Identifier: GPL-2.0
/*
 * Yama's ptrace_scope: which processes may debug others of the same user, and
 * so control their counters.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <linux/capability.h>
#include "target.h"

#define USER	1000
#define SCOPE	"/proc/sys/kernel/yama/ptrace_scope"

FIXTURE(scope)
{
	struct target sibling;
};

FIXTURE_VARIANT(scope)
{
	const char *scope;
	int sibling, child;	/* what opening them to control fails with */
};

FIXTURE_VARIANT_ADD(scope, 0) {
	.scope = "0",
};

/* Descendants alone. */
FIXTURE_VARIANT_ADD(scope, 1) {
	.scope = "1", .sibling = -EACCES,
};

/* CAP_SYS_PTRACE alone. */
FIXTURE_VARIANT_ADD(scope, 2) {
	.scope = "2", .sibling = -EACCES, .child = -EACCES,
};

FIXTURE_SETUP(scope)
{
	self->sibling.uid = USER;
	ASSERT_EQ(0, write_file(SCOPE, variant->scope));
	ASSERT_EQ(0, target_start(&self->sibling));
}

FIXTURE_TEARDOWN(scope)
{
	EXPECT_EQ(0, target_end(&self->sibling));
	EXPECT_EQ(0, write_file(SCOPE, "1"));
}

/*
 * Returns true if open() with O_RDWR, O_WRONLY or O_CREAT gives @control, and
 * with O_RDONLY 0.
 */
static int opened(const struct target *t, int control)
{
	return target_open_error(t, O_RDWR) == control &&
	       target_open_error(t, O_WRONLY) == control &&
	       target_open_error(t, O_RDWR | O_CREAT) == control &&
	       target_open_error(t, O_RDONLY | O_CREAT) == control &&
	       target_open_error(t, O_RDONLY) == 0;
}

TEST_F(scope, open)
{
	struct target child = {};
	pid_t pid = fork();

	if (!pid) {
		if (become(USER) || target_start(&child))
			_exit(1);
		if (!opened(&self->sibling, variant->sibling))
			_exit(2);
		if (!opened(&child, variant->child))
			_exit(3);
		_exit(open_error(THREAD_FILE, O_RDWR | O_CREAT) ? 4 : 0);
	}
	EXPECT_EQ(0, child_status(pid));
	/* Root has the capability. */
	EXPECT_TRUE(opened(&self->sibling, 0));
}

NEEDS(
	{ "*", VPMC | DISTURBS | ROOT | TWO_CPUS, "CONFIG_SECURITY_YAMA=y", "/proc/sys/kernel/yama/ptrace_scope" },
);

TEST_HARNESS_MAIN
