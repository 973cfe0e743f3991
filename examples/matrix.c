// SPDX-License-Identifier: MIT
/* Counts cache misses of a matrix by rows and by columns. usage: matrix [SELECT AND UNIT MASK] */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <vpmc-read.h>

#define N	1024
#define USER	0x10000
#define L2_MISS	"0x10d1"	/* event of Intel processors, for loads */
#define PASSES	5

static volatile int matrix[N][N] __attribute__((aligned(4096)));
static const struct vpmc_page *page;

static inline __attribute__((always_inline)) void by_rows(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			(void)matrix[i][k];
}

static inline __attribute__((always_inline)) void by_columns(void)
{
	for (int k = 0; k < N; k++)
		for (int i = 0; i < N; i++)
			(void)matrix[i][k];
}

/*
 * Reads the counter without the page, because the matrix would have evicted it.
 * Checks afterwards whether the thread was switched out. Takes the least of
 * some passes, because interrupts evict cache lines.
 */
#define COUNT(walk) ({							\
	uint64_t generation, before, added, least = UINT64_MAX, sign = page->sign; \
	uint32_t index = page->slot[page->nr_counters - 1].index;	\
	for (int pass = 0; pass < PASSES; pass++) {			\
		generation = *(const volatile __u64 *)&page->generation; \
		before = vpmc_rdpmc(index);				\
		walk();							\
		added = (vpmc_rdpmc(index) ^ sign) - (before ^ sign);	\
		vpmc_barrier();						\
		if (page->generation == generation && added < least)	\
			least = added;					\
	}								\
	if (least == UINT64_MAX)					\
		errx(1, "switched out in each of %d passes", PASSES);	\
	least;								\
})

int main(int argc, char **argv)
{
	struct vpmc_control set = { .size = sizeof(set), .nr_counters = 1, .counter = {
	    { .evtsel = USER | strtoul(argc > 1 ? argv[1] : L2_MISS, NULL, 0), .index = VPMC_ANY } } };
	int fd = open("/proc/self/perfctr", O_RDWR | O_CREAT, 0666);
	uint64_t rows, columns;

	page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err(1, fd < 0 ? "/proc/self/perfctr (needs CONFIG_VPMC=y)" : "mmap");
	/* If there is a set, as under vpmc stat, this counter is added to it. */
	set.flags = page->state == VPMC_STATE_EMPTY ? VPMC_CONTROL_NEW : VPMC_CONTROL_ADD;
	if (ioctl(fd, VPMC_IOC_CONTROL, &set))
		err(1, "CONTROL: counter %u, enum vpmc_reason %u", set.bad_counter, set.reason);
	if (!(page->caps & VPMC_CAP_RDPMC))
		errx(1, "RDPMC is forbidden: /sys/bus/event_source/devices/cpu/rdpmc is 0");
	for (int i = 0; i < N * N; i++)
		(&matrix[0][0])[i] = i;		/* clears the pages */
	rows = COUNT(by_rows);
	columns = COUNT(by_columns);
	if (!rows)
		errx(1, "this event counts nothing here: name another one");
	printf("by rows     %8llu\nby columns  %8llu\nratio       %8.1f\n",
	       (unsigned long long)rows, (unsigned long long)columns, (double)columns / rows);
	return 0;
}
