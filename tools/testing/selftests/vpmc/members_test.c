// SPDX-License-Identifier: GPL-2.0
/*
 * READ_MEMBERS: what each member of a family counted, of those that live and of those
 * that have left.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "heirs.h"

#define SEVERAL	3

/* In the order in which they ended, each with its own counts. */
TEST_F(members, ended)
{
	struct vpmc_member *m = self->member;
	uint64_t insns = 0, ticks = 0;
	struct child c[SEVERAL];
	struct vpmc_read sums;
	int i;

	for (i = 0; i < SEVERAL; i++)
		ASSERT_EQ(0, heir_start(&c[i], i, TURNS * (i + 1)));
	EXPECT_EQ(0, list(self, FINISHED));
	for (i = SEVERAL; i--;)
		ASSERT_EQ(0, heir_end(&c[i]));
	ASSERT_EQ(0, family_read(self->fd, FINISHED, &sums));
	ASSERT_EQ(SEVERAL, list(self, FINISHED));
	for (i = 0; i < SEVERAL; i++, m++) {
		int n = SEVERAL - 1 - i;

		EXPECT_EQ(n + 1, m->number);
		EXPECT_EQ(0, member_wrong(m, c[n].pid, name_of(n),
					  VPMC_MEMBER_ENDED,
					  measured(TURNS * (n + 1))));
		EXPECT_EQ(c[n].pid, m->tid);
		EXPECT_EQ(0, m->flags);
		EXPECT_LT(0, m->ticks);
		EXPECT_EQ(!sums.ns, !m->ns);
		EXPECT_LE(m->migrations, m->switches);
		insns += m->sum[0];
		ticks += m->ticks;
	}
	EXPECT_EQ(sums.sum[0], insns);
	EXPECT_EQ(sums.ticks, ticks);
	/* They were taken out. */
	EXPECT_EQ(0, list(self, FINISHED));
	EXPECT_EQ(0x5a5a5a5a, self->member[0].pid);
}

struct counting {
	pthread_t thread;
	pid_t tid;
	int err;
};

static void *counting_thread(void *arg)
{
	struct counting *c = arg;
	struct set set;

	c->tid = my_tid();
	c->err = prctl(PR_SET_NAME, "counting") || heir_open(&set) ||
		 set_measure(&set, code_loop, TURNS, 0);
	return NULL;
}

TEST_F(members, threads)
{
	struct counting c[2];
	int i;

	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_create(&c[i].thread, NULL, counting_thread,
					    &c[i]));
		ASSERT_EQ(0, pthread_join(c[i].thread, NULL));
		EXPECT_EQ(0, c[i].err);
		/* pthread_join() does not wait for the exit's last steps. */
		while (members_list(self->fd, FINISHED, &self->member[i], 1) < 1)
			usleep(100);
		EXPECT_EQ(c[i].tid, self->member[i].tid);
		EXPECT_EQ(0, member_wrong(&self->member[i], getpid(), "counting",
					  VPMC_MEMBER_ENDED, measured(TURNS)));
	}
}

/* Without room none is written, and none that is there is overwritten. */
TEST_F(members, missed)
{
	struct vpmc_read_members read = {};
	struct vpmc_member *m = self->member;
	int i, round;

	ASSERT_EQ(0, open_again(self, PROCESSES, SEVERAL));
	for (round = 0; round < 3; round++) {
		ASSERT_EQ(0, some_end(SEVERAL + 2, TURNS));
		ASSERT_EQ(0, members_read(self->fd, FINISHED, m, 2 * MANY, &read));
		ASSERT_EQ(SEVERAL, read.nr);
		EXPECT_EQ(2 * (round + 1), read.missed);
		EXPECT_EQ((SEVERAL + 2) * (round + 1), read.born);
		EXPECT_EQ(counters_here(2), read.nr_counters);
		for (i = 0; i < SEVERAL; i++) {
			EXPECT_EQ((SEVERAL + 2) * round + i + 1, m[i].number);
			EXPECT_EQ(0, strcmp(name_of(i), m[i].comm));
		}
	}
	/* In pieces, around the end of the ring. */
	ASSERT_EQ(0, some_end(2, TURNS));
	ASSERT_EQ(1, members_list(self->fd, FINISHED, m, 1));
	EXPECT_EQ(16, m->number);
	ASSERT_EQ(0, some_end(2, TURNS));
	ASSERT_EQ(SEVERAL, list(self, FINISHED));
	for (i = 0; i < SEVERAL; i++)
		EXPECT_EQ(17 + i, m[i].number);
	/* Unless CONTROL asks anew. */
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->root.control));
	ASSERT_EQ(0, members_read(self->fd, FINISHED, m, 1, &read));
	EXPECT_EQ(0, read.nr + read.missed + read.born);
}

