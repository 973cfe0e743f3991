/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the metrics of groups are worth in a result, and how they are printed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GROUP_VALUES_H
#define GROUP_VALUES_H

#include "stat/metric-group.h"
#include "stat/result.h"

/* Room for any number, with six digits behind the point, and an exponent if it is large */
#define GROUP_NUMBER	40

/* Where values come from: the whole program, one of its runs, or a region of it */
struct group_source {
	const struct result *result;
	const struct run *run;			/* NULL: the means of all runs */
	const struct stat_region *region;	/* NULL: the whole program */
	const struct alternative *alternative;
};

struct worth group_metric_worth(const struct group_source *source,
				const struct group_metric *metric);

/* Writes a number as all formats have it. Zero has no sign. */
const char *group_number(double value, char text[GROUP_NUMBER]);

/*
 * Print the metrics of all groups of -M, for the whole program or, with inclusive values, for
 * a region. JSON's are added to @array.
 */
void groups_text(FILE *file, const struct result *result, const struct stat_region *region,
		 bool colour);
void groups_json(struct json_object *array, const struct result *result,
		 const struct stat_region *region);
void groups_csv(FILE *file, const struct result *result, const struct stat_region *region,
		const char *mark, char separator);

#endif /* GROUP_VALUES_H */
