// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * What all ranks have counted, as text or JSON.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi-count.h"
#include "outfile.h"
#include "write.h"

#define CALL(name, parameters, arguments)	"MPI_" #name,
static const char *const call_name[] = {
#include "calls.inc"
};
#undef CALL

/* The report is of the first rank's events. Others may count different ones, or none. */
static bool counts(const struct gathered *all, unsigned int rank)
{
	return all->rank[rank].kind && all->rank[rank].kind == count_kind();
}

static void write_values(struct writer *w, const char *key, const uint64_t *value,
			 unsigned int nr)
{
	unsigned int i;

	vpmc_json_open(w, key, '[');
	for (i = 0; i < nr; i++)
		vpmc_json_number(w, NULL, value[i]);
	vpmc_json_close(w, ']');
}

static void write_call(struct writer *w, const struct gathered *all, unsigned int call)
{
	unsigned int r;

	vpmc_json_open(w, NULL, '{');
	vpmc_json_string(w, "name", call_name[all->call[call]]);
	vpmc_json_open(w, "ranks", '[');
	for (r = 0; r < all->nr_ranks; r++) {
		const uint64_t *number = all->of(all, r, call);

		if (!counts(all, r) || !number[0])
			continue;
		vpmc_json_open(w, NULL, '{');
		vpmc_json_number(w, "rank", r);
		vpmc_json_number(w, "calls", number[0]);
		write_values(w, "inside", number + 1, all->nr_values);
		vpmc_json_close(w, '}');
	}
	vpmc_json_close(w, ']');
	vpmc_json_close(w, '}');
}

static void write_json(struct writer *w, const struct gathered *all)
{
	unsigned int r, i;

	vpmc_json_open(w, NULL, '{');
	vpmc_json_number(w, "version", 1);
	vpmc_json_string(w, "kind", "mpi");
	vpmc_json_open(w, "values", '[');
	for (i = 0; i < all->nr_values; i++)
		vpmc_json_string(w, NULL, i ? count_name(i) : "run-time-ns");
	vpmc_json_close(w, ']');
	vpmc_json_open(w, "ranks", '[');
	for (r = 0; r < all->nr_ranks; r++) {
		const struct rank_part *part = &all->rank[r];

		if (!counts(all, r))
			continue;
		vpmc_json_open(w, NULL, '{');
		vpmc_json_number(w, "rank", r);
		vpmc_json_number(w, "calls", part->calls);
		vpmc_json_number(w, "threads", part->threads);
		vpmc_json_number(w, "left_out", part->left_out);
		write_values(w, "inside", part->inside, all->nr_values);
		write_values(w, "outside", part->outside, all->nr_values);
		write_values(w, "own", part->own, all->nr_values);
		vpmc_json_close(w, '}');
	}
	vpmc_json_close(w, ']');
	vpmc_json_open(w, "missing", '[');
	for (r = 0; r < all->nr_ranks; r++)
		if (!counts(all, r))
			vpmc_json_number(w, NULL, r);
	vpmc_json_close(w, ']');
	vpmc_json_open(w, "functions", '[');
	for (i = 0; i < all->nr_calls; i++)
		write_call(w, all, i);
	vpmc_json_close(w, ']');
	vpmc_json_close(w, '}');
	vpmc_put(w, "\n");
}

static double percent(uint64_t part, uint64_t rest)
{
	return part + rest ? 100.0 * part / ((double)part + rest) : 0;
}

static void write_ranks(struct writer *w, const struct gathered *all, unsigned int value)
{
	unsigned int r;

	vpmc_put(w, "\n%s:\n%8s %12s %20s %20s %9s\n", value ? count_name(value) : "run time (ns)",
		 "RANK", "CALLS", "INSIDE", "OUTSIDE", "INSIDE %");
	for (r = 0; r < all->nr_ranks; r++) {
		const struct rank_part *part = &all->rank[r];

		if (counts(all, r))
			vpmc_put(w, "%8u %12" PRIu64 " %20" PRIu64 " %20" PRIu64 " %9.2f\n", r,
				 part->calls, part->inside[value], part->outside[value],
				 percent(part->inside[value], part->outside[value]));
	}
}

static void write_functions(struct writer *w, const struct gathered *all)
{
	unsigned int c, r, i;

	vpmc_put(w, "\nAll ranks:\n%-28s %12s", "FUNCTION", "CALLS");
	for (i = 0; i < all->nr_values; i++)
		vpmc_put(w, " %20s", i ? count_name(i) : "run time (ns)");
	vpmc_put(w, "\n");
	for (c = 0; c < all->nr_calls; c++) {
		uint64_t sum[1 + MOST_VALUES] = {};

		for (r = 0; r < all->nr_ranks; r++)
			for (i = 0; counts(all, r) && i <= all->nr_values; i++)
				sum[i] += all->of(all, r, c)[i];
		vpmc_put(w, "%-28s %12" PRIu64, call_name[all->call[c]], sum[0]);
		for (i = 0; i < all->nr_values; i++)
			vpmc_put(w, " %20" PRIu64, sum[1 + i]);
		vpmc_put(w, "\n");
	}
}

static void write_text(struct writer *w, const struct gathered *all)
{
	unsigned int r, i;

	vpmc_put(w, "vpmc: inside and outside of MPI, %u ranks:\n", all->nr_ranks);
	for (i = 0; i < all->nr_values; i++)
		write_ranks(w, all, i);
	write_functions(w, all);
	for (r = 0; r < all->nr_ranks; r++) {
		if (!counts(all, r))
			vpmc_put(w, "\nRank %u is missing: it counts nothing, or other events than rank 0, or has lost its counters.\n", r);
		else if (all->rank[r].left_out)
			vpmc_put(w, "\nRank %u: %" PRIu64 " threads are left out: they had not ended before MPI_Finalize(), count other events, or have lost their counters.\n",
				 r, all->rank[r].left_out);
	}
}

static bool is_json(const char *name)
{
	size_t length = strlen(name);

	return length >= 5 && !strcmp(name + length - 5, ".json");
}

/* 0 or -errno; the file has all of it, or what it had before */
static int write_file(const struct gathered *all, const char *name)
{
	struct outfile file;
	struct writer w;
	int err;

	err = vpmc_outfile_open(&file, strcmp(name, "-") ? name : "/dev/stderr",
				OUTFILE_REPLACE);
	if (err)
		return err;
	err = vpmc_writer_open(&w);
	if (err) {
		vpmc_outfile_drop(&file);
		return err;
	}
	if (is_json(name))
		write_json(&w, all);
	else
		write_text(&w, all);
	return vpmc_writer_close(&w, &file);
}

void report(const struct gathered *all)
{
	const char *name = getenv("VPMC_MPI_REPORT");
	int err;

	name = name && *name ? name : "-";
	err = write_file(all, name);
	if (!err || !strcmp(name, "-"))
		return;
	fprintf(stderr, "vpmc: VPMC_MPI_REPORT=%s: cannot be written: %s; here it is, name another file\n",
		name, strerror(-err));
	write_file(all, "-");
}
