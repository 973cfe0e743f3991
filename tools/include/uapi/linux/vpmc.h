/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Virtual performance counters: the user interface of /proc/<pid>/perfctr and
 * /dev/perfctr.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * This header is the specification. Documentation/userspace-api/vpmc.rst
 * explains it with examples.
 */
#ifndef _UAPI_LINUX_VPMC_H
#define _UAPI_LINUX_VPMC_H

#include <linux/ioctl.h>
#include <linux/types.h>

/*
 * Version of the page and of the structures below. It grows by one whenever a
 * field is added to one of them, but not for new flags, reasons, states and
 * requests. A kernel returns EINVAL for a flag that it does not know, and
 * ENOTTY for a request.
 */
#define VPMC_ABI_VERSION	3

/* The most counters that one set can have on any processor. */
#define VPMC_MAX_COUNTERS	32

/* For &struct vpmc_counter.index: the kernel chooses the counter. */
#define VPMC_ANY		0xffffffffU

/* In an RDPMC index: a fixed counter (Intel SDM volume 2, RDPMC). */
#define VPMC_RDPMC_FIXED	0x40000000U

/**
 * enum vpmc_state - What a thread's counters do
 * @VPMC_STATE_EMPTY:		Attached, never programmed.
 * @VPMC_STATE_STOPPED:		Programmed; nothing counts. The sums stay.
 * @VPMC_STATE_RUNNING:		Counting whenever the thread is on a CPU.
 * @VPMC_STATE_UNLINKED:	Detached permanently, by UNLINK, by execve() of
 *				a program with other privileges, by any
 *				execve() with VPMC_CONTROL_CLOSE_ON_EXEC, or by
 *				the close of the descriptor with
 *				VPMC_CONTROL_UNLINK_ON_CLOSE. The sums stay.
 * @VPMC_STATE_EXITED:		The thread is gone. The sums stay.
 * @VPMC_STATE_REVOKED:		The administrator took the PMU away
 *				(kernel.vpmc_revoke), or counters that sets had
 *				(kernel.vpmc_counters), or a CPU came online
 *				that lacks some, or the machine goes down.
 *				The page of a set that was not running shows
 *				this from the next ioctl(), read() or poll() on.
 *				The sums stay. Another CONTROL programs a new
 *				set.
 * @VPMC_STATE_OVERFLOWED:	Stopped because a counter's period passed. The
 *				sums stay. RESUME continues from them.
 */
enum vpmc_state {
	VPMC_STATE_EMPTY	= 0,
	VPMC_STATE_STOPPED	= 1,
	VPMC_STATE_RUNNING	= 2,
	VPMC_STATE_UNLINKED	= 3,
	VPMC_STATE_EXITED	= 4,
	VPMC_STATE_REVOKED	= 5,
	VPMC_STATE_OVERFLOWED	= 6,
};

/*
 * &struct vpmc_page.caps: what user space may use to read, as of the last
 * CONTROL, attach or execve(). An administrator who forbids RDPMC later (0 in
 * /sys/bus/event_source/devices/cpu/rdpmc) makes it raise SIGSEGV.
 */
#define VPMC_CAP_RDPMC		(1U << 0)  /* RDPMC, while page mapped and set programmed */
#define VPMC_CAP_TSC		(1U << 1)  /* RDTSC and tsc_base */
#define VPMC_CAP_TIME		(1U << 2)  /* time_mult, time_shift, time_offset */

/**
 * struct vpmc_slot - One counter in the page
 * @index:	Operand of RDPMC.
 * @width:	Bits that RDPMC of @index returns.
 * @base:	Value to add, see &struct vpmc_page. While the set is not
 *		running this is the counter's sum.
 */
struct vpmc_slot {
	__u32	index;
	__u32	width;
	__u64	base;
};

/**
 * struct vpmc_page - The page that a thread maps to read its own counters
 * @version:	VPMC_ABI_VERSION of the kernel.
 * @size:	Bytes that are valid in this page.
 * @tid:	Thread id of the owner, in the owner's own pid namespace. A
 *		successful execve() may change it.
 * @caps:	VPMC_CAP_* bits.
 * @time_mult:	With @time_shift: nanoseconds = (ticks * time_mult) >>
 *		time_shift, computed in 128 bits or in two halves.
 * @time_shift:	See @time_mult.
 * @time_offset: Nanoseconds to add to a converted TSC value to get the
 *		kernel's scheduler clock. Updated when @caps is; suspend makes
 *		it out of date.
 * @set_number:	Which of its sets the thread has: 0 before the first one. Each set
 *		that CONTROL programs, or that a new thread inherits, has the next
 *		number. A reader who knows what set 1 counts sees by it that
 *		somebody has programmed another one.
 * @reserved0:	Zero.
 * @generation:	Changes whenever anything in the page changes, and each time the
 *		owner is put on a CPU.
 * @state:	enum vpmc_state.
 * @nr_counters: Number of valid elements of @slot.
 * @sign:	The sign bit of a hardware counter, 1 << (width - 1); the same
 *		for all counters of a set. 0 while the set has no counters.
 * @tsc_base:	Running: the owner's run time in TSC ticks is tsc_base + RDTSC,
 *		modulo 2^64. Otherwise: the run time itself.
 * @switches:	How often the owner was put on a CPU while the set was running,
 *		since the set was programmed or cleared.
 * @migrations:	How many of @switches were to another CPU than the last one.
 * @overflowed:	The counters whose period passed: bit n for element n of @slot.
 *		Zero unless @state is VPMC_STATE_OVERFLOWED.
 * @merged:	How many of @overflows, modulo 2^32, were reported together with
 *		another one of the same counter: too fast, see VPMC_CONTROL_REARM.
 * @overflows:	How many periods have passed, of all counters together, since the
 *		set was programmed or cleared as a whole.
 * @slot:	The counters, in the order in which CONTROL named them.
 *
 * The kernel alone writes this page, and only on the CPU that runs the owner
 * or while the owner is on no CPU. So the owner thread needs only compiler
 * barriers, and never sees a partial update: if an update interrupted it,
 * @generation has changed. Other threads must use VPMC_IOC_READ, because the
 * page is only valid on the owner's CPU.
 *
 * While @state is VPMC_STATE_RUNNING a counter's 64-bit value is
 *
 *	base + (RDPMC(index) ^ sign)	modulo 2^64
 *
 * which equals a sign extension of the raw value plus a constant. In any other
 * state the value is base, and RDPMC may raise SIGSEGV. The loop below reads
 * all counters and the run time as one snapshot. It is repeated only if the
 * thread was switched out, or a counter was rewritten, meanwhile. So it ends,
 * except under a debugger that steps through it or stops in it: each stop
 * switches the thread out.
 * tools/testing/selftests/vpmc/ compiles exactly these lines.
 *
 * .. code-block:: c
 *
 *	do {
 *		generation = page->generation;
 *		barrier();
 *		running = page->state == VPMC_STATE_RUNNING;
 *		ticks = page->tsc_base;
 *		if (running)
 *			ticks += rdtsc();
 *		for (i = 0; i < page->nr_counters; i++) {
 *			count[i] = page->slot[i].base;
 *			if (running)
 *				count[i] += rdpmc(page->slot[i].index) ^ page->sign;
 *		}
 *		barrier();
 *	} while (page->generation != generation);
 *
 * RDPMC is permitted while the page is mapped and a set with counters is
 * programmed, stopped or not. If a thread's set was revoked and its page is
 * mapped, RDPMC does not fault in this thread. It reads zero, or counters of
 * perf if the process has perf's permission. So a revocation during a read only
 * causes another retry. If another thread of the process unlinks the counters
 * during a read, or replaces them by a set without counters, the reader gets
 * SIGSEGV.
 *
 * The fields from @generation to the fourth slot fill two cache lines.
 */
