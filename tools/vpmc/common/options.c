// SPDX-License-Identifier: GPL-2.0
/*
 * Parses options with argp. Errors are one line.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vpmc.h>

#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"

enum { OPTION_HELP = 0x200, OPTION_USAGE, OPTION_VERSION };

static const struct argp_option help_option[] = {
	{ "help", OPTION_HELP, NULL, 0, "Print this text and end", -1 },
	{ "usage", OPTION_USAGE, NULL, 0, "Print the names of the options and end", -1 },
	{ "version", OPTION_VERSION, NULL, 0, "Print the version of vpmc and end", -1 },
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

/* Options that begin with the same letters */
struct found {
	const struct argp_option *option;	/* the first one */
	const char *other;			/* name of another one, or NULL */
	bool is_exact;
};

/* Looks among the options of @argp and its children, by name or, if @length is 0, by letter. */
static void find_option(const struct argp *argp, const char *name, size_t length,
			struct found *found)
{
	const struct argp_option *option = argp->options;
	const struct argp_child *child = argp->children;

	for (; option && (option->name || option->key); option++) {
		bool fits = length ? option->name && !strncmp(option->name, name, length) :
				     option->key == *name;

		if (!fits || found->is_exact)
			continue;
		found->is_exact = !length || strlen(option->name) == length;
		if (found->option && !found->is_exact)
			found->other = option->name;
		else
			found->option = option;
		if (found->is_exact)
			found->other = NULL;
	}
	for (; child && child->argp; child++)
		find_option(child->argp, name, length, found);
}

static const char *(*advice_of)(const char *option, size_t length);

void options_advice(const char *(*advice)(const char *option, size_t length))
{
	advice_of = advice;
}

__attribute__((__noreturn__))
static void unknown(const char *command, const char *word)
{
	const char *advice = advice_of ? advice_of(word, strcspn(word, "=")) : NULL;

	if (advice)
		fail(STATUS_OURS, "%.*s: no such option here; %s", (int)strcspn(word, "="), word,
		     advice);
	fail(STATUS_OURS, "%s: no such option; %s --help lists them", word, command);
}

__attribute__((__noreturn__))
static void wrong_name(const struct argp_state *state, const char *word)
{
	size_t length = strcspn(word + 2, "=");
	struct found found = {};

	find_option(state->root_argp, word + 2, length, &found);
	if (!found.option)
		unknown(state->argv[0], word);
	if (found.other)
		fail(STATUS_OURS, "%s: can be --%s and --%s; write more of the name", word,
		     found.option->name, found.other);
	if (found.option->arg)
		fail(STATUS_OURS, "--%s: its value is missing; write --%s=%s",
		     found.option->name, found.option->name, found.option->arg);
	fail(STATUS_OURS, "%s: --%s takes no value; leave it out", word, found.option->name);
}

/* One or more letters: the last one that getopt() has looked at is wrong. */
__attribute__((__noreturn__))
static void wrong_letters(const struct argp_state *state, const char *word)
{
	const char *letter;

	for (letter = word + 1; *letter; letter++) {
		char option[] = { '-', *letter, 0 };
		struct found found = {};

		find_option(state->root_argp, letter, 0, &found);
		if (!found.option)
			unknown(state->argv[0], option);
		if (found.option->arg)
			fail(STATUS_OURS, "%s: its value is missing; write %s %s", option,
			     option, found.option->arg);
	}
	unknown(state->argv[0], word);
}

error_t options_default(int key, struct argp_state *state)
{
	const char *word;

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = NULL;
	if (key != ARGP_KEY_ERROR)
		return ARGP_ERR_UNKNOWN;
	word = state->argv[state->next - 1];
	/*
	 * In a word of several option letters, getopt() still points at that
	 * word.
	 */
	if (state->argv[state->next] && (state->next == 1 || word[0] != '-'))
		word = state->argv[state->next];
	if (word[0] == '-' && word[1] == '-')
		wrong_name(state, word);
	wrong_letters(state, word);
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
