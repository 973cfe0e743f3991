/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Compares two results of vpmc stat.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef COMPARISON_H
#define COMPARISON_H

#include <stdbool.h>
#include <stdio.h>

#include "compare/limit.h"
#include "compare/rank-test.h"
#include "compare/side.h"

/* How it was found out whether a difference is more than the spread of the runs */
enum test {
	TEST_NONE,		/* the processor lacks the event */
	TEST_EXACT,		/* each side's runs have one value: each difference is real */
	TEST_SINGLE,		/* one run of each side */
	TEST_RANK,
	TEST_TOO_FEW,		/* a rank test of so few runs can tell nothing */
};

enum verdict {
	VERDICT_NONE,		/* nothing is compared */
	VERDICT_SAME,
	VERDICT_MORE,
	VERDICT_LESS,
	VERDICT_OTHER,		/* the runs differ, and the medians do not */
	VERDICT_SPREAD,		/* within the spread of the runs */
	VERDICT_UNKNOWN,	/* too few runs */
};

/* a line of the table */
struct row {
	const struct series *base, *now;
	__int128 twice_difference;	/* of the medians */
	bool has_percent;	/* false: the base is 0 */
	double percent;
	enum test test;
	struct rank_test rank;	/* of TEST_RANK */
	enum verdict verdict;
	const struct limit *limit;	/* or NULL */
	bool passed;		/* it is more than the limit permits */
	bool beyond;		/* likewise, and it is not within the spread of the runs */
};

struct comparison {
	struct side base, now;
	struct limits limits;
	bool other_cpu;		/* another processor is no error */
	struct row *row;
	unsigned int nr;
	char **note;
	unsigned int nr_notes;
};

/*
 * Fails if the sides cannot be compared: other events, another processor, or other ways
 * to count; or if nothing is compared that a limit is of. Looks at no value, and takes the
 * names of the limits from @now.
 */
void comparison_check(struct comparison *comparison);

/*
 * Fails if a side has not all of its runs and counts, see side_check(), or if --timeout has
 * ended one side alone.
 */
void comparison_check_ends(const struct comparison *comparison, bool base_measured,
			   bool now_measured);

/* Compares the values. */
void comparison_make(struct comparison *comparison);

/* Returns true if something is beyond its limit. */
bool comparison_beyond(const struct comparison *comparison);

/* words for JSON */
const char *test_word(enum test test);
const char *verdict_word(enum verdict verdict);

/* Prints it as text if it is neither @json nor @markdown, and closes the file of -o. */
void comparison_write(FILE *file, const struct comparison *comparison, bool json,
		      bool markdown);

void comparison_print_text(FILE *file, const struct comparison *comparison, bool colour);
void comparison_print_markdown(FILE *file, const struct comparison *comparison);
void comparison_print_json(FILE *file, const struct comparison *comparison);

#endif /* COMPARISON_H */
