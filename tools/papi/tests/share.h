/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the test program share and its cases have in common.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SHARE_H
#define SHARE_H

#include <stdint.h>

#include <vpmc.h>

#define ROUNDS		1000000L
#define INSTRUCTIONS	"INST_RETIRED:ANY_P"
#define BRANCHES	"BR_INST_RETIRED:ALL_BRANCHES"
#define CYCLES		"CPU_CLK_UNHALTED:THREAD_P"
#define INSTRUCTIONS_SELECT	0x100c0
#define BRANCHES_SELECT		0x100c4
#define SUMS		"/tmp/share.sums"
#define OWNED		(5ULL << 20)		/* INT and EN of an event select */

/* what a case leaves in SUMS: the sums of its thread's set, shortly before its end */
struct sums {
	uint64_t select[VPMC_MAX_COUNTERS], sum[VPMC_MAX_COUNTERS], nr;
};

/* Executes two instructions for each round, one of them a branch. */
void loop(long n);

const char *word(int err);
void init(void);
int new_set(void);
void end_set(int set);

/* The name of an event in the component. An event set of INSTRUCTIONS and BRANCHES. */
const char *name_of(const char *event);
void add(int set, const char *event);
int two_events(void);

/* Prints what the loop counts, without what two reads take. */
void count(const char *what, int set, int nr);

void on_overflow(int set, void *at, long long which, void *context);
void set_revoke(const char *text);

/* How many counters the thread has, and which one counts this. */
int nr_counters(void);
int element_of(struct vpmc *v, uint64_t select);

/* share-changes.c */
void case_cleared(void);
void case_overtaken(void);
void case_at_once(void);
void case_comes(void);
void case_goes(void);
void case_attached(void);
void case_options(void);
void case_release(void);
void case_pageless(void);

/* Runs a case. Returns the exit status, or does not return. */
int run_case(const char *name);

#endif /* SHARE_H */
