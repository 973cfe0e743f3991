// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Lists this processor's events in perfctr's form: event code, values of the
 * unit mask.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/*
 * Bits that an entry can have: event, unit mask, and AMD's high bits of the
 * event.
 */
#define FORM		(0xffffULL | 0xfULL << 32)
#define MAX_VALUES	255	/* largest value of unsigned char */

/* State while the list is made. The unit masks follow their event. */
struct making {
	struct perfctr_event *events;
	struct perfctr_unit_mask_value *values;
	unsigned int nr, room, nr_values, nr_defaults;
	unsigned int default_value;
	bool has_default;	/* the event can be encoded without a unit mask */
	unsigned int counters;
	uint64_t ignored;	/* bits that an entry does not have: modes, the kernel's */
	const char *name, *description;
	uint64_t code;
	bool failed;
};

static struct perfctr_event_set own_set;
static const struct perfctr_event_set empty_set = {
	.cpu_type = PERFCTR_X86_GENERIC,
	.event_prefix = "",
};

static bool is_bit(unsigned int value)
{
	return value && !(value & (value - 1));
}

static enum perfctr_unit_mask_type type_of(const struct making *m)
{
	if (m->nr_values == 1)
		return perfctr_um_type_fixed;
	for (unsigned int i = 0; i < m->nr_values; i++)
		if (!is_bit(m->values[i].value))
			return perfctr_um_type_exclusive;
	return perfctr_um_type_bitmask;
}

static const struct perfctr_unit_mask *make_unit_mask(struct making *m)
{
	struct perfctr_unit_mask *mask;

	if (!m->nr_values)
		return NULL;
	mask = calloc(1, sizeof(*mask) + (m->nr_values - 1) * sizeof(mask->values[0]));
	if (!mask) {
		m->failed = true;
		return NULL;
	}
	mask->type = type_of(m);
	mask->nvalues = m->nr_values;
	mask->default_value = m->has_default ? m->default_value :
					       m->values[0].value;
	memcpy(mask->values, m->values, m->nr_values * sizeof(mask->values[0]));
	return mask;
}

static bool grow(struct making *m)
{
	struct perfctr_event *more;

	if (m->nr < m->room)
		return true;
	m->room = m->room ? 2 * m->room : 64;
	more = realloc(m->events, m->room * sizeof(*more));
	if (!more) {
		m->failed = true;
		return false;
	}
	m->events = more;
	return true;
}

/* Ends an event, after its last unit mask. */
static void finish(struct making *m)
{
	struct perfctr_event *event;

	if (!m->name || !(m->has_default || m->nr_values) || !grow(m))
		return;
	event = &m->events[m->nr++];
	event->evntsel = (m->code & 0xff) | (m->code >> 32 & 0xf) << 8;
	event->counters_set = m->counters;
	event->unit_mask = make_unit_mask(m);
	event->name = m->name;
	event->description = m->description;
}

static char *copy(struct making *m, const char *text)
{
	char *new = strdup(text ? text : "");

	if (!new)
		m->failed = true;
	return new;
}

static void begin(struct making *m, const struct vpmc_event_info *info, bool usable)
{
	finish(m);
	m->name = copy(m, info->event);
	m->description = copy(m, info->description);
	m->nr_values = 0;
	m->has_default = usable;
	m->default_value = SELECT_UMASK(info->select);
	m->code = info->select & ~0xff00ULL;
}

static void add_value(struct making *m, const struct vpmc_event_info *info)
{
	struct perfctr_unit_mask_value *value = &m->values[m->nr_values];
	char *text;

	if (m->nr_values == MAX_VALUES)
		return;
	if (!m->has_default && !m->nr_values)
		m->code = info->select & ~0xff00ULL;
	/* leave out unit masks that change the event */
	if ((info->select ^ m->code) & FORM & ~0xff00ULL)
		return;
	if (asprintf(&text, "%s:%s", info->umask,
		     info->description ? info->description : "") < 0) {
		m->failed = true;
		return;
	}
	value->value = SELECT_UMASK(info->select);
	value->description = text;
	m->nr_values++;
}

static int tell(void *arg, const struct vpmc_event_info *info)
{
	struct making *m = arg;
	bool usable = !info->reason && !(info->select & ~FORM & ~m->ignored);

	if (info->flags & VPMC_INFO_PORTABLE)
		return 0;
	if (!(info->flags & VPMC_INFO_UMASK))
		begin(m, info, usable);
	else if (usable)
		add_value(m, info);
	return m->failed;
}

static void make_set(void)
{
	struct perfctr_unit_mask_value values[MAX_VALUES];
	struct making m = { .values = values };
	struct perfctr_info info;
	struct vpmc_info vpmc;

	if (perfctr_get_info(&info) < 0 || vpmc_get_info(&vpmc))
		return;
	m.counters = vpmc.gp_mask;
	m.ignored = select_modes(vpmc.kind) | select_form(vpmc.kind).owned;
	vpmc_list_events(tell, &m);
	finish(&m);
	own_set.cpu_type = info.cpu_type;
	own_set.event_prefix = "";
	if (m.failed)
		return;
	own_set.events = m.events;
	own_set.nevents = m.nr;
}

/*
 * Returns the events of this processor's type, or the empty set for processors
 * without counters. A Pentium 4's set is empty, because an entry has no room for two
 * registers. Other types have no table here.
 */
EXPORT const struct perfctr_event_set *perfctr_cpu_event_set(unsigned int cpu_type)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (cpu_type == PERFCTR_X86_GENERIC)
		return &empty_set;
	pthread_once(&once, make_set);
	return cpu_type == own_set.cpu_type ? &own_set : NULL;
}
