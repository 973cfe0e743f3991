// SPDX-License-Identifier: GPL-2.0
/*
 * usage: restricted KIND
 *
 * Restricts itself in a way that can end a process or leave it without room, and then
 * calls 300 functions, in this thread and, where that is possible, in another one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define UNSEEN __attribute__((no_instrument_function))

static volatile int sum;

/* the same function, for each N another one */
#define ONE(n) static void f##n(void) { sum++; }
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) \
	       ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
#define HUNDRED(n) TEN(n##0) TEN(n##1) TEN(n##2) TEN(n##3) TEN(n##4) \
		   TEN(n##5) TEN(n##6) TEN(n##7) TEN(n##8) TEN(n##9)
HUNDRED(1)
HUNDRED(2)
HUNDRED(3)

#define NAME(n) f##n,
#define TEN_NAMES(n) NAME(n##0) NAME(n##1) NAME(n##2) NAME(n##3) NAME(n##4) \
		     NAME(n##5) NAME(n##6) NAME(n##7) NAME(n##8) NAME(n##9)
#define NAMES(n) TEN_NAMES(n##0) TEN_NAMES(n##1) TEN_NAMES(n##2) TEN_NAMES(n##3) \
		 TEN_NAMES(n##4) TEN_NAMES(n##5) TEN_NAMES(n##6) TEN_NAMES(n##7) \
		 TEN_NAMES(n##8) TEN_NAMES(n##9)
static void (*const functions[])(void) = { NAMES(1) NAMES(2) NAMES(3) };

static void *work(void *arg)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		functions[i]();
	return arg;
}

/* Kills the process at system calls that threads and write() do not need. */
UNSEEN static void filter(int by_syscall)
{
#define KILLS(number) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	static struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		KILLS(SYS_openat), KILLS(SYS_fallocate), KILLS(SYS_mremap),
		KILLS(SYS_prlimit64), KILLS(SYS_close), KILLS(SYS_getpid),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	static struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (by_syscall ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) :
			  prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)))
		err(1, "seccomp");
}

UNSEEN static void limit(int resource, unsigned long most)
{
	struct rlimit now;

	if (getrlimit(resource, &now))
		err(1, "getrlimit");
	now.rlim_cur = most;
	if (setrlimit(resource, &now))
		err(1, "setrlimit");
}

UNSEEN static void restrict_by(const char *kind)
{
	int failed = 0;

	if (!strcmp(kind, "strict"))
		failed = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (!strcmp(kind, "filter") || !strcmp(kind, "syscall"))
		filter(!strcmp(kind, "syscall"));
	else if (!strcmp(kind, "tsc"))
		failed = prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
	else if (!strcmp(kind, "root"))
		failed = chroot("/sys");
	else if (!strcmp(kind, "user"))
		failed = setgid(65534) || setuid(65534);
	else if (!strcmp(kind, "files"))
		limit(RLIMIT_NOFILE, 0);
	else if (!strcmp(kind, "size"))
		limit(RLIMIT_FSIZE, 1 << 16);
	else if (!strcmp(kind, "space"))
		limit(RLIMIT_AS, 0);
	else if (strcmp(kind, "nothing"))
		errx(2, "%s: no such kind", kind);
	if (failed)
		err(1, "%s", kind);
}

int main(int argc, char **argv)
{
	static const char done[] = "all done\n";
	const char *kind = argc > 1 ? argv[1] : "nothing";
	pthread_t thread;

	restrict_by(kind);
	work(NULL);
	/* No thread can be made without memory, and in strict mode. */
	if (strcmp(kind, "strict") && strcmp(kind, "space") &&
	    (pthread_create(&thread, NULL, work, NULL) || pthread_join(thread, NULL)))
		return 3;
	if (write(STDOUT_FILENO, done, sizeof(done) - 1) < 0)
		return 4;
	syscall(SYS_exit, 0);
	return 5;
}
