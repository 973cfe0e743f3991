// SPDX-License-Identifier: MIT
/*
 * Two threads sort the lines of a text and search it. Each has its own
 * algorithms, and measures them with its own counters. Two programs that are
 * not measured compete with the threads for the processors.
 */
#include <cpuid.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "compete.h"
#include "measure.h"
#include "text.h"

static const char *const words[] = {
	"cpumask", "struct rq", "lockdep_assert", "rcu_read_lock", "raw_spin_lock_irqsave",
	"EXPORT_SYMBOL_GPL", "static inline", "return -EINVAL;", "smp_mb", "preempt_disable",
};

#define NR_WORDS	(sizeof(words) / sizeof(words[0]))

enum { SORT, SEARCH, NR_REGIONS };

struct worker {
	const char *name;
	pthread_t thread;
	const struct text *text;
	struct line *lines, *scratch;
	size_t found[NR_WORDS];
	struct region region[NR_REGIONS];
	uint64_t ns[NR_REGIONS][RUNS];
	uint64_t read_cost;
	unsigned int tid;
};

static pthread_barrier_t all_ready;

static void copy_lines(void *data)
{
	struct worker *w = data;

	memcpy(w->lines, w->text->lines, w->text->nr_lines * sizeof(*w->lines));
}

static void do_heap_sort(void *data)
{
	struct worker *w = data;

	heap_sort(w->lines, w->text->nr_lines);
}

static void do_merge_sort(void *data)
{
	struct worker *w = data;

	merge_sort(w->lines, w->text->nr_lines, w->scratch);
}

static void do_naive_search(void *data)
{
	struct worker *w = data;

	for (size_t i = 0; i < NR_WORDS; i++)
		w->found[i] = naive_search(w->text, words[i]);
}

static void do_horspool_search(void *data)
{
	struct worker *w = data;

	for (size_t i = 0; i < NR_WORDS; i++)
		w->found[i] = horspool_search(w->text, words[i]);
}

static struct worker workers[] = {
	{
		.name = "A",
		.region[SORT] = { .name = "heap sort", .prepare = copy_lines,
				  .work = do_heap_sort },
		.region[SEARCH] = { .name = "naive search", .work = do_naive_search },
	}, {
		.name = "B",
		.region[SORT] = { .name = "merge sort", .prepare = copy_lines,
				  .work = do_merge_sort },
		.region[SEARCH] = { .name = "Horspool search", .work = do_horspool_search },
	},
};

#define NR_WORKERS	(sizeof(workers) / sizeof(workers[0]))

static void *run_worker(void *data)
{
	struct worker *w = data;
	struct counters c;

	counters_start(&c);
	w->tid = c.page->tid;
	w->read_cost = measure_read(&c);
	pthread_barrier_wait(&all_ready);
	for (int i = 0; i < NR_REGIONS; i++) {
		measure_region(&c, &w->region[i], w);
		for (int run = 0; run < RUNS; run++)
			w->ns[i][run] = counters_ns(&c, w->region[i].run[run].ticks);
	}
	counters_end(&c);
	return NULL;
}

static void run_workers(const struct text *text)
{
	size_t bytes = text->nr_lines * sizeof(struct line);

	pthread_barrier_init(&all_ready, NULL, NR_WORKERS);
	for (size_t i = 0; i < NR_WORKERS; i++) {
		workers[i].text = text;
		workers[i].lines = malloc(bytes);
		workers[i].scratch = malloc(bytes);
		if (!workers[i].lines || !workers[i].scratch)
			err(1, "memory for the lines");
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
			errx(1, "no thread could be made");
	}
	for (size_t i = 0; i < NR_WORKERS; i++)
		pthread_join(workers[i].thread, NULL);
}

/* Writes a number like 12,345,678 to the caller's buffer. */
static const char *grouped(uint64_t n, char *buffer, size_t size)
{
	char *p = buffer + size;

	*--p = 0;
	for (int digits = 0; n || !digits; digits++, n /= 10) {
		if (digits && digits % 3 == 0)
			*--p = ',';
		*--p = '0' + n % 10;
	}
	return p;
}

static void print_run(const struct worker *w, int region, int run)
{
	const struct snapshot *s = &w->region[region].run[run];
	char b[NR_EVENTS][32];

	printf("%-6s %-15s %3d  %12s  %12s  %11s  %7.2f  %8" PRIu64 "  %8" PRIu64 "\n",
	       w->name, w->region[region].name, run + 1,
	       grouped(s->count[INSTRUCTIONS], b[INSTRUCTIONS], sizeof(b[0])),
	       grouped(s->count[CYCLES], b[CYCLES], sizeof(b[0])),
	       grouped(s->count[BRANCHES], b[BRANCHES], sizeof(b[0])),
	       w->ns[region][run] / 1e6, s->switches, s->migrations);
}

