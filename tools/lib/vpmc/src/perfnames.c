// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * perf's generic names of events of caches and others, and what perf in the kernel (6.12)
 * counts under them. Where it counts nothing, or needs another register, there is no
 * such event here either. The portable names are in portable.c.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

enum {
	D1_LOADS, D1_LOAD_MISSES, D1_STORES, D1_STORE_MISSES, D1_PFS, D1_PF_MISSES,
	I1_LOADS, I1_LOAD_MISSES, I1_PFS, LLC_LOADS, LLC_LOAD_MISSES, LLC_STORES,
	LLC_STORE_MISSES, LLC_PFS, LLC_PF_MISSES, DTLB_LOADS, DTLB_LOAD_MISSES,
	DTLB_STORES, DTLB_STORE_MISSES, ITLB_LOADS, ITLB_LOAD_MISSES, BRANCH_LOADS,
	BRANCH_LOAD_MISSES, NODE_LOADS, NODE_LOAD_MISSES, NODE_STORES, NODE_STORE_MISSES,
	NODE_PFS, NODE_PF_MISSES, FRONTEND, BACKEND, BUS_CYCLES, REF_CYCLES, REFERENCES, MISSES,
	NR_NAMES
};

static const char *const names[NR_NAMES] = {
	[D1_LOADS] = "L1-dcache-loads", [D1_LOAD_MISSES] = "L1-dcache-load-misses",
	[D1_STORES] = "L1-dcache-stores", [D1_STORE_MISSES] = "L1-dcache-store-misses",
	[D1_PFS] = "L1-dcache-prefetches", [D1_PF_MISSES] = "L1-dcache-prefetch-misses",
	[I1_LOADS] = "L1-icache-loads", [I1_LOAD_MISSES] = "L1-icache-load-misses",
	[I1_PFS] = "L1-icache-prefetches", [LLC_LOADS] = "LLC-loads",
	[LLC_LOAD_MISSES] = "LLC-load-misses", [LLC_STORES] = "LLC-stores",
	[LLC_STORE_MISSES] = "LLC-store-misses", [LLC_PFS] = "LLC-prefetches",
	[LLC_PF_MISSES] = "LLC-prefetch-misses", [DTLB_LOADS] = "dTLB-loads",
	[DTLB_LOAD_MISSES] = "dTLB-load-misses", [DTLB_STORES] = "dTLB-stores",
	[DTLB_STORE_MISSES] = "dTLB-store-misses", [ITLB_LOADS] = "iTLB-loads",
	[ITLB_LOAD_MISSES] = "iTLB-load-misses", [BRANCH_LOADS] = "branch-loads",
	[BRANCH_LOAD_MISSES] = "branch-load-misses", [NODE_LOADS] = "node-loads",
	[NODE_LOAD_MISSES] = "node-load-misses", [NODE_STORES] = "node-stores",
	[NODE_STORE_MISSES] = "node-store-misses", [NODE_PFS] = "node-prefetches",
	[NODE_PF_MISSES] = "node-prefetch-misses",
	[FRONTEND] = "stalled-cycles-frontend", [BACKEND] = "stalled-cycles-backend",
	[BUS_CYCLES] = "bus-cycles",
	/* Of these the portable name is another event, or there is none. */
	[REF_CYCLES] = "ref-cycles", [REFERENCES] = "cache-references", [MISSES] = "cache-misses",
};

/* other words for the same */
static const char *const aliases[][2] = {
	{ "idle-cycles-frontend", "stalled-cycles-frontend" },
	{ "idle-cycles-backend", "stalled-cycles-backend" },
};

static const char by_stat[] =
	"vpmc stat -e prints it; see also getrusage(2) and vpmc_read_sums(3)";
static const char by_perf[] = "use perf stat";
static const char nowhere[] = "leave it out";

