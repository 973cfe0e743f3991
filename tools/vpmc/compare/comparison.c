// SPDX-License-Identifier: GPL-2.0
/*
 * Compares two results of vpmc stat.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "compare/comparison.h"

/* Fails if one of the sides lacks an event of the other one. */
static void check_events(const struct side *one, const struct side *other)
{
	unsigned int i;

	for (i = 0; i < one->nr; i++)
		if (!side_find(other, one->series[i].name))
			fail(STATUS_OURS, "%s: has no %s, which %s has; count the same events, -e %s",
			     other->name, one->series[i].name, one->name, side_events(one));
}

static void check_event(const struct comparison *comparison, const struct series *now)
{
	const struct side *base = &comparison->base;
	const struct series *was = side_find(base, now->name);

	if (was->left_out != now->left_out && !now->undecided)
		fail(STATUS_OURS, "%s: %s has left out the event, and %s has not; leave it out of both",
		     now->name, (was->left_out ? base : &comparison->now)->name,
		     (was->left_out ? &comparison->now : base)->name);
	if (was->select != now->select && !comparison->other_cpu)
		fail(STATUS_OURS, "%s: has the event select %#" PRIx64 " in %s, and %#" PRIx64 " in %s: another event; record %s again",
		     now->name, was->select, base->name, now->select,
		     comparison->now.name, base->name);
}

/* Two ends by --timeout are comparable if they came after the same time. */
static void check_timeout(const struct side *base, const struct side *now)
{
	const struct side *cut = base->timed_out ? base : now;
	const struct side *other = cut == base ? now : base;

	/* A time that was not over has changed nothing. */
	if (!cut->timed_out || cut->timeout_ms == other->timeout_ms)
		return;
	if (other->timeout_ms)
		fail(STATUS_OURS, "%s: was ended by --timeout %" PRIu64 ", and %s was counted with --timeout %" PRIu64 "; count both alike",
		     cut->name, cut->timeout_ms, other->name, other->timeout_ms);
	fail(STATUS_OURS, "%s: was ended by --timeout %" PRIu64 ", and %s was counted without it; count both alike",
	     cut->name, cut->timeout_ms, other->name);
}

static void check_options(const struct side *base, const struct side *now)
{
	static const char *const words[] = { "without", "with" };

	if (strcmp(base->what, now->what))
		fail(STATUS_OURS, "%s: counts %s, and %s counts %s; compare what was counted alike",
		     base->name, base->what, now->name, now->what);
	if (base->no_inherit != now->no_inherit)
		fail(STATUS_OURS, "%s: was counted %s --no-inherit, and %s %s it; count both alike",
		     base->name, words[base->no_inherit], now->name, words[now->no_inherit]);
	if (base->stopped != now->stopped)
		fail(STATUS_OURS, "%s: was counted %s --stopped, and %s %s it; count both alike",
		     base->name, words[base->stopped], now->name, words[now->stopped]);
	if (base->delay_ms != now->delay_ms)
		fail(STATUS_OURS, "%s: was counted from %" PRIu64 " ms on (-D), and %s from %" PRIu64 " ms on; count both alike",
		     base->name, base->delay_ms, now->name, now->delay_ms);
	check_timeout(base, now);
}

void comparison_check(struct comparison *comparison)
{
	const struct side *base = &comparison->base, *now = &comparison->now;
	unsigned int i;

	check_options(base, now);
	if (!comparison->other_cpu &&
	    (strcmp(base->cpu, now->cpu) || strcmp(base->cpu_id, now->cpu_id)))
		fail(STATUS_OURS, "%s: was counted on another processor, %s (%s), and %s on %s (%s); record it on this one, or compare all the same by --other-cpu",
		     base->name, base->cpu, base->cpu_id, now->name, now->cpu, now->cpu_id);
	check_events(base, now);
	check_events(now, base);
	for (i = 0; i < now->nr; i++)
		check_event(comparison, &now->series[i]);
	limits_resolve(&comparison->limits, base, now);
}

void comparison_check_ends(const struct comparison *comparison, bool base_measured,
			   bool now_measured)
{
	const struct side *base = &comparison->base, *now = &comparison->now;
	const struct side *cut = base->timed_out ? base : now;

	side_check(base, base_measured);
	side_check(now, now_measured);
	check_timeout(base, now);
	if (!base->timed_out != !now->timed_out)
		fail(STATUS_OURS, "%s: was ended by --timeout %" PRIu64 ", and %s ended by itself; give a longer --timeout, or one that ends both",
		     cut->name, cut->timeout_ms, (cut == base ? now : base)->name);
}

static void add_note(struct comparison *comparison, char *text)
{
	comparison->note = get_memory(comparison->note, comparison->nr_notes + 1,
				      sizeof(*comparison->note));
	comparison->note[comparison->nr_notes++] = text;
}

