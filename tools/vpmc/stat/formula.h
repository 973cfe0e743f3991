/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Formulas of metrics: + - * / parentheses, decimal numbers, names, min(a,b) and max(a,b).
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef FORMULA_H
#define FORMULA_H

#include <stdbool.h>
#include <stddef.h>

struct formula;

/* Returns the number of the name, or -1 if there is none. */
typedef int (*formula_name)(const void *names, const char *name, size_t length);

/*
 * Parses @text. Returns NULL if it is wrong, and then sets @why to a text that says what is
 * wrong and what helps.
 */
struct formula *formula_parse(const char *text, formula_name find, const void *names, char **why);

/* Returns true if the formula has the name of this number. */
bool formula_uses(const struct formula *formula, int name);

/*
 * Returns the value of the name of this number. Without a value, returns false and sets @mark
 * and @why.
 */
typedef bool (*formula_value)(const void *values, int name, double *value, const char **mark,
			      char **why);

/* What a formula is worth: @value, or a word for CSV and a text that say why there is none */
struct worth {
	double value;
	const char *mark;	/* NULL if there is a value */
	char *why;
};

struct worth formula_worth(const struct formula *formula, formula_value get, const void *values);

void formula_free(struct formula *formula);

#endif /* FORMULA_H */
