// SPDX-License-Identifier: GPL-2.0
/*
 * A fork whose child inherits, disturbed at each of vpmc's instructions from
 * there to the end of the child: in the fork, in switches and in the child's
 * exit.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "sweep.h"
#include "members.h"
#include "target.h"

#define TURNS	20

/* The parent sleeps until the child has ended. */
#define CLONE	(CLONE_VFORK | SIGCHLD)

#define OWN		code_add(CODE_MEASURE, \
				 code_add(CODE_ARMED, CODE_CLONE))
/* Of one that never returns from clone(). */
#define OWN_KILLED	code_add(code_add(CODE_MEASURE_HEAD, \
					  CODE_ARMED_HEAD), CODE_CLONE_HEAD)

FIXTURE(inherit)
{
	struct sweep *s;
};

FIXTURE_SETUP(inherit)
{
	self->s = sweep_start_kernel();
	ASSERT_NE(NULL, self->s);
	self->s->set.control.flags |= PROCESSES;
	ASSERT_EQ(0, vpmc_ioctl(self->s->fd, VPMC_IOC_CONTROL,
				&self->s->set.control));
}

FIXTURE_TEARDOWN(inherit)
{
	EXPECT_EQ(0, sweep_stop(self->s));
}

static int fork_disturbed(struct sweep *s, unsigned long k)
{
	return sweep_body(s, &s->set, k, code_clone, CLONE, TURNS) <= 0 ||
	       wait(NULL) <= 0;
}

static int wrong_fork(void *arg, unsigned long k)
{
	struct sweep *s = arg;

	return pin(0) || vpmc_ioctl(s->fd, VPMC_IOC_CLEAR, NULL) ||
	       fork_disturbed(s, k) ||
	       family_wrong(s->fd, LIVING | FINISHED, 0, 1,
			    code_add(OWN, CODE_CLONE_CHILD(TURNS)));
}

TEST_F_TIMEOUT(inherit, fork, 120)
{
	for (self->s->what = INTERRUPT; self->s->what <= READ; self->s->what++)
		sweep_all(_metadata, self->s, sweep_step(), wrong_fork, self->s);
}

/* READ of the family: at any time no less than is known to be done. */
static int wrong_fork_read(void *arg, unsigned long k)
{
	struct sweep *s = arg;

	if (wrong_fork(arg, k))
		return 1;
	return s->disturbed && (s->read.living + s->read.finished > 1 ||
				s->read.sum[0] < OWN_KILLED.insns);
}

TEST_F(inherit, read_of_the_family)
{
	self->s->what = READ_FAMILY;
	sweep_all(_metadata, self->s, sweep_step(), wrong_fork_read, self->s);
}

static int nr_listed, nr_incomplete;

/*
 * The first member sleeps. A child that is listed has numbers of its own. A child whose
 * fork is not complete is listed by a later call.
 */
static int list_members(struct sweep *s)
{
	struct vpmc_read_members read = {};
	struct vpmc_member member[3];
	int err = members_read(s->fd, LIVING, member, 3, &read);

	if (err)
		return err;
	nr_listed += read.nr == 2;
	nr_incomplete += read.nr == 1 && read.born > read.after;
	if ((read.nr == 1 || read.nr == 2) && read.after == member[read.nr - 1].number &&
	    member[read.nr - 1].pid && member[read.nr - 1].pid != (uint32_t)getpid() &&
	    member[read.nr - 1].tid == member[read.nr - 1].pid)
		return 0;
	fprintf(stderr, "# %u members after %llu, the last one is %u, %u\n", read.nr,
		(unsigned long long)read.after, member[read.nr - 1].pid,
		member[read.nr - 1].tid);
	return -EILSEQ;
}

static int wrong_listed_fork(void *arg, unsigned long k)
{
	struct sweep *s = arg;

	return pin(0) || vpmc_ioctl(s->fd, VPMC_IOC_CLEAR_ALL, NULL) ||
	       sweep_body(s, &s->set, k, code_clone, CLONE, TURNS) <= 0 ||
	       wait(NULL) <= 0 ||
	       family_wrong(s->fd, LIVING | FINISHED, 1, 1,
			    code_add(OWN, CODE_CLONE_CHILD(TURNS)));
}

TEST_F(inherit, list_of_members)
{
	struct child first;

	self->s->set.control.members = 2;
	ASSERT_EQ(0, vpmc_ioctl(self->s->fd, VPMC_IOC_CONTROL,
				&self->s->set.control));
	if (!child_fork(&first))
		_exit(child_send(&first) || !child_wait(&first));
	ASSERT_EQ(0, child_wait(&first));
	self->s->what = CALL;
	self->s->call = list_members;
	/* Each instruction: few are between the set's birth and the fork's end. */
	sweep_all(_metadata, self->s, test_slowness(), wrong_listed_fork, self->s);
	TH_LOG("%d children listed, %d not complete", nr_listed, nr_incomplete);
	EXPECT_LT(0, nr_listed);
	EXPECT_LT(0, nr_incomplete);
	EXPECT_EQ(0, child_end(&first));
}

