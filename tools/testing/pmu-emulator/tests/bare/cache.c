// SPDX-License-Identifier: GPL-2.0
/*
 * The data caches: what single instructions and walks of known length add to
 * the totals of loads, stores and misses.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "netburst.h"
#include "pmu-test-msr.h"

/* Memory that nothing else uses: one area is measured, another one evicts it */
#define AREA	((char *)WALK_START)
#define OTHER	((char *)0x900800)
#define EVICT	((char *)0x1000000)

/* In walks: the number of accesses, in the low bits of their distance */
#define MAX_K	0x1ff

struct level want_l1, want_l2;

/* What an access adds, in the order of the totals' numbers */
struct counts {
	u32 loads, stores, l1_loads, l1_stores, l2_loads, l2_stores;
};

/* Afterwards neither level has a line of AREA. */
void evict(void)
{
	for (u32 i = 0; i < 2 * want_l2.size; i += want_l1.line)
		asm volatile("movl (%0), %%eax" : : "r"(EVICT + i) : "eax");
}

/*
 * Returns what CODE adds to register WHICH. P, a constant, is in ESI, N in EBX
 * and OTHER in EDI. Memory is not accessed otherwise between the two reads.
 * CODE may change all registers but EBP and ESP.
 */
#define ADDED(read, which, code, p, n) ({				\
	u32 _added, _c = (which), _b = (u32)(n);			\
	char *_s = (p), *_d = OTHER;					\
	asm volatile("push %%ebp\n\t"					\
		     read "\n\t"					\
		     "mov %%eax, %%ebp\n\t"				\
		     code "\n\t"					\
		     "mov %[reg], %%ecx\n\t"				\
		     read "\n\t"					\
		     "sub %%ebp, %%eax\n\t"				\
		     "pop %%ebp"					\
		     : "=&a"(_added), "+c"(_c), "+b"(_b), "+S"(_s),	\
		       "+D"(_d)						\
		     : [reg] "i"(which) : "edx", "memory", "cc");	\
	_added;								\
})

#define TOTAL(event, code, p, n)					\
	ADDED("rdmsr", PMU_TEST_MSR(PMU_TEST_##event), code, p, n)

/*
 * Makes the same access for each total, with caches that do not have the line
 */
#define COUNTS(code, p, n) ({						\
	struct counts _k;						\
	evict();							\
	_k.loads = TOTAL(LOADS, code, p, n);				\
	evict();							\
	_k.stores = TOTAL(STORES, code, p, n);				\
	evict();							\
	_k.l1_loads = TOTAL(L1_LOAD_MISSES, code, p, n);		\
	evict();							\
	_k.l1_stores = TOTAL(L1_STORE_MISSES, code, p, n);		\
	evict();							\
	_k.l2_loads = TOTAL(L2_LOAD_MISSES, code, p, n);		\
	evict();							\
	_k.l2_stores = TOTAL(L2_STORE_MISSES, code, p, n);		\
	_k;								\
})

/*
 * Returns the distance from a line to another one of its set, at least that of
 * a walk
 */
static u32 same_set(const struct level *l)
{
	u32 step = l->size / l->ways;

	return step > MAX_K ? step : MAX_K + 1;
}

static void check_counts(const char *name, struct counts got, struct counts want)
{
	const u32 *g = (u32 *)&got, *w = (u32 *)&want;
	u32 wrong = 0;

	for (u32 i = 0; i < sizeof(got) / sizeof(u32); i++)
		wrong |= (g[i] != w[i]) << i;
	check_eq(name, wrong, 0);
	for (u32 i = 0; wrong && i < sizeof(got) / sizeof(u32); i++)
		check_eq("of these", g[i], w[i]);
}

#define CHECK(name, code, p, ...) \
	check_counts(name, COUNTS(code, p, 0), (struct counts){ __VA_ARGS__ })

/* The same for k accesses from ESI, EBX - k apart. EBX is k at the end. */
#define WALK_BEGIN	"mov %%ebx, %%ecx\n\t"			\
			"and $0x1ff, %%ecx\n\t"			\
			"sub %%ecx, %%ebx\n\t"
#define WALK(insn)	"mov %%esi, %%eax\n\t"			\
			"mov %%ecx, %%edx\n"			\
			"1:\t" insn "\n\t"			\
			"add %%ebx, %%eax\n\t"			\
			"dec %%edx\n\t"				\
			"jnz 1b\n\t"
