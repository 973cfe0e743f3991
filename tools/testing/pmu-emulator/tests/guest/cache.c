// SPDX-License-Identifier: GPL-2.0
/*
 * usage: cache ROWS [MISSES]
 * Data caches and mispredicted branches, counted by mainline's perf driver. ROWS
 * is the number of second-level misses when 4 MiB are read in order. Read by
 * columns, each of a million numbers has a miss. With MISSES, a raw event for these
 * misses, the matrix alone is read: other events are those of Skylake.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include "pmu-test-msr.h"
#include <sys/wait.h>

#define N		1024
#define PAGE		4096
#define LINE		64
#define LINES		(PAGE / LINE)

/* Misses of L2 when an uncached page is read */
static uint64_t page_misses;
#define EVICT		(2 << 20)
#define PART		64		/* rows */

#define L1_HIT		0x01d1
#define L2_HIT		0x02d1
#define L1_MISS		0x08d1
#define L2_MISS		0x10d1

static int matrix[N][N] __attribute__((aligned(PAGE)));
static char evicting[EVICT] __attribute__((aligned(PAGE)));

/*
 * Reads n numbers m times while the event counts. The numbers are STEP bytes
 * apart, and the first ones of each time ROW bytes. Memory is not accessed
 * otherwise between the two system calls.
 */
static __attribute__((noinline)) void walk(int fd, const void *p, long n,
					   long step, long m, long row)
{
	asm volatile("mov %[ioctl], %%eax\n\t"
		     "mov %[enable], %%esi\n\t"
		     "xor %%edx, %%edx\n\t"
		     "syscall\n"
		     "1:\t"
		     "mov %[p], %%r8\n\t"
		     "mov %[n], %%r9\n"
		     "2:\t"
		     "mov (%%r8), %%r10d\n\t"
		     "add %[step], %%r8\n\t"
		     "dec %%r9\n\t"
		     "jnz 2b\n\t"
		     "add %[row], %[p]\n\t"
		     "dec %[m]\n\t"
		     "jnz 1b\n\t"
		     "mov %[ioctl], %%eax\n\t"
		     "mov %[disable], %%esi\n\t"
		     "xor %%edx, %%edx\n\t"
		     "syscall"
		     : [p] "+r"(p), [m] "+r"(m)
		     : [n] "r"(n), [step] "r"(step), [row] "r"(row), "D"(fd),
		       [ioctl] "i"(SYS_ioctl), [enable] "i"(PERF_EVENT_IOC_ENABLE),
		       [disable] "i"(PERF_EVENT_IOC_DISABLE)
		     : "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11",
		       "memory", "cc");
}

enum order { BY_ROWS, BY_COLUMNS };

/*
 * Returns the least of some passes, because an interrupt may evict the line
 * that is being read.
 */
static uint64_t pass(int fd, enum order order)
{
	uint64_t added, least = UINT64_MAX;

	for (int i = 0; i < 3; i++) {
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		if (order == BY_ROWS)
			walk(fd, matrix, N, sizeof(int), N, sizeof(matrix[0]));
		else
			walk(fd, matrix, N, sizeof(matrix[0]), N, sizeof(int));
		added = perf_read(fd);
		if (added < least)
			least = added;
	}
	return least;
}

static void check_pass(const char *name, int fd, uint64_t rows, uint64_t columns)
{
	char text[100];

	snprintf(text, sizeof(text), "%s by rows", name);
	check_eq(text, pass(fd, BY_ROWS), rows);
	snprintf(text, sizeof(text), "%s by columns", name);
	check_eq(text, pass(fd, BY_COLUMNS), columns);
	close(fd);
}

static void test_matrix(uint64_t rows, uint64_t misses)
{
	uint64_t all = N * N;

	for (int i = 0; i < N; i++)
		for (int k = 0; k < N; k++)
			matrix[i][k] = i ^ k;
	check_pass("cache-misses", perf_open(PERF_COUNT_HW_CACHE_MISSES, USER, 0,
					     -1, 0), rows, all);
	check_pass("L2 misses", perf_open_raw(misses, USER, -1), rows, all);
}

static void evict(void)
{
	for (int i = 0; i < EVICT; i += LINE)
		*(volatile char *)&evicting[i] = 0;
}

struct totals {
	uint64_t kernel, user, kernel_next, user_next;
};

static inline struct totals totals(uint32_t event)
{
	struct totals t;

	asm volatile("cpuid" : "=a"(t.kernel), "=b"(t.user),
		     "=c"(t.kernel_next), "=d"(t.user_next)
		     : "a"(PMU_TEST_TOTALS), "c"(event) : "memory");
	return t;
}

