/* SPDX-License-Identifier: GPL-2.0 */
/*
 * -d: loads and misses of caches and TLBs, by perf's generic names.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef DETAILED_H
#define DETAILED_H

#include <stdbool.h>
#include <stdint.h>
#include <vpmc.h>

/* Returns an optional event that -d adds, if it was given @times times, or NULL behind the last. */
const char *detailed_event(unsigned int times, unsigned int i);

/*
 * If @event is of misses, returns true, the select of the loads that can miss, in the same
 * modes, and what a ratio of both is called.
 */
bool detailed_loads(const struct vpmc_event *event, uint64_t *loads, const char **per);

#endif /* DETAILED_H */
