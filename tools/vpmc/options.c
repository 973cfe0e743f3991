// SPDX-License-Identifier: GPL-2.0
/*
 * Parses options with argp. Errors are one line.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vpmc.h>

#include "fail.h"
#include "options.h"
#include "output.h"

enum { OPTION_HELP = 0x200, OPTION_USAGE, OPTION_VERSION };

static const struct argp_option help_option[] = {
	{ "help", OPTION_HELP, NULL, 0, "This text", -1 },
	{ "usage", OPTION_USAGE, NULL, 0, "A shorter one", -1 },
	{ "version", OPTION_VERSION, NULL, 0, "The version", -1 },
	{}
};

/* argp's own --help prints nothing with ARGP_NO_ERRS. */
static error_t parse_help(int key, char *arg, struct argp_state *state)
{
	(void)arg;
	switch (key) {
	case OPTION_HELP:
		argp_help(state->root_argp, stdout,
			  ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG |
			  ARGP_HELP_DOC, state->argv[0]);
		break;
	case OPTION_USAGE:
		argp_help(state->root_argp, stdout, ARGP_HELP_USAGE,
			  state->argv[0]);
		break;
	case OPTION_VERSION:
		printf("vpmc %s\n", vpmc_version());
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	output_finish();
	exit(0);
}

void options_parse(const char *name, const struct argp *argp, int argc,
		   char **argv, void *input)
{
	static const struct argp help = { .options = help_option,
					  .parser = parse_help };
	static const struct argp_child children[] = { { .argp = &help }, {} };
	struct argp with_help = *argp;
	error_t error;

	with_help.children = children;
	argv[0] = (char *)name;
	error = argp_parse(&with_help, argc, argv,
			   ARGP_IN_ORDER | ARGP_NO_ERRS | ARGP_NO_HELP, NULL,
			   input);
	if (error)
		fail(STATUS_OURS, "options: %s; %s --help lists them",
		     strerror(error), name);
}

error_t options_default(int key, struct argp_state *state)
{
	const char *word = state->argv[state->next - 1];

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = NULL;
	if (key != ARGP_KEY_ERROR)
		return ARGP_ERR_UNKNOWN;
	/*
	 * In a word of several option letters, getopt() still points at that
	 * word.
	 */
	if (state->argv[state->next] && (state->next == 1 || word[0] != '-'))
		word = state->argv[state->next];
	fail(STATUS_OURS, "%s: no such option, or its value is missing or too much; %s --help lists them",
	     word, state->argv[0]);
}

char *options_list(char *list, char *more)
{
	return list ? get_text("%s,%s", list, more) : more;
}

char **options_command(struct argp_state *state)
{
	char **command = state->argv + state->next - 1;

	state->next = state->argc;
	return command;
}

uint64_t options_number(const char *option, const char *text, uint64_t least,
			uint64_t most)
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || value < least ||
	    value > most)
		fail(STATUS_OURS, "%s %s: not a number from %llu to %llu; give one",
		     option, text, (unsigned long long)least,
		     (unsigned long long)most);
	return value;
}

unsigned int options_milliseconds(const char *option, const char *text)
{
	char *end;
	double seconds = strtod(text, &end);

	if (*end || end == text || !(seconds >= 0.001 && seconds <= 1000000))
		fail(STATUS_OURS, "%s %s: not a number from 0.001 to 1000000; give one",
		     option, text);
	return seconds * 1000 + 0.5;
}
