// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Access to libpfm4's tables of events. libpfm4 is not thread-safe, so one lock
 * covers all calls from this library. Other code in the process may use libpfm4
 * too, so pfm_terminate() is never called.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <perfmon/pfmlib.h>

#include "internal.h"

/* table of the architectural events, which all Intel processors have */
#define ARCHITECTURAL	"ix86arch"

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/*
 * The model's own table, if there is one, and then the architectural one.
 * @searched says whether they have been looked for.
 */
static pfm_pmu_info_t tables[2];
static unsigned int nr_tables;
static bool searched;

void vpmc_table_lock(void)
{
	pthread_mutex_lock(&table_lock);
}

void vpmc_table_unlock(void)
{
	pthread_mutex_unlock(&table_lock);
}

/*
 * Returns true if @name is @than with a suffix. libpfm4 reports both
 * "amd64_fam17h" and its newer form "amd64_fam17h_zen1" as present.
 */
static bool is_more_exact(const char *name, const char *than)
{
	size_t length = strlen(than);

	return !strncmp(name, than, length) && name[length] == '_';
}

/*
 * Finds the tables. The caller holds the lock. On a kernel with perf libpfm4
 * also has pseudo-PMUs, which give perf's own numbers for names like
 * "instructions". So only PMUs of type CORE are used.
 */
static void search(void)
{
	pfm_pmu_info_t info, architectural = { .name = NULL };
	int i;

	if (searched)
		return;
	searched = true;
	if (pfm_initialize() != PFM_SUCCESS)
		return;
	for (i = PFM_PMU_NONE; i < PFM_PMU_MAX; i++) {
		memset(&info, 0, sizeof(info));
		info.size = sizeof(info);
		if (pfm_get_pmu_info(i, &info) != PFM_SUCCESS ||
		    !info.is_present || info.type != PFM_PMU_TYPE_CORE)
			continue;
		if (!strcmp(info.name, ARCHITECTURAL))
			architectural = info;
		else if (!nr_tables || is_more_exact(info.name, tables[0].name))
			tables[0] = info, nr_tables = 1;
	}
	if (architectural.name)
		tables[nr_tables++] = architectural;
}

EXPORT const char *vpmc_table(const char **description)
{
	const char *name = NULL, *desc = NULL;

	vpmc_table_lock();
	search();
	if (nr_tables) {
		name = tables[0].name;
		desc = tables[0].desc;
	}
	vpmc_table_unlock();
	if (description)
		*description = desc;
	return name;
}

/* Returns the reason for an error of libpfm4. */
static int reason_of(int error)
{
	switch (error) {
	case PFM_SUCCESS:
		return 0;
	case PFM_ERR_NOTFOUND:
	case PFM_ERR_NOTSUPP:
		return VPMC_WHY_UNKNOWN;
	case PFM_ERR_UMASK:
		return VPMC_WHY_UMASK;
	case PFM_ERR_NOMEM:
		return -ENOMEM;
	}
	return VPMC_WHY_ATTRIBUTE;
}

/*
 * Makes a select of libpfm4's codes. NetBurst's are ESCR and CCCR, with what Linux sets and
 * with the modes of the other thread in bits 0 and 1 of the ESCR.
 */
static int take_codes(const char *table, const pfm_pmu_encode_arg_t *arg, uint64_t *select)
{
	enum vpmc_kind kind = select_kind_of_table(table);
	uint64_t value = arg->codes[0];

	if (arg->count != (kind == VPMC_KIND_P4 ? 2 : 1))
		return VPMC_REASON_EXTRA_MSR;
	if (kind == VPMC_KIND_P4) {
		value = (value & ~3ULL) << 32 |
			(arg->codes[1] & ~select_form(kind).owned);
		if (vpmc_needs_register(value, kind))
			return VPMC_REASON_EXTRA_MSR;
	}
	*select = value;
	return 0;
}

