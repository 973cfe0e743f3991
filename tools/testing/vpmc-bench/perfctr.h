/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Declares the page for perfctr's library. The library is compiled unchanged
 * from PAPI's source.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef PERFCTR_H
#define PERFCTR_H

#include <stdint.h>

struct vperfctr;
struct perfctr_sum_ctrs;

/*
 * Returns what perfctr's driver would have mapped for @n counters with these
 * indices.
 */
struct vperfctr *perfctr_new(unsigned int n, const uint32_t *index);
struct perfctr_sum_ctrs *perfctr_sums(void);
uint64_t perfctr_count(unsigned int i);
int vperfctr_read_ctrs(const struct vperfctr *self,
		       struct perfctr_sum_ctrs *sum);

#endif /* PERFCTR_H */