static uint64_t interrupts(void)
{
	struct totals t = totals(PMU_TEST_INTERRUPTS);

	return t.kernel + t.user;
}

/*
 * Reads a part of the matrix by rows, and repeats it until no interrupt came,
 * which might evict the line that is being read.
 */
static void check_quiet(const char *name, uint64_t event, uint64_t want)
{
	int fd = perf_open_raw(event, USER, -1), tries = 1000;
	uint64_t before;

	do {
		evict();
		ioctl(fd, PERF_EVENT_IOC_RESET, 0);
		before = interrupts();
		walk(fd, matrix, N, sizeof(int), PART, sizeof(matrix[0]));
	} while (interrupts() != before && --tries);
	check(tries > 0, "%s: without an interrupt", name);
	check_eq(name, perf_read(fd), want);
	close(fd);
}

static void test_levels(uint64_t rows)
{
	uint64_t all = PART * N, lines = all * sizeof(int) / LINE;
	uint64_t misses = rows * PART / N;

	check_quiet("references", 0x4f2e, lines);
	check_quiet("misses", 0x412e, misses);
	check_quiet("L1 hits", L1_HIT, all - lines);
	check_quiet("L1 misses", L1_MISS, lines);
	check_quiet("L2 hits", L2_HIT, lines - misses);
	check_quiet("L2 misses", L2_MISS, misses);
}

/* Returns the misses of L2 when the lines of a page are read. */
static uint64_t read_page(int fd, const void *page)
{
	ioctl(fd, PERF_EVENT_IOC_RESET, 0);
	walk(fd, page, LINES, LINE, 1, 0);
	return perf_read(fd);
}

static void *map_file(int file, int page, void *where)
{
	void *p = mmap(where, PAGE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | (where ? MAP_FIXED : 0), file, page * PAGE);

	if (p == MAP_FAILED)
		die("mmap");
	memset(p, page, PAGE);
	return p;
}

/* The caches use physical addresses. */
static void test_addresses(void)
{
	int fd = perf_open_raw(L2_MISS, USER, -1);
	int file = memfd_create("cache", 0);
	void *a, *b;

	if (file < 0 || ftruncate(file, 2 * PAGE))
		die("memfd_create");
	a = map_file(file, 1, NULL);
	b = map_file(file, 1, NULL);
	evict();
	check_eq("a page that was evicted", read_page(fd, a), page_misses);
	check_eq("the same page at another address", read_page(fd, b), 0);
	a = map_file(file, 0, a);
	evict();
	check_eq("another page at the first address", read_page(fd, a), page_misses);
	check_eq("once more", read_page(fd, a), 0);
	evict();
	read_page(fd, a);
	a = mmap(a, PAGE, PROT_READ, MAP_SHARED | MAP_FIXED, file, PAGE);
	check_eq("another page right after it", read_page(fd, a), page_misses);
	close(file);
	close(fd);
}

/*
 * Two processes take turns on one CPU. What the other one does evicts lines. An
 * interrupt may evict, too, so where the other process does nothing, the least
 * of some turns counts.
 */
static void test_processes(void)
{
	int fd = perf_open_raw(L2_MISS, USER, -1), to[2], from[2];
	uint64_t misses, least = UINT64_MAX;
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char c = 0;

	if (page == MAP_FAILED || pipe(to) || pipe(from))
		die("mmap or pipe");
	if (fork() == 0) {
		close(to[1]);
		while (read(to[0], &c, 1) == 1) {
			if (c == 'e')
				evict();
			if (write(from[1], &c, 1) != 1)
				break;
		}
		_exit(0);
	}
	for (int i = 0; i < 6; i++) {
		const char *does = i & 1 ? "e" : "n";

		read_page(fd, page);
		if (write(to[1], does, 1) != 1 || read(from[0], &c, 1) != 1)
			die("pipe");
		misses = read_page(fd, page);
		if (i & 1)
			check_eq("another process evicts a page", misses,
				 page_misses);
		else if (misses < least)
			least = misses;
	}
	check_eq("another process that does nothing leaves it there", least, 0);
	close(to[1]);
	wait(NULL);
	close(fd);
}

/* Each CPU has its own caches. */
static void test_cpus(void)
{
	int fd = perf_open_raw(L2_MISS, USER, -1);
	static char page[PAGE] __attribute__((aligned(PAGE)));

	run_on_cpu(1);
	evict();		/* remove what earlier users left */
	run_on_cpu(0);
	memset(page, 1, PAGE);
	check_eq("a page that was just written", read_page(fd, page), 0);
	run_on_cpu(1);
	check_eq("on a CPU that has not seen it", read_page(fd, page), page_misses);
	run_on_cpu(0);
	check_eq("on the first one again", read_page(fd, page), 0);
	close(fd);
}