/* Encodes a name in one table, by writing the table's name before it. */
static int encode(const char *table, const char *name, uint64_t *select,
		  char **full)
{
	pfm_pmu_encode_arg_t arg = { .size = sizeof(arg), .fstr = full };
	char *prefixed;
	int result;

	if (asprintf(&prefixed, "%s::%s", table, name) < 0)
		return -ENOMEM;
	result = reason_of(pfm_get_os_event_encoding(prefixed, PFM_PLM3,
						     PFM_OS_NONE, &arg));
	free(prefixed);
	/* For NetBurst, libpfm4 has one error for a wrong attribute and for no unit mask. */
	if (result == VPMC_WHY_ATTRIBUTE && select_kind_of_table(table) == VPMC_KIND_P4 &&
	    !strchr(name, ':'))
		result = VPMC_WHY_UMASK;
	if (!result)
		result = take_codes(table, &arg, select);
	free(arg.codes);
	return result;
}

/*
 * Returns the table that the name begins with ("skl::NAME"), or NULL if it
 * begins with none.
 */
static const char *named_table(const char *name, const char **rest, bool *known)
{
	const char *colons = strstr(name, "::");
	unsigned int i;

	*rest = name;
	*known = true;
	if (!colons)
		return NULL;
	*rest = colons + 2;
	for (i = 0; i < nr_tables; i++)
		if (strlen(tables[i].name) == (size_t)(colons - name) &&
		    !strncasecmp(tables[i].name, name, colons - name))
			return tables[i].name;
	*known = false;
	return NULL;
}

int vpmc_table_encode(const char *name, uint64_t *select, char **full)
{
	const char *rest, *wanted;
	char *found = NULL;
	unsigned int i;
	int result;
	bool known;

	*select = 0;
	*full = NULL;
	vpmc_table_lock();
	search();
	result = nr_tables ? VPMC_WHY_UNKNOWN : VPMC_WHY_NO_TABLE;
	wanted = named_table(name, &rest, &known);
	for (i = 0; known && i < nr_tables && result == VPMC_WHY_UNKNOWN; i++) {
		if (wanted && wanted != tables[i].name)
			continue;
		result = encode(tables[i].name, rest, select, &found);
		if (result) {
			free(found);
			found = NULL;
		}
	}
	vpmc_table_unlock();
	if (result)
		*select = 0;
	*full = found;
	return result;
}

/* The index is libpfm4's own. Each call takes the lock for itself. */
static int event_info(int idx, pfm_event_info_t *info)
{
	int result;

	memset(info, 0, sizeof(*info));
	info->size = sizeof(*info);
	vpmc_table_lock();
	result = pfm_get_event_info(idx, PFM_OS_NONE, info);
	vpmc_table_unlock();
	return result;
}

static int next_event(int idx)
{
	int next;

	vpmc_table_lock();
	next = pfm_get_event_next(idx);
	vpmc_table_unlock();
	return next;
}

static int walk_umasks(const struct vpmc_umask *event,
		       const pfm_event_info_t *info,
		       int (*tell)(void *arg, const struct vpmc_umask *umask),
		       void *arg)
{
	struct vpmc_umask umask = *event;
	pfm_event_attr_info_t attr;
	int i, result;

	for (i = 0; i < info->nattrs; i++) {
		memset(&attr, 0, sizeof(attr));
		attr.size = sizeof(attr);
		vpmc_table_lock();
		result = pfm_get_event_attr_info(info->idx, i, PFM_OS_NONE,
						 &attr);
		vpmc_table_unlock();
		if (result != PFM_SUCCESS || attr.type != PFM_ATTR_UMASK)
			continue;
		umask.umask = attr.name;
		umask.description = attr.desc;
		umask.is_default = attr.is_dfl;
		result = tell(arg, &umask);
		if (result)
			return result;
	}
	return 0;
}

int vpmc_table_walk(int (*tell)(void *arg, const struct vpmc_umask *umask),
		    void *arg)
{
	struct vpmc_umask event = { .table = vpmc_table(NULL) };
	pfm_event_info_t info;
	int idx, result;

	if (!event.table)
		return 0;
	/* tables[] was written once, before vpmc_table() released the lock */
	for (idx = tables[0].first_event; idx >= 0; idx = next_event(idx)) {
		if (event_info(idx, &info) != PFM_SUCCESS)
			continue;
		event.event = info.name;
		event.description = info.desc;
		result = tell(arg, &event);
		if (!result)
			result = walk_umasks(&event, &info, tell, arg);
		if (result)
			return result;
	}
	return 0;
}
