// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests event lists, with tables that LIBPFM_FORCE_PMU chooses. It needs
 * neither vpmc nor a PMU. Each test is a process of its own, because libpfm4
 * reads the variable once.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "lib_test.h"
#include "../src/internal.h"

static struct vpmc_event *events;
static struct vpmc_error error;
static unsigned int nr;

static int parse(const char *table, const char *list)
{
	setenv("LIBPFM_FORCE_PMU", table, 1);
	memset(&error, 0xff, sizeof(error));
	events = (void *)1;
	nr = 1234;
	return vpmc_parse_events(list, &events, &nr, &error);
}

/* A list, and the selects that its events must have. */
struct good {
	const char *table, *list;
	uint64_t select[8];
};

static const struct good good[] = {
	{ "skl", "instructions", { 0x100c0 } },
	{ "skl", "cycles,ref-cycles", { 0x1003c, 0x1013c } },
	{ "skl", "branches,branch-misses", { 0x100c4, 0x100c5 } },
	{ "skl", "cache-references,cache-misses", { 0x14f2e, 0x1412e } },
	{ "skl", "cpu-cycles,branch-instructions", { 0x1003c, 0x100c4 } },
	{ "skl", "instructions:u,cycles:k,branches:uk", { 0x100c0, 0x2003c, 0x300c4 } },
	{ "skl", "instructions:ku,cycles:u:k", { 0x300c0, 0x3003c } },
	{ "skl", " instructions ,\tcycles\n", { 0x100c0, 0x1003c } },
	{ "skl", "r4c0", { 0x104c0 } },
	{ "skl", "rc0,r1c4:k,r10000c4", { 0x100c0, 0x201c4, 0x10100c4 } },
	{ "skl", "0x4100c0,0x00c4,0x3c:k", { 0x4100c0, 0x100c4, 0x2003c } },
	{ "skl", "0X4300C0", { 0x4300c0 } },
	{ "skl", "INST_RETIRED:ANY_P", { 0x5100c0 } },
	{ "skl", "inst_retired:any_p:k", { 0x5200c0 } },
	{ "skl", "INST_RETIRED:ANY_P:uk", { 0x5300c0 } },
	{ "skl", "INST_RETIRED:ANY_P:KU:c=1", { 0x15300c0 } },
	{ "skl", "skl::INST_RETIRED", { 0x5100c0 } },
	{ "skl", "BR_INST_RETIRED:ALL_BRANCHES:c=2:i", { 0x2d100c4 } },
	{ "skl", "UNHALTED_REFERENCE_CYCLES", { 0x510300 } },
	{ "core", "instructions,INST_RETIRED:LOADS", { 0x100c0, 0x5101c0 } },
	{ "spr", "instructions,INST_RETIRED:ANY_P:k", { 0x100c0, 0x5200c0 } },
	{ "tmt", "instructions,cycles", { 0x100c0, 0x1003c } },
	{ "ix86arch", "instructions,LLC_REFERENCES", { 0x100c0, 0x514f2e } },
	{ "amd64_k8_revc", "instructions,cycles", { 0x100c0, 0x10076 } },
	{ "amd64_fam17h_zen1", "branches,branch-misses", { 0x100c2, 0x100c3 } },
	{ "amd64_fam17h_zen1", "RETIRED_INSTRUCTIONS:uk", { 0x5300c0 } },
	{ "amd64_fam17h_zen1", "r1000000c0", { 0x1000100c0 } },
	/* as perf writes them */
	{ "skl", "cpu/event=0xc0,umask=1/", { 0x101c0 } },
	{ "skl", "cpu/event=192,umask=0x4/u,cpu/umask=0x1,event=0xc4/k", { 0x104c0, 0x201c4 } },
	{ "skl", "cpu/event=0xc0,cmask=2,inv,edge/uk,cpu/event=0xc4,edge=1,inv=0/", { 0x28700c0, 0x500c4 } },
	{ "skl", "cpu/event=0xc0/ku@3?,cpu/event=0x3c/:k", { 0x300c0, 0x2003c } },
	{ "skl", "cpu/config=0x20001c0/,cpu/r4c5/k", { 0x20101c0, 0x204c5 } },
	{ "skl", "cpu/event=0xc0,name='a,b/c@1?:x'/,cpu/event=0xc4,name=NAME/", { 0x100c0, 0x100c4 } },
	{ "skl", "cpu/instructions/,cpu/branch-misses,cmask=1/k,cpu/ref-cycles/", { 0x100c0, 0x10200c5, 0x10300 } },
	{ "skl", "br_inst_retired.conditional:k", { 0x5201c4 } },
	{ "skl", "{instructions,cycles},branches", { 0x100c0, 0x1003c, 0x100c4 } },
	{ "skl", "{instructions,cycles:k,branches:u@1?}:uk,branch-misses", { 0x300c0, 0x3003c, 0x300c4, 0x100c5 } },
	{ "skl", "{cpu/event=0xc0,umask=1/,cpu/event=0xc4/u,r4c5,0xc5,INST_RETIRED:ANY_P}:k", { 0x201c0, 0x300c4, 0x204c5, 0x200c5, 0x5200c0 } },
	{ "skl", "{instructions}:u,{cycles}:k", { 0x100c0, 0x2003c } },
	{ "skl", "L1-dcache-loads,l1-dcache-load-misses:k,dTLB-load-misses,bus-cycles", { 0x181d0, 0x20151, 0x10e08, 0x1013c } },
	/* ESCR and CCCR. Modes are bits 34 and 35. */
	{ "netburst", "instructions", { 0x0400060400008000 } },
	{ "netburst", "cycles:k,cpu-cycles:uk", { 0x260002080000c000, 0x2600020c0000c000 } },
	{ "netburst", "branches,branch-misses", { 0x0c001e040000a000, 0x0c0014040000a000 } },
	{ "netburst", "cache-references,cache-misses:k", { 0x18020e040000e000, 0x180200080000e000 } },
	{ "netburst", "instr_retired:NBOGUSNTAG", { 0x0400020400008000 } },
	{ "netburst", "INSTR_RETIRED:nbogusntag:bogustag:uk", { 0x0400120c00008000 } },
	{ "netburst", "netburst::BSQ_cache_reference:RD_2ndL_MISS:k", { 0x180200080000e000 } },
	{ "netburst", "global_power_events:running:thr=3,global_power_events:running:thr=15:e:cmpl", { 0x260002040034c000, 0x2600020401fcc000 } },
	/* event 9 of another ESCR than replay_event's */
	{ "netburst", "uop_queue_writes:FROM_ROM", { 0x1200080400000000 } },
	{ "netburst", "global_power_events.running:k", { 0x260002080000c000 } },
	{ "netburst", "0x0400060000008000,0x0C00000000000000:uk,0x1800020c0000e000", { 0x0400060400008000, 0x0c00000c00000000, 0x1800020c0000e000 } },
	/* what Linux sets itself, and the highest of the user's bits */
	{ "netburst", "0x260002040403d000,0x7ffffffc01fce000", { 0x260002040403d000, 0x7ffffffc01fce000 } },
	{ "netburst", "{instructions,branches:u}:k", { 0x0400060800008000, 0x0c001e0c0000a000 } },
	{ "netburst", "iTLB-loads,itlb-load-misses:k,bus-cycles", { 0x3000020400006000, 0x3000040800006000, 0x2e0006040104c000 } },
	{ "netburst_p", "instructions,instr_completed:nbogus", { 0x0400060400008000, 0x0e00020400008000 } },
	{ "core", "LLC-load-misses,cpu/LLC-loads/", { 0x14129, 0x14f29 } },
	{ "amd64_fam17h_zen1", "stalled-cycles-frontend,idle-cycles-backend", { 0x10287, 0x10187 } },
	{ "amd64_fam17h_zen1", "cpu/event=0x1c0,umask=2/,cpu/cache-misses/", { 0x1000102c0, 0x10964 } },
};