/* At half of the room, rounded up. */
TEST_F(members, poll)
{
	struct poller poller;
	struct child c = {};

	ASSERT_EQ(0, open_again(self, PROCESSES, 5));
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, some_end(2, TURNS));
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, heir_start(&c, 2, TURNS));
	ASSERT_EQ(0, start_poller(&poller, self->fd));
	ASSERT_EQ(0, heir_end(&c));
	EXPECT_EQ(POLLIN, end_poller(&poller));
	EXPECT_EQ(POLLIN, poll_now(self->fd));
	ASSERT_EQ(1, members_list(self->fd, FINISHED, self->member, 1));
	EXPECT_EQ(0, poll_now(self->fd));
	/* Those who live are not reported. */
	ASSERT_EQ(0, heir_start(&c, 3, TURNS));
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, heir_end(&c));
	EXPECT_EQ(POLLIN, poll_now(self->fd));
	/* Once the root has ended, any record. */
	ASSERT_EQ(2, members_list(self->fd, FINISHED, self->member, 2));
	EXPECT_EQ(0, poll_now(self->fd));
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(POLLIN | POLLHUP, poll_now(self->fd));
	ASSERT_EQ(1, list(self, FINISHED));
	EXPECT_EQ(POLLHUP, poll_now(self->fd));
}

/* A member that leaves by CONTROL wakes, too. */
TEST_F(members, poll_of_one_that_controls)
{
	struct poller poller;
	struct child c = {};
	struct set set;

	ASSERT_EQ(0, open_again(self, PROCESSES, 1));
	if (!child_fork(&c)) {
		if (child_wait(&c) || heir_open(&set) || heir_controls(&set) ||
		    child_send(&c))
			_exit(1);
		_exit(child_wait(&c) ? 0 : 2);
	}
	ASSERT_EQ(0, start_poller(&poller, self->fd));
	ASSERT_EQ(0, child_send(&c));
	EXPECT_EQ(POLLIN, end_poller(&poller));
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, child_end(&c));
	EXPECT_EQ(1, list(self, FINISHED));
}

/* In the order of their births, and from any of them on. */
TEST_F(members, living)
{
	struct vpmc_read_members read = {};
	struct vpmc_member *m = self->member;
	struct child c[MANY];
	int i;

	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, heir_start(&c[i], i, TURNS + 10 * i));
	ASSERT_EQ(0, members_read(self->fd, LIVING, m, 2 * MANY, &read));
	ASSERT_EQ(MANY, read.nr);
	EXPECT_EQ(MANY, read.after);
	EXPECT_EQ(MANY, read.born);
	for (i = 0; i < MANY; i++) {
		EXPECT_EQ(i + 1, m[i].number);
		EXPECT_EQ(c[i].pid, m[i].tid);
		EXPECT_EQ(0, member_wrong(&m[i], c[i].pid, name_of(i),
					  VPMC_MEMBER_LIVING,
					  measured(TURNS + 10 * i)));
	}
	ASSERT_EQ(0, members_read(self->fd, LIVING, m, 1, &read));
	EXPECT_EQ(0, read.nr);
	EXPECT_EQ(MANY, read.after);
	/* One after the other, and those that have ended are left out. */
	ASSERT_EQ(0, heir_end(&c[1]));
	for (read.after = 0, i = 0; i < 3; i++) {
		ASSERT_EQ(0, members_read(self->fd, LIVING, m, 1, &read));
		ASSERT_EQ(1, read.nr);
		EXPECT_EQ(m->number, read.after);
		EXPECT_EQ(i ? i + 2 : 1, m->number);
	}
	for (i = 0; i < MANY; i++)
		if (i != 1)
			ASSERT_EQ(0, heir_end(&c[i]));
	EXPECT_EQ(0, list(self, LIVING));
	EXPECT_EQ(MANY, list(self, FINISHED));
}