/* names of what the kernel counts, without a counter of the processor */
static const struct {
	const char *name, *help;
} software[] = {
	{ "task-clock", by_stat }, { "context-switches", by_stat }, { "cs", by_stat },
	{ "cpu-migrations", by_stat }, { "migrations", by_stat }, { "page-faults", by_stat },
	{ "faults", by_stat }, { "minor-faults", by_stat }, { "major-faults", by_stat },
	{ "duration_time", by_stat }, { "user_time", by_stat }, { "user-time", by_stat },
	{ "system_time", by_stat }, { "system-time", by_stat }, { "max-rss", by_stat },
	{ "cpu-clock", "use task-clock of vpmc stat -e" },
	{ "cgroup-switches", by_perf }, { "bpf-output", "use perf record" },
	/* x86 has none of these, and a dummy counts nothing */
	{ "alignment-faults", nowhere }, { "emulation-faults", nowhere }, { "dummy", nowhere },
};

/* Tracepoints' subsystems, of which few users may see the directory that has them all */
static const char *const subsystems[] = {
	"alarmtimer", "block", "bpf_trace", "cgroup", "compaction", "cpuhp", "dma_fence", "drm",
	"exceptions", "ext4", "fib", "filelock", "filemap", "ftrace", "huge_memory", "intel_iommu",
	"io_uring", "iommu", "ipi", "irq", "irq_matrix", "irq_vectors", "jbd2", "kmem", "kvm",
	"kvmmmu", "libata", "lock", "mce", "migrate", "mmap", "mmap_lock", "module", "msr", "napi",
	"neigh", "net", "netlink", "nfs", "nfs4", "nfsd", "nmi", "nvme", "oom", "page_pool",
	"pagemap", "percpu", "power", "printk", "qdisc", "ras", "raw_syscalls", "rcu", "rpm",
	"rseq", "sched", "scsi", "signal", "skb", "sock", "sunrpc", "swiotlb", "syscalls", "task",
	"tcp", "thermal", "timer", "tlb", "udp", "vmscan", "vsyscall", "workqueue", "writeback",
	"x86_fpu", "xdp", "xen", "xfs",
};