#define LOAD		"cmpb $0, (%%eax)"
#define STORE		"movb $0, (%%eax)"

#define TWICE(event, step, k) ({					\
	evict();							\
	TOTAL(event, WALK_BEGIN WALK(LOAD) WALK(LOAD), AREA, (step) | (k)); \
})

/* k lines of a set: if there are more than the ways, none of them stays */
static void test_sets(void)
{
	u32 s1 = same_set(&want_l1), s2 = same_set(&want_l2);
	u32 wrong = 0, wrong_refs = 0, wrong_misses = 0;

	for (u32 k = 1; k <= want_l1.ways + 2; k++)
		wrong += TWICE(L1_LOAD_MISSES, s1, k) != (k <= want_l1.ways ? k : 2 * k);
	check_eq("L1: k lines of a set, twice", wrong, 0);
	for (u32 k = 1; k <= want_l1.ways + want_l2.ways + 2; k++) {
		bool in_l1 = k <= want_l1.ways;
		bool in_l2 = in_l1 || k <= want_l2.ways;

		wrong_refs += TWICE(L1_LOAD_MISSES, s2, k) != (in_l1 ? k : 2 * k);
		wrong_misses += TWICE(L2_LOAD_MISSES, s2, k) != (in_l2 ? k : 2 * k);
	}
	check_eq("L2: k lines of a set, twice: references", wrong_refs, 0);
	check_eq("L2: k lines of a set, twice: misses", wrong_misses, 0);
}

/*
 * The first line of a full set is used once more. So it stays, and the second
 * one is replaced. The last use decides, not the first.
 */
static void test_lru(void)
{
	u32 s1 = same_set(&want_l1), w = want_l1.ways;

	evict();
	check_eq("L1: the line used longest ago has to go",
		 TOTAL(L1_LOAD_MISSES,
		       WALK_BEGIN
		       "dec %%ecx\n\t"			/* k is one more than w */
		       WALK(LOAD)
		       "cmpb $0, (%%esi)\n\t"		/* hits */
		       "cmpb $0, (%%eax)\n\t"		/* misses */
		       "cmpb $0, (%%esi)\n\t"		/* hits */
		       "cmpb $0, (%%esi, %%ebx)\n\t",	/* misses, if w > 1 */
		       AREA, s1 | (w + 1)), w + (w > 1 ? 2 : 3));
}

static void test_stores(void)
{
	u32 n = want_l1.ways;

	evict();
	check_eq("stores miss as loads do",
		 TOTAL(L1_STORE_MISSES, WALK_BEGIN WALK(STORE) WALK(STORE), AREA,
		       4096 | n), n);
	evict();
	check_eq("a load finds what a store has brought in",
		 TOTAL(L1_LOAD_MISSES,
		       "movb $0, (%%esi)\n\tcmpb $0, (%%esi)", AREA, 0), 0);
	evict();
	check_eq("a line that is written back is no reference",
		 TOTAL(L1_STORE_MISSES, WALK_BEGIN WALK(STORE) WALK(LOAD), AREA,
		       4096 | 64), 64);
}

