// SPDX-License-Identifier: MIT
/*
 * Reads a matrix by rows and by columns, as two regions, to show the cache
 * misses.
 */
#include <err.h>
#include <stdio.h>
#include <vpmc.h>

#define N	1024
#define PASSES	5

static volatile int matrix[N][N] __attribute__((aligned(4096)));

static void by_rows(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			matrix[i][k]++;
}

static void by_columns(void)
{
	for (int k = 0; k < N; k++)
		for (int i = 0; i < N; i++)
			matrix[i][k]++;
}

/* Returns the least of some passes, because interrupts evict cache lines. */
static unsigned long long least(struct vpmc_region *region, int event)
{
	return vpmc_stats_min(vpmc_region_stats(region, event, VPMC_INCLUSIVE));
}

static void line(const char *name, struct vpmc_region *region, int first)
{
	printf("%-12s %17llu %14llu\n", name, least(region, first), least(region, first + 1));
}

int main(void)
{
	struct vpmc_region *rows, *columns;
	struct vpmc_regions *regions;
	struct vpmc_error error;
	int first = 0;

	if (vpmc_regions_open(&regions, "cache-references,cache-misses", 0, &error)) {
		printf("no caches to be seen: %s\n", error.text);
		if (vpmc_regions_open(&regions, "instructions", 0, &error))
			errx(1, "%s", error.text);
		first = VPMC_RUN_TIME;
	}
	if (vpmc_region_get(regions, "rows", &rows) || vpmc_region_get(regions, "columns", &columns))
		errx(1, "no regions");
	by_rows();	/* the kernel clears each page at its first access */
	for (int pass = 0; pass < PASSES; pass++) {
		vpmc_begin(rows);
		by_rows();
		vpmc_end(rows);
		vpmc_begin(columns);
		by_columns();
		vpmc_end(columns);
	}
	if (!vpmc_stats_n(vpmc_region_stats(rows, 0, VPMC_INCLUSIVE)) ||
	    !vpmc_stats_n(vpmc_region_stats(columns, 0, VPMC_INCLUSIVE)))
		errx(1, "switched out in each of %d passes", PASSES);
	printf("%-12s %17s %14s\n", "", first ? "ticks" : "cache-references",
	       first ? "instructions" : "cache-misses");
	line("by rows", rows, first);
	line("by columns", columns, first);
	printf("%-12s %17.1f %14.1f\n", "ratio", (double)least(columns, first) / least(rows, first),
	       (double)least(columns, first + 1) / least(rows, first + 1));
	vpmc_regions_close(regions);
	return 0;
}
