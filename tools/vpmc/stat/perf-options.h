/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Options of perf stat that vpmc stat does not have.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERF_OPTIONS_H
#define PERF_OPTIONS_H

#include <stddef.h>

/* Returns what helps instead of the option, "-G" or "--cgroup", or NULL if perf has none. */
const char *perf_option_advice(const char *option, size_t length);

#endif /* PERF_OPTIONS_H */
