// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc: runs one of its commands.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"
#include "common/fail.h"
#include "common/limits.h"
#include "common/options.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "stat", stat_main },
	{ "info", info_main },
	{ "list", list_main },
	{ "ctl", ctl_main },
	{ "bench", bench_main },
	{ "graph", graph_main },
	{ "record", record_main },
	{ "report", report_main },
	{ "compare", compare_main },
	{ "cpus", cpus_main },
};

static int run_command(int argc, char **argv)
{
	char help[] = "--help", *of_command[] = { argv[1], help, NULL };
	size_t i;

	if (!strcmp(argv[0], "help") && argc > 1)
		return run_command(2, of_command);
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (!strcmp(argv[0], commands[i].name))
			return commands[i].run(argc, argv);
	fail(STATUS_OURS, "%s: no such command; there are stat, info, list, ctl, bench, graph, record, report, compare, cpus and help (vpmc help)", argv[0]);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	int *first = state->input;

	switch (key) {
	case ARGP_KEY_ARG:
		/*
		 * This is the name of a command. All later arguments belong to
		 * that command.
		 */
		(void)arg;
		*first = state->next - 1;
		state->next = state->argc;
		return 0;
	default:
		return options_default(key, state);
	}
}

/*
 * If a standard descriptor is closed, a file that is opened later would get its number, and
 * what is written there would go into that file. The one that fills the place cannot be
 * used, and COMMAND does not get it.
 */
static void fill_standard_descriptors(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_PATH | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.parser = parse,
		.args_doc = "COMMAND [OPTION]...",
		.doc = "Virtual performance counters.\n\nCommands:\n"
		       "  stat    count a program, a process or a thread\n"
		       "  info    what can be counted here, or why nothing can\n"
		       "  list    the events of this processor\n"
		       "  ctl     start, stop, clear or read the counters of a process or a thread\n"
		       "  bench   what reading counters costs on this machine\n"
		       "  graph   who calls whom in a program, and what each function takes\n"
		       "  record  sample a program: in which functions and lines its events happen\n"
		       "  report  print what record, graph or the ranks of parallel programs left\n"
		       "  compare two results of stat: what a change of the program costs\n"
		       "  cpus    what each processor does\n"
		       "  help    this text, or with a COMMAND the text of its --help\n"
		       "\vvpmc help COMMAND tells more; so does man vpmc-COMMAND.",
	};
	char help[] = "--help";
	int first = argc;

	fill_standard_descriptors();
	limits_raise();
	/* Names are shown as text. Numbers stay as they are in the C locale. */
	setlocale(LC_CTYPE, "");
	if (!strcmp(program_invocation_short_name, "perfex"))
		return perfex_main(argc, argv);
	options_parse("vpmc", &argp, argc, argv, &first);
	/* "help" without a command takes vpmc's own options. */
	if (first + 1 < argc && !strcmp(argv[first], "help") && argv[first + 1][0] == '-') {
		options_parse("vpmc", &argp, argc - first, argv + first, &first);
		first = argc;
	}
	/* Without a command, and for "help" without one, the help is printed. */
	if (first == argc || (!strcmp(argv[first], "help") &&
			      (first + 1 == argc || !strcmp(argv[first + 1], "help"))))
		options_parse("vpmc", &argp, 2, (char *[]){ argv[0], help, NULL }, &first);
	return run_command(argc - first, argv + first);
}
