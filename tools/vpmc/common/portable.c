// SPDX-License-Identifier: GPL-2.0
/*
 * Recognizes the portable events, and the modes, by event selects.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <vpmc.h>

#include "common/portable.h"
#include "select.h"

const char *const portable_name[NR_PORTABLE] = {
	"instructions", "cycles", "ref-cycles", "branches", "branch-misses",
	"cache-references", "cache-misses",
};

enum vpmc_kind events_kind(void)
{
	static enum vpmc_kind kind;
	static bool known;
	const char *table;
	struct vpmc_info info;

	if (known)
		return kind;
	known = true;
	table = vpmc_table(NULL);
	if (!vpmc_get_info(&info) && info.kind != VPMC_KIND_TSC)
		kind = select_kind_of_events(&info);
	else if (table)
		kind = select_kind_of_table(table);
	return kind;
}

uint64_t modes_of(uint64_t select)
{
	return select & select_modes(events_kind());
}

uint64_t without_modes(uint64_t select)
{
	return select & ~select_modes(events_kind());
}

/*
 * Returns this processor's selects, without modes. 0 means that it lacks the
 * event.
 */
static const uint64_t *selects(void)
{
	static const char all[] =
		"instructions?,cycles?,ref-cycles?,branches?,branch-misses?,cache-references?,cache-misses?";
	static uint64_t select[NR_PORTABLE];
	static bool known;
	struct vpmc_event *events;
	unsigned int nr, i;

	if (!known && !vpmc_parse_events(all, &events, &nr, NULL)) {
		for (i = 0; i < nr && i < NR_PORTABLE; i++)
			if (!(events[i].flags & VPMC_EVENT_LEFT_OUT))
				select[i] = without_modes(events[i].select);
		vpmc_free_events(events);
	}
	known = true;
	return select;
}

int portable_of(uint64_t select)
{
	int i;

	select = without_modes(select);
	for (i = 0; select && i < NR_PORTABLE; i++)
		if (select == selects()[i])
			return i;
	return -1;
}

const char *select_text(uint64_t select, char buffer[48])
{
	const struct select_form form = select_form(events_kind());
	int which = portable_of(select);

	if (which < 0)
		snprintf(buffer, 48, "0x%" PRIx64, select);
	else
		snprintf(buffer, 48, "%s:%s%s", portable_name[which],
			 select & form.user ? "u" : "",
			 select & form.kernel ? "k" : "");
	return buffer;
}
