// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Each thread's counters, read in front of a call of MPI and behind it.
 *
 * What the reading takes is measured once with a call that does nothing, and taken
 * out. What it takes to pass on a call's arguments is not.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "graph/read.h"
#include "least.h"
#include "mpi-count.h"
#include "select.h"

#define USUAL_EVENTS	"instructions,cycles"
#define PORTABLE_EVENTS	"instructions?,cycles?,ref-cycles?,branches?,branch-misses?,cache-references?,cache-misses?"
#define TRIALS		20	/* the least of these is used */

struct thread {
	struct thread *next;
	struct vpmc *v;
	const struct vpmc_page *page;
	unsigned int depth;	/* depth of nested calls; an inner call belongs to the outer one */
	uint64_t set_number;
	bool lost;		/* its counters did not count all the time */
	uint64_t now[MOST_VALUES], last[MOST_VALUES];
	struct count_sum sum;
};

static __thread struct thread *me __attribute__((__tls_model__("initial-exec")));
static __thread bool refused __attribute__((__tls_model__("initial-exec")));

static bool on;
static unsigned int nr_values;
static uint64_t cost_inside[MOST_VALUES], cost_around[MOST_VALUES], cost_retry[MOST_VALUES];
static char (*names)[VPMC_NAME_SIZE];
static uint64_t selects[MOST_VALUES];	/* event selects of the first thread's values */
static uint64_t kind;
static struct thread *threads;	/* those that have not ended */
static struct count_sum of_ended;
static uint64_t not_counted;	/* threads whose counters are not like those of the first one */
static struct vpmc *clock_of;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

/*
 * Counts VPMC_MPI_EVENTS, together with whoever counts the thread already, as vpmc stat
 * does. Without VPMC_MPI_EVENTS, the set that the thread has will do.
 */
static int open_set(struct thread *t, struct vpmc_error *error)
{
	const char *list = getenv("VPMC_MPI_EVENTS");
	struct vpmc_event *events;
	unsigned int nr;
	int err = list ? -ENOENT : vpmc_open(&t->v, VPMC_OPEN_EXISTING, error);

	/* What others have added stays as long as the thread counts it. */
	if (!err)
		vpmc_join(t->v, NULL, 0, NULL);
	if (err != -ENOENT)
		return err;
	err = vpmc_open(&t->v, 0, error);
	if (err)
		return err;
	err = vpmc_parse_events(list ? list : USUAL_EVENTS, &events, &nr, error);
	if (err)
		return err;
	err = vpmc_share(t->v, events, nr, error);
	vpmc_free_events(events);
	return err < 0 ? err : 0;
}

static int refuse(struct vpmc_error *error, const char *text)
{
	snprintf(error->text, sizeof(error->text), "%s", text);
	return -ENODATA;
}

static int set_names(struct thread *t, struct vpmc_error *error)
{
	struct vpmc_control control;
	unsigned int i;
	int err = vpmc_get_control(t->v, &control);

	if (err)
		return refuse(error, "its set cannot be read");
	names = calloc(control.nr_counters + 1, sizeof(*names));
	if (!names)
		return refuse(error, "there is no memory; end other programs");
	nr_values = control.nr_counters + 1;
	snprintf(names[0], sizeof(*names), "run-time");
	kind = nr_values;
	for (i = 1; i < nr_values; i++) {
		selects[i] = control.counter[i - 1].evtsel;
		snprintf(names[i], sizeof(*names), "%#llx", (unsigned long long)selects[i]);
		kind = kind * 1000003 + selects[i];
	}
	return 0;
}

/* Does the thread count what the first one counts? */
static bool is_like_first(const struct thread *t)
{
	struct vpmc_control control;
	unsigned int i;

	if (vpmc_get_control(t->v, &control) || control.nr_counters + 1 != nr_values)
		return false;
	for (i = 1; i < nr_values; i++)
		if (control.counter[i - 1].evtsel != selects[i])
			return false;
	return true;
}

/*
 * Names a value as its event is written in a list. If the list has no modes, the name
 * gets those in which it is counted.
 */
static void name_value(char name[VPMC_NAME_SIZE], uint64_t select,
		       const struct vpmc_event *event, unsigned int pmu)
{
	const struct select_form form = select_form(pmu);
	bool usual = event->flags & VPMC_EVENT_USUAL_MODES;
	const char *modes = select & form.user ? (select & form.kernel ? ":uk" : ":u") : ":k";

	if (event->flags & VPMC_EVENT_LEFT_OUT ||
	    (select ^ event->select) & ~(form.owned | (usual ? form.user | form.kernel : 0)))
		return;
	snprintf(name, VPMC_NAME_SIZE, "%.*s%s", (int)strcspn(event->text, "@?"),
		 event->text, usual ? modes : "");
}

