// SPDX-License-Identifier: GPL-2.0
/*
 * Limits of how much more may be counted. Percents are kept as whole millionths, so that
 * what reaches a limit is told from what is beyond it to the last digit.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <pieces.h>

#include "common/fail.h"
#include "common/options.h"
#include "compare/limit.h"

#define MILLION		1000000u
#define MOST_PERCENT	1000000u

/* Parses "12.5" behind which there is "%" alone. */
static bool parse_percent(const char *text, uint64_t *millionths)
{
	uint64_t unit = MILLION, whole = 0;

	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++) {
		whole = whole * 10 + (*text - '0');
		if (whole > MOST_PERCENT)
			return false;
	}
	*millionths = whole * MILLION;
	if (*text == '.' && isdigit((unsigned char)text[1]))
		for (text++; isdigit((unsigned char)*text); text++) {
			unit /= 10;
			if (!unit && *text != '0')
				return false;
			*millionths += unit * (*text - '0');
		}
	return !strcmp(text, "%");
}

static bool parse_number(const char *text, uint64_t *number)
{
	uint64_t value = 0;

	if (!*text)
		return false;
	for (; isdigit((unsigned char)*text); text++)
		if (__builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, *text - '0', &value))
			return false;
	*number = value;
	return !*text;
}

static void parse(struct limit *limit, const char *text)
{
	/* A name may have attributes, as in "event:cmask=1". */
	const char *equal = strrchr(text, '=');

	*limit = (struct limit){
		.text = get_text("%s", equal ? equal + 1 : text),
		.name = equal ? get_text("%.*s", (int)(equal - text), text) : NULL,
	};
	limit->is_percent = strchr(limit->text, '%');
	if (limit->is_percent ? !parse_percent(limit->text, &limit->number) :
	    !parse_number(limit->text, &limit->number))
		fail(STATUS_OURS, "--limit %s: is no number of events, nor percents from 0%% to %u%% with up to six digits behind the point; give one, such as 0.5%% or instructions=1000",
		     text, MOST_PERCENT);
}

void limits_parse(struct limits *limits, const char *list)
{
	/* The terms of an event, as in cpu/event=0xc0,umask=1/, may have commas. */
	struct vpmc_pieces pieces = { .at = list, .more = list };
	struct vpmc_piece piece;

	*limits = (struct limits){};
	while (pieces.more) {
		char *text;

		vpmc_pieces_next(&pieces, &piece);
		text = piece.why ? get_text("%s", list) :
				   get_text("%.*s", (int)(piece.to - piece.from), piece.from);
		limits->limit = get_memory(limits->limit, limits->nr + 1,
					   sizeof(*limits->limit));
		parse(&limits->limit[limits->nr++], text);
		free(text);
	}
}

/* Returns how many digits end the limit. 0: it ends with something else. */
static size_t digits_at_end(const struct vpmc_piece *piece)
{
	const char *at = piece->to;

	while (at > piece->from && isdigit((unsigned char)at[-1]))
		at--;
	/* "0.5" is no limit, and "a1" is none */
	return at == piece->from || at[-1] == '=' ? piece->to - at : 0;
}

/*
 * Do the limits look like one number? In "1,000" the comma separates thousands, and in "0,5%"
 * it is a decimal point.
 */
static bool is_one_number(const struct vpmc_piece *before, const struct vpmc_piece *piece)
{
	size_t first = digits_at_end(before), length = piece->to - piece->from;
	size_t digits = strspn(piece->from, "0123456789");
	bool is_nameless = !memchr(piece->from, '=', length);

	if (!first || !digits || !is_nameless)
		return false;
	return (first <= 3 && digits == 3) || piece->from[digits] == '%';
}