/* What else may be the cause of a difference */
static void note_side(struct comparison *comparison, const struct side *side)
{
	unsigned int way;

	if (side->input_was_read)
		add_note(comparison, get_text("%s: the first run has read standard input, and the other runs had what was left of it",
					      side->name));
	if (side->early_runs)
		add_note(comparison, get_text("%s: %" PRIu64 " further runs ended before the delay of -D was over, and are left out",
					      side->name, side->early_runs));
	if (side->living)
		add_note(comparison, get_text("%s: %" PRIu64 " threads lived on when the command ended, and what they did later is missing",
					      side->name, side->living));
	for (way = 0; way < DEPARTURES; way++)
		if (side->left.number[way])
			add_note(comparison, get_text("%s: %" PRIu64 " threads %s, and what they did later is missing",
						      side->name, side->left.number[way],
						      departure_text(way)));
}

static void note_difference(struct comparison *comparison, const char *what,
			    const char *base, const char *now)
{
	if (base && now && strcmp(base, now))
		add_note(comparison, get_text("another %s: %s and %s", what, base, now));
}

/* Do all runs have the same value? */
static bool is_constant(const struct series *series)
{
	return series->order.min == series->order.max;
}

static enum test test_of(const struct series *base, const struct series *now)
{
	if (now->left_out)
		return TEST_NONE;
	if (base->nr == 1 && now->nr == 1)
		return TEST_SINGLE;
	/* A time varies, even if some runs took equally long. */
	if (!now->is_time && is_constant(base) && is_constant(now))
		return TEST_EXACT;
	return rank_test_can_tell(base->nr, now->nr) ? TEST_RANK : TEST_TOO_FEW;
}

static enum verdict verdict_of(const struct row *row)
{
	const struct series *base = row->base, *now = row->now;

	if (row->test == TEST_NONE)
		return VERDICT_NONE;
	if (is_constant(base) && is_constant(now) && base->order.min == now->order.min)
		return VERDICT_SAME;
	if (row->test == TEST_TOO_FEW || (row->test == TEST_SINGLE && now->is_time))
		return VERDICT_UNKNOWN;
	if (row->test == TEST_RANK && row->rank.p > SIGNIFICANCE)
		return VERDICT_SPREAD;
	if (!row->twice_difference)
		return VERDICT_OTHER;
	return row->twice_difference > 0 ? VERDICT_MORE : VERDICT_LESS;
}

static struct row compare(const struct comparison *comparison, const struct series *now)
{
	struct row row = { .base = side_find(&comparison->base, now->name), .now = now };
	const struct series *base = row.base;
	twice_t was = base->order.twice_median, is = now->order.twice_median;

	row.test = test_of(base, now);
	if (row.test == TEST_NONE)
		return row;
	row.twice_difference = (__int128)is - (__int128)was;
	row.has_percent = was;
	if (was)
		row.percent = (long double)row.twice_difference * 100 / was;
	if (row.test == TEST_RANK && !(is_constant(base) && is_constant(now) &&
				       base->order.min == now->order.min))
		row.rank = rank_test(base->value, base->nr, now->value, now->nr);
	row.verdict = verdict_of(&row);
	row.limit = limits_find(&comparison->limits, now);
	row.passed = row.limit && limit_passed(row.limit, was, is);
	row.beyond = row.passed && row.verdict != VERDICT_SPREAD;
	return row;
}

void comparison_make(struct comparison *comparison)
{
	const struct side *base = &comparison->base, *now = &comparison->now;
	unsigned int i;

	comparison->row = get_memory(NULL, now->nr, sizeof(*comparison->row));
	for (i = 0; i < now->nr; i++)
		comparison->row[comparison->nr++] = compare(comparison, &now->series[i]);
	if (strcmp(base->cpu_id, now->cpu_id) || strcmp(base->cpu, now->cpu))
		add_note(comparison, get_text("another processor: %s (%s) and %s (%s)", base->cpu,
					      base->cpu_id, now->cpu, now->cpu_id));
	note_difference(comparison, "kernel", base->kernel, now->kernel);
	note_difference(comparison, "version of vpmc", base->vpmc, now->vpmc);
	if (base->timed_out)
		add_note(comparison, get_text("both sides were ended by --timeout %" PRIu64 ": they took equally long, and need not have done the same work",
					      base->timeout_ms));
	note_side(comparison, base);
	note_side(comparison, now);
}

bool comparison_beyond(const struct comparison *comparison)
{
	unsigned int i;

	for (i = 0; i < comparison->nr; i++)
		if (comparison->row[i].beyond)
			return true;
	return false;
}

const char *test_word(enum test test)
{
	static const char *const words[] = {
		[TEST_NONE] = "none", [TEST_EXACT] = "exact", [TEST_SINGLE] = "single",
		[TEST_RANK] = "rank", [TEST_TOO_FEW] = "too-few",
	};

	return words[test];
}

const char *verdict_word(enum verdict verdict)
{
	static const char *const words[] = {
		[VERDICT_NONE] = "none", [VERDICT_SAME] = "same", [VERDICT_MORE] = "more",
		[VERDICT_LESS] = "less", [VERDICT_OTHER] = "other",
		[VERDICT_SPREAD] = "within-spread", [VERDICT_UNKNOWN] = "unknown",
	};

	return words[verdict];
}