/* One that runs on the other CPU: its counts grow. */
TEST_F(members, running)
{
	struct vpmc_member m[2];
	pid_t pid;
	int i;

	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_START, 0));
	pid = fork();
	if (!pid) {
		pin(1);
		for (;;)
			code_loop(1000, 0);
	}
	for (i = 0; i < 10; i++) {
		ASSERT_EQ(1, members_list(self->fd, LIVING, &m[i & 1], 1));
		EXPECT_EQ(pid, m[i & 1].pid);
		if (i)
			EXPECT_LT(m[~i & 1].ticks, m[i & 1].ticks);
		usleep(5000);
	}
	EXPECT_LE(counters_here(1000), m[1].sum[0]);
	kill(pid, SIGKILL);
	EXPECT_EQ(KILLED_BY(SIGKILL), child_status(pid));
}

static int refusal(FIXTURE_DATA(members) *self, unsigned int flags,
		   unsigned int members, int *err)
{
	self->root.control.flags = VPMC_CONTROL_STOPPED | flags;
	self->root.control.members = members;
	*err = vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &self->root.control);
	return self->root.control.reason;
}

TEST_F(members, control)
{
	struct vpmc_control control;
	struct set heir;
	pid_t pid;
	int err;

	ASSERT_EQ(0, vpmc_read_control(self->fd, &control));
	EXPECT_EQ(2 * MANY, control.members);
	EXPECT_EQ(VPMC_REASON_MEMBERS, refusal(self, 0, 1, &err));
	EXPECT_EQ(-EINVAL, err);
	EXPECT_EQ(VPMC_REASON_MEMBERS,
		  refusal(self, PROCESSES, VPMC_MAX_MEMBERS + 1, &err));
	EXPECT_EQ(-EINVAL, err);
	EXPECT_EQ(VPMC_REASON_MEMBERS, refusal(self, THREADS, ~0U, &err));
	EXPECT_EQ(-EINVAL, err);
	/* Nothing has changed. */
	ASSERT_EQ(0, vpmc_read_control(self->fd, &control));
	EXPECT_EQ(2 * MANY, control.members);
	EXPECT_EQ(THREADS | PROCESSES, control.flags);
	control_init(&control, VPMC_CONTROL_ADD);
	control.members = 1;
	EXPECT_EQ(-EINVAL, vpmc_ioctl(self->fd, VPMC_IOC_CONTROL, &control));
	EXPECT_EQ(VPMC_REASON_NONE, refusal(self, THREADS, VPMC_MAX_MEMBERS, &err));
	EXPECT_EQ(0, err);
	EXPECT_EQ(VPMC_REASON_NONE, refusal(self, PROCESSES, 1, &err));
	EXPECT_EQ(0, err);
	/* Who has inherited the set has no records. */
	pid = fork();
	if (!pid)
		_exit(heir_open(&heir) || heir.control.members ||
		      members_list(heir.fd, LIVING, self->member, 1) != -ENODATA);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_EQ(VPMC_REASON_NONE, refusal(self, PROCESSES, 0, &err));
	ASSERT_EQ(0, vpmc_read_control(self->fd, &control));
	EXPECT_EQ(0, control.members);
}

