/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Virtual performance counters: the user interface of /proc/<pid>/perfctr.
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
 * Version of the page and of the structures below, counted up by one whenever a
 * field is added to one of them. New flags, reasons, states and requests do not
 * count: a kernel that does not know a flag says EINVAL, a request ENOTTY.
 */
#define VPMC_ABI_VERSION	1

/* The most counters that one set can have on any processor. */
#define VPMC_MAX_COUNTERS	32

/* In &struct vpmc_counter.index: the kernel chooses the counter. */
#define VPMC_ANY		0xffffffffU

/* In an RDPMC index: a fixed counter (Intel SDM volume 2, RDPMC). */
#define VPMC_RDPMC_FIXED	0x40000000U

/**
 * enum vpmc_state - What a thread's counters do
 * @VPMC_STATE_EMPTY:		Attached, never programmed.
 * @VPMC_STATE_STOPPED:		Programmed; nothing counts. The sums stand.
 * @VPMC_STATE_RUNNING:		Counting whenever the thread is on a CPU.
 * @VPMC_STATE_UNLINKED:	Detached for good, by UNLINK, or by execve(): of a
 *				program with other privileges, without memory, or
 *				with VPMC_CONTROL_CLOSE_ON_EXEC. The sums stand.
 * @VPMC_STATE_EXITED:		The thread is gone. The sums stand.
 * @VPMC_STATE_REVOKED:		The administrator took the PMU away
 *				(kernel.vpmc_revoke), or the machine goes down.
 *				The page of a set that was not running says so
 *				from the next ioctl(), read() or poll() on.
 *				The sums stand. Another CONTROL starts anew.
 * @VPMC_STATE_OVERFLOWED:	Stopped because a counter's period passed. The
 *				sums stand. RESUME goes on from them.
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
 * @width:	Bits that the hardware counter has.
 * @base:	What to add, see &struct vpmc_page. While the set is not
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
 *		kernel's scheduler clock; as old as @caps: suspend changes it.
 * @reserved0:	Zero.
 * @generation:	Changes whenever anything in the page does, and each time the
 *		owner is put on a CPU.
 * @state:	enum vpmc_state.
 * @nr_counters: Number of valid elements of @slot.
 * @sign:	The sign bit of a hardware counter, 1 << (width - 1); the same
 *		for all counters of a set.
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
 * or while the owner is on no CPU. So the owner thread needs no memory barrier
 * beyond the compiler's, and never sees an update half done: it can only be
 * interrupted, and then @generation has moved. Other threads must not use the
 * page: what it says is true on the owner's CPU alone. They use
 * VPMC_IOC_READ.
 *
 * While @state is VPMC_STATE_RUNNING a counter's 64-bit value is
 *
 *	base + (RDPMC(index) ^ sign)	modulo 2^64
 *
 * which equals a sign extension of the raw value plus a constant. In any other
 * state the value is base, and RDPMC may raise SIGSEGV. The loop below reads
 * all counters and the run time as one snapshot. It ends: it is repeated only
 * when the thread was switched out, or a counter was rewritten, meanwhile. Under a
 * debugger that steps through it, or stops in it, it does not: each stop switches
 * the thread out.
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
 * programmed, stopped or not. In a thread with the page of a revoked set mapped
 * RDPMC reads zero, so that a revocation in the middle of a read is just one
 * more retry. A thread whose counters another thread of its process unlinks, or
 * replaces by a set without counters, in the middle of a read, gets SIGSEGV.
 *
 * From @generation on, four counters need two cache lines.
 */
