// SPDX-License-Identifier: GPL-2.0
/*
 * usage: plugins LIBRARY...
 *
 * Loads each library, prints where its function run() is, calls it, and unloads the
 * library again. So each library is where the one before it was.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dlfcn.h>
#include <err.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void (*run)(void);
	void *library;
	int i;

	for (i = 1; i < argc; i++) {
		library = dlopen(argv[i], RTLD_NOW);
		if (!library)
			errx(1, "%s", dlerror());
		run = (void (*)(void))dlsym(library, "run");
		printf("%p\n", (void *)run);
		fflush(stdout);
		run();
		dlclose(library);
	}
	return 0;
}
