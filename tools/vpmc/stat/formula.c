// SPDX-License-Identifier: GPL-2.0
/*
 * Formulas of metrics. formula_parse() puts the operations into the order in which they are
 * done, each behind its operands. formula_worth() does them with a stack.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "stat/formula.h"

#define MOST_STEPS	256
#define MOST_NESTED	32

enum operation { NUMBER, NAME, ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, GREATEST };

struct step {
	enum operation operation;
	double number;
	int name;
	const char *divisor;	/* of a division: the divisor as written */
	int length;
};

struct formula {
	struct step step[MOST_STEPS];
	unsigned int nr;
	char *text;
};

struct parser {
	struct formula *formula;
	const char *at;
	formula_name find;
	const void *names;
	unsigned int nested;
	char *why;
};

static bool sum(struct parser *parser);

static void skip_blanks(struct parser *parser)
{
	while (*parser->at == ' ')
		parser->at++;
}

/* Returns true if @character comes next, and passes it. */
static bool next_is(struct parser *parser, char character)
{
	skip_blanks(parser);
	if (*parser->at != character)
		return false;
	parser->at++;
	return true;
}

/* Says what is wrong at the place that was reached. */
static bool wrong_here(struct parser *parser, const char *wanted)
{
	skip_blanks(parser);
	parser->why = *parser->at ?
		get_text("%s is missing before '%.20s'; write it there", wanted, parser->at) :
		get_text("%s is missing at the end; write it there", wanted);
	return false;
}

static bool add_step(struct parser *parser, struct step step)
{
	if (parser->formula->nr == MOST_STEPS) {
		parser->why = get_text("it has more than %d numbers, names and operations; make two metrics of it",
				       MOST_STEPS);
		return false;
	}
	parser->formula->step[parser->formula->nr++] = step;
	return true;
}

/* A decimal number. strtod() alone would take "inf" and hexadecimal ones, too. */
static bool number(struct parser *parser)
{
	size_t length = strspn(parser->at, "0123456789.");
	struct step step = { .operation = NUMBER };
	char *end;

	if ((parser->at[length] | 0x20) == 'e') {
		length++;
		length += parser->at[length] == '-' || parser->at[length] == '+';
		length += strspn(parser->at + length, "0123456789");
	}
	step.number = strtod(parser->at, &end);
	if (end != parser->at + length || isalnum((unsigned char)*end)) {
		parser->why = get_text("'%.20s' does not begin with a decimal number; write one, such as 1000 or 0.5",
				       parser->at);
		return false;
	}
	if (!isfinite(step.number)) {
		parser->why = get_text("%.*s is too large; write a smaller number", (int)length,
				       parser->at);
		return false;
	}
	parser->at = end;
	return add_step(parser, step);
}

/* The two operands of min and max, and the parenthesis behind them */
static bool two_operands(struct parser *parser, enum operation operation)
{
	if (!sum(parser))
		return false;
	if (!next_is(parser, ','))
		return wrong_here(parser, "a comma between two operands");
	if (!sum(parser))
		return false;
	if (!next_is(parser, ')'))
		return wrong_here(parser, "a ')'");
	return add_step(parser, (struct step){ .operation = operation });
}

static bool name(struct parser *parser)
{
	const char *text = parser->at;
	size_t length = 0;
	struct step step = { .operation = NAME };

	while (isalnum((unsigned char)text[length]) || text[length] == '_')
		length++;
	parser->at += length;
	if (length == 3 && (!memcmp(text, "min", 3) || !memcmp(text, "max", 3)))
		return next_is(parser, '(') ?
		       two_operands(parser, text[1] == 'i' ? LEAST : GREATEST) :
		       wrong_here(parser, "a '('");
	step.name = parser->find(parser->names, text, length);
	if (step.name < 0) {
		parser->why = get_text("'%.*s' is no name of \"events\"; add it there, or use time or elapsed",
				       (int)length, text);
		return false;
	}
	return add_step(parser, step);
}

