/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The component's native events: a table that grows with the names in use. A
 * code is the index of an entry.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_EVENTS_H
#define VPMC_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "papi.h"

/* All of these return PAPI_OK or one of PAPI's errors. */
int vpmc_events_init(void);
void vpmc_events_exit(void);
int vpmc_nr_events(void);

/* Returns the bits of modes in this processor's event selects. */
uint64_t vpmc_modes(bool user, bool kernel);

/* Gets the event select of a code, without modes, and its name, which is not freed. */
int vpmc_event_select(unsigned int code, uint64_t *select, const char **name);

int vpmc_enum_events(unsigned int *code, int modifier);
int vpmc_name_to_code(const char *name, unsigned int *code);
int vpmc_code_to_name(unsigned int code, char *name, int length);
int vpmc_code_to_descr(unsigned int code, char *text, int length);
int vpmc_code_to_info(unsigned int code, PAPI_event_info_t *info);

#endif /* VPMC_EVENTS_H */
