/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Parses options with argp. Errors are one line.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <argp.h>
#include <stdint.h>

/*
 * Parses options in order. @name is the command's name in --help. --help,
 * --version and errors end the process.
 */
void options_parse(const char *name, const struct argp *argp, int argc,
		   char **argv, void *input);

/*
 * Sets what knows options of another program: the answer, for "-G" or "--cgroup", says what
 * helps instead, or is NULL. The error of an unknown option then has it.
 */
void options_advice(const char *(*advice)(const char *option, size_t length));

/* Handles the keys that a command's parser does not know. */
error_t options_default(int key, struct argp_state *state);

/* The value of an option that may be given several times: @list, or NULL, and @more. */
char *options_list(char *list, char *more);

/* At the first argument that is no option: COMMAND is this one and all later ones. */
char **options_command(struct argp_state *state);

/*
 * Parses a number from @least to @most. Fails with a message that names
 * @option.
 */
uint64_t options_number(const char *option, const char *text, uint64_t least,
			uint64_t most);

/*
 * Parses seconds, and returns milliseconds. Fails with a message that names
 * @option.
 */
unsigned int options_milliseconds(const char *option, const char *text);

#endif /* OPTIONS_H */