/* From the end of the fork, where others find the child, until it can run. */
static bool is_before_the_first_run(const char *name, bool before)
{
	return !strcmp(name, "kernel_clone") || !strcmp(name, "wake_up_new_task");
}

static pid_t next;
static unsigned long unlinked_unborn, unlinked_later;

/* The child has the number that follows the last child's, if it is there. */
static int unlink_child(struct sweep *s)
{
	int fd = open_of(next, O_RDWR), err;

	if (fd < 0)
		return 0;
	err = vpmc_ioctl(fd, VPMC_IOC_UNLINK, NULL);
	close(fd);
	return err;
}

static int wrong_unlinked_fork(void *arg, unsigned long k)
{
	struct code_count count = CODE_CLONE_CHILD(TURNS);
	struct sweep *s = arg;
	struct vpmc_member member[2];
	bool unlinked, wrong;
	pid_t pid;
	int n;

	/* No copy of the memory: CPU 1 would wait for CPU 0 when it writes. */
	sweep_body(s, &s->set, k, code_clone, CLONE | CLONE_VM, TURNS);
	pid = wait(NULL);
	n = members_list(s->fd, FINISHED, member, 2);
	unlinked = n == 1 && member[0].state == VPMC_MEMBER_LEFT_UNLINK;
	unlinked_unborn += unlinked && !member[0].sum[0];
	unlinked_later += unlinked && member[0].sum[0];
	wrong = n != 1 || member[0].pid != pid || member[0].tid != pid ||
		member[0].sum[0] > count.insns ||
		(!unlinked && (member[0].state != VPMC_MEMBER_ENDED ||
			       member[0].sum[0] != count.insns));
	if (wrong)
		fprintf(stderr, "# %d records of %d, the first one is %u, %u, state %u, %llu\n",
			n, pid, member[0].pid, member[0].tid, member[0].state,
			(unsigned long long)member[0].sum[0]);
	next = pid + 1;
	return wrong;
}

/* A member that others unlink has a record, also if it has never run. */
TEST_F(inherit, unlinked_before_it_ran)
{
	self->s->set.control.members = 2;
	ASSERT_EQ(0, vpmc_ioctl(self->s->fd, VPMC_IOC_CONTROL,
				&self->s->set.control));
	ASSERT_LT(0, sweep_ranges(is_before_the_first_run));
	self->s->what = CALL;
	self->s->call = unlink_child;
	/* Each instruction: few are before the first run. */
	sweep_all(_metadata, self->s, test_slowness(), wrong_unlinked_fork, self->s);
	TH_LOG("%lu children unlinked before they ran, %lu later", unlinked_unborn,
	       unlinked_later);
	EXPECT_LT(0, unlinked_unborn);
}

static int closer;
static unsigned long recorded, unborn;

static int close_family(struct sweep *s)
{
	return close(closer) ? -errno : 0;
}

/* The family ends with a descriptor. A child has a record if it was born before that. */
static int wrong_ended_fork(void *arg, unsigned long k)
{
	struct sweep *s = arg;
	struct vpmc_member member[2];
	struct vpmc_read read;
	pid_t pid;
	int n;

	set_close(&s->set);
	if (members_open(&s->set, PROCESSES, 2))
		return 1;
	s->fd = s->set.fd;
	s->set.control.flags |= VPMC_CONTROL_UNLINK_ON_CLOSE;
	closer = open(THREAD_FILE, O_RDWR);
	if (vpmc_ioctl(closer, VPMC_IOC_CONTROL, &s->set.control))
		return 1;
	/* The child has no copy of the descriptor. STOP finds the set unlinked. */
	sweep_body(s, &s->set, k, code_clone, CLONE | CLONE_FILES, TURNS);
	pid = wait(NULL);
	if (!s->disturbed)
		close(closer);
	n = members_list(s->fd, FINISHED, member, 2);
	recorded += n == 1;
	unborn += !n;
	if (!family_read(s->fd, LIVING | FINISHED, &read) && !read.living &&
	    read.finished == n && (!n || (n == 1 && member[0].pid == pid &&
					  member[0].tid == pid)))
		return 0;
	fprintf(stderr, "# %d records of %d, %llu finished, the first one is %u, %u\n", n,
		pid, (unsigned long long)read.finished, member[0].pid, member[0].tid);
	return 1;
}

TEST_F(inherit, end_of_the_family)
{
	self->s->what = CALL;
	self->s->call = close_family;
	self->s->ends = true;
	/* Each instruction, as above. */
	sweep_all(_metadata, self->s, test_slowness(), wrong_ended_fork, self->s);
	TH_LOG("%lu children recorded, %lu not born", recorded, unborn);
	EXPECT_LT(0, recorded);
	EXPECT_LT(0, unborn);
}