struct vpmc_page {
	__u32	version;
	__u32	size;
	__u32	tid;
	__u32	caps;
	__u32	time_mult;
	__u32	time_shift;
	__u64	time_offset;
	__u64	reserved0[4];

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
 *			Monitoring").
 * @VPMC_KIND_AMD:	AMD, from K7 on, with four counters or with the core
 *			performance counter extension (AMD64 APM volume 2,
 *			"Performance Monitoring Counters").
 */
enum vpmc_kind {
	VPMC_KIND_TSC		= 0,
	VPMC_KIND_INTEL		= 1,
	VPMC_KIND_AMD		= 2,
};

/* &struct vpmc_info.features */
#define VPMC_FEATURE_RDPMC	(1U << 0)  /* counters readable in user space */
#define VPMC_FEATURE_PMI	(1U << 1)  /* counters interrupt on overflow */
#define VPMC_FEATURE_GLOBAL_CTRL (1U << 2) /* one write starts or stops all */
#define VPMC_FEATURE_FULL_WIDTH	(1U << 3)  /* counters writable in full width */
#define VPMC_FEATURE_TIME	(1U << 4)  /* TSC ticks convert to nanoseconds */

/* &struct vpmc_info.holder: who has the PMU at this moment */
#define VPMC_HOLDER_NONE	0U	/* nobody */
#define VPMC_HOLDER_VPMC	1U	/* programmed sets of ours */
#define VPMC_HOLDER_OTHER	2U	/* somebody else: a driver, a hypervisor */
#define VPMC_HOLDER_PERF	3U	/* perf events */
#define VPMC_HOLDER_WATCHDOG	4U	/* the hard-lockup watchdog, maybe perf too */
#define VPMC_HOLDER_TRACE	5U	/* Intel PT, by perf or from before boot */
#define VPMC_HOLDER_REVOKED	6U	/* kernel.vpmc_revoke is 1 */

/**
 * struct vpmc_info - Argument of VPMC_IOC_INFO
 * @size:	In: size of the structure that the caller knows, at least up to
 *		and with @flags. Out: bytes that the kernel filled, @size at the
 *		most.
 * @flags:	In: zero.
 * @version:	Out: VPMC_ABI_VERSION.
 * @kind:	Out: enum vpmc_kind.
 * @features:	Out: VPMC_FEATURE_* bits.
 * @holder:	Out: VPMC_HOLDER_*.
 * @pmu_version: Out: version of the architectural PMU, 0 if there is none.
 * @width:	Out: bits in a hardware counter.
 * @nr_gp:	Out: programmable counters.
 * @nr_fixed:	Out: fixed counters.
 * @gp_mask:	Out: bit n: programmable counter n can be used. The administrator
 *		may leave some to perf (kernel.vpmc_counters).
 * @fixed_mask:	Out: bit n: fixed counter n can be used, likewise.
 * @tsc_khz:	Out: rate of the TSC, 0 if not known.
 * @map_size:	Out: bytes that mmap() takes.
 * @name:	Out: name of the backend, NUL terminated.
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
};

/**
 * struct vpmc_counter - One counter of a set
 * @evtsel:	The event, in the format of the processor's event select
 *		register: event (bits 0-7, AMD: and 32-35), unit mask (8-15), USR (16),
 *		OS (17), edge (18), invert (23), counter mask (24-31). At least
 *		one of USR and OS must be set. EN (22) and INT (20) belong to
 *		the kernel and may be set or not; all other bits must be zero.
 *		A fixed counter is asked for by the event that it counts; number
 *		n also by event 0 with unit mask n + 1.
 * @index:	In: RDPMC index of the counter to use, or VPMC_ANY.
 *		READ_CONTROL: the counter that is used.
 * @flags:	VPMC_COUNTER_* bits. READ_CONTROL: zero.
 * @period:	The counter overflows each time that it has counted so many
 *		events; 0: never. What it has counted beyond that, when the
 *		processor tells, is part of the next period. The first period
 *		begins with CONTROL, and another one when CLEAR names the
 *		counter. execve() ends all periods; the counts go on, also those
 *		of a set that an overflow has stopped.
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
 * &struct vpmc_counter.flags. PRESERVE: go on from the sum that the counter at
 * this place of the set had so far, whatever it counted; from zero if there was
 * none.
 */
#define VPMC_COUNTER_PRESERVE	(1U << 0)

/*
 * &struct vpmc_control.flags. PRESERVE: run time, switches and migrations go on
 * from where they are.
 *
 * INHERIT: a thread that the owner creates from then on gets a set with the same
 * selection, in the owner's present state and with sums from zero; so do those
 * that it creates in turn. THREADS: clone() with CLONE_THREAD. PROCESSES: without.
 * What they count is added up for the set that CONTROL programmed, the root, see
 * &struct vpmc_read.
 *
 * UNLINK_ON_CLOSE: the set is unlinked when the open file description by which
 * CONTROL was called is closed: by the last close() of all descriptors that were
 * duplicated, inherited or passed on, or by the exit of the last process that had
 * one, and not before what was mapped by them is unmapped. So are all sets that
 * are inherited from it, also if the thread that CONTROL was for has ended before.
 * Sets that somebody programmed anew since then are not. The next CONTROL decides
 * anew.
 */
#define VPMC_CONTROL_NEW	(1U << 0)  /* fail if a set is programmed already */
#define VPMC_CONTROL_STOPPED	(1U << 1)  /* do not start counting */
#define VPMC_CONTROL_INHERIT_THREADS	(1U << 2)
#define VPMC_CONTROL_INHERIT_PROCESSES	(1U << 3)
#define VPMC_CONTROL_CLOSE_ON_EXEC (1U << 4) /* execve() unlinks the set */
#define VPMC_CONTROL_ENABLE_ON_EXEC (1U << 5) /* the next execve() starts it */
#define VPMC_CONTROL_PRESERVE	(1U << 6)
#define VPMC_CONTROL_REARM	(1U << 7)  /* go on after an overflow */
#define VPMC_CONTROL_UNLINK_ON_CLOSE (1U << 8) /* the set ends with the descriptor */

/**
 * enum vpmc_reason - Why CONTROL was refused
 * @VPMC_REASON_NONE:		It was not.
 * @VPMC_REASON_RESERVED_BIT:	@evtsel has a bit that must be zero.
 * @VPMC_REASON_RESERVED_FIELD:	flags of the counter has an unknown bit, or
 *				reserved is not zero.
 * @VPMC_REASON_NO_MODE:	Neither USR nor OS is set.
 * @VPMC_REASON_BAD_INDEX:	The processor has no counter @index.
 * @VPMC_REASON_INDEX_TAKEN:	Two counters name one @index.
 * @VPMC_REASON_WRONG_EVENT:	That counter cannot count this event.
 * @VPMC_REASON_NO_COUNTER:	No free counter can count this event.
 * @VPMC_REASON_UNAVAILABLE:	The processor says that it does not have this
 *				event (CPUID leaf 0AH, EBX), or it is one of
 *				AMD's northbridge, which all cores share, or one
 *				by which Intel's hyper-threads spoil each other's
 *				counts, or no counter can count it.
 * @VPMC_REASON_EXTRA_MSR:	The event needs a further register (off-core
 *				response, latency of loads) or a second counter
 *				(what increments by much, from AMD's family 17h
 *				on).
 * @VPMC_REASON_KERNEL_MODE:	OS is set and the caller may not count the
 *				kernel; or a sum is to be preserved of a set that
 *				counted it, and the descriptor may not tell.
 * @VPMC_REASON_TOO_MANY:	More counters than the processor has.
 * @VPMC_REASON_NO_PMU:		There is no PMU that can be used.
 * @VPMC_REASON_PMU_BUSY:	Somebody else holds the PMU, or did a moment ago.
 * @VPMC_REASON_PMU_PERF:	perf has events on the PMU.
 * @VPMC_REASON_PMU_WATCHDOG:	The hard-lockup watchdog has the PMU, and perf
 *				may have it too. kernel.nmi_watchdog = 0 stops
 *				the watchdog.
 * @VPMC_REASON_PMU_TRACE:	perf uses Intel PT, or PT was on when the kernel
 *				booted, and then it stays so.
 * @VPMC_REASON_REVOKED:	The administrator keeps the PMU
 *				(kernel.vpmc_revoke = 1).
 * @VPMC_REASON_PERIOD:		The period is shorter than the administrator
 *				allows (kernel.vpmc_period_min).
 * @VPMC_REASON_PARANOID:	The administrator lets only those count who have
 *				CAP_PERFMON (kernel.vpmc_paranoid), or those who
 *				may use perf (kernel.perf_event_paranoid).
 * @VPMC_REASON_SIGNAL:		@signal cannot be had.
 * @VPMC_REASON_NO_PERIOD:	What is asked for needs a counter with a period.
 * @VPMC_REASON_RING:		@ring_records is not a power of two up to
 *				VPMC_RING_MAX_RECORDS, or @ring_watermark is not
 *				one of the numbers from 1 to @ring_records.
 * @VPMC_REASON_RING_MEMORY:	The ring and what else is pinned for the owner's
 *				process need more memory than RLIMIT_MEMLOCK
 *				allows.
 * @VPMC_REASON_SECURITY:	A security module does not let the caller use
 *				perf (SELinux: perf_event open).
 * @VPMC_REASON_MAPPED:		The set counts the kernel, the caller is not in
 *				the owner's address space, and a page is mapped
 *				there by a descriptor that may not tell of the
 *				kernel. The page would tell.
 * @VPMC_REASON_LEFT_TO_PERF:	The administrator leaves the counter, or all that can
 *				count the event, or so many of them, to perf
 *				(kernel.vpmc_counters).
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
};

/**
 * struct vpmc_control - Argument of VPMC_IOC_CONTROL and VPMC_IOC_READ_CONTROL
 * @size:	In: bytes of this structure that the caller passes. It may end
 *		after the last counter in use.
 * @flags:	In: VPMC_CONTROL_* bits. READ_CONTROL: in: zero; out: those about
 *		what is still to come, VPMC_CONTROL_CLOSE_ON_EXEC,
 *		VPMC_CONTROL_ENABLE_ON_EXEC, VPMC_CONTROL_REARM,
 *		VPMC_CONTROL_UNLINK_ON_CLOSE and those to INHERIT.
 * @nr_counters: CONTROL: number of elements of @counter; 0 counts run time,
 *		switches and migrations alone. READ_CONTROL: in: the number that
 *		there is room for; out: the number in the set.
 * @bad_counter: Out, with @reason, if CONTROL fails after the structure itself
 *		was found valid: the element that was refused, or @nr_counters if
 *		the set as a whole was.
 * @reason:	Out: enum vpmc_reason.
 * @signal:	What the owner gets when a period has passed, or 0. Every signal
 *		but SIGKILL, SIGSTOP, and those whose codes have another meaning:
 *		SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGCHLD, SIGSYS.
 * @ring_records: How many overflows the set's ring has room for, see &struct
 *		vpmc_ring: a power of two up to VPMC_RING_MAX_RECORDS; or 0, for
 *		no ring.
 * @ring_watermark: How many records that nobody has consumed make poll() report
 *		POLLIN, from 1 to @ring_records; 0 without a ring.
 * @reserved:	Zero.
 * @counter:	The counters.
 *
 * VPMC_CONTROL_ENABLE_ON_EXEC, which makes sense with VPMC_CONTROL_STOPPED and
 * excludes VPMC_CONTROL_CLOSE_ON_EXEC, is used up by the first execve() that
 * succeeds. User-mode counts then begin with the new program's first
 * instruction.
 *
 * CONTROL replaces the whole set or, on any error, leaves everything as it
 * was. Success clears all sums, run time, switches and migrations but those
 * that are to be preserved.
 *
 * When a counter's period has passed the set stops, with the state
 * VPMC_STATE_OVERFLOWED, until RESUME; with VPMC_CONTROL_REARM it goes on by
 * itself. If overflows come faster than the administrator allows
 * (kernel.vpmc_overflow_rate) some are reported late, several at once; none is
 * lost in &struct vpmc_page.overflows. A set that counts user mode alone stops
 * where the processor delivered the counter's interrupt.
 *
 * The signal comes to the owner itself before it executes another instruction in
 * user mode; a system call is not interrupted. In its siginfo_t are
 *
 *	si_code		POLL_MSG
 *	si_fd		the counters whose period passed: bit n for element n
 *	si_band		the address of the owner's next instruction in user mode,
 *			also if it was in the kernel
 *
 * If the queue of pending signals is full it comes without that, and with the
 * si_code SI_USER.
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
	__u32	reserved;
	struct vpmc_counter counter[VPMC_MAX_COUNTERS];
};

/* The most records that a ring can have. */
#define VPMC_RING_MAX_RECORDS	32768

/**
 * struct vpmc_record - One overflow in a ring
 * @mask:	The counters whose period passed: bit n for element n.
 * @periods:	How many periods have passed, of all these counters together: more
 *		than there are bits in @mask if they came too fast, see
 *		VPMC_CONTROL_REARM.
 * @ip:		The address of the owner's next instruction in user mode, also if
 *		it was in the kernel.
 * @ticks:	The owner's run time while counting, in TSC ticks.
 * @lost:	How many records were lost before this one, of the whole ring.
 * @sum:	The sums of all counters of the set, in the order in which CONTROL
 *		named them.
 *
 * All values belong to one moment: when the kernel was told of the overflow.
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
 * struct vpmc_ring - What overflows are recorded in, if CONTROL asks for it
 * @nr_records:	How many records there is room for, a power of two.
 * @record_size: Bytes from one record to the next one.
 * @nr_counters: Number of elements of &struct vpmc_record.sum.
 * @watermark:	As in &struct vpmc_control.
 * @head:	How many records were written, modulo 2^32.
 * @tail:	How many of them VPMC_IOC_CONSUME has given back, modulo 2^32.
 * @lost:	How many were not written, because there was no room.
 * @reserved:	Zero.
 *
 * The ring is in the file behind the page: it is mapped at the page size as
 * offset, with VPMC_RING_SIZE() as length, read-only and shared. The records
 * follow this structure. Number n, counted from 0 on and modulo 2^32, is at::
 *
 *	(char *)(ring + 1) + (n & (nr_records - 1)) * record_size
 *
 * The records from @tail up to and without @head are there to be read, by any
 * one thread of the owner's process. It reads @head with acquire semantics, then
 * the records, and gives them back by VPMC_IOC_CONSUME: until then none of them is
 * changed. If all are waiting to be read a further one is not written, but
 * counted in @lost. A reader::
 *
 *	head = __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE);
 *	for (n = ring->tail; n != head; n++)
 *		use((char *)(ring + 1) +
 *		    (n & (ring->nr_records - 1)) * (size_t)ring->record_size);
 *	ioctl(fd, VPMC_IOC_CONSUME, head - ring->tail);
 *
 * A ring lives as long as the set that CONTROL programmed with it: the next
 * CONTROL, UNLINK, execve() and exit end it. What is mapped remains as it is.
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

/* Bytes of a ring for a set of so many counters. */
#define VPMC_RING_SIZE(nr_records, nr_counters)				\
	(sizeof(struct vpmc_ring) + (nr_records) *			\
	 (sizeof(struct vpmc_record) + (nr_counters) * sizeof(__u64)))

/*
 * &struct vpmc_read.flags: what is added to the root's own values. What a living
 * descendant cleared, or counted before a CONTROL of its own, is with the
 * finished ones'.
 */
#define VPMC_READ_LIVING	(1U << 0)  /* descendants that count */
#define VPMC_READ_FINISHED	(1U << 1)  /* those that do no longer */

/**
 * struct vpmc_read - Argument of VPMC_IOC_READ
 * @size:	In: bytes of this structure that the caller knows. It may end
 *		after the last sum in use. Out: bytes that the kernel filled.
 * @flags:	In: VPMC_READ_* bits.
 * @state:	Out: enum vpmc_state.
 * @nr_counters: Out: number of counters in the set.
 * @tid:	Out: thread id of the owner in the owner's pid namespace.
 * @living:	Out: with VPMC_READ_LIVING, how many descendants are included that
 *		live.
 * @finished:	Out: with VPMC_READ_FINISHED, how many that ended.
 * @lost:	Out: with any flag, from how many descendants the administrator
 *		took the PMU before they ended: what they did after that is
 *		not in the sums.
 * @ticks:	Out: run time while counting, in TSC ticks.
 * @ns:		Out: the same in nanoseconds, 0 without VPMC_FEATURE_TIME.
 * @switches:	Out: as in &struct vpmc_page.
 * @migrations:	Out: as in &struct vpmc_page.
 * @sum:	Out: the 64-bit sums. Elements from @nr_counters on are zero.
 *
 * All values belong to one moment, also when the owner runs on another CPU.
 * With VPMC_READ_LIVING each thread's belong to one moment of its own, and no
 * descendant is missed or included twice.
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
};

/*
 * The numbers carry no size: each structure begins with its own, so that it
 * can grow. A structure shorter than the kernel's is extended with zeros, a
 * longer one must end in zeros (E2BIG). Unknown flags and reserved fields that
 * are not zero give EINVAL. START, STOP, RESUME and UNLINK take no argument: it
 * must be zero. CLEAR takes a mask of the counters, bit n for element n, whose
 * sums are to start from zero again; 0 stands for everything: all sums, run time,
 * switches and migrations. RESUME starts a set that an overflow stopped, and does
 * nothing to any other one: it does not undo another thread's STOP. CONSUME takes
 * the number of records of the ring, the oldest ones, that have been read; more
 * than there are is EINVAL.
 *
 * START_ALL, STOP_ALL and CLEAR_ALL do to a root what START, STOP and CLEAR do, and
 * then the same to the set of each living descendant; to any other set they do what
 * those do. They take the same arguments, and fail with the same errors, all of them
 * before anything is done, or with EINTR on the way to a signal that kills. Each set
 * obeys at one moment of its own, not all at once. When the call returns all have,
 * and a descendant that was born meanwhile is in the state that the command gives. Of
 * those that ended meanwhile nothing from before is in the sums after CLEAR_ALL. A
 * call takes as many steps as there were descendants when it began; others that fork,
 * end or READ wait for one step at the most. Calls for one root come one after the
 * other.
 *
 * All but INFO need counters (ENOENT). CONTROL, START, STOP, CLEAR, RESUME,
 * CONSUME, UNLINK and those to all need a descriptor that is open for writing (EBADF), and
 * counters that are still attached (ESRCH). Who may do what is decided when the
 * file is opened, and goes with the descriptor, but for mmap() and what CONTROL
 * asks of its caller.
 *
 * The sums of a set that counts the kernel are for descriptors that may tell of
 * it: whoever opened the file could have counted the kernel at that moment, or
 * CONTROL has programmed such a set by the descriptor. By others READ, read() and
 * mmap() fail with EACCES, whoever owns the set, and whether it is inherited or
 * not; all other operations are as for any set. A page by such a descriptor cannot
 * be mapped either while another thread in that address space has a set that was
 * inherited or programmed from outside, and counts the kernel.
 *
 * START, STOP, CLEAR, RESUME and those to all need a set that was programmed and not revoked
 * (ENODATA), and CONSUME one that has a ring (ENODATA). READ and READ_CONTROL fail
 * with ENOSPC if the structure has no room for all counters of the set;
 * READ_CONTROL has then stored their number.
 *
 * read() gives a text at once, at any time; it never waits for what poll() reports,
 * and poll() says nothing about read().
 *
 * poll() reports POLLIN while an overflow has stopped the set; of a set with a ring,
 * while at least @ring_watermark of &struct vpmc_control records wait in it; of a set
 * that goes on by VPMC_CONTROL_REARM and has no ring, from an overflow on until
 * somebody reads the counters, by READ or read(). It reports POLLERR while a set is
 * revoked, and of a descriptor without counters, and POLLHUP once the counters are
 * detached, because their thread has ended, execve() unlinked them or somebody did.
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

#endif /* _UAPI_LINUX_VPMC_H */