/* @tables: those of libpfm4. @select: 0 if perf has no event of that name. */
static const struct {
	const char *tables;
	uint64_t select[NR_NAMES];
} models[] = {
	{ "core", {
		[D1_LOADS] = 0xf40, [D1_LOAD_MISSES] = 0x140, [D1_STORES] = 0xf41,
		[D1_STORE_MISSES] = 0x141, [D1_PFS] = 0x104e, [I1_LOADS] = 0x80,
		[I1_LOAD_MISSES] = 0x81, [LLC_LOADS] = 0x4f29, [LLC_LOAD_MISSES] = 0x4129,
		[LLC_STORES] = 0x4f2a, [LLC_STORE_MISSES] = 0x412a, [DTLB_LOADS] = 0xf40,
		[DTLB_LOAD_MISSES] = 0x208, [DTLB_STORES] = 0xf41, [DTLB_STORE_MISSES] = 0x808,
		[ITLB_LOADS] = 0xc0, [ITLB_LOAD_MISSES] = 0x1282, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0xc5, } },
	{ "atom", {
		[D1_LOADS] = 0x2140, [D1_STORES] = 0x2240, [I1_LOADS] = 0x380,
		[I1_LOAD_MISSES] = 0x280, [LLC_LOADS] = 0x4f29, [LLC_LOAD_MISSES] = 0x4129,
		[LLC_STORES] = 0x4f2a, [LLC_STORE_MISSES] = 0x412a, [DTLB_LOADS] = 0x2140,
		[DTLB_LOAD_MISSES] = 0x508, [DTLB_STORES] = 0x2240, [DTLB_STORE_MISSES] = 0x608,
		[ITLB_LOADS] = 0xc0, [ITLB_LOAD_MISSES] = 0x282, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0xc5, } },
	{ "nhm nhm_ex", {
		[D1_LOADS] = 0x10b, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0x20b,
		[D1_STORE_MISSES] = 0x251, [D1_PFS] = 0x14e, [D1_PF_MISSES] = 0x24e,
		[I1_LOADS] = 0x380, [I1_LOAD_MISSES] = 0x280, [LLC_LOADS] = 0x1b7,
		[LLC_LOAD_MISSES] = 0x1b7, [LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7,
		[LLC_PFS] = 0x1b7, [LLC_PF_MISSES] = 0x1b7, [DTLB_LOADS] = 0xf40,
		[DTLB_LOAD_MISSES] = 0x108, [DTLB_STORES] = 0xf41, [DTLB_STORE_MISSES] = 0x10c,
		[ITLB_LOADS] = 0x1c0, [ITLB_LOAD_MISSES] = 0x20c8, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0x3e8, [NODE_LOADS] = 0x1b7, [NODE_LOAD_MISSES] = 0x1b7,
		[NODE_STORES] = 0x1b7, [NODE_STORE_MISSES] = 0x1b7, [NODE_PFS] = 0x1b7,
		[NODE_PF_MISSES] = 0x1b7, [FRONTEND] = 0x180010e,
		[BACKEND] = 0x1803fb1, } },
	{ "wsm wsm_dp", {
		[D1_LOADS] = 0x10b, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0x20b,
		[D1_STORE_MISSES] = 0x251, [D1_PFS] = 0x14e, [D1_PF_MISSES] = 0x24e,
		[I1_LOADS] = 0x380, [I1_LOAD_MISSES] = 0x280, [LLC_LOADS] = 0x1b7,
		[LLC_LOAD_MISSES] = 0x1b7, [LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7,
		[LLC_PFS] = 0x1b7, [LLC_PF_MISSES] = 0x1b7, [DTLB_LOADS] = 0x10b,
		[DTLB_LOAD_MISSES] = 0x108, [DTLB_STORES] = 0x20b, [DTLB_STORE_MISSES] = 0x10c,
		[ITLB_LOADS] = 0x1c0, [ITLB_LOAD_MISSES] = 0x185, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0x3e8, [NODE_LOADS] = 0x1b7, [NODE_LOAD_MISSES] = 0x1b7,
		[NODE_STORES] = 0x1b7, [NODE_STORE_MISSES] = 0x1b7, [NODE_PFS] = 0x1b7,
		[NODE_PF_MISSES] = 0x1b7, [FRONTEND] = 0x180010e,
		[BACKEND] = 0x1803fb1, } },
	{ "snb snb_ep", {
		[D1_LOADS] = 0xf1d0, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0xf2d0,
		[D1_STORE_MISSES] = 0x851, [D1_PF_MISSES] = 0x24e, [I1_LOAD_MISSES] = 0x280,
		[LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7, [LLC_STORES] = 0x1b7,
		[LLC_STORE_MISSES] = 0x1b7, [LLC_PFS] = 0x1b7, [LLC_PF_MISSES] = 0x1b7,
		[DTLB_LOADS] = 0x81d0, [DTLB_LOAD_MISSES] = 0x108, [DTLB_STORES] = 0x82d0,
		[DTLB_STORE_MISSES] = 0x149, [ITLB_LOADS] = 0x1085, [ITLB_LOAD_MISSES] = 0x185,
		[BRANCH_LOADS] = 0xc4, [BRANCH_LOAD_MISSES] = 0xc5, [NODE_LOADS] = 0x1b7,
		[NODE_LOAD_MISSES] = 0x1b7, [NODE_STORES] = 0x1b7, [NODE_STORE_MISSES] = 0x1b7,
		[NODE_PFS] = 0x1b7, [NODE_PF_MISSES] = 0x1b7, [FRONTEND] = 0x180010e,
		[BACKEND] = 0x18001b1, } },
	{ "ivb ivb_ep", {
		[D1_LOADS] = 0xf1d0, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0xf2d0,
		[D1_STORE_MISSES] = 0x851, [D1_PF_MISSES] = 0x24e, [I1_LOAD_MISSES] = 0x280,
		[LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7, [LLC_STORES] = 0x1b7,
		[LLC_STORE_MISSES] = 0x1b7, [LLC_PFS] = 0x1b7, [LLC_PF_MISSES] = 0x1b7,
		[DTLB_LOADS] = 0x81d0, [DTLB_LOAD_MISSES] = 0x8108, [DTLB_STORES] = 0x82d0,
		[DTLB_STORE_MISSES] = 0x149, [ITLB_LOADS] = 0x1085, [ITLB_LOAD_MISSES] = 0x185,
		[BRANCH_LOADS] = 0xc4, [BRANCH_LOAD_MISSES] = 0xc5, [NODE_LOADS] = 0x1b7,
		[NODE_LOAD_MISSES] = 0x1b7, [NODE_STORES] = 0x1b7, [NODE_STORE_MISSES] = 0x1b7,
		[NODE_PFS] = 0x1b7, [NODE_PF_MISSES] = 0x1b7, [FRONTEND] = 0x180010e, } },
	{ "hsw hsw_ep bdw bdw_ep", {
		[D1_LOADS] = 0x81d0, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0x82d0,
		[I1_LOAD_MISSES] = 0x280, [LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7,
		[LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7, [DTLB_LOADS] = 0x81d0,
		[DTLB_LOAD_MISSES] = 0x108, [DTLB_STORES] = 0x82d0, [DTLB_STORE_MISSES] = 0x149,
		[ITLB_LOADS] = 0x6085, [ITLB_LOAD_MISSES] = 0x185, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0xc5, [NODE_LOADS] = 0x1b7, [NODE_LOAD_MISSES] = 0x1b7,
		[NODE_STORES] = 0x1b7, [NODE_STORE_MISSES] = 0x1b7, } },
	{ "skl skx clx", {
		[D1_LOADS] = 0x81d0, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0x82d0,
		[I1_LOAD_MISSES] = 0x283, [LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7,
		[LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7, [DTLB_LOADS] = 0x81d0,
		[DTLB_LOAD_MISSES] = 0xe08, [DTLB_STORES] = 0x82d0, [DTLB_STORE_MISSES] = 0xe49,
		[ITLB_LOADS] = 0x2085, [ITLB_LOAD_MISSES] = 0xe85, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0xc5, [NODE_LOADS] = 0x1b7, [NODE_LOAD_MISSES] = 0x1b7,
		[NODE_STORES] = 0x1b7, [NODE_STORE_MISSES] = 0x1b7, } },
	{ "icl icx", {
		[D1_LOADS] = 0x81d0, [D1_LOAD_MISSES] = 0x151, [D1_STORES] = 0x82d0,
		[I1_LOAD_MISSES] = 0x283, [LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7,
		[LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7, [DTLB_LOADS] = 0x81d0,
		[DTLB_LOAD_MISSES] = 0xe08, [DTLB_STORES] = 0x82d0, [DTLB_STORE_MISSES] = 0xe49,
		[ITLB_LOAD_MISSES] = 0xe85, [BRANCH_LOADS] = 0xc4, [BRANCH_LOAD_MISSES] = 0xc5,
		[NODE_LOADS] = 0x1b7, [NODE_LOAD_MISSES] = 0x1b7, [NODE_STORES] = 0x1b7,
		[NODE_STORE_MISSES] = 0x1b7, } },
	{ "spr emr gnr", {
		[D1_LOADS] = 0x81d0, [D1_LOAD_MISSES] = 0xe124, [D1_STORES] = 0x82d0,
		[I1_LOAD_MISSES] = 0xe424, [LLC_LOADS] = 0x12a, [LLC_LOAD_MISSES] = 0x12a,
		[LLC_STORES] = 0x12a, [LLC_STORE_MISSES] = 0x12a, [DTLB_LOADS] = 0x81d0,
		[DTLB_LOAD_MISSES] = 0xe12, [DTLB_STORES] = 0x82d0, [DTLB_STORE_MISSES] = 0xe13,
		[ITLB_LOAD_MISSES] = 0xe11, [BRANCH_LOADS] = 0x4c4, [BRANCH_LOAD_MISSES] = 0x4c5,
		[NODE_LOADS] = 0x12a, [NODE_LOAD_MISSES] = 0x12a, } },
	{ "slm knl knm", {
		[D1_LOAD_MISSES] = 0x104, [I1_LOADS] = 0x380, [I1_LOAD_MISSES] = 0x280,
		[LLC_LOADS] = 0x1b7, [LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7,
		[LLC_PFS] = 0x1b7, [LLC_PF_MISSES] = 0x1b7, [DTLB_LOAD_MISSES] = 0x804,
		[ITLB_LOADS] = 0xc0, [ITLB_LOAD_MISSES] = 0x40205, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0xc5, } },
	{ "glm", {
		[D1_LOADS] = 0x81d0, [D1_STORES] = 0x82d0, [I1_LOADS] = 0x380,
		[I1_LOAD_MISSES] = 0x280, [LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7,
		[LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7, [LLC_PFS] = 0x1b7,
		[LLC_PF_MISSES] = 0x1b7, [DTLB_LOADS] = 0x81d0, [DTLB_STORES] = 0x82d0,
		[ITLB_LOADS] = 0xc0, [ITLB_LOAD_MISSES] = 0x481, [BRANCH_LOADS] = 0xc4,
		[BRANCH_LOAD_MISSES] = 0xc5, } },
	{ "tmt", {
		[D1_LOADS] = 0x81d0, [D1_STORES] = 0x82d0, [I1_LOADS] = 0x380,
		[I1_LOAD_MISSES] = 0x280, [LLC_LOADS] = 0x1b7, [LLC_LOAD_MISSES] = 0x1b7,
		[LLC_STORES] = 0x1b7, [LLC_STORE_MISSES] = 0x1b7, [DTLB_LOADS] = 0x81d0,
		[DTLB_LOAD_MISSES] = 0xe08, [DTLB_STORES] = 0x82d0, [DTLB_STORE_MISSES] = 0xe49,
		[ITLB_LOAD_MISSES] = 0x481, [BRANCH_LOADS] = 0xc4, [BRANCH_LOAD_MISSES] = 0xc5, } },
	{ "amd64_k7 amd64_k8_revb amd64_k8_revc amd64_k8_revd amd64_k8_reve "
	  "amd64_k8_revf amd64_k8_revg amd64_fam10h_barcelona "
	  "amd64_fam10h_shanghai amd64_fam10h_istanbul", {
		[D1_LOADS] = 0x40, [D1_LOAD_MISSES] = 0x141, [D1_PFS] = 0x267,
		[D1_PF_MISSES] = 0x167, [I1_LOADS] = 0x80, [I1_LOAD_MISSES] = 0x81,
		[I1_PFS] = 0x14b, [LLC_LOADS] = 0x37d, [LLC_LOAD_MISSES] = 0x37e,
		[LLC_STORES] = 0x17f, [DTLB_LOADS] = 0x40, [DTLB_LOAD_MISSES] = 0x746,
		[ITLB_LOADS] = 0x80, [ITLB_LOAD_MISSES] = 0x385, [BRANCH_LOADS] = 0xc2,
		[BRANCH_LOAD_MISSES] = 0xc3, [NODE_LOADS] = 0xb8e9, [NODE_LOAD_MISSES] = 0x98e9,
		[FRONTEND] = 0xd0, [BACKEND] = 0xd1,
		[REFERENCES] = 0x77d, [MISSES] = 0x77e, } },
	{ "amd64_fam17h_zen1", {
		[D1_LOADS] = 0x40, [D1_LOAD_MISSES] = 0xc860, [D1_PFS] = 0xff5a,
		[I1_LOADS] = 0x80, [I1_LOAD_MISSES] = 0x81, [DTLB_LOADS] = 0xff45,
		[DTLB_LOAD_MISSES] = 0xf045, [ITLB_LOADS] = 0x84, [ITLB_LOAD_MISSES] = 0xff85,
		[BRANCH_LOADS] = 0xc2, [BRANCH_LOAD_MISSES] = 0xc3, [FRONTEND] = 0x287,
		[BACKEND] = 0x187,
		[REFERENCES] = 0xff60, [MISSES] = 0x964, } },
	{ "amd64_fam17h_zen2 amd64_fam19h_zen3", {
		[D1_LOADS] = 0x40, [D1_LOAD_MISSES] = 0xc860, [D1_PFS] = 0xff5a,
		[I1_LOADS] = 0x80, [I1_LOAD_MISSES] = 0x81, [DTLB_LOADS] = 0xff45,
		[DTLB_LOAD_MISSES] = 0xf045, [ITLB_LOADS] = 0x84, [ITLB_LOAD_MISSES] = 0xff85,
		[BRANCH_LOADS] = 0xc2, [BRANCH_LOAD_MISSES] = 0xc3, [FRONTEND] = 0xa9,
		[REFERENCES] = 0xff60, [MISSES] = 0x964, } },
	{ "amd64_fam19h_zen4 amd64_fam1ah_zen5", {
		[D1_LOADS] = 0x40, [D1_LOAD_MISSES] = 0xc860, [D1_PFS] = 0xff5a,
		[I1_LOADS] = 0x80, [I1_LOAD_MISSES] = 0x81, [DTLB_LOADS] = 0xff45,
		[DTLB_LOAD_MISSES] = 0xf045, [ITLB_LOADS] = 0x84, [ITLB_LOAD_MISSES] = 0xff85,
		[BRANCH_LOADS] = 0xc2, [BRANCH_LOAD_MISSES] = 0xc3, [FRONTEND] = 0xa9,
		[REFERENCES] = 0xff60, [MISSES] = 0x964, [REF_CYCLES] = 0x100000120, } },
};

/* What the kind decides. libpfm4 has no table of P6 for 64 bits. */
static const uint64_t p6[NR_NAMES] = {
	[D1_LOADS] = 0x43, [D1_LOAD_MISSES] = 0x45, [D1_STORE_MISSES] = 0xf29,
	[I1_LOADS] = 0x80, [I1_LOAD_MISSES] = 0xf28, [LLC_STORE_MISSES] = 0x25,
	[DTLB_LOADS] = 0x43, [ITLB_LOADS] = 0x80, [ITLB_LOAD_MISSES] = 0x85,
	[BRANCH_LOADS] = 0xc4, [BRANCH_LOAD_MISSES] = 0xc5, [FRONTEND] = 0xa2,
	[BUS_CYCLES] = 0x62,
};

/* Events behind replay tagging need two more registers. */
#define REPLAY	(0x12000200ULL << 32 | 5 << 13)

static const uint64_t p4[NR_NAMES] = {
	[D1_LOAD_MISSES] = REPLAY, [LLC_LOAD_MISSES] = REPLAY,
	[DTLB_LOAD_MISSES] = REPLAY, [DTLB_STORE_MISSES] = REPLAY,
	[ITLB_LOADS] = 0x30000200ULL << 32 | 3 << 13,
	[ITLB_LOAD_MISSES] = 0x30000400ULL << 32 | 3 << 13,
	[BUS_CYCLES] = 0x2e000600ULL << 32 | 6 << 13 | 1 << 18 | 1 << 24,
};

/* Returns the selects of this processor, or NULL. */
static const uint64_t *selects_here(enum vpmc_kind kind)
{
	const char *table = vpmc_table(NULL), *at;
	size_t length = table ? strlen(table) : 0;
	unsigned int i;

	if (kind == VPMC_KIND_P6)
		return p6;
	if (kind == VPMC_KIND_P4)
		return p4;
	for (i = 0; table && i < sizeof(models) / sizeof(models[0]); i++)
		for (at = models[i].tables; *at; at += strcspn(at, " "), at += *at == ' ')
			if (strcspn(at, " ") == length && !memcmp(at, table, length))
				return models[i].select;
	return NULL;
}

static uint64_t select_of(const uint64_t *here, int n, enum vpmc_kind kind)
{
	/* architectural events; the first is perf's number for the fixed counter */
	if (kind == VPMC_KIND_INTEL && n == REF_CYCLES)
		return 0x300;
	if (kind == VPMC_KIND_INTEL && n == BUS_CYCLES)
		return 0x13c;
	return here ? here[n] : 0;
}

bool vpmc_needs_register(uint64_t select, enum vpmc_kind kind)
{
	/* replay_event: event and choice of the ESCR, with any mask */
	if (kind == VPMC_KIND_P4)
		return !((select ^ REPLAY) & (0x7e000000ULL << 32 | 7 << 13));
	/* off-core events */
	return kind == VPMC_KIND_INTEL && (select == 0x1b7 || select == 0x12a);
}

static bool is(const char *known, const char *name, size_t length)
{
	return strlen(known) == length && !strncasecmp(known, name, length);
}

static int find(const char *name, size_t length)
{
	unsigned int i;

	for (i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
		if (is(aliases[i][0], name, length)) {
			name = aliases[i][1];
			length = strlen(name);
		}
	for (i = 0; i < NR_NAMES; i++)
		if (is(names[i], name, length))
			return i;
	return -1;
}

static bool is_software(const char *name, size_t length, struct vpmc_complaint *c)
{
	unsigned int i;

	for (i = 0; i < sizeof(software) / sizeof(software[0]); i++)
		if (is(software[i].name, name, length)) {
			c->at = name;
			snprintf(c->why, sizeof(c->why), "no counter of the processor counts it");
			snprintf(c->help, sizeof(c->help), "%s", software[i].help);
			return true;
		}
	return false;
}

/* Has this kernel such tracepoints, as far as the caller may see that? */
static bool has_subsystem(const char *name, size_t length)
{
	char path[128];

	if (length >= VPMC_NAME_SIZE)
		return false;
	snprintf(path, sizeof(path), "/sys/kernel/tracing/events/%.*s", (int)length, name);
	return !access(path, F_OK);
}

static bool is_tracepoint(const char *name)
{
	size_t length = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
	unsigned int i;

	if (!length || name[length] != ':' || !name[length + 1] || name[length + 1] == ':')
		return false;
	for (i = 0; i < sizeof(subsystems) / sizeof(subsystems[0]); i++)
		if (strlen(subsystems[i]) == length && !memcmp(subsystems[i], name, length))
			return true;
	/* those that perf probe has made */
	return !strncmp(name, "probe:", 6) || !strncmp(name, "probe_", 6) ||
	       !strncmp(name, "sdt_", 4) || has_subsystem(name, length);
}

bool vpmc_perf_foreign(const char *name, struct vpmc_complaint *c)
{
	bool is_breakpoint = !strncmp(name, "mem:", 4) && isxdigit((unsigned char)name[4]);

	if (!is_breakpoint && !is_tracepoint(name))
		return false;
	c->at = name;
	snprintf(c->why, sizeof(c->why), "it is a %s, and no counter of the processor counts it",
		 is_breakpoint ? "breakpoint of perf" : "tracepoint of the kernel");
	snprintf(c->help, sizeof(c->help), "use perf stat -e %.80s%s", name, is_breakpoint ? "" :
		 "; vpmc stat -e has context-switches, cpu-migrations and page-faults");
	return true;
}

int vpmc_perf_name(const char *name, size_t length, enum vpmc_kind kind,
		   uint64_t *select, struct vpmc_complaint *c)
{
	const uint64_t *here = selects_here(kind);
	int n = find(name, length);
	uint64_t found = n < 0 ? 0 : select_of(here, n, kind);

	if (n < 0)
		return is_software(name, length, c) ? VPMC_WHY_UNKNOWN : -ENOENT;
	if (found && !vpmc_needs_register(found, kind)) {
		*select |= found;
		return 0;
	}
	c->at = name;
	snprintf(c->help, sizeof(c->help), "vpmc list names what there is");
	if (found) {
		snprintf(c->why, sizeof(c->why),
			 "perf counts '%s' by one more register, which vpmc does not offer",
			 names[n]);
		if (!strncmp(names[n], "LLC", 3))
			snprintf(c->help, sizeof(c->help), "use cache-references and cache-misses, which are of the last-level cache");
		return VPMC_REASON_EXTRA_MSR;
	}
	snprintf(c->why, sizeof(c->why),
		 here ? "perf has no event '%s' for this processor, nor has vpmc" :
			"which event '%s' is on this processor is not known", names[n]);
	return VPMC_WHY_UNKNOWN;
}

const char *vpmc_perf_name_at(unsigned int i)
{
	if (i < NR_NAMES)
		return names[i];
	i -= NR_NAMES;
	return i < sizeof(aliases) / sizeof(aliases[0]) ? aliases[i][0] : NULL;
}