/* Names the values whose events are in @list. */
static void name_values(const char *list)
{
	struct vpmc_event *events;
	struct vpmc_info info = {};
	unsigned int nr, i, e;

	vpmc_get_info(&info);
	if (vpmc_parse_events(list, &events, &nr, NULL))
		return;
	for (i = 1; i < nr_values; i++)
		for (e = 0; e < nr; e++)
			name_value(names[i], selects[i], &events[e], info.kind);
	vpmc_free_events(events);
}

void count_enter(void)
{
	struct thread *t = me;
	unsigned int retries, i;

	if (unlikely(!t)) {
		if (!on || refused || count_begin(NULL))
			return;
		t = me;
	}
	if (t->depth++)
		return;
	retries = graph_read(t->page, nr_values, t->now, 0);
	for (i = 0; i < nr_values; i++) {
		uint64_t own = cost_around[i] + retries * cost_retry[i];

		t->sum.outside[i] += t->now[i] - t->last[i] - own;
		t->sum.own[i] += own;
		t->lost |= t->now[i] < t->last[i];
	}
}

void count_leave(enum call call)
{
	struct thread *t = me;
	struct call_sum *sum;
	unsigned int retries, i;

	if (unlikely(!t) || --t->depth)
		return;
	retries = graph_read(t->page, nr_values, t->last, 0);
	sum = &t->sum.call[call];
	sum->calls++;
	for (i = 0; i < nr_values; i++) {
		uint64_t own = cost_inside[i] + retries * cost_retry[i];

		sum->inside[i] += t->last[i] - t->now[i] - own;
		t->sum.own[i] += own;
		t->lost |= t->last[i] < t->now[i];
	}
}

static int nothing(void)
{
	return 0;
}

static int (*volatile do_nothing)(void) = nothing;

/* Same code as in a wrapper of an MPI function. */
__attribute__((__noinline__))
static int trial(void)
{
	int result;

	count_enter();
	result = do_nothing();
	count_leave(0);
	return result;
}

__attribute__((__noinline__))
static void clear(struct thread *t)
{
	memset(t->sum.outside, 0, sizeof(t->sum.outside));
}

/*
 * The sums of these two functions differ only by the costs around the second
 * trial. Neither may jump to its last one.
 */
__attribute__((__noinline__))
static void trial_once(struct thread *t)
{
	trial();
	clear(t);
	trial();
	__asm__ __volatile__("");
}

__attribute__((__noinline__))
static void trial_twice(struct thread *t)
{
	trial();
	clear(t);
	trial();
	trial();
	__asm__ __volatile__("");
}

static bool try_inside(void *arg, uint64_t *value)
{
	struct thread *t = arg;
	unsigned int i;

	trial_once(t);
	for (i = 0; i < nr_values; i++)
		value[i] = t->last[i] - t->now[i];
	return true;
}

static bool try_once(void *arg, uint64_t *value)
{
	struct thread *t = arg;

	trial_once(t);
	memcpy(value, t->sum.outside, nr_values * sizeof(*value));
	return true;
}

static bool try_twice(void *arg, uint64_t *value)
{
	struct thread *t = arg;

	trial_twice(t);
	memcpy(value, t->sum.outside, nr_values * sizeof(*value));
	return true;
}

/* What lies between two reads, of which the second one takes @turns more turns. */
static bool try_read(const struct thread *t, uint64_t *value, unsigned int turns)
{
	uint64_t before[MOST_VALUES];
	unsigned int i;

	graph_read(t->page, nr_values, before, 0);
	graph_read(t->page, nr_values, value, turns);
	for (i = 0; i < nr_values; i++)
		value[i] -= before[i];
	return true;
}

static bool try_plain(void *arg, uint64_t *value)
{
	return try_read(arg, value, 0);
}

static bool try_forced(void *arg, uint64_t *value)
{
	return try_read(arg, value, 1);
}

/* Measures the costs, which are zero before. */
static void measure(struct thread *t)
{
	uint64_t inside[MOST_VALUES], once[MOST_VALUES], twice[MOST_VALUES];
	uint64_t plain[MOST_VALUES], forced[MOST_VALUES];
	unsigned int i;

	vpmc_least(try_inside, t, nr_values, TRIALS, inside);
	vpmc_least(try_once, t, nr_values, TRIALS, once);
	vpmc_least(try_twice, t, nr_values, TRIALS, twice);
	vpmc_least(try_plain, t, nr_values, TRIALS, plain);
	vpmc_least(try_forced, t, nr_values, TRIALS, forced);
	for (i = 0; i < nr_values; i++) {
		cost_inside[i] = inside[i];
		cost_around[i] = twice[i] - once[i];
		cost_retry[i] = forced[i] - plain[i];
	}
}

