// SPDX-License-Identifier: GPL-2.0
/*
 * usage: confined [-s] [-n] [-l BYTES] [-u] COMMAND...
 *
 * Runs COMMAND confined: -s refuses perf_event_open() with seccomp, -n makes a new
 * user namespace, -l limits the memory that users may lock, -u changes to nobody.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOBODY	65534

static void refuse_perf(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {
		.len = sizeof(code) / sizeof(code[0]), .filter = code,
	};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		err(1, "seccomp");
	/* check that the filter works */
	if (syscall(SYS_perf_event_open, NULL, 0, -1, -1, 0) != -1 ||
	    errno != EPERM)
		errx(1, "perf_event_open() is not refused");
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	int option;

	while ((option = getopt(argc, argv, "+snl:u")) != -1)
		switch (option) {
		case 's':
			refuse_perf();
			break;
		case 'n':
			if (unshare(CLONE_NEWUSER))
				err(1, "unshare");
			break;
		case 'l':
			limit.rlim_cur = limit.rlim_max = atol(optarg);
			if (setrlimit(RLIMIT_MEMLOCK, &limit))
				err(1, "setrlimit");
			break;
		case 'u':
			if (setgid(NOBODY) || setuid(NOBODY))
				err(1, "setuid");
			break;
		default:
			errx(1, "usage: confined [-s] [-n] [-l BYTES] [-u] COMMAND...");
		}
	execvp(argv[optind], argv + optind);
	err(1, "%s", argv[optind]);
}