FIXTURE(good) { };
FIXTURE_SETUP(good) { }
FIXTURE_TEARDOWN(good) { }
FIXTURE_VARIANT(good) {
	const char *table;
};

#define TABLE(name)							\
FIXTURE_VARIANT_ADD(good, name) { .table = #name }

TABLE(skl);
TABLE(core);
TABLE(spr);
TABLE(tmt);
TABLE(ix86arch);
TABLE(amd64_k8_revc);
TABLE(amd64_fam17h_zen1);
TABLE(netburst);
TABLE(netburst_p);

TEST_F(good, select)
{
	unsigned int i, j, lists = 0;

	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		if (strcmp(good[i].table, variant->table))
			continue;
		lists++;
		ASSERT_EQ(0, parse(good[i].table, good[i].list)) {
			TH_LOG("%s: %s", good[i].list, error.text);
		}
		for (j = 0; j < nr; j++)
			EXPECT_EQ(good[i].select[j], events[j].select) {
				TH_LOG("%s, event %u", good[i].list, j);
			}
		EXPECT_EQ(0, good[i].select[nr]);
		EXPECT_EQ(0, error.errnum);
		EXPECT_EQ(-1, error.event);
		vpmc_free_events(events);
	}
	EXPECT_LT(0, lists);
	EXPECT_STREQ(variant->table, vpmc_table(NULL));
}

TEST(texts_and_counters)
{
	ASSERT_EQ(-EINVAL, parse("skl", "instructions:u@2?, cycles@fixed1,INST_RETIRED:ANY_P@0x?"));
	EXPECT_EQ(VPMC_WHY_SYNTAX, error.reason);
	EXPECT_EQ(2, error.event);
	EXPECT_EQ(51, error.position);
	ASSERT_EQ(0, parse("skl", "instructions:u@2?, cycles@fixed1,INST_RETIRED@1"));
	ASSERT_EQ(3, nr);
	EXPECT_STREQ("instructions:u@2?", events[0].text);
	EXPECT_STREQ("instructions:u", events[0].name);
	EXPECT_EQ(VPMC_EVENT_OPTIONAL | VPMC_EVENT_PORTABLE, events[0].flags);
	EXPECT_EQ(2, events[0].index);
	EXPECT_EQ(0, events[0].position);
	EXPECT_STREQ("cycles@fixed1", events[1].text);
	EXPECT_STREQ("cycles:u", events[1].name);
	EXPECT_EQ(VPMC_EVENT_USUAL_MODES | VPMC_EVENT_PORTABLE, events[1].flags);
	EXPECT_EQ(VPMC_RDPMC_FIXED + 1, events[1].index);
	EXPECT_EQ(19, events[1].position);
	EXPECT_EQ(1, events[2].index);
	EXPECT_EQ(0, strncmp("skl::INST_RETIRED:ANY_P:", events[2].name, 24));
	EXPECT_EQ(-1, events[2].element);
	vpmc_free_events(events);
	vpmc_free_events(NULL);
}

/* The name always has the modes. A flag tells that none were written. */
TEST(modes_in_names)
{
	static const struct {
		const char *text, *name;
		bool usual;
	} cases[] = {
		{ "instructions", "instructions:u", true },
		{ "branches:k@2?", "branches:k", false },
		{ "cycles:ku", "cycles:ku", false },
		{ "r4c0", "r4c0:u", true },
		{ "r4c0:uk", "r4c0:uk", false },
		{ "0xc0", "0xc0:u", true },
		{ "0x3c:k", "0x3c:k", false },
		{ "0x4100c0", "0x4100c0", false },
		{ "INST_RETIRED:ANY_P:c=1", NULL, true },
		{ "INST_RETIRED:ANY_P:u:c=1", NULL, false },
		{ "inst_retired:any_p:K", NULL, false },
		{ "INST_RETIRED:ANY_P:u=1", NULL, false },
		{ "BR_INST_RETIRED:CONDITIONAL", NULL, true },
		{ "cpu/event=0xc0/@1", "cpu/event=0xc0/u", true },
		{ "cpu/event=0xc0/k", "cpu/event=0xc0/k", false },
		{ "L1-dcache-loads", "L1-dcache-loads:u", true },
		{ "{branches@2?}:k", "branches:k", false },
		{ "{cpu/event=0xc0/u}:k", "cpu/event=0xc0/uk", false },
	};
	unsigned int i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ASSERT_EQ(0, parse("skl", cases[i].text))
			TH_LOG("%s", cases[i].text);
		if (cases[i].name)
			EXPECT_STREQ(cases[i].name, events[0].name);
		EXPECT_EQ(cases[i].usual, !!(events[0].flags & VPMC_EVENT_USUAL_MODES))
			TH_LOG("%s", cases[i].text);
		vpmc_free_events(events);
	}
}

