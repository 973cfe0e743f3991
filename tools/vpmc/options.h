/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options by argp, with errors of one line.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include <argp.h>
#include <stdint.h>

/*
 * Parses in order; @name is what --help calls the command. --help and --version
 * end the process, and so does an error.
 */
void options_parse(const char *name, const struct argp *argp, int argc,
		   char **argv, void *input);

/* What a parser returns for a key that it does not know. */
error_t options_default(int key, struct argp_state *state);

/* A number from @least to @most, or an error that names @option. */
uint64_t options_number(const char *option, const char *text, uint64_t least,
			uint64_t most);

/* Seconds, with up to three digits behind the point; or the same kind of error. */
unsigned int options_milliseconds(const char *option, const char *text);

#endif /* OPTIONS_H */
