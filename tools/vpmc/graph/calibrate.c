// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What an event costs in front of its first read and behind its last one, beyond the
 * one instruction of a hook that does nothing. It is measured, for each counter, by
 * reading that counter just before and just behind a call.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "hooks.h"

#define TRIES	5	/* of which the least is taken */

static const struct vpmc_page *own_page;
static uint64_t trial_value[RECORD_VALUES];
static volatile unsigned int forced;

static void read_once(void)
{
	graph_read(own_page, process.nr_values, trial_value, forced);
}

/* A counter's value as the page has it. */
static uint64_t whole(unsigned int value, uint64_t raw)
{
	if (!value)
		return own_page->tsc_base + raw;
	return own_page->slot[value - 1].base + (raw ^ own_page->sign);
}

/* Repeated until nothing has disturbed it, but not for long. */
static void probe(unsigned int value, enum probe kind, void (*target)(void),
		  uint64_t at[2])
{
	uint32_t index = value ? own_page->slot[value - 1].index : VPMC_ANY;
	unsigned int tries = 100;
	uint64_t generation;

	do {
		generation = *(const volatile __u64 *)&own_page->generation;
		graph_trial->nr_frames = 0;
		graph_trial->current = 0;
		graph_probe(index, kind, target, at);
		at[0] = whole(value, at[0]);
		at[1] = whole(value, at[1]);
	} while (*(const volatile __u64 *)&own_page->generation != generation && --tries);
}

/* The parts of a probe itself. */
struct parts {
	int64_t before;		/* from the first read to the call */
	int64_t behind;		/* from the call to the second read */
	int64_t call;		/* the call, and as much is the return */
};

static void least(int64_t *result, int64_t value, unsigned int try)
{
	if (!try || value < *result)
		*result = value;
}

static struct parts find_parts(unsigned int value)
{
	int64_t nothing = 0, twice = 0, call = 0;
	struct parts parts;
	unsigned int try;
	uint64_t at[2];

	for (try = 0; try < TRIES; try++) {
		probe(value, PROBE_NOTHING, graph_stub, at);
		least(&nothing, at[1] - at[0], try);
		probe(value, PROBE_TWICE, graph_stub, at);
		least(&twice, at[1] - at[0], try);
		probe(value, PROBE_CALL, graph_stub, at);
		least(&call, at[1] - at[0], try);
	}
	parts.before = twice - nothing;
	parts.behind = nothing - parts.before;
	parts.call = (call - nothing) / 2;
	return parts;
}

static uint64_t positive(int64_t value)
{
	return value > 0 ? value : 0;
}

/* @live: 0: it is the thread's first event. */
static void find_event(unsigned int value, enum kind kind, void (*target)(void),
		       unsigned int live, const struct parts *parts)
{
	int64_t open = 0, close = 0;
	unsigned int try;
	uint64_t at[2];

	for (try = 0; try < TRIES; try++) {
		hot->live = live;
		probe(value, PROBE_CALL, target, at);
		least(&open, graph_trial->now[value] - at[0], try);
		least(&close, at[1] - graph_trial->last[value], try);
	}
	process.open[kind][value] = positive(open - parts->before - parts->call);
	process.close[kind][value] = positive(close - parts->behind - parts->call);
}

static uint64_t find_retry(unsigned int value)
{
	int64_t once = 0, again = 0;
	unsigned int try;
	uint64_t at[2];

	for (try = 0; try < TRIES; try++) {
		forced = 0;
		probe(value, PROBE_CALL, read_once, at);
		least(&once, trial_value[value] - at[0], try);
		forced = 1;
		probe(value, PROBE_CALL, read_once, at);
		least(&again, trial_value[value] - at[0], try);
	}
	forced = 0;
	return positive(again - once);
}

static void find_all(const struct vpmc_page *page)
{
	void (*real)(void) = graph_real_jump[0];
	struct parts parts;
	unsigned int i;

	own_page = page;
	/* events of the trial are not corrected: all of this is still zero */
	for (i = 0; i < process.nr_values; i++) {
		parts = find_parts(i);
		process.retry[i] = find_retry(i);
		find_event(i, KIND_ENTER, graph_try_enter, 1, &parts);
		process.open[KIND_EXIT][i] = process.open[KIND_ENTER][i];
		process.close[KIND_EXIT][i] = process.close[KIND_ENTER][i];
		graph_real_jump[0] = graph_stub;
		find_event(i, KIND_JUMP, graph_try_jump, 1, &parts);
		graph_real_jump[0] = real;
		find_event(i, KIND_BEGIN, graph_try_enter, 0, &parts);
	}
}

/* A tree in memory, for the time of the trial. */
void graph_calibrate(const struct vpmc_page *page)
{
	static struct thread trial;
	static struct hot trial_hot;
	struct hot *before = hot;
	size_t size = 1 << 16;
	char *memory = graph_memory(size);

	if (!memory)
		return;		/* then nothing is taken out */
	trial.page = page;
	trial.head = (struct record_head *)memory;
	trial.nodes = memory + RECORD_HEAD_SIZE;
	trial.hash = (uint32_t *)(memory + 32768);
	trial.frames = (struct frame *)(memory + 49152);
	trial.max_hash = trial.max_nodes = 32;
	trial.max_frames = 8;
	trial.nr_nodes = 1;
	trial_hot.thread = &trial;
	hot = &trial_hot;
	graph_trial = &trial;
	find_all(page);
	graph_trial = NULL;
	hot = before;
	graph_call(SYS_munmap, (long)memory, size, 0, 0, 0, 0);
}