/*
 * A list that is refused, with the event, the position, the reason and words of
 * the error's text.
 */
struct bad {
	const char *table, *list;
	int err, event, position;
	unsigned int reason;
	const char *words;
};

static const struct bad bad[] = {
	/* the modes of a group are behind it */
	{ "skl", "{instructions,branches}:p", EINVAL, 0, 24, VPMC_WHY_SYNTAX, "'p' asks for" },
	{ "skl", "branches,{instructions@0,cycles}:z", EINVAL, 1, 32, VPMC_WHY_SYNTAX,
	  "only ':u'" },
	{ "skl", "{branches,instructions:u@x}:k", EINVAL, 1, 24, VPMC_WHY_SYNTAX, "after '@'" },
	{ "skl", "", EINVAL, 0, 0, VPMC_WHY_EMPTY, "there is no event" },
	{ "skl", "   ", EINVAL, 0, 3, VPMC_WHY_EMPTY, "there is no event" },
	{ "skl", "cycles,,branches", EINVAL, 1, 7, VPMC_WHY_EMPTY, "there is no event" },
	{ "skl", "cycles,", EINVAL, 1, 7, VPMC_WHY_EMPTY, "there is no event" },
	{ "skl", "?", EINVAL, 0, 0, VPMC_WHY_EMPTY, "name is missing" },
	{ "skl", "@1", EINVAL, 0, 0, VPMC_WHY_EMPTY, "name is missing" },
	{ "skl", ":u", EINVAL, 0, 0, VPMC_WHY_EMPTY, "name is missing" },
	{ "skl", "a b", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "blank" },
	{ "skl", "cyc\033\tles\177", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "cyc  les : there is a blank or a control character in it" },
	{ "skl", "cycles@", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "after '@'" },
	{ "skl", "cycles@a", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "after '@'" },
	{ "skl", "cycles@fixed", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "after '@'" },
	{ "skl", "cycles@100", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "after '@'" },
	{ "skl", "cycles?@1", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "'?'" },
	{ "skl", "cycles:x", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "':u'" },
	{ "skl", "cycles:", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "':u'" },
	{ "skl", "cycles:uu", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "':u'" },
	{ "skl", "0x", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "digits" },
	{ "skl", "0xfg", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "digits" },
	{ "skl", "0x10000000000000000", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "digits" },
	{ "skl", "0x4100c0:u", EINVAL, 0, 8, VPMC_WHY_SYNTAX, "bits 16 and 17" },
	{ "skl", "r100c0", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "without modes" },
	{ "skl", "instuctions", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "did you mean instructions?" },
	{ "skl", "cpu-cylces", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "did you mean cpu-cycles" },
	{ "skl", "idle-cycles-fronted", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "did you mean idle-cycles-frontend" },
	{ "skl", "cycles,INST_RETIERD:ANY_P", ENOENT, 1, 7, VPMC_WHY_UNKNOWN, "INST_RETIRED" },
	{ "skl", "INST_RETIRED:ANYP", EINVAL, 0, 0, VPMC_WHY_ATTRIBUTE, "INST_RETIRED:ANY_P" },
	{ "skl", "nonsense_of_all_kinds", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "vpmc list" },
	{ "skl", "zen::CYCLES", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "table 'skl'" },
	{ "skl", "perf::INSTRUCTIONS", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "table 'skl'" },
	{ "skl", "DTLB_LOAD_MISSES", EINVAL, 0, 0, VPMC_WHY_UMASK, "DTLB_LOAD_MISSES:" },
	{ "skl", "INST_RETIRED:ANY_P:t", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "attribute 't'" },
	{ "skl", "INST_RETIRED:ANY_P:intx", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "attribute 'intx'" },
	{ "skl", "INST_RETIRED:ANY_P:intxcp", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "attribute 'intxcp'" },
	{ "skl", "OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT", EOPNOTSUPP, 0, 0, VPMC_REASON_EXTRA_MSR, "one more register" },
	{ "skl", "instructions,instructions", EINVAL, 1, 13, VPMC_WHY_DOUBLED, "the same as 'instructions', event 0" },
	{ "skl", "cycles,instructions,INST_RETIRED:ANY_P", EINVAL, 2, 20, VPMC_WHY_DOUBLED, "'instructions', event 1" },
	{ "skl", "cycles@1,branches@1", EINVAL, 1, 9, VPMC_WHY_CONFLICT, "same counter as 'cycles@1'" },
	{ "amd64_fam17h_zen1", "ref-cycles", EOPNOTSUPP, 0, 0, VPMC_WHY_NOT_PORTABLE, "this processor has no such portable event" },
	{ "amd64_fam17h_zen1", "RETIRED_INSTRUCTIONS:h", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "attribute 'h'" },
	{ "amd64_fam17h_zen1", "RETIRED_INSTRUCTIONS:g", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "attribute 'g'" },
	/* as perf writes them */
	{ "skl", "cpu/event=0xc0,umaks=1/", EINVAL, 0, 15, VPMC_WHY_ATTRIBUTE, "no term 'umaks' for this processor's counters; the terms are event," },
	{ "skl", "cycles,cpu/event=0xc0", EINVAL, 1, 10, VPMC_WHY_SYNTAX, "second '/'" },
	{ "skl", "cpu//", EINVAL, 0, 4, VPMC_WHY_EMPTY, "there is no term" },
	{ "skl", "cpu/event=1,/", EINVAL, 0, 12, VPMC_WHY_EMPTY, "there is no term" },
	{ "skl", "cpu/event/", EINVAL, 0, 4, VPMC_WHY_SYNTAX, "'event' has no value" },
	{ "skl", "cpu/event=/", EINVAL, 0, 10, VPMC_WHY_SYNTAX, "'event' is no number" },
	{ "skl", "cpu/event=0x100/", EINVAL, 0, 10, VPMC_WHY_SYNTAX, "'event' is at most 0xff" },
	{ "skl", "cpu/event=1c/", EINVAL, 0, 10, VPMC_WHY_SYNTAX, "'event' is no number" },
	{ "skl", "cpu/config=0x10000000000000000/", EINVAL, 0, 11, VPMC_WHY_SYNTAX, "'config' is no number" },
	{ "skl", "cpu/event=1,event=2/", EINVAL, 0, 12, VPMC_WHY_SYNTAX, "another term has bits of 'event'" },
	{ "skl", "cpu/config=0x100c0/", EINVAL, 0, 4, VPMC_WHY_SYNTAX, "'config' has bits of the modes" },
	{ "skl", "cpu/r4000c0/", EINVAL, 0, 4, VPMC_WHY_SYNTAX, "has bits of the modes" },
	{ "skl", "cpu/event=0xc0,any=1/", EOPNOTSUPP, 0, 15, VPMC_WHY_REFUSED_ATTRIBUTE, "does not permit the term 'any'" },
	{ "skl", "cpu/event=0xcd,umask=1,ldlat=3/", EOPNOTSUPP, 0, 23, VPMC_REASON_EXTRA_MSR, "'ldlat' needs one more register" },
	{ "skl", "cpu/event=1,period=9/", EINVAL, 0, 12, VPMC_WHY_SYNTAX, "vpmc record -c" },
	{ "skl", "cpu/inst_retired.any/", ENOENT, 0, 4, VPMC_WHY_UNKNOWN, "'inst_retired.any' is a name of perf's own lists" },
	{ "skl", "cpu/event=1/x", EINVAL, 0, 12, VPMC_WHY_SYNTAX, "':u'" },
	{ "skl", "cpu/event=1/pp", EINVAL, 0, 12, VPMC_WHY_SYNTAX, "'p' asks for samples" },
	{ "skl", "cpu_core/event=1/", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "write cpu/.../" },
	{ "skl", "power/energy-pkg/", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "'power' is another PMU" },
	{ "skl", "cycles:ppp", EINVAL, 0, 7, VPMC_WHY_SYNTAX, "'p' asks for samples by PEBS or IBS, which vpmc does not use; leave it out, or use perf record" },
	{ "skl", "cycles:uD", EINVAL, 0, 8, VPMC_WHY_SYNTAX, "'D' pins" },
	{ "skl", "rc0:S", EINVAL, 0, 4, VPMC_WHY_SYNTAX, "'S' reads" },
	{ "skl", "INST_RETIRED:ANY_P:uG", EINVAL, 0, 20, VPMC_WHY_SYNTAX, "perf kvm stat" },
	{ "skl", "{cycles,instructions}:H", EINVAL, 0, 22, VPMC_WHY_SYNTAX, "'H' leaves virtual machines out" },
	{ "skl", "{cycles,instructions", EINVAL, 0, 0, VPMC_WHY_SYNTAX, "its '}' is missing" },
	{ "skl", "cycles}", EINVAL, 0, 6, VPMC_WHY_SYNTAX, "no '{' before" },
	{ "skl", "cycles,{branches,{instructions}}", EINVAL, 1, 17, VPMC_WHY_SYNTAX, "no other group in it" },
	{ "skl", "a{cycles}", EINVAL, 0, 1, VPMC_WHY_SYNTAX, "'{' comes before" },
	{ "skl", "{cycles}u", EINVAL, 0, 8, VPMC_WHY_SYNTAX, "after '}'" },
	{ "skl", "{cycles}:", EINVAL, 0, 8, VPMC_WHY_SYNTAX, "after '}'" },
	{ "skl", "{cycles}:u}", EINVAL, 0, 8, VPMC_WHY_SYNTAX, "':u'" },
	{ "skl", "{}", EINVAL, 0, 1, VPMC_WHY_EMPTY, "there is no event" },
	{ "skl", "{cycles,}", EINVAL, 1, 8, VPMC_WHY_EMPTY, "there is no event" },
	{ "skl", "bus-cycles,ref-cycles", EINVAL, 1, 11, VPMC_WHY_DOUBLED, "the same as 'bus-cycles'" },
	{ "skl", "LLC-loads", EOPNOTSUPP, 0, 0, VPMC_REASON_EXTRA_MSR, "use cache-references" },
	{ "skl", "L1-dcache-store-misses", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "perf has no event" },
	{ "skl", "L1-dcache-load-mises", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "did you mean L1-dcache-load-misses" },
	/* what perf counts without a counter of the processor */
	{ "skl", "cycles,sched:sched_switch", ENOENT, 1, 7, VPMC_WHY_UNKNOWN, "sched:sched_switch: it is a tracepoint of the kernel, and no counter of the processor counts it; use perf stat -e sched:sched_switch; vpmc stat -e has context-switches, cpu-migrations and page-faults" },
	{ "skl", "sched:sched_switch:u", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a tracepoint of the kernel" },
	{ "skl", "syscalls:sys_enter_*", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a tracepoint of the kernel" },
	{ "skl", "probe:do_sys_open", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a tracepoint of the kernel" },
	{ "skl", "sdt_libc:setjmp", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a tracepoint of the kernel" },
	{ "skl", "mem:0x1000:rw", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a breakpoint of perf" },
	{ "skl", "page-faults", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; vpmc stat -e prints it" },
	{ "skl", "max-rss:u", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; vpmc stat -e prints it" },
	{ "skl", "user-time", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; vpmc stat -e prints it" },
	{ "skl", "cpu-clock", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; use task-clock of vpmc stat -e" },
	{ "skl", "cgroup-switches", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; use perf stat" },
	{ "skl", "alignment-faults", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; leave it out" },
	{ "skl", "dummy", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no counter of the processor counts it; leave it out" },
	/* a misspelled name is none of these */
	{ "skl", "inst_retierd:any_p", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "did you mean INST_RETIRED" },
	{ "skl", "sched::sched_switch", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "table 'skl' has no such event" },
	{ "skl", "sched:", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no event has that name" },
	{ "skl", "br_inst_retired.conditional:upp", EINVAL, 0, 29, VPMC_WHY_SYNTAX, "'p' asks for samples" },
	{ "amd64_fam17h_zen1", "cache-misses", EOPNOTSUPP, 0, 0, VPMC_WHY_NOT_PORTABLE, "perf counts another event under that name: cpu/cache-misses/" },
	{ "amd64_fam17h_zen1", "sched:sched_switch", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a tracepoint of the kernel" },
	{ "amd64_fam17h_zen1", "cpu/event=0xc0,any=1/", EINVAL, 0, 15, VPMC_WHY_ATTRIBUTE, "no term 'any'" },
	{ "netburst", "ref-cycles", EOPNOTSUPP, 0, 0, VPMC_WHY_NOT_PORTABLE, "this processor has no such portable event" },
	{ "netburst", "cycles,rc0", ENOENT, 1, 7, VPMC_WHY_UNKNOWN, "perf's numbers of NetBurst's events are not the processor's; write libpfm4's name, as vpmc list does, or 0x with the ESCR in bits 32 to 63" },
	{ "netburst", "cpu/event=0xc0/", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "are not the processor's; write libpfm4's name" },
	{ "netburst", "cpu/cache-misses/", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "are not the processor's" },
	{ "netburst", "cpu/escr=0x4000200,cccr=0x8000/k", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "are not the processor's" },
	{ "netburst", "sched:sched_switch", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "it is a tracepoint of the kernel" },
	{ "netburst", "power/energy-pkg/", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "'power' is another PMU" },
	{ "netburst", "0x400020400008000:u", EINVAL, 0, 17, VPMC_WHY_SYNTAX, "bits 34 and 35" },
	{ "netburst", "0x400020442008000", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "forced overflow" },
	{ "netburst", "0x400020408008000", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "overflow interrupt of the other thread" },
	{ "netburst", "0x400020440008000", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "does not permit the bit 'cascade'; leave it out" },
	{ "netburst", "0x400020480008000", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "'OVF'" },
	{ "netburst", "0x400020500008000", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "'T1_USR'" },
	{ "netburst", "0x400020600008000", EOPNOTSUPP, 0, 0, VPMC_WHY_REFUSED_ATTRIBUTE, "'T1_OS'" },
	{ "netburst", "0x100c0", EINVAL, 0, 0, VPMC_REASON_RESERVED_BIT, "write the ESCR in bits 32 to 63, and the CCCR in bits 0 to 31" },
	{ "netburst", "0x8400020400008000", EINVAL, 0, 0, VPMC_REASON_RESERVED_BIT, "mean nothing in ESCR and CCCR" },
	{ "netburst", "0x400020400008800", EINVAL, 0, 0, VPMC_REASON_RESERVED_BIT, "mean nothing in ESCR and CCCR" },
	{ "netburst", "replay_event:NBOGUS:L1_LD_MISS", EOPNOTSUPP, 0, 0, VPMC_REASON_EXTRA_MSR, "one more register" },
	{ "netburst", "replay_event:BOGUS", EOPNOTSUPP, 0, 0, VPMC_REASON_EXTRA_MSR, "one more register" },
	{ "netburst", "L1-dcache-load-misses", EOPNOTSUPP, 0, 0, VPMC_REASON_EXTRA_MSR, "by one more register" },
	{ "netburst", "L1-dcache-loads", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "perf has no event 'L1-dcache-loads' for this processor" },
	{ "netburst", "instr_retired", EINVAL, 0, 0, VPMC_WHY_UMASK, "needs a unit mask; did you mean instr_retired:" },
	{ "netburst", "instr_retired:NBOGUSTNAG", EINVAL, 0, 0, VPMC_WHY_ATTRIBUTE, "instr_retired:NBOGUSNTAG" },
	{ "netburst", "instructions,0x400060400028000", EINVAL, 1, 13, VPMC_WHY_DOUBLED, "'instructions', event 0" },
	{ "netburst", "cycles@12,branches@12", EINVAL, 1, 10, VPMC_WHY_CONFLICT, "same counter" },
	{ "netburst", "instr_completed:nbogus", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "no event has that name" },
	{ "no_such_table", "L1-dcache-loads", ENOENT, 0, 0, VPMC_WHY_UNKNOWN, "is not known" },
	{ "no_such_table", "INST_RETIRED", ENOENT, 0, 0, VPMC_WHY_NO_TABLE, "LIBPFM_FORCE_PMU" },
};

static bool has_only_defined_values(void)
{
	return !events && !nr && !error.reserved[0] && !error.reserved[2] &&
	       strlen(error.what) < sizeof(error.what) &&
	       strlen(error.why) < sizeof(error.why) &&
	       strlen(error.remedy) < sizeof(error.remedy) &&
	       strlen(error.text) < sizeof(error.text) &&
	       !strchr(error.text, '\n');
}

static void refused_by(struct __test_metadata *_metadata, const char *table)
{
	unsigned int i, lists = 0;
	const struct bad *b;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		b = &bad[i];
		if (strcmp(b->table, table))
			continue;
		lists++;
		EXPECT_EQ(-b->err, parse(b->table, b->list)) {
			TH_LOG("'%s': %s", b->list, error.text);
		}
		EXPECT_EQ(b->err, error.errnum);
		EXPECT_EQ(b->reason, error.reason);
		EXPECT_EQ(b->event, error.event);
		EXPECT_EQ(b->position, error.position);
		EXPECT_TRUE(has_only_defined_values());
		EXPECT_NE(NULL, strstr(error.text, b->words)) {
			TH_LOG("'%s': %s", b->list, error.text);
		}
		EXPECT_EQ(-b->err, vpmc_parse_events(b->list, &events, &nr, NULL));
	}
	EXPECT_LT(0, lists);
}

TEST(bad_lists_on_intel)
{
	refused_by(_metadata, "skl");
}

TEST(bad_lists_on_amd)
{
	refused_by(_metadata, "amd64_fam17h_zen1");
}

TEST(bad_lists_on_netburst)
{
	refused_by(_metadata, "netburst");
}

/* A counter's number has the bit of fast RDPMC. */
TEST(counters_of_netburst)
{
	ASSERT_EQ(0, parse("netburst", "instructions@12?,cycles"));
	EXPECT_EQ(0x8000000c, events[0].index);
	EXPECT_STREQ("instructions:u", events[0].name);
	EXPECT_EQ(VPMC_ANY, events[1].index);
	vpmc_free_events(events);
	/* What perf means by these names is not found. */
	ASSERT_EQ(0, parse("netburst", "cpu/cache-misses/?,rc0?,cycles:k"));
	EXPECT_EQ(VPMC_WHY_UNKNOWN, events[0].reason);
	EXPECT_EQ(VPMC_WHY_UNKNOWN, events[1].reason);
	vpmc_free_events(events);
}

/* libpfm4 has P6's tables for 32 bits alone, so lists cannot be parsed with them here. */
TEST(events_of_p6)
{
	static const struct {
		const char *name;
		uint64_t code;
	} codes[] = {
		{ "instructions", 0xc0 }, { "cycles", 0x79 }, { "cpu-cycles", 0x79 },
		{ "ref-cycles", 0 }, { "branches", 0xc4 }, { "branch-misses", 0xc5 },
		{ "cache-references", 0xf2e }, { "cache-misses", 0x12e },
	}, perfs[] = {
		{ "L1-dcache-loads", 0x43 }, { "L1-dcache-load-misses", 0x45 },
		{ "L1-icache-load-misses", 0xf28 }, { "LLC-store-misses", 0x25 },
		{ "iTLB-load-misses", 0x85 }, { "stalled-cycles-frontend", 0xa2 },
		{ "bus-cycles", 0x62 }, { "ref-cycles", 0 }, { "LLC-loads", 0 },
	};
	struct vpmc_complaint c;
	uint64_t select;
	unsigned int i;

	for (i = 0; i < sizeof(codes) / sizeof(codes[0]); i++)
		EXPECT_EQ(codes[i].code, vpmc_portable_code(vpmc_portable_find(codes[i].name,
				strlen(codes[i].name)), VPMC_KIND_P6)) {
			TH_LOG("code %u", i);
		}
	for (i = 0; i < sizeof(perfs) / sizeof(perfs[0]); i++) {
		select = 0;
		EXPECT_EQ(perfs[i].code ? 0 : VPMC_WHY_UNKNOWN,
			  vpmc_perf_name(perfs[i].name, strlen(perfs[i].name), VPMC_KIND_P6,
					 &select, &c)) {
			TH_LOG("name %u", i);
		}
		EXPECT_EQ(perfs[i].code, select);
	}
	EXPECT_STREQ("t", vpmc_refused_attribute(0x2100c0, VPMC_KIND_P6));
	EXPECT_STREQ("", vpmc_refused_attribute(0x800c0, VPMC_KIND_P6));
	EXPECT_STREQ("", vpmc_refused_attribute(1ULL << 34 | 0xc0, VPMC_KIND_P6));
	EXPECT_EQ(NULL, vpmc_refused_attribute(0xffd7ffff, VPMC_KIND_P6));
	EXPECT_EQ(VPMC_KIND_P6, select_kind_of_table("pm"));
	EXPECT_EQ(VPMC_KIND_P6, select_kind_of_table("ppro"));
	EXPECT_EQ(VPMC_KIND_INTEL, select_kind_of_table("coreduo"));
}

TEST(bad_lists_without_a_table)
{
	refused_by(_metadata, "no_such_table");
	ASSERT_EQ(0, parse("no_such_table", "rc0,NOPE?"));
	EXPECT_EQ(NULL, vpmc_table(NULL));
	EXPECT_EQ(VPMC_WHY_NO_TABLE, events[1].reason);
	vpmc_free_events(events);
}

/* An optional event is left out only if the processor does not have it. */
TEST(optional)
{
	static const char list[] = "NOPE?,cycles?,INST_RETIRED:NOPE?,INST_RETIRED:ANY_P:t?,OFFCORE_RESPONSE_0:DMND_DATA_RD:L3_HIT?,cycles:k?";
	static const unsigned int reasons[] = {
		VPMC_WHY_UNKNOWN, 0, VPMC_WHY_ATTRIBUTE,
		VPMC_WHY_REFUSED_ATTRIBUTE, VPMC_REASON_EXTRA_MSR, 0,
	};
	unsigned int i;

	ASSERT_EQ(0, parse("skl", list));
	ASSERT_EQ(6, nr);
	for (i = 0; i < nr; i++) {
		EXPECT_EQ(reasons[i], events[i].reason);
		EXPECT_EQ(!!reasons[i], !!(events[i].flags & VPMC_EVENT_LEFT_OUT));
		EXPECT_NE(0, events[i].flags & VPMC_EVENT_OPTIONAL);
	}
	vpmc_free_events(events);
	EXPECT_EQ(-EINVAL, parse("skl", "cycles@x?"));
	EXPECT_EQ(-EINVAL, parse("skl", "cycles,cycles?"));
}

TEST(optional_on_amd)
{
	ASSERT_EQ(0, parse("amd64_k8_revc", "ref-cycles?,instructions"));
	EXPECT_EQ(VPMC_WHY_NOT_PORTABLE, events[0].reason);
	vpmc_free_events(events);
}

/* An error has at most three similar names, the nearest one first. */
TEST(similar)
{
	ASSERT_EQ(-ENOENT, parse("skl", "branch-mises"));
	ASSERT_LE(1, error.nr_similar);
	EXPECT_STREQ("branch-misses", error.similar[0]);
	ASSERT_EQ(-ENOENT, parse("skl", "L2_RQST"));
	EXPECT_STREQ("L2_RQSTS", error.similar[0]);
	ASSERT_EQ(-ENOENT, parse("skl", "RETIRED"));
	EXPECT_EQ(VPMC_SIMILAR, error.nr_similar);
	ASSERT_EQ(-EINVAL, parse("skl", "L2_RQSTS:REFERENCE"));
	EXPECT_STREQ("L2_RQSTS:REFERENCES", error.similar[0]);
}

static char first[64];
static unsigned int portable, plain, umasks, marked, wrong;

static int look(void *arg, const struct vpmc_event_info *info)
{
	struct vpmc_event *made;
	unsigned int n;

	if (!first[0])
		snprintf(first, sizeof(first), "%s", info->name);
	portable += !!(info->flags & VPMC_INFO_PORTABLE);
	umasks += !!(info->flags & VPMC_INFO_UMASK);
	plain += !(info->flags & (VPMC_INFO_UMASK | VPMC_INFO_PORTABLE));
	marked += !!info->reason;
	if (!info->description || !info->event ||
	    !!info->umask != !!(info->flags & VPMC_INFO_UMASK) ||
	    !info->select != !!info->reason)
		wrong++;
	/*
	 * The callback may use the library. A name without a reason must be
	 * accepted.
	 */
	if (vpmc_parse_events(info->name, &made, &n, NULL) == 0) {
		if (info->reason || n != 1 || made->select != info->select)
			wrong++;
		vpmc_free_events(made);
	} else if (!info->reason) {
		wrong++;
	}
	return arg && plain == 3 ? 42 : 0;
}

TEST(list)
{
	setenv("LIBPFM_FORCE_PMU", "skl", 1);
	ASSERT_EQ(0, vpmc_list_events(look, NULL));
	EXPECT_STREQ("instructions", first);
	EXPECT_EQ(9, portable);	/* seven, and two other words */
	EXPECT_LT(50, plain);
	EXPECT_LT(200, umasks);
	EXPECT_LT(10, marked);
	EXPECT_EQ(0, wrong);
	plain = 0;
	EXPECT_EQ(42, vpmc_list_events(look, &plain));
	EXPECT_EQ(3, plain);
}

TEST(list_of_amd)
{
	setenv("LIBPFM_FORCE_PMU", "amd64_fam17h_zen1", 1);
	ASSERT_EQ(0, vpmc_list_events(look, NULL));
	EXPECT_EQ(9, portable);	/* seven, and two other words */
	EXPECT_LE(3, marked);
	EXPECT_EQ(0, wrong);
}

static unsigned int told;
static uint64_t told_select;
static uint32_t told_flags, told_reason;

static int look_for(void *arg, const struct vpmc_event_info *info)
{
	if (strcmp(arg, info->name))
		return 0;
	told++;
	told_select = info->select;
	told_flags = info->flags;
	told_reason = info->reason;
	return 0;
}

/* perf's generic names, and whether they are told. Where perf has no such event they are not. */
static const struct {
	const char *table, *name;
	unsigned int told;
} names_of_perf[] = {
	{ "skl", "cycles", 1 }, { "skl", "cpu-cycles", 1 },
	{ "skl", "branches", 1 }, { "skl", "branch-instructions", 1 },
	{ "skl", "ref-cycles", 1 }, { "skl", "bus-cycles", 1 },
	{ "skl", "L1-dcache-loads", 1 }, { "skl", "LLC-loads", 1 },
	{ "skl", "node-load-misses", 1 },
	{ "skl", "idle-cycles-frontend", 0 }, { "skl", "L1-dcache-store-misses", 0 },
	{ "amd64_fam17h_zen1", "cpu-cycles", 1 },
	{ "amd64_fam17h_zen1", "stalled-cycles-frontend", 1 },
	{ "amd64_fam17h_zen1", "idle-cycles-frontend", 1 },
	{ "amd64_fam17h_zen1", "cache-misses", 1 }, { "amd64_fam17h_zen1", "LLC-loads", 0 },
	{ "netburst", "cpu-cycles", 1 }, { "netburst", "LLC-load-misses", 1 },
};

/* A name that a list of events takes has its select there; another one has the reason. */
static void told_as_taken(struct __test_metadata *_metadata, const char *table)
{
	unsigned int i;

	for (i = 0; i < sizeof(names_of_perf) / sizeof(names_of_perf[0]); i++) {
		int err;

		if (strcmp(names_of_perf[i].table, table))
			continue;
		err = parse(table, names_of_perf[i].name);
		told = told_select = told_flags = told_reason = 0;
		ASSERT_EQ(0, vpmc_list_events(look_for, (void *)names_of_perf[i].name));
		EXPECT_EQ(names_of_perf[i].told, told) {
			TH_LOG("%s on %s", names_of_perf[i].name, table);
		}
		if (told && err)
			EXPECT_EQ(error.reason, told_reason);
		if (told && !err) {
			EXPECT_EQ(0, told_reason);
			EXPECT_EQ(events[0].select, told_select);
			EXPECT_EQ(!!(events[0].flags & VPMC_EVENT_PORTABLE),
				  !!(told_flags & VPMC_INFO_PORTABLE));
		}
		vpmc_free_events(events);
	}
}

TEST(names_of_perf_on_intel)
{
	told_as_taken(_metadata, "skl");
}

TEST(names_of_perf_on_amd)
{
	told_as_taken(_metadata, "amd64_fam17h_zen1");
}

TEST(names_of_perf_on_netburst)
{
	told_as_taken(_metadata, "netburst");
}

TEST(list_of_netburst)
{
	setenv("LIBPFM_FORCE_PMU", "netburst", 1);
	ASSERT_EQ(0, vpmc_list_events(look, NULL));
	EXPECT_EQ(9, portable);	/* seven, and two other words */
	EXPECT_LT(40, plain);
	EXPECT_LT(100, umasks);
	/* ref-cycles, and all of replay_event */
	EXPECT_LT(10, marked);
	EXPECT_EQ(0, wrong);
}

/* Events made by hand, more than a set can have. */
TEST(fill_control)
{
	static struct vpmc_event many[VPMC_MAX_COUNTERS + 1];
	struct vpmc_control control;
	unsigned int i;

	for (i = 0; i < VPMC_MAX_COUNTERS + 1; i++)
		many[i] = (struct vpmc_event) { .select = 0x10000 + i,
						.index = i, .period = 7 * i };
	memset(&control, 0xff, sizeof(control));
	EXPECT_EQ(-ENOSPC, vpmc_fill_control(many, VPMC_MAX_COUNTERS + 1, 0,
					     &control));
	EXPECT_EQ(0, control.nr_counters);
	EXPECT_EQ(0, control.counter[0].evtsel);
	many[3].flags = VPMC_EVENT_LEFT_OUT;
	many[4].flags = VPMC_EVENT_PRESERVE;
	ASSERT_EQ(0, vpmc_fill_control(many, VPMC_MAX_COUNTERS + 1,
				       VPMC_CONTROL_STOPPED, &control));
	EXPECT_EQ(VPMC_MAX_COUNTERS, control.nr_counters);
	EXPECT_EQ(VPMC_CONTROL_STOPPED, control.flags);
	EXPECT_EQ(0x10002, control.counter[2].evtsel);
	EXPECT_EQ(0x10004, control.counter[3].evtsel);
	EXPECT_EQ(4, control.counter[3].index);
	EXPECT_EQ(28, control.counter[3].period);
	EXPECT_EQ(VPMC_COUNTER_PRESERVE, control.counter[3].flags);
	EXPECT_EQ(0, control.counter[2].flags);
}

/* What is too long ends with a whole character. */
TEST(long_name)
{
	char list[401] = "";
	unsigned int i;

	for (i = 0; i < 3; i++) {
		memset(list, 'x', i);
		list[i] = '\0';
		while (strlen(list) < 300)
			strcat(list, "\xe2\x82\xac");
		EXPECT_EQ(-EINVAL, parse("skl", list));
		EXPECT_EQ(i + (sizeof(error.what) - 1 - i) / 3 * 3, strlen(error.what));
		EXPECT_EQ(0, strncmp(error.what, list, strlen(error.what)));
	}
	/* bytes that are no UTF-8 */
	memset(list, 0xbf, 400);
	EXPECT_EQ(-EINVAL, parse("skl", list));
	EXPECT_LT(sizeof(error.what) - 5, strlen(error.what));
}

/* Each number that the kernel may give has a name and a text. */
TEST(texts)
{
	unsigned int i, j;

	for (i = 0; i <= VPMC_REASON_CORE_TYPE; i++) {
		EXPECT_STRNE("unknown", vpmc_reason_name(i));
		EXPECT_LT(5, strlen(vpmc_reason_text(i)));
		for (j = 0; j < i; j++)
			EXPECT_STRNE(vpmc_reason_name(j), vpmc_reason_name(i));
	}
	for (i = VPMC_REASON_PMU_GLOBAL; i <= VPMC_REASON_AMBIGUOUS; i++) {
		EXPECT_STRNE("unknown", vpmc_reason_name(i));
		EXPECT_LT(5, strlen(vpmc_reason_text(i)));
	}
	for (i = VPMC_WHY_SYNTAX; i <= VPMC_WHY_UMASK; i++) {
		EXPECT_STRNE("unknown", vpmc_reason_name(i));
		EXPECT_LT(5, strlen(vpmc_reason_text(i)));
	}
	for (i = VPMC_HOLDER_NONE; i <= VPMC_HOLDER_GUEST; i++)
		EXPECT_EQ(NULL, strstr(vpmc_holder_text(i), "does not know"));
	for (i = VPMC_STATE_EMPTY; i <= VPMC_STATE_OVERFLOWED; i++)
		EXPECT_STRNE("unknown", vpmc_state_text(i));
	EXPECT_STREQ("running", vpmc_state_text(VPMC_STATE_RUNNING));
	EXPECT_STREQ("unknown", vpmc_reason_name(12345));
	EXPECT_STREQ("unknown", vpmc_reason_name(VPMC_WHY_SYNTAX - 1));
	EXPECT_STREQ("unknown", vpmc_state_text(99));
	EXPECT_NE(NULL, vpmc_holder_text(99));
	EXPECT_STREQ("", vpmc_holder_help(99));
}

/* Without vpmc in the kernel, errors must say so. */
TEST(kernel_without_vpmc)
{
	struct vpmc_info info;
	struct vpmc *v = (void *)1;
	int fd = open("/dev/null", O_RDONLY);

	if (!access("/proc/self/perfctr", F_OK))
		SKIP(return, "this kernel has vpmc");
	memset(&info, 0xff, sizeof(info));
	EXPECT_EQ(-ENOSYS, vpmc_get_info(&info));
	EXPECT_EQ(0, info.size);
	EXPECT_EQ(0, info.name[0]);
	EXPECT_EQ(-ENOSYS, vpmc_open(&v, 0, &error));
	EXPECT_EQ(NULL, v);
	EXPECT_EQ(ENOSYS, error.errnum);
	EXPECT_EQ(VPMC_WHY_NO_KERNEL, error.reason);
	EXPECT_STREQ("this thread's counters: this kernel has no vpmc, or /proc is not mounted; boot a kernel with CONFIG_VPMC=y",
		     error.text);
	EXPECT_EQ(-ENOSYS, vpmc_open_thread(&v, 1, 0, &error));
	EXPECT_EQ(-ENOTTY, vpmc_open_fd(&v, fd, &error));
	close(fd);
	EXPECT_EQ(-ENOSYS, vpmc_check(&error));
	EXPECT_EQ(VPMC_WHY_NO_KERNEL, error.reason);
	EXPECT_EQ(-ENOSYS, vpmc_check(NULL));
}

TEST_HARNESS_MAIN
