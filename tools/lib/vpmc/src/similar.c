// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Finds names that are similar to an unknown one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A search for similar names. @distance is that of the nearest names so far. */
struct search {
	struct vpmc_error *error;
	const char *event;		/* of the unit masks searched, or NULL */
	size_t event_length;
	char wanted[VPMC_NAME_SIZE];	/* in capitals */
	unsigned int distance[VPMC_SIMILAR];
};

static void capitals(char *to, const char *from, size_t length)
{
	size_t i;

	for (i = 0; i < length && from[i] && i + 1 < VPMC_NAME_SIZE; i++)
		to[i] = toupper((unsigned char)from[i]);
	to[i] = '\0';
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/*
 * Returns how many letters must be added, left out, changed, or swapped with
 * their neighbour to make @a from @b.
 */
static unsigned int distance(const char *a, const char *b)
{
	unsigned int row[3][VPMC_NAME_SIZE + 1], i, j;
	size_t columns = strlen(b);

	for (j = 0; j <= columns; j++)
		row[0][j] = j;
	for (i = 1; a[i - 1]; i++) {
		unsigned int *now = row[i % 3], *above = row[(i - 1) % 3];

		now[0] = i;
		for (j = 1; j <= columns; j++) {
			now[j] = least(least(above[j], now[j - 1]) + 1,
				       above[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = least(now[j],
					       row[(i - 2) % 3][j - 2] + 1);
		}
	}
	return row[(i - 1) % 3][columns];
}

/*
 * Returns true if @name is near enough to be of help. A name that contains
 * @wanted is near.
 */
static bool is_near(const char *wanted, const char *name, unsigned int d)
{
	size_t length = strlen(wanted);

	if (!length)
		return true;
	if (length >= 4 && strstr(name, wanted))
		return true;
	return d <= (length < 6 ? 1 : length / 3);
}

static void consider(struct search *s, const char *written, const char *compared)
{
	struct vpmc_error *error = s->error;
	char name[VPMC_NAME_SIZE];
	unsigned int d, i;

	if (strlen(written) >= VPMC_NAME_SIZE)
		return;
	capitals(name, compared, VPMC_NAME_SIZE);
	d = distance(s->wanted, name);
	if (!is_near(s->wanted, name, d))
		return;
	for (i = error->nr_similar; i && s->distance[i - 1] > d; i--) {
		if (i == VPMC_SIMILAR)
			continue;
		s->distance[i] = s->distance[i - 1];
		memcpy(error->similar[i], error->similar[i - 1],
		       VPMC_NAME_SIZE);
	}
	if (i == VPMC_SIMILAR)
		return;
	s->distance[i] = d;
	snprintf(error->similar[i], VPMC_NAME_SIZE, "%s", written);
	if (error->nr_similar < VPMC_SIMILAR)
		error->nr_similar++;
}

static int consider_event(void *arg, const struct vpmc_umask *u)
{
	if (!u->umask)
		consider(arg, u->event, u->event);
	return 0;
}

static int consider_umask(void *arg, const struct vpmc_umask *u)
{
	struct search *s = arg;
	char name[2 * VPMC_NAME_SIZE];

	if (!u->umask || strlen(u->event) != s->event_length ||
	    strncasecmp(u->event, s->event, s->event_length))
		return 0;
	snprintf(name, sizeof(name), "%s:%s", u->event, u->umask);
	consider(s, name, u->umask);
	return 0;
}

/* Replaces the general remedy by the names that were found. */
static void tell(struct vpmc_error *error)
{
	char *remedy = error->remedy;
	size_t size = sizeof(error->remedy);
	unsigned int i;
	int length = snprintf(remedy, size, "did you mean ");

	for (i = 0; i < error->nr_similar; i++)
		length += snprintf(remedy + length, size - length, "%s%s",
				   !i ? "" : i + 1 < error->nr_similar ? ", " :
				   " or ", error->similar[i]);
	snprintf(remedy + length, size - length, "?");
	snprintf(error->text, sizeof(error->text), "%s: %s; %s", error->what,
		 error->why, remedy);
}

void vpmc_similar(struct vpmc_error *error, const char *name, bool of_event)
{
	struct search s = { .error = error };
	const char *colons = strstr(name, "::"), *other;
	unsigned int i;

	if (colons)
		name = colons + 2;
	s.event_length = strcspn(name, ":");
	if (of_event) {
		capitals(s.wanted, name, s.event_length);
		for (i = 0; i < vpmc_nr_portable; i++) {
			consider(&s, vpmc_portable[i].name,
				 vpmc_portable[i].name);
			other = vpmc_portable[i].alias;
			if (other)
				consider(&s, other, other);
		}
		for (i = 0; (other = vpmc_perf_name_at(i)); i++)
			if (!vpmc_portable_find(other, strlen(other)))
				consider(&s, other, other);
		vpmc_table_walk(consider_event, &s);
	} else {
		s.event = name;
		name += s.event_length;
		if (*name)
			capitals(s.wanted, name + 1, strcspn(name + 1, ":="));
		vpmc_table_walk(consider_umask, &s);
	}
	if (error->nr_similar)
		tell(error);
}
