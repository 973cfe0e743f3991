// SPDX-License-Identifier: GPL-2.0
/*
 * usage: selfish control|unlink|thread|child|add
 *	  selfish exec COMMAND...
 *
 * A program that counts itself, under a command that counts it.
 *
 * control	prints the instructions that it has counted so far, and programs its own
 *		counters, of branches, in the same places
 * unlink	likewise, but removes its counters
 * thread	a thread of it executes a million turns after its first thread has
 *		programmed counters of its own
 * child	a child does what "control" does
 * add		adds a counter of branches to what counts it, and prints them at the end
 *
 * exec		programs counters, keeps them, and executes COMMAND
 *
 * Then the first thread executes a million turns. No library: it is called with
 * -static.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <linux/vpmc.h>

static void turns(void)
{
	int i;

	for (i = 1000000; i; i--)
		__asm__ __volatile__("" : "+r" (i));
}

static int open_own(void)
{
	int fd = open("/proc/thread-self/perfctr", O_RDWR | O_CREAT, 0666);

	if (fd < 0)
		err(1, "perfctr");
	return fd;
}

static void take_over(int fd)
{
	struct vpmc_control set = {
		.size = sizeof(set), .nr_counters = 1,
		.counter = { { .evtsel = 0x100c4, .index = VPMC_ANY } },
	};

	if (ioctl(fd, VPMC_IOC_CONTROL, &set))
		err(1, "CONTROL");
}

static void let_go(int fd)
{
	if (ioctl(fd, VPMC_IOC_UNLINK, 0))
		err(1, "UNLINK");
}

/* Prints what was counted before @leave, but for the instructions of the calls. */
static void tell_and(void (*leave)(int fd), int fd)
{
	struct vpmc_read read = { .size = sizeof(read) };

	if (ioctl(fd, VPMC_IOC_READ, &read))
		err(1, "READ");
	leave(fd);
	printf("%llu\n", (unsigned long long)read.sum[0]);
}

/* As a library does that counts in a program of somebody else. */
static void add_and_turn(int fd)
{
	struct vpmc_control set = {
		.size = sizeof(set), .nr_counters = 1, .flags = VPMC_CONTROL_ADD,
		.counter = { { .evtsel = 0x100c4, .index = VPMC_ANY } },
	};
	struct vpmc_read read = { .size = sizeof(read) };

	if (ioctl(fd, VPMC_IOC_CONTROL, &set))
		err(1, "CONTROL");
	turns();
	if (ioctl(fd, VPMC_IOC_READ, &read))
		err(1, "READ");
	printf("%llu\n", (unsigned long long)read.sum[read.nr_counters - 1]);
}

static pthread_barrier_t barrier;

static void *work(void *arg)
{
	pthread_barrier_wait(&barrier);
	turns();
	return arg;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int fd = open_own();
	pthread_t thread;

	if (!strcmp(what, "child")) {
		if (fork()) {
			wait(NULL);
			turns();
			return 0;
		}
		close(fd);
		fd = open_own();
		take_over(fd);
	} else if (!strcmp(what, "thread")) {
		pthread_barrier_init(&barrier, NULL, 2);
		if (pthread_create(&thread, NULL, work, NULL))
			errx(1, "no thread");
		take_over(fd);
		pthread_barrier_wait(&barrier);
		pthread_join(thread, NULL);
	} else if (!strcmp(what, "add")) {
		add_and_turn(fd);
		return 0;
	} else if (!strcmp(what, "exec") && argc > 2) {
		take_over(fd);
		execvp(argv[2], argv + 2);
		err(1, "%s", argv[2]);
	} else if (!strcmp(what, "unlink")) {
		tell_and(let_go, fd);
	} else {
		tell_and(take_over, fd);
	}
	turns();
	return 0;
}
