// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Native events of the component, with libvpmc's names.
 *
 * The list begins with the processor's table: each event, followed by its unit
 * masks. Then follow the names that programs and PAPI's presets have asked for.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papi.h"

#include <vpmc.h>

#include "vpmc-events.h"

struct entry {
	char *name, *description;
	uint64_t select;
	bool is_umask, usable;
};

static struct entry *entries;
static unsigned int nr, room, listed;
static uint64_t user_mode, kernel_mode;	/* the domain of the event set decides */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * Appends an entry. The caller holds the lock. Returns NULL if there is no
 * memory.
 */
static struct entry *append(const char *name, const char *description)
{
	struct entry *e;

	if (nr == room) {
		unsigned int more = room ? 2 * room : 256;

		e = realloc(entries, more * sizeof(*e));
		if (!e)
			return NULL;
		entries = e;
		room = more;
	}
	e = &entries[nr];
	memset(e, 0, sizeof(*e));
	e->name = strdup(name);
	e->description = strdup(description ? description : "");
	if (!e->name || !e->description) {
		free(e->name);
		free(e->description);
		return NULL;
	}
	nr++;
	return e;
}

uint64_t vpmc_modes(bool user, bool kernel)
{
	return (user ? user_mode : 0) | (kernel ? kernel_mode : 0);
}

/* An event in one mode and in the other one differs by the modes. */
static int find_modes(void)
{
	struct vpmc_event *events;
	unsigned int n;

	if (vpmc_parse_events("instructions:u,instructions:k", &events, &n, NULL))
		return PAPI_ENOMEM;
	user_mode = events[0].select & ~events[1].select;
	kernel_mode = events[1].select & ~events[0].select;
	vpmc_free_events(events);
	return PAPI_OK;
}

static int add_listed(void *arg, const struct vpmc_event_info *info)
{
	struct entry *e;

	(void)arg;
	if (info->flags & VPMC_INFO_PORTABLE)
		return 0;
	e = append(info->name, info->description);
	if (!e)
		return PAPI_ENOMEM;
	e->select = info->select & ~vpmc_modes(true, true);
	e->usable = !info->reason;
	e->is_umask = info->flags & VPMC_INFO_UMASK;
	return 0;
}

void vpmc_events_exit(void)
{
	pthread_mutex_lock(&lock);
	while (nr) {
		nr--;
		free(entries[nr].name);
		free(entries[nr].description);
	}
	free(entries);
	entries = NULL;
	room = listed = 0;
	pthread_mutex_unlock(&lock);
}

int vpmc_events_init(void)
{
	int err;

	vpmc_events_exit();
	err = find_modes();
	if (err)
		return err;
	pthread_mutex_lock(&lock);
	err = vpmc_list_events(add_listed, NULL);
	listed = nr;
	pthread_mutex_unlock(&lock);
	return err;
}

int vpmc_nr_events(void)
{
	unsigned int i, events = 0;

	for (i = 0; i < listed; i++)
		events += !entries[i].is_umask;
	return events;
}

int vpmc_event_select(unsigned int code, uint64_t *select, const char **name)
{
	int err = PAPI_ENOEVNT;

	pthread_mutex_lock(&lock);
	if (code < nr && entries[code].usable) {
		*select = entries[code].select;
		*name = entries[code].name;
		err = PAPI_OK;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

/*
 * Returns the next event, or the next unit mask of this event, or nr if there
 * is none.
 */
static unsigned int next(unsigned int code, bool umask)
{
	unsigned int i;

	for (i = code + 1; i < listed; i++)
		if (entries[i].is_umask == umask || umask)
			break;
	if (i >= listed || entries[i].is_umask != umask)
		return nr;
	return i;
}

int vpmc_enum_events(unsigned int *code, int modifier)
{
	unsigned int found;

	switch (modifier) {
	case PAPI_ENUM_FIRST:
		*code = 0;
		return listed ? PAPI_OK : PAPI_ENOEVNT;
	case PAPI_ENUM_EVENTS:
	case PAPI_NTV_ENUM_UMASKS:
		pthread_mutex_lock(&lock);
		found = next(*code, modifier == PAPI_NTV_ENUM_UMASKS);
		if (found < nr)
			*code = found;
		found = found < nr;
		pthread_mutex_unlock(&lock);
		return found ? PAPI_OK : PAPI_ENOEVNT;
	}
	return PAPI_ENOIMPL;
}

/* Adds a new name, if it can be encoded. */
static int add_name(const char *name, unsigned int *code)
{
	struct vpmc_event *event;
	unsigned int nr_events;
	struct entry *e;
	int err;

	if (vpmc_parse_events(name, &event, &nr_events, NULL))
		return PAPI_ENOEVNT;
	err = nr_events == 1 ? PAPI_OK : PAPI_ENOEVNT;
	if (!err) {
		e = append(name, event->name);
		err = e ? PAPI_OK : PAPI_ENOMEM;
	}
	if (!err) {
		e->select = event->select & ~vpmc_modes(true, true);
		e->usable = true;
		*code = e - entries;
	}
	vpmc_free_events(event);
	return err;
}

int vpmc_name_to_code(const char *name, unsigned int *code)
{
	int err = PAPI_ENOEVNT;
	unsigned int i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < nr; i++)
		if (!strcmp(entries[i].name, name))
			break;
	if (i == nr) {
		err = add_name(name, code);
	} else if (entries[i].usable) {
		*code = i;
		err = PAPI_OK;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

static int copy(unsigned int code, bool name, char *to, int length)
{
	int err = PAPI_ENOEVNT;

	pthread_mutex_lock(&lock);
	if (code < nr) {
		snprintf(to, length, "%s", name ? entries[code].name :
					   entries[code].description);
		err = PAPI_OK;
	}
	pthread_mutex_unlock(&lock);
	return err;
}

int vpmc_code_to_name(unsigned int code, char *name, int length)
{
	return copy(code, true, name, length);
}

int vpmc_code_to_descr(unsigned int code, char *text, int length)
{
	return copy(code, false, text, length);
}

int vpmc_code_to_info(unsigned int code, PAPI_event_info_t *info)
{
	int err = copy(code, true, info->symbol, sizeof(info->symbol));

	return err ? err : copy(code, false, info->long_descr,
				sizeof(info->long_descr));
}