/* Asks with one field changed. */
#define READ_WITH(fd_, field, value) ({					\
	struct vpmc_read_members _read = {				\
		.size = sizeof(_read), .flags = LIVING, .nr = 2,	\
		.member_size = sizeof(struct vpmc_member),		\
		.members = (uintptr_t)self->member,			\
	};								\
									\
	_read.field = value;						\
	vpmc_ioctl(fd_, VPMC_IOC_READ_MEMBERS, &_read);			\
})

TEST_F(members, errors)
{
	const unsigned int enough = VPMC_MEMBER_MIN_SIZE + 8 * counters_here(2);
	int ro = open(THREAD_FILE, O_RDONLY), fd = self->fd;
	struct vpmc_read_members read = {};
	struct child c = {};

	EXPECT_EQ(0, READ_WITH(fd, nr, 1));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, nr, 0));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, flags, 0));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, flags, LIVING | FINISHED));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, flags, 1U << 31));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, reserved, 1));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, member_size, VPMC_MEMBER_MIN_SIZE - 1));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, member_size, PAGE + 1));
	EXPECT_EQ(0, READ_WITH(fd, member_size, PAGE));
	EXPECT_EQ(0, READ_WITH(fd, member_size, enough));
	if (counters_here(1))
		EXPECT_EQ(-ENOSPC, READ_WITH(fd, member_size, enough - 1));
	EXPECT_EQ(-EINVAL, READ_WITH(fd, size, VPMC_READ_MEMBERS_MIN_SIZE - 1));
	EXPECT_EQ(0, READ_WITH(ro, nr, 1));
	EXPECT_EQ(-EBADF, READ_WITH(ro, flags, FINISHED));
	close(ro);
	/* What cannot be returned is not taken out. */
	ASSERT_EQ(0, some_end(2, TURNS));
	ASSERT_EQ(0, heir_start(&c, 2, TURNS));
	EXPECT_EQ(-EFAULT, READ_WITH(fd, members, 0));
	EXPECT_EQ(-EFAULT, members_read(fd, FINISHED, NULL, 2, &read));
	EXPECT_EQ(2, list(self, FINISHED));
	EXPECT_EQ(0, heir_end(&c));
	/* No root, and no set. */
	ASSERT_EQ(0, open_again(self, 0, 0));
	EXPECT_EQ(-ENODATA, READ_WITH(self->fd, nr, 1));
	ASSERT_EQ(0, open_again(self, PROCESSES, 0));
	EXPECT_EQ(-ENODATA, READ_WITH(self->fd, nr, 1));
	set_close(&self->root);
	self->root.fd = vpmc_open();
	self->root.page = MAP_FAILED;
	EXPECT_EQ(-ENODATA, READ_WITH(self->root.fd, nr, 1));
}

/* A fault in the second page: what was copied before is returned, and nothing else. */
TEST_F(members, fault)
{
	struct vpmc_read_members read = {};
	char *room = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int n;

	ASSERT_NE(MAP_FAILED, room);
	ASSERT_EQ(0, munmap(room + PAGE, 2 * PAGE));
	ASSERT_EQ(0, some_end(MANY, 10));
	ASSERT_EQ(0, members_read(self->fd, FINISHED, (void *)room, MANY, &read));
	n = read.nr;
	EXPECT_LT(0, n);
	EXPECT_GE(PAGE / sizeof(struct vpmc_member), n);
	ASSERT_EQ(MANY - n, list(self, FINISHED));
	EXPECT_EQ(n + 1, self->member[0].number);
}

static int control_as_user(const struct vpmc_control *control, size_t locked,
			   unsigned int times)
{
	const struct rlimit limit = { locked, locked };
	struct vpmc_control copy;
	pid_t pid = fork();
	int err = 0, fd;

	if (pid)
		return child_status(pid);
	if (setrlimit(RLIMIT_MEMLOCK, &limit) || setgid(USER) || setuid(USER))
		_exit(255);
	while (times-- && !err) {
		copy = *control;
		fd = vpmc_open();
		err = vpmc_ioctl(fd, VPMC_IOC_CONTROL, &copy);
		if (!err)
			err = vpmc_ioctl(fd, VPMC_IOC_UNLINK, 0);
		close(fd);
	}
	_exit(err ? copy.reason : 0);
}