static void test_instructions(void)
{
	u32 l2 = want_l2.line < 512 ? 512 / want_l2.line : 1;
	u32 n = want_l1.line < 512 ? 512 / want_l1.line : 1;
	struct counts none = { 0 };

	CHECK("a load", "mov (%%esi), %%eax", AREA, 1, 0, 1, 0, 1, 0);
	CHECK("a store", "mov %%eax, (%%esi)", AREA, 0, 1, 0, 1, 0, 1);
	CHECK("ADD to memory", "addl $1, (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("INC of memory", "incb (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("LOCK ADD", "lock addl $1, (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("XCHG", "xchg %%ebx, (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("XADD", "lock xadd %%ebx, (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("CMPXCHG that stores",
	      "mov (%%esi), %%eax\n\tlock cmpxchg %%ebx, (%%esi)", AREA,
	      2, 1, 1, 0, 1, 0);
	CHECK("CMPXCHG that does not stores what was there",
	      "mov (%%esi), %%eax\n\tinc %%eax\n\tlock cmpxchg %%ebx, (%%esi)",
	      AREA, 2, 1, 1, 0, 1, 0);
	CHECK("CMPXCHG8B", "lock cmpxchg8b (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("BTS in memory", "lock btsl $3, (%%esi)", AREA, 1, 1, 1, 0, 1, 0);
	CHECK("PUSH", "xchg %%esi, %%esp\n\tpush %%eax\n\txchg %%esi, %%esp",
	      AREA + 4, 0, 1, 0, 1, 0, 1);
	CHECK("POP", "xchg %%esi, %%esp\n\tpop %%eax\n\txchg %%esi, %%esp",
	      AREA, 1, 0, 1, 0, 1, 0);
	CHECK("PUSHA, and POPA, which leaves ESP alone",
	      "xchg %%esi, %%esp\n\tpusha\n\tpopa\n\txchg %%esi, %%esp",
	      AREA + 32, 7, 8, 0, 1, 0, 1);
	CHECK("CALL and RET",
	      "xchg %%esi, %%esp\n\tcall 1f\n\tjmp 2f\n1:\tret\n2:\t"
	      "xchg %%esi, %%esp", AREA + 4, 1, 1, 0, 1, 0, 1);
	CHECK("MOVS", "movsl", AREA, 1, 1, 1, 1, 1, 1);
	CHECK("CMPS", "cmpsl", AREA, 2, 0, 2, 0, 2, 0);
	check_counts("FXSAVE: each line once", COUNTS("fxsave (%%esi)", AREA, 0),
		     (struct counts){ 0, n, 0, n, 0, l2 });
	check_counts("FXRSTOR: each line once", COUNTS("fxrstor (%%esi)", AREA, 0),
		     (struct counts){ n, 0, n, 0, l2, 0 });
	check_counts("LEA, NOP, PREFETCH, CLFLUSH and CPUID: nothing",
		     COUNTS("lea (%%esi), %%eax\n\tnopl (%%esi)\n\t"
			    "prefetcht0 (%%esi)\n\tclflush (%%esi)\n\t"
			    "xor %%eax, %%eax\n\tcpuid", AREA, 0), none);
	check_counts("I/O: nothing", COUNTS("mov 0x30(%%esi), %%eax",
					    (char *)0xfee00000, 0), none);
}

/* An access counts once in each line that it touches. */
static void test_unaligned(void)
{
	u32 l1 = want_l1.line, l2 = want_l2.line;

	CHECK("4 bytes in a line, unaligned", "mov (%%esi), %%eax",
	      AREA + l1 - 5, 1, 0, 1, 0, 1, 0);
	CHECK("in two lines", "mov (%%esi), %%eax", AREA + l2 - 1,
	      2, 0, 2, 0, 2, 0);
	CHECK("a store in two lines", "mov %%eax, (%%esi)", AREA + l2 - 3,
	      0, 2, 0, 2, 0, 2);
	CHECK("in two pages", "mov (%%esi), %%eax", AREA + 4096 - 2,
	      2, 0, 2, 0, 2, 0);
	CHECK("a store in two pages", "mov %%eax, (%%esi)", AREA + 4096 - 2,
	      0, 2, 0, 2, 0, 2);
	CHECK("2 bytes in two lines", "movw (%%esi), %%ax", AREA + l2 - 1,
	      2, 0, 2, 0, 2, 0);
	CHECK("LOCK ADD in two lines", "lock addl $1, (%%esi)", AREA + l2 - 2,
	      2, 2, 2, 0, 2, 0);
	CHECK("LOCK ADD in two pages", "lock addl $1, (%%esi)",
	      AREA + 4096 - 2, 2, 2, 2, 0, 2, 0);
	CHECK("in two lines, one of which is there",
	      "mov (%%esi), %%eax\n\tmov 3(%%esi), %%eax", AREA + l2 - 4,
	      3, 0, 2, 0, 2, 0);
	if (l2 > l1)
		CHECK("in two lines of L1 and one of L2", "mov (%%esi), %%eax",
		      AREA + l1 - 1, 2, 0, 2, 0, 1, 0);
}

/* Each pass of a string instruction makes its own accesses. */
static void test_strings(void)
{
	u32 bytes = 4 * want_l2.line, l1 = bytes / want_l1.line;

	check_counts("REP STOSB",
		     COUNTS("mov %%ebx, %%ecx\n\trep stosb", AREA, bytes),
		     (struct counts){ 0, bytes, 0, l1, 0, 4 });
	check_counts("REP MOVSL",
		     COUNTS("mov %%ebx, %%ecx\n\tshr $2, %%ecx\n\trep movsl", AREA,
			    bytes),
		     (struct counts){ bytes / 4, bytes / 4, l1, l1, 4, 4 });
	check_counts("REP LODSB",
		     COUNTS("mov %%ebx, %%ecx\n\trep lodsb", AREA, bytes),
		     (struct counts){ bytes, 0, l1, 0, 4, 0 });
	check_counts("REP LODSL from an odd address",
		     COUNTS("mov %%ebx, %%ecx\n\tshr $2, %%ecx\n\trep lodsl",
			    AREA + 1, bytes),
		     (struct counts){ bytes / 4 + l1, 0, l1 + 1, 0, 5, 0 });
	check_counts("REP of 0: nothing",
		     COUNTS("xor %%ecx, %%ecx\n\trep lodsb", AREA, 0),
		     (struct counts){ 0 });
}

/* A counter must count the same as the totals. */
#define COUNTED(event, code, p, n) ({					\
	u64 _start;							\
	u32 _n;								\
									\
	evict();							\
	pmu_clear();							\
	_start = pmu_setup(0, event, 0, false);				\
	wrmsr(switch_msr, _start);					\
	_n = ADDED("rdpmc", 0, code, p, n);				\
	wrmsr(switch_msr, 0);						\
	_n;								\
})

/* On separate lines: 3 loads and 2 stores that miss, and one that hits L1 */
#define MIX	"cmpb $0, (%%esi)\n\t"				\
		"cmpb $0, 2 * (4096 + 128)(%%esi)\n\t"		\
		"cmpb $0, 4 * (4096 + 128)(%%esi)\n\t"		\
		"movb $0, 1 * (4096 + 128)(%%esi)\n\t"		\
		"movb $0, 3 * (4096 + 128)(%%esi)\n\t"		\
		"cmpb $0, (%%esi)\n\t"

/* Lines of one set of L1 until the first one is in L2 alone, then that */
#define REFILL	WALK_BEGIN WALK(LOAD) "cmpb $0, (%%esi)\n\t"

static void test_intel_events(void)
{
	u32 s1 = same_set(&want_l1), w = want_l1.ways;
	u32 r[4];

	cpuid(0xa, r);
	check_eq("CPUID.0AH:EBX: LLC events are available", r[1] & 3 << 3, 0);
	check_eq("LLC references", COUNTED(0x4f2e, MIX, AREA, 0), 5);
	check_eq("LLC misses", COUNTED(0x412e, MIX, AREA, 0), 5);
	check_eq("LLC references, one hits",
		 COUNTED(0x4f2e, REFILL, AREA, s1 | (w + 1)), w + 2);
	check_eq("LLC misses, without it",
		 COUNTED(0x412e, REFILL, AREA, s1 | (w + 1)), w + 1);
	check_eq("MEM_LOAD_RETIRED.L1_HIT", COUNTED(0x01d1, MIX, AREA, 0), 1);
	check_eq("MEM_LOAD_RETIRED.L1_MISS", COUNTED(0x08d1, MIX, AREA, 0), 3);
	check_eq("MEM_LOAD_RETIRED.L2_MISS", COUNTED(0x10d1, MIX, AREA, 0), 3);
	check_eq("MEM_LOAD_RETIRED.L2_HIT",
		 COUNTED(0x02d1, REFILL, AREA, s1 | (w + 1)), 1);
	check_eq("two of them", COUNTED(0x09d1, MIX, AREA, 0), 4);
	check_eq("a third level: nothing", COUNTED(0x24d1, MIX, AREA, 0), 0);
}

static void test_amd_events(void)
{
	u32 s1 = same_set(&want_l1), w = want_l1.ways;
	bool new = want_family >= 0x17;
	u32 refills = new ? 0x43 : 0x42;
	u32 from_l2 = new ? 0x0100 : 0x1e00, from_system = new ? 0x0800 : 0x0100;

	check_eq("refills from the L2",
		 COUNTED(refills | from_l2, REFILL, AREA, s1 | (w + 1)), 1);
	check_eq("refills from the system",
		 COUNTED(refills | from_system, REFILL, AREA, s1 | (w + 1)), w + 1);
	check_eq("both",
		 COUNTED(refills | from_l2 | from_system, REFILL, AREA,
			 s1 | (w + 1)), w + 2);
	check_eq("perf's cache-references",
		 COUNTED(new ? 0xff60 : 0x077d, MIX, AREA, 0), 5);
	check_eq("perf's cache-misses",
		 COUNTED(new ? 0x0964 : 0x077e, MIX, AREA, 0), 5);
	check_eq("no unit mask: nothing", COUNTED(refills, MIX, AREA, 0), 0);
}

/* The same with an ESCR, and a counter of it */
#define NETBURST(ctr, select, msr, escr, code, p, n) ({			\
	u32 _n;								\
									\
	evict();							\
	netburst_clear();						\
	wrmsr(MSR_RAT_ESCR0, tags | ESCR_OS);				\
	wrmsr(msr, (escr) | ESCR_OS);					\
	wrmsr(MSR_CCCR0 + (ctr), CCCR_RUN | CCCR_SELECT(select));	\
	_n = ADDED("rdpmc", ctr, code, p, n);				\
	wrmsr(MSR_CCCR0 + (ctr), 0);					\
	_n;								\
})

#define BSQ(mask, code, n) \
	NETBURST(0, 7, MSR_BSU_ESCR0, ESCR(0x0c, mask), code, AREA, n)
#define FRONT_END(mask) \
	NETBURST(12, 5, MSR_CRU_ESCR2, ESCR(0x08, mask), MIX, AREA, 0)

static void test_netburst_events(void)
{
	u32 s1 = same_set(&want_l1), w = want_l1.ways, tags = 0;

	check_eq("BSQ_cache_reference, read misses", BSQ(0x100, MIX, 0), 3);
	check_eq("write misses", BSQ(0x400, MIX, 0), 2);
	check_eq("read hits", BSQ(0x001, REFILL, s1 | (w + 1)), 1);
	check_eq("read hits and misses", BSQ(0x101, REFILL, s1 | (w + 1)), w + 2);
	check_eq("perf's cache-misses", BSQ(0x700, MIX, 0), 5);
	check_eq("hits of other states and a third level: nothing",
		 BSQ(0x2fe, REFILL, s1 | (w + 1)), 0);
	check_eq("front_end_event without tags: nothing", FRONT_END(1), 0);
	tags = ESCR(0x02, 2) | ESCR_TAG(0);
	check_eq("tagged loads", FRONT_END(1), 4);
	check_eq("bogus ones: nothing", FRONT_END(2), 0);
	check_eq("uop_type itself: nothing",
		 NETBURST(12, 2, MSR_RAT_ESCR0, tags, MIX, AREA, 0), 0);
	tags = ESCR(0x02, 4) | ESCR_TAG(0);
	check_eq("tagged stores", FRONT_END(1), 2);
	tags = ESCR(0x02, 6) | ESCR_TAG(0);
	check_eq("both", FRONT_END(1), 6);
	tags = ESCR(0x02, 6);
	check_eq("tags are not enabled: nothing", FRONT_END(1), 0);
	check_eq("test event: store misses",
		 NETBURST(0, 7, MSR_BSU_ESCR0, PMU_TEST_ESCR(PMU_TEST_L2_STORE_MISSES), MIX,
			  AREA, 0), 2);
}

static void test_test_events(void)
{
	check_eq("test event: loads",
		 COUNTED(PMU_TEST_EVTSEL(PMU_TEST_LOADS), MIX, AREA, 0), 4);
	check_eq("test event: stores",
		 COUNTED(PMU_TEST_EVTSEL(PMU_TEST_STORES), MIX, AREA, 0), 2);
	check_eq("test event: store misses",
		 COUNTED(PMU_TEST_EVTSEL(PMU_TEST_L2_STORE_MISSES), MIX, AREA, 0), 2);
	check_eq("nothing has been loaded in user mode",
		 rdmsr(PMU_TEST_MSR(PMU_TEST_LOADS) + PMU_TEST_MSR_USER), 0);
}

void test_cache(void)
{
	test_sets();
	test_lru();
	test_stores();
	test_instructions();
	test_unaligned();
	test_strings();
	if (want_netburst)
		test_netburst_events();
	else if (want_amd)
		test_amd_events();
	else
		test_intel_events();
	if (!want_netburst)
		test_test_events();
	pmu_clear();
}
