// SPDX-License-Identifier: GPL-2.0
/*
 * Runs COMMAND as a child process.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/limits.h"
#include "common/signals.h"
#include "stat/child.h"
#include "stat/members.h"

/*
 * Result of the child's vpmc_program(), in memory that parent and child share.
 */
struct answer {
	int result;
	struct vpmc_error error;
	/*
	 * its pointers are valid in both processes, because fork() copies the
	 * memory
	 */
	struct vpmc_event event[];
};

static void send_descriptor(int channel, int fd)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	char byte = 0;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};

	control.header.cmsg_len = CMSG_LEN(sizeof(int));
	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	(void)!sendmsg(channel, &message, MSG_NOSIGNAL);
}

/* Returns -1 if the child has sent no descriptor. */
static int receive_descriptor(int channel)
{
	union {
		struct cmsghdr header;
		char space[CMSG_SPACE(sizeof(int))];
	} control = {};
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &data, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	int fd;

	if (recvmsg(channel, &message, MSG_CMSG_CLOEXEC) <= 0 ||
	    control.header.cmsg_type != SCM_RIGHTS)
		return -1;
	memcpy(&fd, CMSG_DATA(&control.header), sizeof(fd));
	return fd;
}

/*
 * Lets the kernel choose the counter of the event that was refused. If there is none for
 * it, or if the set as a whole was refused, it chooses all. Returns false if that was
 * tried, or if another counter is no help.
 */
static bool move_refused(struct group *group, const struct vpmc_error *error)
{
	unsigned int moved = 0, i;
	int bad = error->event;

	for (i = 0; i < group->nr; i++)
		moved += group->events[i].index == VPMC_ANY;
	if (!group->may_move || moved == group->nr ||
	    (error->reason != VPMC_REASON_LEFT_TO_PERF &&
	     error->reason != VPMC_REASON_PMU_PERF && !moved))
		return false;
	if (bad >= 0 && group->events[bad].index != VPMC_ANY) {
		group->events[bad].index = VPMC_ANY;
		return true;
	}
	for (i = 0; i < group->nr; i++)
		group->events[i].index = VPMC_ANY;
	return true;
}

static int program(struct vpmc *v, struct group *group, unsigned int flags,
		   struct vpmc_error *error)
{
	int err;

	do {
		err = vpmc_program(v, group->events, group->nr, flags, error);
	} while (err < 0 && move_refused(group, error));
	return err < 0 || !group->each ? err : members_keep(v, error);
}

/* Runs in the child from fork() to execve(). */
__attribute__((__noreturn__))
static void be_child(int channel, char **command, struct group *group,
		     unsigned int flags, struct answer *answer)
{
	struct vpmc *v;
	int error;
	char byte;

	if (group) {
		answer->result = vpmc_open(&v, 0, &answer->error);
		if (!answer->result)
			answer->result = program(v, group, flags,
						 &answer->error);
		if (answer->result < 0)
			_exit(STATUS_OURS);
		memcpy(answer->event, group->events,
		       group->nr * sizeof(*group->events));
		send_descriptor(channel, vpmc_fd(v));
	}
	if (read(channel, &byte, 1) != 1)
		_exit(STATUS_OURS);	/* the parent has given up */
	signals_as_before();
	limits_as_before();
	execvp(command[0], command);
	error = errno;
	(void)!send(channel, &error, sizeof(error), MSG_NOSIGNAL);
	_exit(STATUS_OURS);
}

/* Takes over the descriptor of the child's counters. */
static void take_counters(struct child *child, struct group *group,
			  const struct answer *answer)
{
	struct vpmc_error error;
	int fd = receive_descriptor(child->channel);

	if (fd < 0 && answer->result < 0)
		plan_refused(group, &answer->error);
	if (fd < 0)
		fail(STATUS_OURS, "counters: the child has not handed them over; raise the limit of open files");
	if (vpmc_open_fd(&child->v, fd, &error))
		fail_error(&error);
	close(fd);
	if (group->nr)
		memcpy(group->events, answer->event,
		       group->nr * sizeof(*group->events));
}

struct vpmc *child_family(struct group *group, unsigned int flags,
			  bool may_be_counted)
{
	struct vpmc_error error;
	struct vpmc *v;
	int err;

	if (vpmc_open(&v, 0, &error))
		fail_error(&error);
	err = program(v, group, flags, &error);
	if (err == -EEXIST && may_be_counted) {
		vpmc_close(v);
		return NULL;
	}
	if (err < 0)
		plan_refused(group, &error);
	return v;
}

void child_start(struct child *child, char **command, struct group *group,
		 unsigned int flags)
{
	size_t size = sizeof(struct answer) +
		      (group ? group->nr : 0) * sizeof(struct vpmc_event);
	struct answer *answer = mmap(NULL, size, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int ends[2];

	if (answer == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		fail(STATUS_OURS, "%s: cannot be started: %s; end other programs",
		     command[0], strerror(errno));
	*child = (struct child){ .channel = ends[0], .pid = fork() };
	if (child->pid < 0)
		fail(STATUS_OURS, "%s: cannot be started: %s; end other programs",
		     command[0], strerror(errno));
	if (!child->pid) {
		close(ends[0]);
		be_child(ends[1], command, group, flags, answer);
	}
	close(ends[1]);
	if (group)
		take_counters(child, group, answer);
	munmap(answer, size);
}

__attribute__((__noreturn__))
static void cannot_run(const char *command, int error)
{
	struct stat file;

	if (error == ENOENT && strchr(command, '/') && !stat(command, &file))
		fail(STATUS_NOT_FOUND, "%s: the program that its first line or its header names is not there; install that",
		     command);
	if (error == ENOENT)
		fail(STATUS_NOT_FOUND, "%s: no such command; name one that is in PATH, or give its path",
		     command);
	if (error == EACCES && !stat(command, &file) && S_ISDIR(file.st_mode))
		fail(STATUS_NOT_EXECUTABLE, "%s: is a directory; name a program in it",
		     command);
	fail(STATUS_NOT_EXECUTABLE, "%s: cannot be executed: %s; name a program",
	     command, strerror(error));
}

void child_exec(struct child *child, char **command)
{
	int error = 0;

	(void)!send(child->channel, "", 1, MSG_NOSIGNAL);
	/*
	 * A successful execve() closes the child's end, and recv() returns 0.
	 */
	if (recv(child->channel, &error, sizeof(error), 0) == sizeof(error))
		cannot_run(command[0], error);
	close(child->channel);
}

void child_lives_on(pid_t pid)
{
	note("--timeout: COMMAND does not end by SIGTERM, and is counted on; kill -9 %d ends it",
	     pid);
}