/*
 * Interrupts load and store much, but the interrupted program does not count
 * that.
 */
static void test_modes(void)
{
	struct totals before, after;
	uint64_t n = 50000000;

	before = totals(PMU_TEST_LOADS);
	asm volatile("1:	dec %0\n"
		     "	jnz 1b" : "+r"(n) : : "cc");
	after = totals(PMU_TEST_LOADS);
	check_eq("a loop without loads, under interrupts: loads",
		 after.user - before.user, 0);
	check_eq("stores", after.user_next - before.user_next, 0);
}

/*
 * Returns what one instruction adds when its page is missing, and when it is
 * present.
 */
#define FAULTING(code, p, more_loads, more_stores) do {				\
	struct totals _before, _after;					\
	uint64_t _loads[2], _stores[2];					\
									\
	/* volatile: one copy of the code, so that both turns are the same */ \
	for (volatile int _i = 0; _i < 2; _i++) {			\
		const void *_from = there;				\
		void *_to = (p);					\
									\
		_before = totals(PMU_TEST_LOADS);			\
		asm volatile(code : "+S"(_from), "+D"(_to) : : "rax", "memory"); \
		_after = totals(PMU_TEST_LOADS);			\
		_loads[_i] = _after.user - _before.user;		\
		_stores[_i] = _after.user_next - _before.user_next;	\
	}								\
	check_eq(code ": loads more if it faults", _loads[0] - _loads[1], \
		 more_loads);						\
	check_eq(code ": stores more if it faults",			\
		 _stores[0] - _stores[1], more_stores);			\
} while (0)

/*
 * Before a page fault an instruction may have accessed memory. It does so again
 * after the fault.
 */
static void test_faults(void)
{
	static const char there[64] = { 1 };
	char *fresh = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (fresh == MAP_FAILED)
		die("mmap");
	FAULTING("movsb", fresh, 1, 0);
	FAULTING("movb (%%rdi), %%al", fresh + PAGE, 0, 0);
	/* the load faults, then the store, which the zero page does not take */
	FAULTING("addb $1, (%%rdi)", fresh + 2 * PAGE, 1, 0);
	/* only the first page is mapped: the load faults and counts no line */
	FAULTING("movl (%%rdi), %%eax", fresh + 3 * PAGE - 2, 0, 0);
}

/* Samples: the interrupt comes right after the load that overflows. */
static void test_sampling(void)
{
	enum { PERIOD = 1009, PAGES = 16 };
	int fd = perf_open(PERF_COUNT_HW_CACHE_MISSES, USER, PERIOD, -1, 0);
	size_t size = (1 + PAGES) * PAGE;
	struct perf_event_mmap_page *ring;
	uint64_t misses, samples = 0, wrong = 0;
	int counter = perf_open(PERF_COUNT_HW_CACHE_MISSES, USER, 0, -1, 0);

	ring = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED)
		die("mmap of a perf event");
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	walk(counter, matrix, N, sizeof(matrix[0]), 16, sizeof(int));
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	misses = perf_read(counter);
	for (uint64_t at = 0; at < ring->data_head;) {
		const struct perf_event_header *h = (void *)((char *)ring +
			ring->data_offset + at % ring->data_size);

		samples += h->type == PERF_RECORD_SAMPLE;
		wrong += h->type != PERF_RECORD_SAMPLE;
		at += h->size;
	}
	check_eq("16 columns", misses, 16 * N);
	check_eq("samples of their misses", samples, perf_read(fd) / PERIOD);
	check(samples == misses / PERIOD, "one for each %d", PERIOD);
	check_eq("no other records", wrong, 0);
	close(counter);
	close(fd);
}

static void test_branches(void)
{
	int fd = perf_open(PERF_COUNT_HW_BRANCH_MISSES, USER, 0, -1, 0);
	uint64_t first;

	pass(fd, BY_ROWS);
	first = pass(fd, BY_ROWS);
	/* each of the inner loops ends with a miss, and so does the outer one */
	check_eq("branch-misses of a loop of loops", first, N + 1);
	close(fd);
}

int main(int argc, char **argv)
{
	uint64_t rows;

	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: cache ROWS [MISSES]\n");
		return 2;
	}
	rows = strtoull(argv[1], NULL, 0);
	page_misses = rows / (sizeof(matrix) / PAGE);
	run_on_cpu(0);
	test_matrix(rows, argc > 2 ? strtoull(argv[2], NULL, 0) : L2_MISS);
	if (argc > 2)
		return done_testing();
	test_levels(rows);
	test_addresses();
	test_processes();
	test_cpus();
	test_modes();
	test_faults();
	test_sampling();
	test_branches();
	return done_testing();
}
