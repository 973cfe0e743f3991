// SPDX-License-Identifier: MIT
/* On a Pentium 4: misses and reads of the second-level cache, by rows and by columns */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <vpmc-read.h>

#define N	1024
#define PART	16	/* rows or columns, much shorter than a tick */
#define PASSES	5
/* BSQ_cache_reference: ESCR (event, event mask, USR) and CCCR (the number of the ESCR) */
#define BSQ(mask)	((uint64_t)(0x0c << 25 | (mask) << 9 | 1 << 2) << 32 | 7 << 13)
enum { MISSES = 0x100, HITS = 0x007 /* shared, exclusive, modified */ };

static volatile int matrix[N][N] __attribute__((aligned(4096)));
static const struct vpmc_page *page;

/* Without the page: between the two reads of the counter, only the matrix is in memory. */
#define COUNTED(function, element)					\
static __attribute__((noinline)) uint32_t function(uint32_t index, int first) \
{									\
	uint64_t before = vpmc_rdpmc(index);				\
	for (int i = first; i < first + PART; i++)			\
		for (int k = 0; k < N; k++)				\
			element++;					\
	return vpmc_rdpmc(index) - before;				\
}

COUNTED(by_rows, matrix[i][k])
COUNTED(by_columns, matrix[k][i])

/* An interrupt evicts the line in use: takes the least of some passes, for each part. */
static unsigned long count(const struct vpmc_slot *slot, uint32_t (*counted)(uint32_t, int))
{
	uint64_t generation, added, least[N], sum = 0;

	memset(least, 0xff, sizeof(least));
	for (int pass = 0; pass < PASSES; pass++)
		for (int i = 0; i < N; i += PART) {
			generation = *(const volatile __u64 *)&page->generation;
			added = counted(slot->index, i);
			vpmc_barrier();
			if (page->generation == generation && added < least[i])
				least[i] = added;
		}
	for (int i = 0; i < N; sum += least[i], i += PART)
		if (least[i] == UINT64_MAX)
			errx(1, "switched out in each of %d passes", PASSES);
	return sum;
}

#define SHOW(what, counted) printf("%s  %8lu misses of  %8lu reads\n", what, \
	count(&page->slot[0], counted), count(&page->slot[1], counted))

int main(void)
{
	struct vpmc_control set = { .size = sizeof(set), .nr_counters = 2, .counter = {
	    { .evtsel = BSQ(MISSES), .index = VPMC_ANY },
	    { .evtsel = BSQ(MISSES | HITS), .index = VPMC_ANY } } };
	struct vpmc_info info = { .size = sizeof(info) };
	int fd = open("/proc/self/perfctr", O_RDWR | O_CREAT, 0666);

	page = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED)
		err(1, fd < 0 ? "/proc/self/perfctr (needs CONFIG_VPMC=y)" : "mmap");
	if (ioctl(fd, VPMC_IOC_INFO, &info) || info.kind != VPMC_KIND_P4)
		errx(1, "this is no Pentium 4, or its counters cannot be used: see vpmc info");
	if (ioctl(fd, VPMC_IOC_CONTROL, &set))
		err(1, "CONTROL: counter %u, enum vpmc_reason %u", set.bad_counter, set.reason);
	for (int i = 0; i < N * N; i++)
		(&matrix[0][0])[i] = i;		/* clears the pages */
	SHOW("[i][k]", by_rows);
	SHOW("[k][i]", by_columns);
	return 0;
}