static void add_thread(struct thread *t)
{
	pthread_mutex_lock(&lock);
	t->next = threads;
	threads = t;
	pthread_mutex_unlock(&lock);
	pthread_setspecific(key, t);
}

/*
 * Were the thread's counters taken away, stopped, detached, or programmed anew? If a sum has
 * gone back, somebody has cleared them.
 */
static bool has_lost(const struct thread *t)
{
	return t->lost || t->page->set_number != t->set_number ||
	       t->page->nr_counters + 1 < nr_values || t->page->state != VPMC_STATE_RUNNING;
}

static void add(struct count_sum *sum, const struct count_sum *of)
{
	unsigned int call, i;

	sum->threads++;
	for (i = 0; i < nr_values; i++) {
		sum->outside[i] += of->outside[i];
		sum->own[i] += of->own[i];
	}
	for (call = 0; call < NR_CALLS; call++) {
		sum->call[call].calls += of->call[call].calls;
		for (i = 0; i < nr_values; i++)
			sum->call[call].inside[i] += of->call[call].inside[i];
	}
}

/* Takes the thread out of the list. A thread has some 100 KiB, and there may be many. */
static void remove_thread(struct thread *t)
{
	struct thread **link = &threads;

	pthread_mutex_lock(&lock);
	while (*link != t)
		link = &(*link)->next;
	*link = t->next;
	if (t->lost)
		of_ended.left_out++;
	else
		add(&of_ended, &t->sum);
	pthread_mutex_unlock(&lock);
	free(t);
}

/*
 * Ends a thread. What it did since its last call was outside of calls. Its later calls,
 * in other destructors, are not counted.
 */
static void end_thread(void *arg)
{
	struct thread *t = arg;

	count_enter();
	t->lost = has_lost(t);
	me = NULL;
	refused = true;
	if (t->v != clock_of)
		vpmc_close(t->v);
	remove_thread(t);
}

static int first_thread(struct thread *t, struct vpmc_error *error)
{
	const char *list = getenv("VPMC_MPI_EVENTS");
	int err = set_names(t, error);

	if (err)
		return err;
	if (pthread_key_create(&key, end_thread))
		return refuse(error, "there is no key for its threads; use fewer");
	me = t;
	measure(t);
	name_values(PORTABLE_EVENTS);
	if (list)
		name_values(list);
	clock_of = t->v;
	return 0;
}

static int open_thread(struct thread *t, struct vpmc_error *error)
{
	int err = open_set(t, error);

	if (err)
		return err;
	t->page = vpmc_page(t->v);
	if (!t->page)
		return refuse(error, "the thread's counters were detached; see vpmc info");
	t->set_number = t->page->set_number;
	if (t->page->nr_counters && !(t->page->caps & VPMC_CAP_RDPMC))
		return refuse(error, "counters may not be read in user mode; see vpmc info about rdpmc");
	if (!on)
		return first_thread(t, error);
	if (!is_like_first(t))
		return refuse(error, "a thread counts other events than the first one");
	return 0;
}

int count_begin(struct vpmc_error *error)
{
	struct thread *t = calloc(1, sizeof(*t));
	struct vpmc_error unseen;
	int err;

	error = error ? error : &unseen;
	refused = true;
	err = t ? open_thread(t, error) :
		  refuse(error, "there is no memory; end other programs");
	if (err) {
		me = NULL;
		vpmc_close(t ? t->v : NULL);
		free(t);
		__atomic_fetch_add(&not_counted, 1, __ATOMIC_RELAXED);
		return err;
	}
	on = true;
	t->depth = 0;
	t->lost = false;
	memset(&t->sum, 0, sizeof(t->sum));
	add_thread(t);
	me = t;
	graph_read(t->page, nr_values, t->last, 0);
	return 0;
}

struct count_sum *count_end(void)
{
	struct count_sum *sum;
	struct thread *t;

	/* Stop counting outside of calls. */
	count_enter();
	sum = on ? calloc(1, sizeof(*sum)) : NULL;
	if (!sum)
		return NULL;
	if (me)
		me->lost = has_lost(me);
	pthread_mutex_lock(&lock);
	*sum = of_ended;
	for (t = threads; t; t = t->next)
		if (t == me && !t->lost)
			add(sum, &t->sum);
		else
			sum->left_out++;
	sum->left_out += __atomic_load_n(&not_counted, __ATOMIC_RELAXED);
	pthread_mutex_unlock(&lock);
	return sum;
}

unsigned int count_nr_values(void)
{
	return on ? nr_values : 0;
}

const char *count_name(unsigned int value)
{
	return names[value];
}

uint64_t count_kind(void)
{
	return on ? kind : 0;
}

uint64_t count_time(uint64_t ticks)
{
	uint64_t ns;

	return vpmc_ticks_to_ns(clock_of, ticks, &ns) ? ticks : ns;
}
