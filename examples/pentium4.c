// SPDX-License-Identifier: MIT
/*
 * On a Pentium 4: misses of reads in the second-level cache, and all its reads, of a
 * program that increments the elements of a matrix by rows and by columns.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <vpmc-read.h>

#define N	1024
#define PASSES	5
/* BSQ_cache_reference: ESCR (event, event mask, USR) and CCCR (the number of the ESCR) */
#define BSQ(mask)	((uint64_t)(0x0c << 25 | (mask) << 9 | 1 << 2) << 32 | 7 << 13)
#define MISSES		0x100		/* bits of the event mask */
#define HITS		0x007		/* shared, exclusive, modified */

static volatile int matrix[N][N] __attribute__((aligned(4096)));
static const struct vpmc_page *page;

static inline __attribute__((always_inline)) void by_rows(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			matrix[i][k]++;
}

static inline __attribute__((always_inline)) void by_columns(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			matrix[k][i]++;
}

/*
 * Reads one counter at a time, without the page: all stays in registers, and the matrix
 * evicts nothing of it. Takes the least of some passes, because interrupts evict lines.
 */
#define COUNT(slot_nr, walk) ({						\
	uint64_t generation, before, added, least = UINT64_MAX;		\
	uint32_t index = page->slot[slot_nr].index;			\
	for (int pass = 0; pass < PASSES; pass++) {			\
		generation = *(const volatile __u64 *)&page->generation; \
		before = vpmc_rdpmc(index);				\
		walk();							\
		added = (uint32_t)(vpmc_rdpmc(index) - before);		\
		vpmc_barrier();						\
		if (page->generation == generation && added < least)	\
			least = added;					\
	}								\
	if (least == UINT64_MAX)					\
		errx(1, "switched out in each of %d passes", PASSES);	\
	(unsigned long long)least;					\
})
#define SHOW(what, walk) \
	printf("%s  %8llu misses of  %8llu reads\n", what, COUNT(0, walk), COUNT(1, walk))

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
