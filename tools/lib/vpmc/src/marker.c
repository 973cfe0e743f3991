// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Markers: finds the regions of a thread for the macros of vpmc-marker.h.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "region.h"
#include "report.h"
#define VPMC
#include <vpmc-marker.h>

static int do_nothing(struct vpmc_region *region)
{
	(void)region;
	return 0;
}

/* The region of markers that are not counted. */
static struct vpmc_region nothing = { do_nothing, do_nothing };

/* The regions of this thread's markers, or NULL */
static __thread struct vpmc_regions *mine;
/* They cannot be opened, or nobody has asked for counts. */
static __thread bool given_up;

void vpmc_marker_use(struct vpmc_regions *regions)
{
	mine = regions;
}

void vpmc_marker_forget(const struct vpmc_regions *regions)
{
	if (mine == regions)
		mine = NULL;
}

void vpmc_marker_say(enum marker_line line, const char *format, ...)
{
	static unsigned int said;
	int saved = errno;
	va_list args;

	if (__atomic_fetch_or(&said, 1U << line, __ATOMIC_RELAXED) & 1U << line)
		return;
	va_start(args, format);
	vdprintf(STDERR_FILENO, format, args);
	va_end(args);
	errno = saved;
}

static void say_not_counted(const struct vpmc_error *error)
{
	vpmc_marker_say(LINE_NOT_COUNTED, "vpmc: markers are not counted: %s\n", error->text);
}

/* Opens the regions of the calling thread. Returns NULL if they are not to be counted. */
static struct vpmc_regions *open_own(void)
{
	struct vpmc_regions *regions = vpmc_regions_inherited();
	struct vpmc_error error;
	int err;

	given_up = true;
	if (regions)
		err = vpmc_regions_open_again(regions, &error);
	else if (vpmc_report_is_asked())
		err = vpmc_regions_open_marked(&regions, &error);
	else
		return NULL;
	if (err) {
		say_not_counted(&error);
		return NULL;
	}
	given_up = false;
	return regions;
}

/* Returns the regions of the calling thread, or NULL. */
static struct vpmc_regions *own(void)
{
	if (!mine)
		mine = vpmc_regions_of_thread();
	if (!mine && !given_up)
		mine = open_own();
	return mine;
}

/*
 * Bytes of a place's name. Languages without macros give a name and its length: @file is NULL, and
 * @line the length. Fortran fills up names with blanks.
 */
static size_t name_length(const struct vpmc_place *place)
{
	size_t length = place->line;

	if (place->file)
		return strlen(place->name);
	while (length && place->name[length - 1] == ' ')
		length--;
	return length;
}

/* What is too long gets no name, which is refused later. */
static int get(struct vpmc_regions *regions, const struct vpmc_place *place,
	       struct vpmc_region **region)
{
	size_t length = name_length(place);
	char text[256] = "";

	if (length < sizeof(text))
		memcpy(text, place->name, length);
	return vpmc_region_get(regions, text, region);
}

/*
 * Finds a region. What this counts is taken out of all open regions, with @cost. A signal handler
 * that has interrupted its thread in a call about these regions is not counted.
 */
static struct vpmc_region *find(struct vpmc_regions *regions, const struct vpmc_place *place,
				const uint64_t *cost, int *err)
{
	struct vpmc_region *region;
	struct flush flush;

	*err = -EBUSY;
	if (!regions->owner)
		return &nothing;
	vpmc_regions_enter(regions);
	vpmc_samples_flush(regions, &flush);
	*err = get(regions, place, &region);
	if (!*err)
		((struct region *)region)->by_markers = true;
	vpmc_samples_flushed(regions, &flush, cost);
	vpmc_regions_leave(regions);
	return *err ? &nothing : region;
}

/* Takes what the call costs out of the regions that are open. */
static void take_out(struct vpmc_regions *regions, const uint64_t *cost)
{
	struct flush flush;

	if (!regions->owner)
		return;
	vpmc_regions_enter(regions);
	vpmc_samples_flush(regions, &flush);
	vpmc_samples_flushed(regions, &flush, cost);
	vpmc_regions_leave(regions);
}

