// SPDX-License-Identifier: GPL-2.0
/*
 * usage: vanish CALL FIRST LAST COMMAND...
 *
 * Runs COMMAND. Its calls CALL from number FIRST to LAST fail. CALL is one of:
 *
 *   control, read-control, start	CONTROL, READ_CONTROL and START, as if the thread had ended
 *   revoked			START, as if the set was revoked
 *   created			START, which is executed: the shell executes $CREATE before
 *   programmed			CONTROL, which is executed: the shell executes $CREATE before
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/vpmc.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * From now on, the ioctl @request waits for an answer. Returns the descriptor by
 * which answer() gives it.
 */
static int intercept(unsigned int request)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, args[1])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, request, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};
	int fd;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		err(1, "no_new_privs");
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		     SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (fd < 0)
		err(1, "seccomp");
	return fd;
}

static const struct call {
	const char *name;
	unsigned int request;
	int error;
} calls[] = {
	{ "control", VPMC_IOC_CONTROL, -ESRCH },
	{ "read-control", VPMC_IOC_READ_CONTROL, -ESRCH },
	{ "start", VPMC_IOC_START, -ESRCH },
	{ "revoked", VPMC_IOC_START, -ENODATA },
	{ "created", VPMC_IOC_START, 0 },
	{ "programmed", VPMC_IOC_CONTROL, 0 },
};

static const struct call *find_call(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (!strcmp(name, calls[i].name))
			return &calls[i];
	errx(1, "%s: no such call", name);
}

/* Answers one call. @error: 0 lets it be executed. */
static void answer(int fd, int error)
{
	struct seccomp_notif call = {};
	struct seccomp_notif_resp response = {};

	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call))
		err(1, "SECCOMP_IOCTL_NOTIF_RECV");
	response.id = call.id;
	response.error = error;
	if (!error)
		response.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
	if (ioctl(fd, SECCOMP_IOCTL_NOTIF_SEND, &response))
		err(1, "SECCOMP_IOCTL_NOTIF_SEND");
}

int main(int argc, char **argv)
{
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	int first, last, nr = 0, status, is_one;
	const struct call *call;
	pid_t child;

	if (argc < 5)
		errx(1, "usage: vanish CALL FIRST LAST COMMAND...");
	first = atoi(argv[2]);
	last = atoi(argv[3]);
	call = find_call(argv[1]);
	fds[0].fd = intercept(call->request);
	child = fork();
	if (!child) {
		close(fds[0].fd);
		execvp(argv[4], argv + 4);
		err(127, "%s", argv[4]);
	}
	fds[1].fd = syscall(SYS_pidfd_open, child, 0);
	if (child < 0 || fds[1].fd < 0)
		err(1, "fork");
	while (poll(fds, 2, -1) > 0 && !fds[1].revents) {
		nr++;
		is_one = nr >= first && nr <= last;
		if (is_one && !call->error && system(getenv("CREATE")))
			errx(1, "CREATE failed");
		answer(fds[0].fd, is_one ? call->error : 0);
	}
	if (waitpid(child, &status, 0) != child)
		err(1, "waitpid");
	if (nr < last)
		errx(1, "%s has made %d calls only", argv[4], nr);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