struct vpmc_page {
	__u32	version;
	__u32	size;
	__u32	tid;
	__u32	caps;
	__u32	time_mult;
	__u32	time_shift;
	__u64	time_offset;
	__u64	set_number;
	__u64	reserved0[3];

	__u64	generation;
	__u32	state;
	__u32	nr_counters;
	__u64	sign;
	__u64	tsc_base;
	__u64	switches;
	__u64	migrations;
	__u32	overflowed;
	__u32	merged;
	__u64	overflows;

	struct vpmc_slot slot[VPMC_MAX_COUNTERS];
};

/**
 * enum vpmc_kind - Families of performance-monitoring units
 * @VPMC_KIND_TSC:	No usable PMU: run time, switches and migrations only.
 * @VPMC_KIND_INTEL:	Intel architectural performance monitoring
 *			(Intel SDM volume 3, "Architectural Performance
 *			Monitoring"), also on Zhaoxin's processors.
 * @VPMC_KIND_AMD:	AMD, from K7 on, and Hygon: with four counters, with
 *			the core performance counter extension, or with PerfMonV2
 *			(AMD64 APM volume 2, "Performance Monitoring Counters").
 * @VPMC_KIND_P6:	Intel's P6 processors, Core Duo, and stepping 4 of Core 2: two
 *			counters with one enable bit (Intel SDM volume 3, "Performance
 *			Monitoring (P6 Family Processor)").
 * @VPMC_KIND_P4:	Intel's NetBurst, family 15: Pentium 4 and D, and Xeon of that
 *			time (Intel SDM volume 3, "Performance Monitoring").
 */
enum vpmc_kind {
	VPMC_KIND_TSC		= 0,
	VPMC_KIND_INTEL		= 1,
	VPMC_KIND_AMD		= 2,
	VPMC_KIND_P6		= 3,
	VPMC_KIND_P4		= 4,
};

/* &struct vpmc_info.features */
#define VPMC_FEATURE_RDPMC	(1U << 0)  /* counters readable in user space */
#define VPMC_FEATURE_PMI	(1U << 1)  /* counters interrupt on overflow */
#define VPMC_FEATURE_GLOBAL_CTRL (1U << 2) /* one write starts or stops all */
#define VPMC_FEATURE_FULL_WIDTH	(1U << 3)  /* counters writable in full width */
#define VPMC_FEATURE_TIME	(1U << 4)  /* TSC ticks convert to nanoseconds */
#define VPMC_FEATURE_HYBRID	(1U << 5)  /* there are several types of core */
#define VPMC_FEATURE_HIDE	(1U << 6)  /* user code can be kept from one counter */

/* &struct vpmc_info.holder: the present user of the PMU */
#define VPMC_HOLDER_NONE	0U	/* nobody */
#define VPMC_HOLDER_VPMC	1U	/* programmed sets of vpmc */
#define VPMC_HOLDER_OTHER	2U	/* another user: a driver, a hypervisor */
#define VPMC_HOLDER_PERF	3U	/* perf events */
#define VPMC_HOLDER_WATCHDOG	4U	/* the hard-lockup watchdog, maybe perf too */
#define VPMC_HOLDER_TRACE	5U	/* Intel PT, by perf or from before boot */
#define VPMC_HOLDER_REVOKED	6U	/* kernel.vpmc_revoke is 1 */
#define VPMC_HOLDER_GLOBAL	7U	/* counters of CPUs, see /dev/perfctr */
#define VPMC_HOLDER_GUEST	8U	/* virtual machines whose counters KVM loads */

/**
 * struct vpmc_info - Argument of VPMC_IOC_INFO
 * @size:	In: size of the structure that the caller knows, @flags included
 *		at least. Out: bytes that the kernel filled, at most @size.
 * @flags:	In: zero.
 * @version:	Out: VPMC_ABI_VERSION.
 * @kind:	Out: enum vpmc_kind.
 * @features:	Out: VPMC_FEATURE_* bits.
 * @holder:	Out: VPMC_HOLDER_*.
 * @pmu_version: Out: version of Intel's architectural PMU, also on Zhaoxin's
 *		processors; 2 for AMD's PerfMonV2; otherwise 0.
 * @width:	Out: bits that RDPMC of a counter returns, or 0 if they differ. A
 *		counter's own is in &struct vpmc_slot.
 * @nr_gp:	Out: number of programmable counters that can be used.
 * @nr_fixed:	Out: number of fixed counters that can be used.
 * @gp_mask:	Out: bit n: programmable counter n can be used. Its RDPMC index is n,
 *		on NetBurst n | 1 << 31. The administrator may leave some to perf
 *		(kernel.vpmc_counters).
 * @fixed_mask:	Out: bit n: fixed counter n can be used, as for @gp_mask.
 * @tsc_khz:	Out: rate of the TSC, 0 if not known.
 * @map_size:	Out: bytes that mmap() takes.
 * @name:	Out: name of the backend, NUL terminated.
 * @own_mask:	Out: counters that are vpmc's now without a loan of perf, because
 *		vpmc has the whole PMU.
 * @borrowed_mask: Out: counters that vpmc has borrowed from perf now.
 * @perf_mask:	Out: all other counters. perf can use them now, unless @holder is
 *		another user.
 *
 * @gp_mask and @fixed_mask tell which counters sets can have, the last three
 * masks who has each counter now. In these bit n is programmable counter n, and
 * bit 32 + n is fixed counter n. They exist since version 2.
 */
struct vpmc_info {
	__u32	size;
	__u32	flags;
	__u32	version;
	__u32	kind;
	__u32	features;
	__u32	holder;
	__u32	pmu_version;
	__u32	width;
	__u32	nr_gp;
	__u32	nr_fixed;
	__aligned_u64	gp_mask;
	__aligned_u64	fixed_mask;
	__u32	tsc_khz;
	__u32	map_size;
	char	name[32];
	__aligned_u64	own_mask;
	__aligned_u64	borrowed_mask;
	__aligned_u64	perf_mask;
};

/**
 * struct vpmc_counter - One counter of a set
 * @evtsel:	The event, in the format of the processor's event select
 *		register: event (bits 0-7, AMD: and 32-35), unit mask (8-15),
 *		USR (16), OS (17), edge (18), invert (23), counter mask (24-31).
 *		At least one of USR and OS must be set. EN (22) and INT (20)
 *		belong to the kernel and may be set or not; all other bits must
 *		be zero. A fixed counter can only count its own event. For fixed
 *		counter n, event 0 with unit mask n + 1 also stands for that
 *		event.
 *		NetBurst: the ESCR in bits 32-63, the CCCR in bits 0-31. ESCR:
 *		USR (2), OS (3), tag (4-8), event mask (9-24), event (25-30).
 *		CCCR: number of the ESCR (13-15), compare (18), complement (19),
 *		threshold (20-23), edge (24). Bits 12, 16, 17 and 26 of the CCCR
 *		belong to the kernel; all other bits must be zero.
 * @index:	In: RDPMC index of the counter to use, or VPMC_ANY.
 *		READ_CONTROL: the counter that is used.
 * @flags:	VPMC_COUNTER_* bits. READ_CONTROL: zero.
 * @period:	The counter overflows each time that it has counted this many
 *		events; 0: never. Events that it counts between the end of a
 *		period and the report of the overflow are part of the next
 *		period. The first period begins with CONTROL. A CLEAR of the
 *		counter begins a new period. execve() ends all periods, except
 *		with VPMC_CONTROL_SAMPLE; the counts continue, also those of a
 *		set that an overflow has stopped.
 * @reserved:	Zero.
 */