char *limits_add(char *list, char *more)
{
	struct vpmc_pieces pieces = { .at = more, .more = true };
	struct vpmc_piece before = {}, piece;

	while (pieces.more) {
		vpmc_pieces_next(&pieces, &piece);
		/* Parsing it says what is wrong. */
		if (piece.why)
			break;
		if (before.from && is_one_number(&before, &piece))
			fail(STATUS_OURS, "--limit %s: can be one number with a separator, or two limits; write digits and a point alone, as in 1000 or 0.5%%, or a --limit for each",
			     more);
		before = piece;
	}
	return options_list(list, more);
}

/* Is it that name behind which there are modes alone? */
static bool is_without_modes(const char *full, const char *name)
{
	size_t length = strlen(name);

	return !strncmp(full, name, length) && full[length] == ':' &&
	       full[length + 1] && !full[length + 1 + strspn(full + length + 1, "uk")];
}

/* Returns the series that the limit names, or NULL if there is none, or more than one. */
static const struct series *named(const struct limit *limit, const struct side *side)
{
	/* Without modes, -e means those of the user. */
	char *usual = get_text("%s:u", limit->name);
	const struct series *found = side_find(side, limit->name);
	unsigned int i, several = 0;

	if (!found)
		found = side_find(side, usual);
	free(usual);
	if (found)
		return found;
	for (i = 0; i < side->nr; i++)
		if (is_without_modes(side->series[i].name, limit->name) && !several++)
			found = &side->series[i];
	return several > 1 ? NULL : found;
}

/* Has it a count on both sides? */
static bool is_counted(const struct side *base, const struct series *now)
{
	const struct series *was = side_find(base, now->name);

	return was && !was->left_out && !now->left_out;
}

/* Returns the names of what is compared, or of the times alone. */
static char *names_of(const struct side *base, const struct side *now, bool times)
{
	char *names = NULL;
	unsigned int i;

	for (i = 0; i < now->nr; i++)
		if (is_counted(base, &now->series[i]) && (!times || now->series[i].is_time))
			names = options_list(names, now->series[i].name);
	return names;
}

static void resolve(struct limit *limit, const struct side *base, const struct side *now)
{
	const struct series *found = named(limit, now);

	if (!found)
		fail(STATUS_OURS, "--limit %s=%s: nothing, or more than one, of that name is compared; name one of %s",
		     limit->name, limit->text, names_of(base, now, false));
	if (!is_counted(base, found))
		fail(STATUS_OURS, "--limit %s=%s: the event is left out and has no count; name one of %s",
		     limit->name, limit->text, names_of(base, now, false));
	limit->name = found->name;
}

/* A limit without a name is of all events. */
static void check_nameless(const struct limit *limit, const struct side *base,
			   const struct side *now)
{
	unsigned int i;

	for (i = 0; i < now->nr; i++)
		if (!now->series[i].is_time && is_counted(base, &now->series[i]))
			return;
	fail(STATUS_OURS, "--limit %s: is of all events, and none is compared; count one, or name one of %s",
	     limit->text, names_of(base, now, true));
}

void limits_resolve(struct limits *limits, const struct side *base, const struct side *now)
{
	unsigned int i;

	for (i = 0; i < limits->nr; i++)
		if (limits->limit[i].name)
			resolve(&limits->limit[i], base, now);
		else
			check_nameless(&limits->limit[i], base, now);
}

const struct limit *limits_find(const struct limits *limits, const struct series *series)
{
	const struct limit *found = NULL;
	unsigned int i;

	for (i = 0; i < limits->nr; i++) {
		const struct limit *limit = &limits->limit[i];

		if (limit->name ? !strcmp(limit->name, series->name) :
		    !series->is_time && (!found || !found->name))
			found = limit;
	}
	return found;
}

bool limit_passed(const struct limit *limit, twice_t twice_base, twice_t twice_now)
{
	twice_t more;

	if (twice_now <= twice_base)
		return false;
	more = twice_now - twice_base;
	if (!limit->is_percent)
		return more > (twice_t)limit->number * 2;
	return more * 100 * MILLION > twice_base * limit->number;
}