/* Nothing counts after a revocation, and nobody holds the PMU. */
static int wrong_revoked_fork(void *arg, unsigned long k)
{
	uint64_t most = OWN.insns + CODE_CLONE_CHILD(TURNS).insns;
	struct sweep *s = arg;
	struct vpmc_read read;
	uint32_t holder, after;
	int err;

	if (vpmc_ioctl(s->fd, VPMC_IOC_CONTROL, &s->set.control))
		return 1;
	/* STOP finds the set revoked. */
	sweep_body(s, &s->set, k, code_clone, CLONE, TURNS);
	if (wait(NULL) <= 0)
		return 1;
	if (!s->disturbed)
		return family_wrong(s->fd, LIVING | FINISHED, 0, 1,
				    code_add(OWN, CODE_CLONE_CHILD(TURNS)));
	holder = pmu_holder(s->fd);
	err = family_read(s->fd, LIVING | FINISHED, &read) ?:
	      write_file(REVOKE_FILE, "0");
	after = pmu_holder(s->fd);
	if (!err && read.state == VPMC_STATE_REVOKED && !read.living &&
	    read.finished <= 1 && read.lost <= read.finished &&
	    read.sum[0] <= most && holder == VPMC_HOLDER_REVOKED &&
	    after == VPMC_HOLDER_NONE)
		return 0;
	fprintf(stderr, "# error %d, state %u, %u living, %llu finished, %llu lost, %llu, held by %u, then %u\n",
		err, read.state, read.living,
		(unsigned long long)read.finished,
		(unsigned long long)read.lost,
		(unsigned long long)read.sum[0], holder, after);
	return 1;
}

/* The urgent thread's counters would go as well. */
TEST_F(inherit, revoke)
{
	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
	self->s->what = REVOKE;
	sweep_all(_metadata, self->s, sweep_step(), wrong_revoked_fork, self->s);
}

/* A process of its own, which is killed in its clone(). */
struct victim {
	struct sweep *s;
	volatile int fd;
	struct pmu_trigger at;	/* if it was not killed */
	unsigned long children;
	unsigned long none;
};

static int victim_main(struct victim *victim, unsigned long k)
{
	struct sweep *s = victim->s;
	struct code_armed armed = {
		.body = code_clone, .a = CLONE, .b = TURNS,
		.skip = k, .action = sweep_action(s),
	};
	unsigned long *status = armed.status;
	struct set set;

	if (members_open(&set, PROCESSES, 2))
		return 100;
	s->tid = my_tid();
	victim->fd = set.fd;
	code_measure(set.fd, VPMC_IOC_START, VPMC_IOC_STOP, code_armed,
		     (long)&armed, 0);
	victim->at = (struct pmu_trigger){ status[0], status[1], status[2],
					   status[3] };
	return 0;
}

static int wrong_killed_fork(void *arg, unsigned long k)
{
	struct victim *victim = arg;
	struct sweep *s = victim->s;
	struct vpmc_member member[2];
	struct code_count count;
	struct vpmc_read read;
	int status, wrong, tries = 0;
	pid_t pid;

	sweep_begin(s);
	pid = fork_with_files();
	if (!pid)
		_exit(victim_main(victim, k));
	status = child_status(pid);
	/* A victim that was not killed has disarmed the trigger itself. */
	sweep_end(s, status ? pmu_trigger_status() : victim->at);
	wrong = status != (s->disturbed ? KILLED_BY(SIGKILL) : 0);
	/* The child, if there is one, is as urgent as we are, and short. */
	do {
		usleep(10);
		wrong |= family_read(victim->fd, LIVING | FINISHED, &read);
	} while (read.living && !wrong && ++tries < 100);
	count = s->disturbed ? OWN_KILLED : OWN;
	if (read.finished) {
		victim->children++;
		count = code_add(count, CODE_CLONE_CHILD(TURNS));
	} else {
		victim->none++;
	}
	wrong |= family_wrong(victim->fd, LIVING | FINISHED, 0,
			      read.finished > 0, count);
	/* What never ran has no record. */
	wrong |= members_list(victim->fd, FINISHED, member, 2) != read.finished;
	wrong |= pmu_holder(victim->fd) != VPMC_HOLDER_NONE;
	close(victim->fd);
	return wrong;
}

/* Either there is a child, or it was undone, and nothing is left of it. */
TEST_F(inherit, kill)
{
	struct victim *victim = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(MAP_FAILED, victim);
	ASSERT_EQ(0, stop_urgent(&self->s->urgent));
	set_close(&self->s->set);
	self->s->set.fd = 0;
	victim->s = self->s;
	self->s->what = KILL;
	sweep_all(_metadata, self->s, sweep_step(), wrong_killed_fork, victim);
	TH_LOG("%lu children, %lu forks undone", victim->children, victim->none);
	EXPECT_LT((victim->children + victim->none) / 5, victim->children);
	EXPECT_LT((victim->children + victim->none) / 5, victim->none);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

TEST_HARNESS_MAIN