struct vpmc_counter {
	__aligned_u64	evtsel;
	__u32	index;
	__u32	flags;
	__aligned_u64	period;
	__aligned_u64	reserved;
};

/*
 * &struct vpmc_counter.flags. PRESERVE: continue from the sum of the previous
 * counter at the same place of the set, even if that counter counted another
 * event. If there was no counter at this place, start from zero.
 */
#define VPMC_COUNTER_PRESERVE	(1U << 0)

/*
 * &struct vpmc_control.flags. PRESERVE: run time, switches and migrations
 * continue from their present values.
 *
 * INHERIT: a thread that the owner creates from then on gets a set with the
 * same selection, in the owner's present state and with sums from zero; so do
 * threads that it creates in turn. THREADS: for clone() with CLONE_THREAD.
 * PROCESSES: for clone() without CLONE_THREAD. What they count is added up for
 * the root, the set that CONTROL programmed, see &struct vpmc_read.
 *
 * UNLINK_ON_CLOSE: the set is unlinked when the open file description on which
 * CONTROL was called is closed. That happens with the last close() of all
 * descriptors that were duplicated, inherited or passed on, or with the exit of
 * the last process that had one, but not before what was mapped by them is
 * unmapped. All sets inherited from this set are unlinked, too, even if the
 * owner of this set has already ended. Sets that were programmed again since
 * that CONTROL are not unlinked. The next CONTROL sets or clears the flag.
 *
 * SAMPLE: see &struct vpmc_sample_head. It needs a counter with a period,
 * REARM, @ring_records and @ring_watermark, and excludes a signal.
 *
 * ADD: the set that is programmed gets more counters, after those that it has.
 * It remains the same set, in the same state: its own counters, their sums and
 * periods, and @set_number do not change. The new counters start from zero. They
 * may have an index, but no period and no flags, and no other flag of CONTROL is
 * allowed. They end when the last open file description is closed on which
 * counters were added to this set, or with the next CONTROL without ADD. With
 * @nr_counters 0, what others add stays until this one is closed, too. Sets
 * that are inherited later do not have them. READ and READ_CONTROL need room for
 * them, too. READ of a family has their sums of the root alone, CLEAR_ALL clears
 * those of the root alone, and rings and samples do not have them. So a library
 * can count in a thread that somebody else counts. Errors: ENODATA if no set is
 * programmed; EEXIST if the set was inherited and has no counters.
 */
#define VPMC_CONTROL_NEW	(1U << 0)  /* fail if a set is programmed already */
#define VPMC_CONTROL_STOPPED	(1U << 1)  /* do not start counting */
#define VPMC_CONTROL_INHERIT_THREADS	(1U << 2)
#define VPMC_CONTROL_INHERIT_PROCESSES	(1U << 3)
#define VPMC_CONTROL_CLOSE_ON_EXEC (1U << 4) /* execve() unlinks the set */
#define VPMC_CONTROL_ENABLE_ON_EXEC (1U << 5) /* the next execve() starts it */
#define VPMC_CONTROL_PRESERVE	(1U << 6)
#define VPMC_CONTROL_REARM	(1U << 7)  /* continue after an overflow */
#define VPMC_CONTROL_UNLINK_ON_CLOSE (1U << 8) /* the set ends with the descriptor */
#define VPMC_CONTROL_SAMPLE	(1U << 9)  /* READ_SAMPLES reads the family's overflows */
#define VPMC_CONTROL_ADD	(1U << 10) /* add counters to the set */

/**
 * enum vpmc_reason - Why CONTROL was refused
 * @VPMC_REASON_NONE:		CONTROL was not refused.
 * @VPMC_REASON_RESERVED_BIT:	@evtsel has a bit that must be zero.
 * @VPMC_REASON_RESERVED_FIELD:	flags of the counter has an unknown bit, or
 *				reserved is not zero; or with ADD, the counter
 *				has flags or a period.
 * @VPMC_REASON_NO_MODE:	Neither USR nor OS is set.
 * @VPMC_REASON_BAD_INDEX:	The processor has no counter @index.
 * @VPMC_REASON_INDEX_TAKEN:	Two counters name one @index.
 * @VPMC_REASON_WRONG_EVENT:	That counter cannot count this event.
 * @VPMC_REASON_NO_COUNTER:	No free counter can count this event.
 * @VPMC_REASON_UNAVAILABLE:	The processor reports that it does not have this
 *				event (CPUID leaf 0AH, EBX), or no counter can
 *				count it. Or it is an event of AMD's
 *				northbridge, which all cores share, or one for
 *				which Intel's hyper-threads corrupt each other's
 *				counts.
 * @VPMC_REASON_EXTRA_MSR:	The event needs a further register (off-core
 *				response, latency of loads) or a second counter
 *				(large increments, from AMD's family 17h on).
 *				Or it is NetBurst's replay_event.
 * @VPMC_REASON_KERNEL_MODE:	OS is set, or on NetBurst a complemented
 *				comparison, and the caller may not count the
 *				kernel; or a sum of a set that counted the
 *				kernel would be preserved, and the descriptor
 *				may not read it.
 * @VPMC_REASON_TOO_MANY:	More counters than the processor has.
 * @VPMC_REASON_NO_PMU:		There is no PMU that can be used.
 * @VPMC_REASON_PMU_BUSY:	Another user holds the PMU, or did a moment ago,
 *				or sets were just revoked. Try again.
 * @VPMC_REASON_PMU_PERF:	perf has events on the PMU.
 * @VPMC_REASON_PMU_WATCHDOG:	The hard-lockup watchdog has the PMU, and perf
 *				may have it too. kernel.nmi_watchdog = 0 stops
 *				the watchdog.
 * @VPMC_REASON_PMU_TRACE:	perf uses Intel PT, or PT was on when the kernel
 *				booted. In that case the PMU stays busy.
 * @VPMC_REASON_REVOKED:	The administrator keeps the PMU
 *				(kernel.vpmc_revoke = 1).
 * @VPMC_REASON_PERIOD:		The period is shorter than the administrator
 *				allows (kernel.vpmc_period_min).
 * @VPMC_REASON_PARANOID:	Only users with CAP_PERFMON may count
 *				(kernel.vpmc_paranoid), or only users who may
 *				use perf (kernel.perf_event_paranoid).
 * @VPMC_REASON_SIGNAL:		@signal is not a signal that can be sent for an
 *				overflow.
 * @VPMC_REASON_NO_PERIOD:	A signal, REARM, SAMPLE or a ring needs a counter
 *				with a period.
 * @VPMC_REASON_RING:		@ring_records is not a power of two up to
 *				VPMC_RING_MAX_RECORDS, or @ring_watermark is not
 *				one of the numbers from 1 to @ring_records.
 * @VPMC_REASON_RING_MEMORY:	The ring, or with SAMPLE the buffers of all CPUs, the
 *				records of members, and other memory locked for
 *				the caller's user exceed RLIMIT_MEMLOCK.
 * @VPMC_REASON_SECURITY:	A security module does not let the caller use
 *				perf (SELinux: perf_event open).
 * @VPMC_REASON_MAPPED:		The set counts the kernel, the caller is not in
 *				the owner's address space, and a page is mapped
 *				there by a descriptor that may not read kernel
 *				counts. The page would show them.
 * @VPMC_REASON_LEFT_TO_PERF:	The administrator leaves to perf
 *				(kernel.vpmc_counters) the counter, or all
 *				counters that can count the event, or so many
 *				that too few remain.
 * @VPMC_REASON_CORE_TYPE:	The processor has several types of core, and the
 *				event is not defined alike on all of them.
 * @VPMC_REASON_PMU_GLOBAL:	The PMU counts for CPUs, by a descriptor of
 *				/dev/perfctr.
 * @VPMC_REASON_PMU_THREADS:	Threads have sets with counters. Only for
 *				/dev/perfctr; see VPMC_GLOBAL_REVOKE.
 * @VPMC_REASON_CPU_RUNNING:	The CPU counts; STOP comes first. Only for
 *				/dev/perfctr.
 * @VPMC_REASON_MEMBERS:	@members is more than VPMC_MAX_MEMBERS, or not 0
 *				without an INHERIT flag.
 * @VPMC_REASON_PMU_GUEST:	KVM loads the counters of a virtual machine into the
 *				PMU (mediated vPMU), as long as that machine exists.
 * @VPMC_REASON_AMBIGUOUS:	Two units of the processor have an event with
 *				these bits. @index must name a counter, which
 *				counts the events of only one of them.
 */
