// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * usage: model_test TABLE KIND
 *
 * Checks how the library sees this processor. It must use libpfm4's table TABLE
 * and the portable names of KIND ("intel", "amd" or "p4"). Those must count exactly. The
 * kernel must accept every event that the library lists without a reason, except for
 * those of the counters that perf keeps.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include <vpmc.h>

#define TURNS	10000

/* The selects of the portable names, for each KIND */
static const struct {
	const char *kind;
	uint64_t instructions, branches;
} known[] = {
	{ "intel", 0x100c0, 0x100c4 },
	{ "amd", 0x100c0, 0x100c2 },
	{ "p4", 0x0400060400008000, 0x0c001e040000a000 },
};

#define NR_KNOWN	(sizeof(known) / sizeof(known[0]))

static struct vpmc *v;
static unsigned int accepted, refused, left;

static void work(unsigned long turns)
{
	__asm__ __volatile__("1:\n\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

/* Stores what the loop adds to "instructions" and "branches", undisturbed. */
static void count(uint64_t difference[2])
{
	const struct vpmc_page *page = vpmc_page(v);
	uint64_t a[2], b[2], c[2], generation;
	int tries = 1000;

	do {
		generation = page->generation;
		vpmc_read(v, a, 2, NULL);
		work(1);
		vpmc_read(v, b, 2, NULL);
		work(TURNS + 1);
		vpmc_read(v, c, 2, NULL);
	} while (*(volatile __u64 *)&page->generation != generation && --tries);
	difference[0] = c[0] - b[0] - (b[0] - a[0]);
	difference[1] = c[1] - b[1] - (b[1] - a[1]);
}

/* Returns true if the kernel knows that this processor lacks the event. */
static int is_known_refusal(const struct vpmc_error *error)
{
	return (error->reason == VPMC_REASON_NO_COUNTER &&
		strstr(error->text, "fixed counter")) ||
	       error->reason == VPMC_REASON_UNAVAILABLE ||
	       error->reason == VPMC_REASON_EXTRA_MSR ||
	       error->reason == VPMC_REASON_AMBIGUOUS ||
	       error->reason == VPMC_REASON_WRONG_EVENT;
}

static int program(void *arg, const struct vpmc_event_info *info)
{
	struct vpmc_event *events;
	struct vpmc_error error;
	unsigned int nr;
	int err;

	(void)arg;
	if (info->reason)
		return 0;
	if (vpmc_parse_events(info->name, &events, &nr, &error))
		errx(1, "%s", error.text);
	err = vpmc_program(v, events, nr, VPMC_CONTROL_STOPPED, &error);
	vpmc_free_events(events);
	if (err == 1)
		accepted++;
	else if (is_known_refusal(&error))
		refused++;
	else if (error.reason == VPMC_REASON_LEFT_TO_PERF)
		left++;
	else
		errx(1, "%s", error.text);
	return 0;
}

int main(int argc, char **argv)
{
	struct vpmc_event *events;
	struct vpmc_error error;
	uint64_t difference[2];
	const char *table = vpmc_table(NULL);
	unsigned int nr, kind = 0;

	while (argc == 3 && kind < NR_KNOWN && strcmp(argv[2], known[kind].kind))
		kind++;
	if (argc != 3 || kind == NR_KNOWN)
		errx(2, "usage: model_test TABLE intel|amd|p4");
	if (!table || strcmp(table, argv[1]))
		errx(1, "table %s, not %s", table, argv[1]);
	if (vpmc_open(&v, 0, &error) || vpmc_check(&error) ||
	    vpmc_parse_events("instructions,branches", &events, &nr, &error))
		errx(1, "%s", error.text);
	if (events[0].select != known[kind].instructions ||
	    events[1].select != known[kind].branches)
		errx(1, "selects %#llx and %#llx",
		     (unsigned long long)events[0].select,
		     (unsigned long long)events[1].select);
	if (vpmc_program(v, events, nr, 0, &error) != 2)
		errx(1, "%s", error.text);
	vpmc_free_events(events);
	count(difference);
	if (difference[0] != 2 * TURNS || difference[1] != TURNS)
		errx(1, "counted %llu and %llu",
		     (unsigned long long)difference[0],
		     (unsigned long long)difference[1]);
	vpmc_list_events(program, NULL);
	vpmc_close(v);
	printf("%s: counts exactly; %u events accepted, %u marked by the kernel, %u left to perf\n",
	       table, accepted, refused, left);
	return accepted < 4 || left > accepted;
}