/* As long as the family is there, its creator pays for the memory. */
TEST_F(members, locked_memory)
{
	const size_t record = VPMC_MEMBER_MIN_SIZE + 8 * counters_here(2);
	struct vpmc_control control = self->root.control;
	size_t size;

	control.members = 1000;
	size = (1000 * record + PAGE - 1) / PAGE * PAGE;
	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	EXPECT_EQ(0, control_as_user(&control, size, 100));
	EXPECT_EQ(VPMC_REASON_RING_MEMORY,
		  control_as_user(&control, size - 1, 1));
}

static volatile int drained;

struct drainer {
	pthread_t thread;
	int fd;
	struct vpmc_member member[2 * MANY];
	int nr;
};

static void *drain(void *arg)
{
	struct drainer *d = arg;
	struct vpmc_read_members read = {};

	while (drained < 2 * MANY && d->nr < 2 * MANY) {
		if (members_read(d->fd, FINISHED, &d->member[d->nr], 1, &read))
			break;
		d->nr += read.nr;
		__atomic_add_fetch(&drained, read.nr, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/* Several who read at once get each record once, while others are written. */
TEST_F(members, many_read)
{
	struct drainer d[2] = {};
	bool seen[2 * MANY + 1] = {};
	int i, n, twice = 0;

	ASSERT_EQ(0, open_again(self, PROCESSES, 2 * MANY));
	drained = 0;
	for (i = 0; i < 2; i++) {
		d[i].fd = self->fd;
		ASSERT_EQ(0, pthread_create(&d[i].thread, NULL, drain, &d[i]));
	}
	ASSERT_EQ(0, some_end(2 * MANY, 10));
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, pthread_join(d[i].thread, NULL));
		for (n = 0; n < d[i].nr; n++) {
			ASSERT_GE(2 * MANY, d[i].member[n].number);
			twice += seen[d[i].member[n].number];
			seen[d[i].member[n].number] = true;
		}
	}
	EXPECT_EQ(2 * MANY, drained);
	EXPECT_EQ(0, twice);
}

/* Who may not read kernel counts does not get them by way of members. */
TEST_F(members, kernel_counts)
{
	static const struct choice kernel[] = { { EV_KERNEL_INSNS, VPMC_ANY }, {} };
	struct child c = {};

	ASSERT_EQ(0, vpmc_ioctl(self->fd, VPMC_IOC_UNLINK, 0));
	if (!child_fork(&c)) {
		int fd;

		if (setgid(USER) || setuid(USER) || prctl(PR_SET_DUMPABLE, 1))
			_exit(1);
		fd = vpmc_open();
		if (child_send(&c) || child_wait(&c) ||
		    members_list(fd, LIVING, self->member, 1) != -EACCES ||
		    members_list(fd, FINISHED, self->member, 1) != -EACCES ||
		    child_send(&c))
			_exit(2);
		_exit(child_wait(&c) ? 0 : 3);
	}
	ASSERT_EQ(0, child_wait(&c));
	self->root.fd = open_of(c.pid, O_RDWR);
	ASSERT_LE(0, self->root.fd);
	control_of(&self->root.control, kernel, VPMC_CONTROL_STOPPED | PROCESSES);
	self->root.control.members = 1;
	ASSERT_EQ(0, vpmc_ioctl(self->root.fd, VPMC_IOC_CONTROL,
				&self->root.control));
	EXPECT_EQ(0, members_list(self->root.fd, LIVING, self->member, 1));
	ASSERT_EQ(0, child_send(&c));
	ASSERT_EQ(0, child_wait(&c));
	EXPECT_EQ(0, child_end(&c));
}

NEEDS(
	{ "members.locked_memory", COUNTER | DISTURBS | ROOT },
	{ "members.kernel_counts", COUNTER | DISTURBS | ROOT },
	{ "members.running", PMU | OR_EMPTY | TWO_CPUS },
	{ "*", PMU | OR_EMPTY },
);

TEST_HARNESS_MAIN