enum vpmc_reason {
	VPMC_REASON_NONE		= 0,
	VPMC_REASON_RESERVED_BIT	= 1,
	VPMC_REASON_RESERVED_FIELD	= 2,
	VPMC_REASON_NO_MODE		= 3,
	VPMC_REASON_BAD_INDEX		= 4,
	VPMC_REASON_INDEX_TAKEN		= 5,
	VPMC_REASON_WRONG_EVENT		= 6,
	VPMC_REASON_NO_COUNTER		= 7,
	VPMC_REASON_UNAVAILABLE		= 8,
	VPMC_REASON_EXTRA_MSR		= 9,
	VPMC_REASON_KERNEL_MODE		= 10,
	VPMC_REASON_TOO_MANY		= 11,
	VPMC_REASON_NO_PMU		= 12,
	VPMC_REASON_PMU_BUSY		= 13,
	VPMC_REASON_PMU_PERF		= 14,
	VPMC_REASON_PMU_WATCHDOG	= 15,
	VPMC_REASON_PMU_TRACE		= 16,
	VPMC_REASON_REVOKED		= 17,
	VPMC_REASON_PERIOD		= 18,
	VPMC_REASON_PARANOID		= 19,
	VPMC_REASON_SIGNAL		= 20,
	VPMC_REASON_NO_PERIOD		= 21,
	VPMC_REASON_RING		= 22,
	VPMC_REASON_RING_MEMORY		= 23,
	VPMC_REASON_SECURITY		= 24,
	VPMC_REASON_MAPPED		= 25,
	VPMC_REASON_LEFT_TO_PERF	= 26,
	VPMC_REASON_CORE_TYPE		= 27,
	VPMC_REASON_PMU_GLOBAL		= 28,
	VPMC_REASON_PMU_THREADS		= 29,
	VPMC_REASON_CPU_RUNNING		= 30,
	VPMC_REASON_MEMBERS		= 31,
	VPMC_REASON_PMU_GUEST		= 32,
	VPMC_REASON_AMBIGUOUS		= 33,
};

/**
 * struct vpmc_control - Argument of VPMC_IOC_CONTROL and VPMC_IOC_READ_CONTROL
 * @size:	In: bytes of this structure that the caller passes. It may end
 *		after the last counter in use.
 * @flags:	In: VPMC_CONTROL_* bits. READ_CONTROL: in: zero; out: the flags
 *		that still have an effect, VPMC_CONTROL_CLOSE_ON_EXEC,
 *		VPMC_CONTROL_ENABLE_ON_EXEC, VPMC_CONTROL_REARM,
 *		VPMC_CONTROL_SAMPLE, VPMC_CONTROL_UNLINK_ON_CLOSE and the
 *		INHERIT flags.
 * @nr_counters: CONTROL: number of elements of @counter; 0 counts run time,
 *		switches and migrations alone. READ_CONTROL: in: the number that
 *		fits into @counter; out: the number in the set.
 * @bad_counter: Out, with @reason, if CONTROL fails although the structure
 *		itself is valid: the element that was refused, or @nr_counters
 *		if the set as a whole was.
 * @reason:	Out: enum vpmc_reason.
 * @signal:	Signal that the owner gets when a period has passed, or 0. Any
 *		signal except SIGKILL, SIGSTOP, and those whose codes have
 *		another meaning: SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV,
 *		SIGCHLD, SIGSYS.
 * @ring_records: Number of records that fit into the set's ring, see &struct
 *		vpmc_ring: a power of two up to VPMC_RING_MAX_RECORDS; or 0, for
 *		no ring. With VPMC_CONTROL_SAMPLE, number of samples that fit
 *		into each CPU's buffer at least.
 * @ring_watermark: Number of unread records that makes poll() report POLLIN,
 *		from 1 to @ring_records; 0 without a ring.
 * @members:	How many members of the family can end before READ_MEMBERS must
 *		read what they counted, see &struct vpmc_member: up to
 *		VPMC_MAX_MEMBERS; or 0, for none. It needs an INHERIT flag.
 *		READ_CONTROL: 0 for a set that was inherited.
 * @counter:	The counters.
 *
 * VPMC_CONTROL_ENABLE_ON_EXEC, which makes sense with VPMC_CONTROL_STOPPED and
 * excludes VPMC_CONTROL_CLOSE_ON_EXEC, only applies to the next execve() that
 * succeeds. User-mode counts then begin with the new program's first
 * instruction.
 *
 * CONTROL replaces the whole set or, with VPMC_CONTROL_ADD, adds counters to it.
 * On any error it changes nothing. Replacing clears all sums, run time, switches
 * and migrations except those with PRESERVE.
 *
 * When a counter's period has passed the set stops, with the state
 * VPMC_STATE_OVERFLOWED, until RESUME; with VPMC_CONTROL_REARM it continues
 * without RESUME. If overflows come faster than the administrator allows
 * (kernel.vpmc_overflow_rate) some are reported late, several at once. All are
 * counted in &struct vpmc_page.overflows. A set that counts user mode alone
 * stops where the processor delivered the counter's interrupt.
 *
 * The signal comes to the owner itself before it executes another instruction in
 * user mode; a system call is not interrupted. In its siginfo_t are
 *
 *	si_code		POLL_MSG
 *	si_fd		the counters whose period passed: bit n for element n
 *	si_band		the address of the owner's next instruction in user mode,
 *			also if it was in the kernel
 *
 * If the queue of pending signals is full the signal comes without these
 * values, and with the si_code SI_USER.
 */
struct vpmc_control {
	__u32	size;
	__u32	flags;
	__u32	nr_counters;
	__u32	bad_counter;
	__u32	reason;
	__u32	signal;
	__u16	ring_records;
	__u16	ring_watermark;
	__u32	members;
	struct vpmc_counter counter[VPMC_MAX_COUNTERS];
};

/* The most records that a ring can have. */
#define VPMC_RING_MAX_RECORDS	32768

/* The most members whose counts are kept until they are read. */
#define VPMC_MAX_MEMBERS	65536

/**
 * struct vpmc_record - One overflow in a ring
 * @mask:	The counters whose period passed: bit n for element n.
 * @periods:	How many periods have passed, of all these counters together: more
 *		than there are bits in @mask if they came too fast, see
 *		VPMC_CONTROL_REARM.
 * @ip:		The address of the owner's next instruction in user mode, also if
 *		it was in the kernel.
 * @ticks:	The owner's run time while counting, in TSC ticks.
 * @lost:	How many records of the whole ring were lost before this one.
 * @sum:	The sums of all counters of the set, in the order in which CONTROL
 *		named them.
 *
 * All values are from the moment when the kernel noticed the overflow.
 */
