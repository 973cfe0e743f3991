/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Copyright (C) 2026 vpmc developers
 */
#ifndef READS_H
#define READS_H

#include <vpmc-read.h>

/* vpmc_read_page() as a library has it: a function of another file */
void read_call(const struct vpmc_page *page, uint64_t *count, uint64_t *ticks);

#endif /* READS_H */
