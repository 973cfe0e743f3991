// SPDX-License-Identifier: GPL-2.0
/*
 * usage: plain COMMAND [ARGUMENT]...
 *
 * Runs COMMAND with the usual reaction to all signals. A shell lets what it runs in the
 * background ignore some.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int number;

	for (number = 1; number <= SIGRTMAX; number++)
		signal(number, SIG_DFL);
	if (argc < 2)
		errx(125, "no COMMAND");
	execvp(argv[1], argv + 1);
	err(126, "%s", argv[1]);
}