struct vpmc_record {
	__u32	mask;
	__u32	periods;
	__aligned_u64	ip;
	__aligned_u64	ticks;
	__aligned_u64	lost;
	__aligned_u64	sum[];
};

/**
 * struct vpmc_ring - Ring of records of overflows, if CONTROL asks for one
 * @nr_records:	Number of records that fit, a power of two.
 * @record_size: Bytes from one record to the next one.
 * @nr_counters: Number of elements of &struct vpmc_record.sum.
 * @watermark:	As in &struct vpmc_control.
 * @head:	How many records were written, modulo 2^32.
 * @tail:	How many of them VPMC_IOC_CONSUME has given back, modulo 2^32.
 * @lost:	How many records were not written, because the ring was full.
 * @reserved:	Zero.
 *
 * The ring follows the page in the file: it is mapped at an offset of one page,
 * with VPMC_RING_SIZE() as length, read-only and shared. The records follow
 * this structure. Number n, counted from 0 on and modulo 2^32, is at::
 *
 *	(char *)(ring + 1) + (n & (nr_records - 1)) * record_size
 *
 * The records from @tail up to, but not including, @head are unread. One thread
 * of the owner's process at a time can read them. It reads @head with acquire
 * semantics, then the records, and gives them back by VPMC_IOC_CONSUME: until
 * then none of them is changed. If all records are unread, a further one is not
 * written, but counted in @lost. A reader::
 *
 *	head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
 *	for (n = ring->tail; n != head; n++)
 *		use((char *)(ring + 1) +
 *		    (n & (ring->nr_records - 1)) * (size_t)ring->record_size);
 *	ioctl(fd, VPMC_IOC_CONSUME, head - ring->tail);
 *
 * A ring lives as long as the set that CONTROL programmed with it: the next
 * CONTROL, UNLINK, execve() and exit end it. Mapped pages remain, and do not
 * change any more.
 */
struct vpmc_ring {
	__u32	nr_records;
	__u32	record_size;
	__u32	nr_counters;
	__u32	watermark;
	__u32	head;
	__u32	tail;
	__aligned_u64	lost;
	__aligned_u64	reserved[4];
};

/* Bytes of a ring for a set with @nr_counters counters. */
#define VPMC_RING_SIZE(nr_records, nr_counters)				\
	(sizeof(struct vpmc_ring) + (nr_records) *			\
	 (sizeof(struct vpmc_record) + (nr_counters) * sizeof(__u64)))

/**
 * enum vpmc_sample_type - Records that VPMC_IOC_READ_SAMPLES returns
 * @VPMC_SAMPLE_PAD:	Never returned.
 * @VPMC_SAMPLE_PERIOD:	&struct vpmc_sample: a period has passed.
 * @VPMC_SAMPLE_MAP:	&struct vpmc_sample_map: what is mapped at the address
 *			of a sample.
 * @VPMC_SAMPLE_DELAYED: &struct vpmc_sample: periods have passed before, and the
 *			kernel had delayed the interrupt of one of the elements
 *			in @mask (kernel.vpmc_overflow_rate). Where its periods
 *			passed is not known: the thread was at @ip when the
 *			kernel noticed them.
 *
 * Further types may be added. A reader skips those that it does not know.
 */
enum vpmc_sample_type {
	VPMC_SAMPLE_PAD		= 0,
	VPMC_SAMPLE_PERIOD	= 1,
	VPMC_SAMPLE_MAP		= 2,
	VPMC_SAMPLE_DELAYED	= 3,
};

/**
 * struct vpmc_sample_head - The beginning of each record
 * @type:	enum vpmc_sample_type.
 * @size:	Bytes of the whole record, a multiple of 8.
 * @pid:	Process id of the thread in the pid namespace of the caller of
 *		CONTROL; 0 if it has none there.
 * @tid:	Thread id in the same pid namespace, or 0.
 * @execs:	How many programs the thread has begun by execve() since CONTROL, or
 *		since its birth. A sample in execve() itself is from the program that
 *		has called it. One that fails after the old program is gone,
 *		and ends the thread, counts too.
 * @cpu:	The CPU on which it ran.
 * @ns:		CLOCK_MONOTONIC.
 *
 * CONTROL with VPMC_CONTROL_SAMPLE makes the kernel record the overflows of a
 * root and of all its heirs in buffers, one for each CPU. The heirs inherit the
 * periods; each of their first periods begins with their birth. Periods and
 * buffers survive an execve() that does not unlink the set. The holder of a
 * descriptor of the root that is open for writing reads all by
 * VPMC_IOC_READ_SAMPLES, also after the root's owner has ended. The next CONTROL
 * for the root, and the end of its last descriptor, end the buffers.
 *
 * The records of one CPU are in the order in which they were written. To put
 * records of different CPUs in order, compare @ns.
 */
struct vpmc_sample_head {
	__u32	type;
	__u32	size;
	__u32	pid;
	__u32	tid;
	__u32	execs;
	__u32	cpu;
	__aligned_u64	ns;
};

/**
 * struct vpmc_sample - Periods have passed
 * @head:	Its beginning.
 * @mask:	As in &struct vpmc_record.
 * @periods:	As in &struct vpmc_record.
 * @ip:		As in &struct vpmc_record.
 * @ticks:	As in &struct vpmc_record.
 * @switches:	As in &struct vpmc_page.
 * @migrations:	As in &struct vpmc_page.
 * @sum:	The thread's sums, as in &struct vpmc_record.
 */
struct vpmc_sample {
	struct vpmc_sample_head head;
	__u32	mask;
	__u32	periods;
	__aligned_u64	ip;
	__aligned_u64	ticks;
	__aligned_u64	switches;
	__aligned_u64	migrations;
	__aligned_u64	sum[];
};

/**
 * struct vpmc_sample_map - What is mapped at the address of a sample
 * @head:	Its beginning.
 * @start:	First address of the mapping.
 * @end:	First address behind it.
 * @offset:	Where in the file the mapping begins.
 * @comm:	The thread's name.
 * @since:	@ns of the sample that made the kernel look. The record is
 *		written later, at the @ns of @head.
 * @unsure:	0, or: samples of the thread from this time until @since may be
 *		from mappings that were not reported.
 * @inode:	Inode number of the file, as stat() returns it. 0 without a file,
 *		like the next fields.
 * @mtime:	When the file was last modified, in nanoseconds since 1970.
 * @file_size:	Bytes of the file.
 * @dev_major:	Device of the file.
 * @dev_minor:	The same.
 * @generation:	Generation of the inode: it differs if the number was used again.
 * @flags:	VPMC_MAP_UNKNOWN, or 0.
 * @path_offset: Where in the record the path begins: the file, as the thread
 *		sees it; or a name such as [vdso]; or nothing. It is NUL
 *		terminated, and padded with zeros.
 * @build_id_size: Bytes of @build_id, 0 if the file has none.
 * @build_id:	The file's build id, and zeros.
 *
 * The kernel writes it after a sample of a thread from a mapping that it has not
 * reported for the thread yet, or that may have changed since, before the thread
 * executes another instruction in user mode, or ends. A mapping that is as it was
 * reported is not reported again, also if it was replaced and put back between the
 * sample and the thread's return to user mode. So a sample is from the last mapping of
 * its address that was reported for its thread with a @since not later than the sample,
 * if the thread has not called execve() in between. In execve() nothing can be looked
 * up. A sample there is taken for the mapping that was reported last for its address,
 * also if that was replaced since. If there is none, @unsure tells the sample.
 *
 * If the buffer is full, or the kernel has no memory, @unsure of the thread's next
 * record tells the samples that are concerned. If there is no such record because
 * the thread has ended, they look like samples from the mapping reported before.
 */
