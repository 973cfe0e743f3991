/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declares start and stop of the harness, each also in a variant that saves all
 * registers.
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

/* Nonzero if XSAVE can be used. Otherwise FXSAVE saves the registers. */
extern int vpmc_harness_xsave;

#endif /* VPMC_HARNESS_PRIVATE_H */
