// SPDX-License-Identifier: GPL-2.0
/*
 * usage: calls SCENE TURNS
 *
 * A program for vpmc graph, compiled with -finstrument-functions. Each scene makes
 * known calls. loop() executes 2 instructions in each of its TURNS iterations.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dlfcn.h>
#include <err.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define NR_THREADS	4
#define UNSEEN		__attribute__((__no_instrument_function__))

static jmp_buf place;
static unsigned int turns;

static void loop(unsigned int n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n));
}

/* makes 3 calls of loop() */
static void plain(void)
{
	loop(turns);
	loop(2 * turns);
	loop(3 * turns);
}

/* calls itself @depth times, and loop() once more than that */
static void recursive(unsigned int depth)
{
	loop(turns);
	if (depth)
		recursive(depth - 1);
}

static void odd(unsigned int n);

static void even(unsigned int n)
{
	loop(turns);
	if (n)
		odd(n - 1);
}

static void odd(unsigned int n)
{
	loop(turns);
	if (n)
		even(n - 1);
}

static void *thread(void *arg)
{
	recursive((unsigned long)arg);
	return NULL;
}

static void threads(void)
{
	pthread_t id[NR_THREADS];
	unsigned long i;

	for (i = 0; i < NR_THREADS; i++)
		if (pthread_create(&id[i], NULL, thread, (void *)i))
			errx(1, "pthread_create");
	for (i = 0; i < NR_THREADS; i++)
		pthread_join(id[i], NULL);
}

/* leaves itself and two other functions at once */
static void deep(unsigned int depth)
{
	loop(turns);
	if (depth)
		deep(depth - 1);
	if (turns)
		longjmp(place, 1);
}

static void jumping(void)
{
	volatile int i;

	for (i = 0; i < 3; i++)
		if (!setjmp(place))
			deep(2);
	loop(turns);
}

static void child(void)
{
	loop(5 * turns);
}

static void forking(void)
{
	pid_t pid = fork();

	if (!pid) {
		child();
		exit(0);
	}
	waitpid(pid, NULL, 0);
	loop(turns);
}

static void vforking(void)
{
	pid_t pid = vfork();

	if (!pid) {
		child();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	loop(turns);
}

static void handler(int number)
{
	(void)number;
	loop(turns);
}

static void signals(void)
{
	signal(SIGUSR1, handler);
	raise(SIGUSR1);
	loop(turns);
}

/* is killed in the middle of a function */
static void killed(void)
{
	loop(turns);
	kill(getpid(), SIGKILL);
}

/* executes this program again */
static void executing(char **argv)
{
	loop(turns);
	argv[1] = "plain";
	execv("/proc/self/exe", argv);
	err(1, "execv");
}

static void loading(void)
{
	void *library = dlopen("libcallee.so", RTLD_NOW);
	void (*callee)(unsigned int) = NULL;

	if (library)
		callee = (void (*)(unsigned int))dlsym(library, "callee");
	if (!callee)
		errx(1, "%s", dlerror());
	callee(turns);
}

/* one thread after the other; more than can have a tree each */
static void serial(void)
{
	pthread_t id;
	int i;

	for (i = 0; i < 300; i++) {
		if (pthread_create(&id, NULL, thread, NULL))
			errx(1, "pthread_create");
		pthread_join(id, NULL);
	}
}

extern void __cyg_profile_func_enter(void *function, void *site);
extern void __cyg_profile_func_exit(void *function, void *site);

/* as many functions as the argument says, without names */
UNSEEN static void wide(void)
{
	static char function[4 << 20];
	unsigned int i;

	for (i = 0; i < turns; i++) {
		__cyg_profile_func_enter(function + i, NULL);
		__cyg_profile_func_exit(function + i, NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} scene[] = {
		{ "plain", plain }, { "threads", threads }, { "jumping", jumping },
		{ "forking", forking }, { "vforking", vforking },
		{ "signals", signals }, { "killed", killed }, { "loading", loading },
		{ "serial", serial }, { "wide", wide },
	};
	size_t i;

	if (argc != 3)
		errx(2, "usage: calls SCENE TURNS");
	turns = atoi(argv[2]);
	if (!strcmp(argv[1], "executing"))
		executing(argv);
	else if (!strcmp(argv[1], "recursive"))
		recursive(4);
	else if (!strcmp(argv[1], "mutual"))
		even(5);
	for (i = 0; i < sizeof(scene) / sizeof(scene[0]); i++)
		if (!strcmp(argv[1], scene[i].name))
			scene[i].run();
	return 0;
}