struct vpmc_sample_map {
	struct vpmc_sample_head head;
	__aligned_u64	start;
	__aligned_u64	end;
	__aligned_u64	offset;
	char	comm[16];
	__aligned_u64	since;
	__aligned_u64	unsure;
	__aligned_u64	inode;
	__aligned_u64	mtime;
	__aligned_u64	file_size;
	__u32	dev_major;
	__u32	dev_minor;
	__u32	generation;
	__u32	flags;
	__u32	path_offset;
	__u32	build_id_size;
	__u8	build_id[24];
};

/*
 * Flag of vpmc_sample_map: what was mapped is not known, because the mapping may have
 * changed after the sample, or nothing is mapped there, or the thread is about to be
 * killed. A fork() is a change, unless the mapping is as it was reported. @start is the
 * sample's address, and @end the next one.
 */
#define VPMC_MAP_UNKNOWN	(1U << 0)

/**
 * struct vpmc_read_samples - Argument of VPMC_IOC_READ_SAMPLES
 * @size:	In: bytes of this structure that the caller knows.
 * @flags:	In: zero.
 * @buffer:	In: address to which the records are copied.
 * @bytes:	In: bytes of room at @buffer. Out: bytes of whole records that
 *		were copied; 0 if there are none.
 * @lost:	Out: how many samples were not written since CONTROL, because a
 *		buffer was full.
 *
 * A record that was copied is not returned again.
 */
struct vpmc_read_samples {
	__u32	size;
	__u32	flags;
	__aligned_u64	buffer;
	__aligned_u64	bytes;
	__aligned_u64	lost;
};

/*
 * &struct vpmc_read.flags: what is added to the root's own values. What a
 * living descendant cleared, or counted before a CONTROL of its own, is
 * included in FINISHED.
 */
#define VPMC_READ_LIVING	(1U << 0)  /* descendants that count */
#define VPMC_READ_FINISHED	(1U << 1)  /* descendants that ended */

/**
 * struct vpmc_read - Argument of VPMC_IOC_READ
 * @size:	In: bytes of this structure that the caller knows. It may end
 *		after the last sum in use. Out: bytes that the kernel filled.
 * @flags:	In: VPMC_READ_* bits.
 * @state:	Out: enum vpmc_state.
 * @nr_counters: Out: number of counters in the set.
 * @tid:	Out: thread id of the owner in the owner's pid namespace.
 * @living:	Out: with VPMC_READ_LIVING, number of living descendants
 *		included.
 * @finished:	Out: with VPMC_READ_FINISHED, number of ended descendants
 *		included.
 * @lost:	Out: with any flag, number of descendants that lost the PMU to
 *		the administrator before they ended: what they did after that is
 *		not in the sums.
 * @ticks:	Out: run time while counting, in TSC ticks.
 * @ns:		Out: the same in nanoseconds, 0 without VPMC_FEATURE_TIME.
 * @switches:	Out: as in &struct vpmc_page.
 * @migrations:	Out: as in &struct vpmc_page.
 * @sum:	Out: the 64-bit sums. Elements from @nr_counters on are zero.
 * @left_control: Out: with any flag, number of descendants that left the family
 *		because their own set was programmed by CONTROL. What they did
 *		after that is not in the sums. The next two are alike.
 * @left_unlink: Out: the same by UNLINK of their set.
 * @left_exec:	Out: the same by an execve() that detached their set, because
 *		the new program had other privileges, or because of
 *		VPMC_CONTROL_CLOSE_ON_EXEC.
 * @set_number:	Out: as in &struct vpmc_page.
 *
 * A descendant that left is one of @finished, too. CLEAR of the root and
 * CLEAR_ALL set @finished, @lost, @left_control, @left_unlink and @left_exec to
 * zero if they clear the run time.
 *
 * All values are from one moment, even if the owner runs on another CPU. With
 * VPMC_READ_LIVING the values of each thread are from a moment of its own, and
 * no descendant is missed or included twice.
 */
struct vpmc_read {
	__u32	size;
	__u32	flags;
	__u32	state;
	__u32	nr_counters;
	__u32	tid;
	__u32	living;
	__aligned_u64	finished;
	__aligned_u64	lost;
	__aligned_u64	ticks;
	__aligned_u64	ns;
	__aligned_u64	switches;
	__aligned_u64	migrations;
	__aligned_u64	sum[VPMC_MAX_COUNTERS];
	__aligned_u64	left_control;
	__aligned_u64	left_unlink;
	__aligned_u64	left_exec;
	__aligned_u64	set_number;
};

/**
 * enum vpmc_member_state - Is a member in its family, and if not, how it left
 * @VPMC_MEMBER_LIVING:		It is in the family, and the fork that made it is
 *				complete.
 * @VPMC_MEMBER_ENDED:		Its thread ended, or the family did, see
 *				VPMC_CONTROL_UNLINK_ON_CLOSE.
 * @VPMC_MEMBER_LEFT_CONTROL:	Its own set was programmed by CONTROL. What it did
 *				after that is not in the record. The next two are
 *				alike.
 * @VPMC_MEMBER_LEFT_UNLINK:	Its set was unlinked.
 * @VPMC_MEMBER_LEFT_EXEC:	An execve() detached its set.
 */
enum vpmc_member_state {
	VPMC_MEMBER_LIVING		= 0,
	VPMC_MEMBER_ENDED		= 1,
	VPMC_MEMBER_LEFT_CONTROL	= 2,
	VPMC_MEMBER_LEFT_UNLINK		= 3,
	VPMC_MEMBER_LEFT_EXEC		= 4,
};

/*
 * &struct vpmc_member.flags. LOST: the member lost the PMU to the administrator.
 * What it did after that is not in the record.
 */
#define VPMC_MEMBER_LOST	(1U << 0)

/**
 * struct vpmc_member - What one member of a family counted
 * @number:	Number of the member, in the order of births, from 1 on. The numbers
 *		of threads whose creation failed are missing.
 * @pid:	Process id of the member in the pid namespace of the caller of
 *		CONTROL; 0 if it has none there.
 * @tid:	Thread id in the same pid namespace, or 0.
 * @state:	enum vpmc_member_state.
 * @flags:	VPMC_MEMBER_LOST, or 0.
 * @comm:	The thread's name.
 * @ticks:	Run time while counting, in TSC ticks.
 * @ns:		The same in nanoseconds, 0 without VPMC_FEATURE_TIME.
 * @switches:	As in &struct vpmc_page.
 * @migrations:	As in &struct vpmc_page.
 * @sum:	The sums of the family's counters. Elements beyond them are zero.
 *
 * The members of a family are the threads that have inherited the root's set. If
 * CONTROL has programmed the root with @members of &struct vpmc_control, the kernel
 * writes a record of each member that leaves, as of this moment. It keeps so many
 * records until READ_MEMBERS reads them. A member that leaves never waits: if there
 * is no room, there is no record, and the member is counted as missed.
 *
 * The values are from after the last CLEAR or CLEAR_ALL of the member. What was
 * cleared before is in no record; see VPMC_READ_FINISHED. Once a record is written,
 * no CLEAR changes it.
 */
struct vpmc_member {
	__aligned_u64	number;
	__u32	pid;
	__u32	tid;
	__u32	state;
	__u32	flags;
	char	comm[16];
	__aligned_u64	ticks;
	__aligned_u64	ns;
	__aligned_u64	switches;
	__aligned_u64	migrations;
	__aligned_u64	sum[VPMC_MAX_COUNTERS];
};