static void say_no_region(const struct vpmc_place *place, int err)
{
	if (err == -EINVAL)
		vpmc_marker_say(LINE_TOO_MANY,
				"vpmc: region %.*s: a name has 1 to 255 bytes; this one is not counted\n",
				(int)name_length(place), place->name);
	else if (err && err != -EBUSY)
		vpmc_marker_say(LINE_TOO_MANY,
				"vpmc: region %.*s is not counted: there are %d of them in this thread, or no memory\n",
				(int)name_length(place), place->name, VPMC_REGIONS_MAX);
}

EXPORT struct vpmc_region *vpmc_marker_find(struct vpmc_region **handle,
					    const struct vpmc_place *place)
{
	struct vpmc_regions *regions = own();
	struct vpmc_region *region;
	int err;

	if (!regions) {
		*handle = &nothing;
		return &nothing;
	}
	region = find(regions, place, regions->late_begin, &err);
	say_no_region(place, err);
	if (err != -EBUSY)
		*handle = region;
	return region;
}

static void say_not_begun(const struct vpmc_regions *regions, const struct vpmc_place *place)
{
	/* A child of fork() may end what its parent has begun. */
	if (regions->is_again)
		return;
	vpmc_marker_say(LINE_NOT_BEGUN,
			"vpmc: region %.*s has not begun in this thread; nothing is ended (%s:%u)\n",
			(int)name_length(place), place->name,
			place->file ? place->file : "a call by name", place->file ? place->line : 0);
}

EXPORT void vpmc_marker_late(struct vpmc_region **handle, const struct vpmc_place *place,
			     int error)
{
	struct vpmc_regions *regions = own();
	struct vpmc_region *region;
	int err;

	if (!regions) {
		*handle = &nothing;
		return;
	}
	if (error == -ENXIO) {
		region = find(regions, place, regions->late_end, &err);
		error = vpmc_end(region);
		if (err != -EBUSY)
			*handle = region;
		take_out(regions, regions->late_after);
	}
	if (error == -ENOENT)
		say_not_begun(regions, place);
}

EXPORT void vpmc_marker_open(void)
{
	own();
}

EXPORT void vpmc_marker_write(void)
{
	vpmc_report_at_exit();
}

EXPORT void vpmc_marker_broken(void)
{
	vpmc_marker_say(LINE_BREAK,
			"vpmc: break leaves VPMC_REGION alone, and not the loop around; use VPMC_SCOPE, return or goto\n");
}

/* Ends nothing, and so makes up for a begin that was refused. */
static int end_skipped(struct vpmc_region *public)
{
	struct region *region = (struct region *)public;

	if (!--region->skipped)
		vpmc_region_functions(public, region->regions->flags);
	return 0;
}

/* Each begin has its end, in the opposite order. So the ends that come first are of these. */
void vpmc_marker_skip(struct region *region, int error)
{
	if (error != -ENOSPC && error != -ENODATA)
		return;
	region->skipped++;
	region->public.end = end_skipped;
	if (error == -ENOSPC)
		vpmc_marker_say(LINE_SKIPPED,
				"vpmc: region %s: more than %d regions have begun; those within them are not counted\n",
				region->name, VPMC_REGIONS_DEPTH);
	else
		vpmc_marker_say(LINE_SKIPPED,
				"vpmc: region %s is not counted any more: the thread's set was stopped or replaced\n",
				region->name);
}

/* The first begin in a child of fork(). */
static int begin_again(struct vpmc_region *public)
{
	struct region *region = (struct region *)public;
	struct vpmc_regions *regions = region->regions;
	bool is_open = own() == regions;

	for (region = regions->first; region; region = region->next) {
		vpmc_region_functions(&region->public, regions->flags);
		if (!is_open)
			region->public = nothing;
	}
	return public->begin(public);
}

void vpmc_marker_in_child(void)
{
	mine = NULL;
	given_up = false;
}

void vpmc_marker_forked(struct vpmc_regions *regions)
{
	struct region *region;

	for (region = regions->first; region; region = region->next)
		region->public = (struct vpmc_region){ begin_again, do_nothing };
}

EXPORT void vpmc_name_begin(const char *name, size_t length)
{
	struct vpmc_place place = { name, NULL, length };
	struct vpmc_region *handle;

	vpmc_begin(vpmc_marker_find(&handle, &place));
}

EXPORT void vpmc_name_end(const char *name, size_t length)
{
	struct vpmc_place place = { name, NULL, length };
	struct vpmc_region *handle;

	vpmc_marker_late(&handle, &place, -ENXIO);
}
