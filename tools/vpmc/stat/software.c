// SPDX-License-Identifier: GPL-2.0
/*
 * Names of -e that take no counter.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>
#include <string.h>

#include <pieces.h>

#include "common/fail.h"
#include "common/options.h"
#include "stat/result.h"
#include "stat/software.h"

/* The names, most of which perf has, too */
static const struct {
	const char *name;
	enum fact fact;
} names[] = {
	{ "task-clock", FACT_RUN_TIME },
	{ "context-switches", FACT_SWITCHES }, { "cs", FACT_SWITCHES },
	{ "cpu-migrations", FACT_MIGRATIONS }, { "migrations", FACT_MIGRATIONS },
	{ "duration_time", FACT_ELAPSED },
	{ "user-time", FACT_USER_TIME }, { "user_time", FACT_USER_TIME },
	{ "system-time", FACT_SYSTEM_TIME }, { "system_time", FACT_SYSTEM_TIME },
	{ "page-faults", FACT_PAGE_FAULTS }, { "faults", FACT_PAGE_FAULTS },
	{ "minor-faults", FACT_MINOR_FAULTS }, { "major-faults", FACT_MAJOR_FAULTS },
	{ "max-rss", FACT_MAX_RSS },
};

/* Software events of perf that vpmc does not have, and what helps */
static const struct {
	const char *name, *help;
} refused[] = {
	{ "cpu-clock", "use task-clock, the time on a processor" },
	{ "alignment-faults", "x86 has none; leave it out" },
	{ "emulation-faults", "x86 has none; leave it out" },
	{ "cgroup-switches", "use perf stat -e cgroup-switches" },
	{ "bpf-output", "use perf record -e bpf-output" },
	{ "dummy", "use none, which counts nothing" },
};

static int find(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length && !memcmp(names[i].name, text, length))
			return i;
	return -1;
}

static void check_refused(const char *text, size_t length)
{
	size_t i;

	for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		if (strlen(refused[i].name) == length &&
		    !memcmp(refused[i].name, text, length))
			fail(STATUS_OURS, "%s: vpmc has no such number; %s", refused[i].name,
			     refused[i].help);
}

void software_explain(const char *name)
{
	size_t length = strlen(name);

	check_refused(name, length);
	if (find(name, length) >= 0)
		fail(STATUS_OURS, "%s: takes no counter, so it is no event of the processor; vpmc stat -e prints it",
		     name);
}

/* Fails if the name cannot be answered. @behind is what follows it: nothing, or '?'. */
static void check(const char *name, const char *behind, enum fact fact,
		  const struct plan *plan, const struct stat_options *options)
{
	unsigned int i;

	if (*behind && strcmp(behind, "?"))
		fail(STATUS_OURS, "%s: takes no counter, and is of user and kernel mode together; leave '%s' out",
		     name, behind);
	if (options->all_cpus)
		fail(STATUS_OURS, "%s: is of threads, and here processors are counted; leave it out", name);
	if (options->base || options->other)
		fail(STATUS_OURS, "%s: takes no counter, and is not compared; leave it out: run time and the time that passed are compared anyway",
		     name);
	if (fact >= FACT_USER_TIME && options->nr_targets)
		fail(STATUS_OURS, "%s: the kernel tells it of a COMMAND that has ended, and not of -p and -t; leave it out",
		     name);
	if (fact >= FACT_USER_TIME && options->delay_ms)
		fail(STATUS_OURS, "%s: the kernel tells it of a COMMAND from its beginning on; leave it out, or -D",
		     name);
	for (i = 0; i < plan->nr_software; i++)
		if (plan->software[i].fact == (int)fact)
			fail(STATUS_OURS, "%s: is the same as '%s' in the list; name it once", name,
			     plan->software[i].name);
}

const char *software_take(const char *list, struct plan *plan,
			  const struct stat_options *options)
{
	struct vpmc_pieces pieces = { .at = list, .more = true };
	struct vpmc_piece piece;
	char *rest = NULL;

	while (pieces.more) {
		char *text, *behind;
		size_t length;
		int n;

		vpmc_pieces_next(&pieces, &piece);
		/* The library says what is wrong. */
		if (piece.why)
			return list;
		text = get_text("%.*s", (int)(piece.to - piece.from), piece.from);
		length = strcspn(text, ":@?");
		check_refused(text, length);
		n = find(text, length);
		if (n < 0) {
			free(text);
			text = vpmc_piece_text(&piece);
			rest = options_list(rest, text ?: get_text("%s", ""));
			continue;
		}
		behind = get_text("%s", text + length);
		text[length] = 0;
		check(text, behind, names[n].fact, plan, options);
		free(behind);
		plan->software = get_memory(plan->software, plan->nr_software + 1,
					    sizeof(*plan->software));
		plan->software[plan->nr_software++] =
			(struct software){ .name = text, .fact = names[n].fact };
	}
	return plan->nr_software ? rest : list;
}
