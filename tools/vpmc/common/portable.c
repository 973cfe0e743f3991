// SPDX-License-Identifier: GPL-2.0
/*
 * Recognizes the portable events by their event selects.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <vpmc.h>

#include "common/portable.h"

const char *const portable_name[NR_PORTABLE] = {
	"instructions", "cycles", "ref-cycles", "branches", "branch-misses",
	"cache-references", "cache-misses",
};

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
				select[i] = events[i].select & ~SELECT_MODES;
		vpmc_free_events(events);
	}
	known = true;
	return select;
}

int portable_of(uint64_t select)
{
	int i;

	select &= ~SELECT_MODES;
	for (i = 0; select && i < NR_PORTABLE; i++)
		if (select == selects()[i])
			return i;
	return -1;
}

const char *select_text(uint64_t select, char buffer[48])
{
	int which = portable_of(select);

	if (which < 0)
		snprintf(buffer, 48, "0x%" PRIx64, select);
	else
		snprintf(buffer, 48, "%s:%s%s", portable_name[which],
			 select & SELECT_USER ? "u" : "",
			 select & SELECT_KERNEL ? "k" : "");
	return buffer;
}
