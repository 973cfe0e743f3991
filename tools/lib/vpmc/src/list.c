// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Lists all events of this processor.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* The caller's function, and its first argument. */
struct listener {
	int (*tell)(void *arg, const struct vpmc_event_info *info);
	void *arg;
	enum vpmc_kind kind;
};

/* Tells a portable name, or another word for it. */
static int tell_name(const struct listener *to, const struct vpmc_portable *p,
		     const char *name, const char *description)
{
	struct vpmc_event_info info = { .name = name, .event = name,
					.description = description,
					.flags = VPMC_INFO_PORTABLE };
	uint64_t code = vpmc_portable_code(p, to->kind);

	if (code)
		info.select = code | select_form(to->kind).user;
	else
		info.reason = VPMC_WHY_NOT_PORTABLE;
	return to->tell(to->arg, &info);
}

static int tell_portable(const struct listener *to)
{
	char description[64];
	unsigned int i;
	int result = 0;

	for (i = 0; i < vpmc_nr_portable && !result; i++) {
		const struct vpmc_portable *p = &vpmc_portable[i];

		result = tell_name(to, p, p->name, p->description);
		if (result || !p->alias)
			continue;
		snprintf(description, sizeof(description), "perf's other name for %s", p->name);
		result = tell_name(to, p, p->alias, description);
	}
	return result;
}

/*
 * perf's generic names that this processor has, also those of events that need another
 * register. A name that is portable was told already.
 */
static int tell_perf(const struct listener *to)
{
	struct vpmc_complaint c;
	const char *name;
	unsigned int i;
	int result = 0;

	for (i = 0; (name = vpmc_perf_name_at(i)) && !result; i++) {
		struct vpmc_event_info info = { .name = name, .event = name, .table = "perf" };
		char description[64];

		if (vpmc_portable_find(name, strlen(name)))
			continue;
		info.reason = vpmc_perf_name(name, strlen(name), to->kind, &info.select, &c);
		if (info.reason == VPMC_WHY_UNKNOWN)
			continue;
		snprintf(description, sizeof(description), "perf's name for the event select %#llx",
			 (unsigned long long)info.select);
		info.description = info.reason ? c.why : description;
		if (!info.reason)
			info.select |= select_form(to->kind).user;
		result = to->tell(to->arg, &info);
	}
	return result;
}

static uint32_t reason_for(const char *name, enum vpmc_kind kind,
			   uint64_t *select)
{
	const char *attribute;
	char *full;
	int reason = vpmc_table_encode(name, select, &full);

	free(full);
	if (reason < 0)
		return VPMC_WHY_SYSTEM;
	attribute = reason ? NULL : vpmc_refused_attribute(*select, kind);
	if (attribute) {
		*select = 0;
		reason = *attribute ? VPMC_WHY_REFUSED_ATTRIBUTE :
				      VPMC_REASON_RESERVED_BIT;
	}
	return reason;
}

static int tell_event(void *arg, const struct vpmc_umask *u)
{
	const struct listener *to = arg;
	struct vpmc_event_info info = {
		.event = u->event,
		.umask = u->umask,
		.description = u->description,
		.table = u->table,
		.flags = (u->umask ? VPMC_INFO_UMASK : 0) |
			 (u->is_default ? VPMC_INFO_DEFAULT : 0),
	};
	char *name;
	int result;

	if (asprintf(&name, "%s%s%s", u->event, u->umask ? ":" : "",
		     u->umask ? u->umask : "") < 0)
		return -1;
	info.name = name;
	info.reason = reason_for(name, to->kind, &info.select);
	result = to->tell(to->arg, &info);
	free(name);
	return result;
}

EXPORT int vpmc_list_events(int (*tell)(void *arg,
					const struct vpmc_event_info *info),
			    void *arg)
{
	struct listener to = { tell, arg, vpmc_processor_kind() };
	int result = tell_portable(&to);

	if (!result)
		result = tell_perf(&to);
	return result ? result : vpmc_table_walk(tell_event, &to);
}
