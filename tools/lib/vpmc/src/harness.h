/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * start and stop of the harness, and the same that save all registers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_HARNESS_PRIVATE_H
#define VPMC_HARNESS_PRIVATE_H

void vpmc_harness_start(void);
void vpmc_harness_stop(void);

/* harness_save.S */
void vpmc_harness_start_saving(void);
void vpmc_harness_stop_saving(void);

/* Is there XSAVE, and does the kernel use it? Else there is FXSAVE. */
extern int vpmc_harness_xsave;

#endif /* VPMC_HARNESS_PRIVATE_H */