static void print_table(void)
{
	printf("thread region          run  instructions        cycles     branches"
	       "   run ms  switches  migrated\n");
	for (size_t i = 0; i < NR_WORKERS; i++) {
		for (int region = 0; region < NR_REGIONS; region++) {
			for (int run = 0; run < RUNS; run++)
				print_run(&workers[i], region, run);
		}
	}
	for (size_t i = 0; i < NR_WORKERS; i++)
		printf("\nOne read of all this by thread %s (tid %u), without a system call: "
		       "%" PRIu64 " instructions.",
		       workers[i].name, workers[i].tid, workers[i].read_cost);
	printf("\n");
}

static int is_emulated(void)
{
	unsigned int eax, ebx, ecx, edx;
	unsigned int signature[4] = { 0 };

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || !(ecx & (1U << 31)))
		return 0;
	__cpuid(0x40000000, eax, signature[0], signature[1], signature[2]);
	return !strcmp((char *)signature, "TCGTCGTCGTCG");
}

static int check(int ok, const char *what)
{
	printf("%-7s %s\n", ok ? "right:" : "WRONG:", what);
	return ok;
}

static int same_lines(void)
{
	for (size_t i = 0; i < workers[0].text->nr_lines; i++) {
		if (line_compare(&workers[0].lines[i], &workers[1].lines[i]))
			return 0;
		if (i && line_compare(&workers[0].lines[i - 1], &workers[0].lines[i]) > 0)
			return 0;
	}
	return 1;
}

static int same_counts(int event, uint64_t tolerance)
{
	int64_t more;

	for (size_t i = 0; i < NR_WORKERS; i++) {
		for (int region = 0; region < NR_REGIONS; region++) {
			more = workers[i].region[region].run[1].count[event] -
				workers[i].region[region].run[0].count[event];
			if ((uint64_t)llabs(more) > tolerance)
				return 0;
		}
	}
	return 1;
}

/* In every run, thread A's algorithms take more instructions than thread B's. */
static int expected_order(void)
{
	for (int region = 0; region < NR_REGIONS; region++) {
		for (int run = 0; run < RUNS; run++) {
			if (workers[0].region[region].run[run].count[INSTRUCTIONS] <=
			    workers[1].region[region].run[run].count[INSTRUCTIONS])
				return 0;
		}
	}
	return 1;
}

static int check_all(uint64_t tolerance)
{
	char what[128];
	size_t found = 0;
	int ok = 1;

	for (size_t i = 0; i < NR_WORDS; i++)
		found += workers[0].found[i];
	ok &= check(same_lines(), "both sorts put the lines into the same order");
	snprintf(what, sizeof(what), "both searches find the %zu words the same number of times, "
		 "%zu in all", NR_WORDS, found);
	ok &= check(found && !memcmp(workers[0].found, workers[1].found,
				     sizeof(workers[0].found)), what);
	if (tolerance)
		snprintf(what, sizeof(what), "instructions and branches of run 1 and 2 differ "
			 "by at most %" PRIu64, tolerance);
	else
		snprintf(what, sizeof(what), "instructions and branches of run 1 and 2 are equal, "
			 "to the last digit");
	ok &= check(expected_order(), "heap sort takes more instructions than merge sort, naive "
		    "search more than Horspool's");
	ok &= check(same_counts(INSTRUCTIONS, tolerance) && same_counts(BRANCHES, tolerance), what);
	return ok;
}

static const char usage[] =
"usage: demo [-t TOLERANCE] TEXT\n"
"Sorts and searches the file TEXT, each run twice, and counts what that takes.\n"
"Ends with 1 if the counts of the two runs differ by more than TOLERANCE (0):\n"
"a real processor may count a little more for each interrupt.\n";

int main(int argc, char **argv)
{
	uint64_t tolerance = 0;
	struct text text;
	char *end = "";
	int opt, ok;

	while ((opt = getopt(argc, argv, "t:")) == 't')
		tolerance = strtoull(optarg, &end, 0);
	if (opt != -1 || *end || optind != argc - 1) {
		fputs(usage, stderr);
		return 2;
	}
	text_load(&text, argv[optind]);
	printf("%zu lines, %zu bytes; %ld processors, 2 measured threads, 2 competing programs\n\n",
	       text.nr_lines, text.length, sysconf(_SC_NPROCESSORS_ONLN));
	fflush(stdout);
	compete_start();
	run_workers(&text);
	compete_end();
	print_table();
	if (is_emulated())
		printf("Cycles are a model here, on an emulated processor: one for each "
		       "instruction. So is time.\n");
	printf("\n");
	ok = check_all(tolerance);
	return ok ? 0 : 1;
}