static bool operand(struct parser *parser)
{
	skip_blanks(parser);
	if (isdigit((unsigned char)*parser->at) || *parser->at == '.')
		return number(parser);
	if (isalpha((unsigned char)*parser->at) || *parser->at == '_')
		return name(parser);
	if (*parser->at == '-' || *parser->at == '+') {
		parser->why = get_text("'%.20s' begins with a sign, which no operand has; write 0-x for -x",
				       parser->at);
		return false;
	}
	if (!next_is(parser, '('))
		return wrong_here(parser, "a number, a name or a '('");
	if (!sum(parser))
		return false;
	return next_is(parser, ')') || wrong_here(parser, "a ')'");
}

/* An operand, which may have others in it */
static bool nested_operand(struct parser *parser)
{
	bool good;

	if (parser->nested == MOST_NESTED) {
		parser->why = get_text("more than %d parentheses are nested; use fewer", MOST_NESTED);
		return false;
	}
	parser->nested++;
	good = operand(parser);
	parser->nested--;
	return good;
}

static bool product(struct parser *parser)
{
	if (!nested_operand(parser))
		return false;
	for (;;) {
		struct step step = { .operation = MULTIPLY };

		if (next_is(parser, '/'))
			step.operation = DIVIDE;
		else if (!next_is(parser, '*'))
			return true;
		skip_blanks(parser);
		step.divisor = parser->at;
		if (!nested_operand(parser))
			return false;
		step.length = parser->at - step.divisor;
		if (!add_step(parser, step))
			return false;
	}
}

static bool sum(struct parser *parser)
{
	if (!product(parser))
		return false;
	for (;;) {
		struct step step = { .operation = ADD };

		if (next_is(parser, '-'))
			step.operation = SUBTRACT;
		else if (!next_is(parser, '+'))
			return true;
		if (!product(parser) || !add_step(parser, step))
			return false;
	}
}

struct formula *formula_parse(const char *text, formula_name find, const void *names, char **why)
{
	struct parser parser = { .find = find, .names = names };

	parser.formula = get_memory(NULL, 1, sizeof(*parser.formula));
	parser.formula->nr = 0;
	parser.formula->text = get_text("%s", text);
	parser.at = parser.formula->text;
	if (sum(&parser)) {
		skip_blanks(&parser);
		if (!*parser.at)
			return parser.formula;
		wrong_here(&parser, "an operation, one of + - * /,");
	}
	*why = parser.why;
	formula_free(parser.formula);
	return NULL;
}

bool formula_uses(const struct formula *formula, int name)
{
	unsigned int i;

	for (i = 0; i < formula->nr; i++)
		if (formula->step[i].operation == NAME && formula->step[i].name == name)
			return true;
	return false;
}

static double result_of(enum operation operation, double a, double b)
{
	switch (operation) {
	case ADD:
		return a + b;
	case SUBTRACT:
		return a - b;
	case MULTIPLY:
		return a * b;
	case DIVIDE:
		return a / b;
	case LEAST:
		return b < a ? b : a;
	default:
		return b > a ? b : a;
	}
}

struct worth formula_worth(const struct formula *formula, formula_value get, const void *values)
{
	double stack[MOST_STEPS], *top = stack;
	struct worth worth = {};
	unsigned int i;

	for (i = 0; i < formula->nr && !worth.mark; i++) {
		const struct step *step = &formula->step[i];

		if (step->operation == NUMBER) {
			*top++ = step->number;
		} else if (step->operation == NAME) {
			*top = 0;
			get(values, step->name, top++, &worth.mark, &worth.why);
		} else if (step->operation == DIVIDE && top[-1] == 0) {
			worth.mark = "zero";
			worth.why = get_text("the divisor %.*s is 0", step->length, step->divisor);
		} else {
			top--;
			top[-1] = result_of(step->operation, top[-1], *top);
			if (!isfinite(top[-1])) {
				worth.mark = "too-large";
				worth.why = get_text("the number is too large");
			}
		}
	}
	if (!worth.mark)
		worth.value = stack[0];
	return worth;
}

void formula_free(struct formula *formula)
{
	free(formula->text);
	free(formula);
}