/**
 * struct vpmc_read_members - Argument of VPMC_IOC_READ_MEMBERS
 * @size:	In: bytes of this structure that the caller knows.
 * @flags:	In: VPMC_READ_LIVING: members that live; or VPMC_READ_FINISHED:
 *		records of members that have left. These are taken out, so the
 *		descriptor must be open for writing (EBADF).
 * @nr:		In: number of elements that there is room for, at least 1. Out:
 *		number of elements that the kernel filled; 0 if there are none.
 * @member_size: In: bytes from one element to the next one. An element may end
 *		after the last sum in use (ENOSPC); what is beyond &struct
 *		vpmc_member is filled with zeros. At most 4096.
 * @nr_counters: Out: number of counters of the family.
 * @reserved:	In: zero.
 * @members:	In: address of an array of &struct vpmc_member.
 * @after:	In: with LIVING, members with this or a lower number are left out; 0
 *		begins with the first one. Out: number of the last living member
 *		that was returned, or as it was.
 * @missed:	Out: how many members have left without a record since CONTROL.
 * @born:	Out: number of the youngest member so far.
 *
 * Living members come in the order of their births, each as of a moment of its own.
 * A thread whose creation is not complete is left out. If younger ones are returned,
 * only a call with a lower @after finds it.
 * Records come in the order in which the members left. None of them is returned
 * again.
 *
 * To miss no member, read those that live before the records. One that leaves
 * meanwhile is then there twice, with the same @number, and its record is right.
 * If threads are created all the time, the living ones do not come to an end: stop
 * at the @born of the first call.
 */
struct vpmc_read_members {
	__u32	size;
	__u32	flags;
	__u32	nr;
	__u32	member_size;
	__u32	nr_counters;
	__u32	reserved;
	__aligned_u64	members;
	__aligned_u64	after;
	__aligned_u64	missed;
	__aligned_u64	born;
};

/* For &struct vpmc_global_control.cpu: all CPUs, also those that come later. */
#define VPMC_ALL_CPUS		0xffffffffU

/*
 * &struct vpmc_global_control.flags. REVOKE: if sets of threads have the PMU,
 * take it from them, as kernel.vpmc_revoke does. They can have it again after the
 * descriptor is closed. They lose it also if CONTROL then fails, because perf needs
 * the counters for its pinned events of CPUs. perf may give up pinned events of users,
 * as for its own pinned events of CPUs. Needs CAP_PERFMON (EPERM).
 */
#define VPMC_GLOBAL_REVOKE	(1U << 0)

/**
 * struct vpmc_global_control - Argument of VPMC_IOC_G_CONTROL
 * @size:	In: bytes of this structure that the caller passes. It may end
 *		after the last counter in use.
 * @flags:	In: VPMC_GLOBAL_* bits.
 * @cpu:	In: the CPU, online or not, or VPMC_ALL_CPUS.
 * @nr_counters: In: number of elements of @counter; 0: the CPU has no set any
 *		more.
 * @bad_counter: Out: as in &struct vpmc_control.
 * @reason:	Out: as in &struct vpmc_control.
 * @interval_ms: In: 0: READ interrupts the CPU and gets its present values. 10
 *		to 60000: the CPU takes a sample each time that so many
 *		milliseconds have passed, and READ gets the last sample.
 * @reserved:	Zero.
 * @counter:	The counters; period and flags are zero.
 *
 * CONTROL replaces the set of one CPU or of all, which must not be counting
 * (EBUSY), or changes nothing. The sums start from zero with the next START.
 * CPUs may have different sets.
 */
struct vpmc_global_control {
	__u32	size;
	__u32	flags;
	__u32	cpu;
	__u32	nr_counters;
	__u32	bad_counter;
	__u32	reason;
	__u32	interval_ms;
	__u32	reserved;
	struct vpmc_counter counter[VPMC_MAX_COUNTERS];
};

/**
 * enum vpmc_cpu_state - What a CPU's counters do
 * @VPMC_CPU_ABSENT:	There is no such CPU, or it has no set.
 * @VPMC_CPU_OFFLINE:	The CPU is offline. The sums stay. If it was started, it
 *			continues to count when it comes online.
 * @VPMC_CPU_STOPPED:	The CPU does not count. The sums stay.
 * @VPMC_CPU_RUNNING:	The CPU counts.
 */
enum vpmc_cpu_state {
	VPMC_CPU_ABSENT		= 0,
	VPMC_CPU_OFFLINE	= 1,
	VPMC_CPU_STOPPED	= 2,
	VPMC_CPU_RUNNING	= 3,
};

/**
 * struct vpmc_global_cpu - What one CPU counted
 * @cpu:	Number of the CPU.
 * @state:	enum vpmc_cpu_state.
 * @nr_counters: Number of counters in the set.
 * @interval_ms: As CONTROL set it.
 * @ticks:	How long the CPU counted, in TSC ticks.
 * @sampled_at:	When the values below were read, in nanoseconds of
 *		CLOCK_MONOTONIC.
 * @sum:	The 64-bit sums. Elements from @nr_counters on are zero.
 *
 * All values of one CPU are from one moment.
 */
struct vpmc_global_cpu {
	__u32	cpu;
	__u32	state;
	__u32	nr_counters;
	__u32	interval_ms;
	__aligned_u64	ticks;
	__aligned_u64	sampled_at;
	__aligned_u64	sum[VPMC_MAX_COUNTERS];
};

/**
 * struct vpmc_global_read - Argument of VPMC_IOC_G_READ
 * @size:	In: bytes of this structure that the caller knows.
 * @flags:	In: zero.
 * @first_cpu:	In: number of the first CPU.
 * @nr_cpus:	In: number of elements that there is room for, at least 1. Out:
 *		number of elements that the kernel filled: one for each CPU
 *		number from @first_cpu up to the highest possible one.
 * @element_size: In: bytes from one element to the next one. An element may end
 *		after the last sum in use (ENOSPC); what is beyond &struct
 *		vpmc_global_cpu is filled with zeros. At most 4096.
 * @reserved:	In: zero.
 * @elements:	In: address of an array of &struct vpmc_global_cpu.
 */
struct vpmc_global_read {
	__u32	size;
	__u32	flags;
	__u32	first_cpu;
	__u32	nr_cpus;
	__u32	element_size;
	__u32	reserved;
	__aligned_u64	elements;
};

/*
 * The least size of each structure that can grow. A kernel refuses a shorter one
 * (EINVAL). These numbers never change: new fields are added at the end.
 */
#define VPMC_INFO_MIN_SIZE		8	/* with @flags */
#define VPMC_CONTROL_MIN_SIZE		32	/* up to @counter */
#define VPMC_READ_MIN_SIZE		72	/* up to @sum */
#define VPMC_READ_SAMPLES_MIN_SIZE	32	/* with @lost */
#define VPMC_MEMBER_MIN_SIZE		72	/* up to @sum */
#define VPMC_READ_MEMBERS_MIN_SIZE	56	/* with @born */
#define VPMC_GLOBAL_CONTROL_MIN_SIZE	32	/* up to @counter */
#define VPMC_GLOBAL_CPU_MIN_SIZE	32	/* up to @sum */
#define VPMC_GLOBAL_READ_MIN_SIZE	32	/* with @elements */

