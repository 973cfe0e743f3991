// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * usage: dlopen_test LIBRARY
 *
 * Loads the library at run time, counts with it, and unloads it. After that fork()
 * must not call its handlers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dlfcn.h>
#include <err.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vpmc.h>

static void *library;

static void *symbol(const char *name)
{
	void *found = dlvsym(library, name, "VPMC_0");

	if (!found)
		errx(1, "%s", dlerror());
	return found;
}

static void fork_well(void)
{
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		errx(1, "a child ends with %#x", status);
}

static void count(void)
{
	typeof(&vpmc_parse_events) parse_events = symbol("vpmc_parse_events");
	typeof(&vpmc_free_events) free_events = symbol("vpmc_free_events");
	typeof(&vpmc_program) program = symbol("vpmc_program");
	typeof(&vpmc_close) close_handle = symbol("vpmc_close");
	typeof(&vpmc_open) open_handle = symbol("vpmc_open");
	typeof(&vpmc_read) read_counts = symbol("vpmc_read");
	struct vpmc_event *events;
	struct vpmc_error error;
	uint64_t a[1], b[1];
	unsigned int nr;
	struct vpmc *v;

	if (open_handle(&v, 0, &error) ||
	    parse_events("instructions", &events, &nr, &error) ||
	    program(v, events, nr, 0, &error) != 1)
		errx(1, "%s", error.text);
	if (read_counts(v, a, 1, NULL) != 1 || read_counts(v, b, 1, NULL) != 1 ||
	    a[0] >= b[0] || b[0] - a[0] > 10000)
		errx(1, "counts that cannot be");
	fork_well();
	free_events(events);
	close_handle(v);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		errx(2, "usage: dlopen_test LIBRARY");
	library = dlopen(argv[1], RTLD_NOW);
	if (!library)
		errx(1, "%s", dlerror());
	count();
	if (dlclose(library))
		errx(1, "%s", dlerror());
	fork_well();
	printf("loaded, counted, unloaded\n");
	return 0;
}