/*
 * The request numbers contain no size: each structure begins with its own size,
 * so that it can grow. A structure shorter than the kernel's is extended with
 * zeros, and gets back as much as it has room for. A longer one must end in
 * zeros (E2BIG). Unknown flags and reserved fields that are not zero give
 * EINVAL. START, STOP, RESUME and UNLINK take no argument: it must be zero.
 * CLEAR takes a mask of the counters, bit n for element n, whose sums are to
 * start from zero again; 0 stands for everything: all sums, run time, switches
 * and migrations. RESUME starts a set that an overflow stopped, and does
 * nothing to any other set: it does not undo another thread's STOP. CONSUME
 * takes the number of the oldest records of the ring that have been read;
 * EINVAL if the ring has fewer. READ_SAMPLES needs a root that was programmed
 * with VPMC_CONTROL_SAMPLE (ENODATA), whose owner may have ended, and room for
 * one record at least (ENOSPC). READ_MEMBERS needs a root that was programmed with
 * @members (ENODATA), whose owner may have ended.
 *
 * START_ALL, STOP_ALL and CLEAR_ALL do to a root what START, STOP and CLEAR do,
 * and then the same to the set of each living descendant. On a set that is not
 * a root they act like START, STOP and CLEAR. They take the same arguments, and
 * fail with the same errors before anything is done, or with EINTR if a fatal
 * signal is pending. The sets change one after the other, each at a moment of
 * its own. When the call returns all have changed, and a descendant that was
 * born meanwhile is in the state that the command gives. If a descendant ends
 * meanwhile, the sums do not contain what it counted before CLEAR_ALL. A call
 * takes one step for each descendant that lived when it began; threads that
 * fork, end or READ wait for one step at most. Calls for one root are executed
 * one after the other.
 *
 * All but INFO need counters (ENOENT). CONTROL, START, STOP, CLEAR, RESUME,
 * CONSUME, UNLINK, READ_SAMPLES and the *_ALL requests need a descriptor that is
 * open for writing (EBADF) and, except READ_SAMPLES, counters that are still
 * attached (ESRCH). Permissions
 * are checked when the file is opened, and move with the descriptor. Only
 * mmap() and CONTROL check their caller, too.
 *
 * The sums of a set that counts the kernel need a descriptor that may read
 * kernel counts. A descriptor may read them if the caller of open() was allowed
 * to count the kernel, or if CONTROL has programmed such a set by the
 * descriptor. With any other descriptor READ, READ_SAMPLES, READ_MEMBERS, read() and
 * mmap() fail with EACCES, for every owner, and for inherited sets, too. All other
 * operations work as for any set. Such a descriptor also cannot map the page of
 * another set while a thread in the same address space has a set that counts
 * the kernel and was inherited or programmed from outside.
 *
 * START, STOP, CLEAR, RESUME and the *_ALL requests need a set that was
 * programmed and not revoked (ENODATA), and CONSUME one that has a ring
 * (ENODATA). READ and READ_CONTROL fail with ENOSPC if the structure has no
 * room for all counters of the set; READ_CONTROL still stores their number.
 *
 * read() always returns a text at once. It never waits for what poll() reports,
 * and poll() does not report whether read() has data.
 *
 * poll() reports POLLIN while an overflow has stopped the set. For a set with a
 * ring it reports POLLIN while at least @ring_watermark of &struct vpmc_control
 * records are unread. With VPMC_CONTROL_SAMPLE it reports POLLIN for the root
 * while that many samples are unread in one CPU's buffer, or while half of a
 * buffer is full. For a root with @members it reports POLLIN while records of at
 * least half as many members are unread. Together with POLLHUP it reports POLLIN
 * while any sample, or any record of a member, is unread. For a set with
 * VPMC_CONTROL_REARM, but without a ring or samples, it reports POLLIN from an
 * overflow until the counters are read, by READ or read(). It reports POLLERR while
 * a set is revoked, and for a descriptor without counters. It reports POLLHUP once
 * the counters are detached, because their thread has ended, or because they were
 * unlinked, by execve() or otherwise.
 */
#define VPMC_IOC_MAGIC		0xBF

#define VPMC_IOC_INFO		_IO(VPMC_IOC_MAGIC, 0)	/* struct vpmc_info */
#define VPMC_IOC_CONTROL	_IO(VPMC_IOC_MAGIC, 1)	/* struct vpmc_control */
#define VPMC_IOC_READ_CONTROL	_IO(VPMC_IOC_MAGIC, 2)	/* struct vpmc_control */
#define VPMC_IOC_START		_IO(VPMC_IOC_MAGIC, 3)
#define VPMC_IOC_STOP		_IO(VPMC_IOC_MAGIC, 4)
#define VPMC_IOC_CLEAR		_IO(VPMC_IOC_MAGIC, 5)
#define VPMC_IOC_READ		_IO(VPMC_IOC_MAGIC, 6)	/* struct vpmc_read */
#define VPMC_IOC_UNLINK		_IO(VPMC_IOC_MAGIC, 7)
#define VPMC_IOC_RESUME		_IO(VPMC_IOC_MAGIC, 8)
#define VPMC_IOC_CONSUME	_IO(VPMC_IOC_MAGIC, 9)
#define VPMC_IOC_START_ALL	_IO(VPMC_IOC_MAGIC, 10)
#define VPMC_IOC_STOP_ALL	_IO(VPMC_IOC_MAGIC, 11)
#define VPMC_IOC_CLEAR_ALL	_IO(VPMC_IOC_MAGIC, 12)
#define VPMC_IOC_READ_SAMPLES	_IO(VPMC_IOC_MAGIC, 13)	/* struct vpmc_read_samples */
#define VPMC_IOC_READ_MEMBERS	_IO(VPMC_IOC_MAGIC, 14)	/* struct vpmc_read_members */

/*
 * Requests of /dev/perfctr, which counts all threads that run on a CPU. A
 * process that opens it must be allowed to use perf for whole CPUs
 * (kernel.perf_event_paranoid below 1, or CAP_PERFMON; EACCES). The caller of
 * CONTROL must be allowed, too, and for counters with OS must be allowed to
 * count the kernel.
 *
 * From START until the CPU has no set any more its user code reads zero by RDPMC
 * from vpmc's counters, whatever permits RDPMC.
 *
 * The first descriptor that calls CONTROL has the counters until it is closed,
 * or until CONTROL has removed the last set. For the moment of the close see
 * VPMC_CONTROL_UNLINK_ON_CLOSE. With other descriptors only INFO and READ work;
 * CONTROL, START, STOP and CLEAR fail with EBUSY. CONTROL, START, STOP and
 * CLEAR need a descriptor that is open for writing (EBADF). START, STOP and
 * CLEAR take no argument, and need a set (ENODATA) that was not revoked
 * (kernel.vpmc_revoke; ENODATA).
 *
 * START starts all CPUs that have a set, and STOP stops them; each is
 * interrupted once. Starting a CPU that counts, or stopping one that does not
 * count, is no error. CLEAR sets the sums and times of all CPUs to zero. A CPU
 * that goes offline keeps its sums.
 *
 * Threads have no sets with counters meanwhile (VPMC_REASON_PMU_GLOBAL).
 */
#define VPMC_IOC_G_CONTROL	_IO(VPMC_IOC_MAGIC, 16)	/* struct vpmc_global_control */
#define VPMC_IOC_G_START	_IO(VPMC_IOC_MAGIC, 17)
#define VPMC_IOC_G_STOP		_IO(VPMC_IOC_MAGIC, 18)
#define VPMC_IOC_G_CLEAR	_IO(VPMC_IOC_MAGIC, 19)
#define VPMC_IOC_G_READ		_IO(VPMC_IOC_MAGIC, 20)	/* struct vpmc_global_read */

#endif /* _UAPI_LINUX_VPMC_H */
