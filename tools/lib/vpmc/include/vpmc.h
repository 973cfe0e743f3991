/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: virtual performance counters of threads.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * vpmc(7) describes how the calls are used together. vpmc-read.h and vpmc-ring.h,
 * which come with this header, read a page and a ring inline. vpmc-region.h,
 * vpmc-harness.h and vpmc-stats.h count parts of a program.
 *
 * Calls that return an int return 0 or more, or a negative error number. They set
 * all their out-parameters on every return. They print only what VPMC_REPORT asks
 * for, and install no signal handler. errno has no meaning after them. A pointer
 * to struct vpmc_error may be NULL.
 *
 * Several threads may use a handle at once. But during vpmc_program(),
 * vpmc_program_raw(), vpmc_share(), vpmc_join(), vpmc_unshare(), vpmc_map_ring() and
 * vpmc_close() no other call may use the same handle. Two handles on one thread's counters
 * do not disturb each other.
 * The Context line of each call has the terms of ATTRIBUTES in vpmc(7).
 *
 * After fork() the child has no counters. A handle on a thread of the parent's
 * process returns -ESRCH in the child, and its page and ring read as zeros. A
 * handle on another process refers to the same thread in the child.
 */
#ifndef VPMC_H
#define VPMC_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <linux/vpmc.h>
#include "vpmc-harness.h"
#include "vpmc-read.h"
#include "vpmc-region.h"
#include "vpmc-ring.h"
#include "vpmc-stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A handle on a thread's counters. */
struct vpmc;

/**
 * enum vpmc_why - Reasons that only the library gives
 * @VPMC_WHY_SYNTAX:		The event list is not written as vpmc(7) says.
 * @VPMC_WHY_EMPTY:		The list, or one element of it, is empty.
 * @VPMC_WHY_UNKNOWN:		No event of this processor has that name.
 * @VPMC_WHY_NOT_PORTABLE:	This processor lacks that portable event.
 * @VPMC_WHY_NO_TABLE:		libpfm4 has no table of events for this processor.
 * @VPMC_WHY_ATTRIBUTE:		The event has no such unit mask or attribute.
 * @VPMC_WHY_REFUSED_ATTRIBUTE:	The kernel does not permit that attribute.
 * @VPMC_WHY_DOUBLED:		An event is in the list twice.
 * @VPMC_WHY_CONFLICT:		Two events ask for one counter.
 * @VPMC_WHY_NO_KERNEL:		The kernel has no vpmc, or /proc is not mounted.
 * @VPMC_WHY_OFF:		vpmc is switched off on the kernel's command line.
 * @VPMC_WHY_NO_THREAD:		There is no such thread, or it has ended.
 * @VPMC_WHY_NO_ACCESS:		The caller may not open that thread's counters.
 * @VPMC_WHY_KERNEL_THREAD:	It is a thread of the kernel.
 * @VPMC_WHY_EXISTS:		The thread has a set already.
 * @VPMC_WHY_SYSTEM:		A system call failed for another reason: see the
 *				error number.
 * @VPMC_WHY_UMASK:		The event counts nothing without a unit mask.
 *
 * Wherever the library has an enum vpmc_reason, it may have one of these instead.
 */
enum vpmc_why {
	VPMC_WHY_SYNTAX			= 0x1000,
	VPMC_WHY_EMPTY			= 0x1001,
	VPMC_WHY_UNKNOWN		= 0x1002,
	VPMC_WHY_NOT_PORTABLE		= 0x1003,
	VPMC_WHY_NO_TABLE		= 0x1004,
	VPMC_WHY_ATTRIBUTE		= 0x1005,
	VPMC_WHY_REFUSED_ATTRIBUTE	= 0x1006,
	VPMC_WHY_DOUBLED		= 0x1007,
	VPMC_WHY_CONFLICT		= 0x1008,
	VPMC_WHY_NO_KERNEL		= 0x1009,
	VPMC_WHY_OFF			= 0x100a,
	VPMC_WHY_NO_THREAD		= 0x100b,
	VPMC_WHY_NO_ACCESS		= 0x100c,
	VPMC_WHY_KERNEL_THREAD		= 0x100d,
	VPMC_WHY_EXISTS			= 0x100e,
	VPMC_WHY_SYSTEM			= 0x100f,
	VPMC_WHY_UMASK			= 0x1010,
};

/* Maximum number of similar names in a struct vpmc_error, and their length. */
#define VPMC_SIMILAR	3
#define VPMC_NAME_SIZE	64

/**
 * struct vpmc_error - What went wrong, for programs and for people
 * @errnum:	Positive error number; 0: nothing went wrong.
 * @reason:	enum vpmc_reason or enum vpmc_why; VPMC_REASON_NONE with @errnum 0.
 * @event:	Number of the event in the list or array that was passed, counted
 *		from 0; -1: no single event is wrong.
 * @position:	Where the error is in the text of the list, in bytes from its
 *		beginning; -1: there is no text.
 * @nr_similar:	How many elements of @similar are used.
 * @reserved:	Zero.
 * @what:	What was wrong: the event as written, or the action that failed.
 * @why:	Why it was wrong, in a few words.
 * @remedy:	What helps; empty if nothing does.
 * @text:	The finished sentence, "WHAT: WHY; REMEDY".
 * @similar:	Names that are similar to an unknown one, the nearest first. @remedy
 *		contains them, too.
 *
 * All strings end with a NUL and have no newline.
 */
struct vpmc_error {
	int	errnum;
	unsigned int reason;
	int	event;
	int	position;
	unsigned int nr_similar;
	unsigned int reserved[3];
	char	what[160];
	char	why[160];
	char	remedy[256];
	char	text[600];
	char	similar[VPMC_SIMILAR][VPMC_NAME_SIZE];
};

/* struct vpmc_event.flags */
#define VPMC_EVENT_OPTIONAL	(1U << 0)  /* '?': may be left out */
#define VPMC_EVENT_LEFT_OUT	(1U << 1)  /* was left out, for @reason */
#define VPMC_EVENT_PORTABLE	(1U << 2)  /* one of the seven portable names */
#define VPMC_EVENT_RAW		(1U << 3)  /* written as a number */
#define VPMC_EVENT_PRESERVE	(1U << 4)  /* go on from the sum of this element */
#define VPMC_EVENT_USUAL_MODES	(1U << 5)  /* no modes are written: user mode alone */

/**
 * struct vpmc_event - One event of a list
 * @text:	As written in the list, without surrounding blanks. In a group with
 *		modes, as it can be written without the group.
 * @name:	The same without a counter and '?', and with its modes: ":u" if none
 *		are written, "u" behind "cpu/.../". For one of libpfm4's names, the table comes first, and
 *		all unit masks and attributes follow.
 * @select:	The event select for struct vpmc_counter.evtsel.
 * @index:	RDPMC index of the counter that the list asks for, or VPMC_ANY.
 * @flags:	VPMC_EVENT_* bits. PRESERVE may be set by the caller.
 * @period:	The caller may set a period before vpmc_program(); 0: none.
 * @reason:	Why it was left out: enum vpmc_reason or enum vpmc_why.
 * @element:	After vpmc_program(): index of its count; -1: it was left out.
 * @counter:	After vpmc_program(): RDPMC index of the counter that counts it, or
 *		VPMC_ANY if the thread has ended meanwhile.
 * @position:	Where in the text of the list it begins, in bytes.
 * @reserved:	Zero.
 */
struct vpmc_event {
	const char *text;
	const char *name;
	uint64_t select;
	uint32_t index;
	uint32_t flags;
	uint64_t period;
	uint32_t reason;
	int32_t	element;
	uint32_t counter;
	uint32_t position;
	uint64_t reserved[2];
};

/* struct vpmc_event_info.flags */
#define VPMC_INFO_PORTABLE	(1U << 0)  /* a portable name, or perf's other word for it */
#define VPMC_INFO_UMASK		(1U << 1)  /* one unit mask of an event */
#define VPMC_INFO_DEFAULT	(1U << 2)  /* the one taken if none is named */

/**
 * struct vpmc_event_info - One event or unit mask from vpmc_list_events()
 * @name:	The name as it can be written in a list, for instance
 *		"INST_RETIRED:ANY_P".
 * @event:	The event's name alone.
 * @umask:	The unit mask's name alone, or NULL.
 * @description: What it counts.
 * @table:	libpfm4's name of the table; "perf" for perf's generic names; NULL for
 *		portable names.
 * @flags:	VPMC_INFO_* bits.
 * @reason:	0 if the library can encode it; otherwise enum vpmc_reason or enum
 *		vpmc_why, for instance VPMC_REASON_EXTRA_MSR.
 * @select:	The event select, for user mode; 0 if there is a reason.
 *
 * The strings are valid until the callback returns.
 */
struct vpmc_event_info {
	const char *name;
	const char *event;
	const char *umask;
	const char *description;
	const char *table;
	uint32_t flags;
	uint32_t reason;
	uint64_t select;
};

/* Flags of vpmc_open() and vpmc_open_thread(). */
#define VPMC_OPEN_EXISTING	(1U << 0)  /* attach none: -ENOENT if there are none */
#define VPMC_OPEN_READ		(1U << 1)  /* the same, and only for reading */

/* Bits that vpmc_wait() reports. */
#define VPMC_WAIT_OVERFLOW	(1U << 0)  /* overflow, or enough records */
#define VPMC_WAIT_END		(1U << 1)  /* the thread has ended, or the set was detached */
#define VPMC_WAIT_REVOKED	(1U << 2)  /* the administrator has taken the PMU */

/**
 * vpmc_version() - The library's version
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: For instance "0.1.0".
 */
const char *vpmc_version(void);

/**
 * vpmc_open() - Open the calling thread's counters
 * @v:		Receives the handle; NULL on error.
 * @flags:	0 attaches counters if the thread has none; or VPMC_OPEN_* bits.
 * @error:	Receives what went wrong; may be NULL.
 *
 * The page is mapped, so that vpmc_read() makes no system call in this thread.
 * The descriptor is closed by execve(). The counters live until vpmc_unlink() or
 * until the thread ends, even if all handles are closed before.
 *
 * Context: MT-Safe, AS-Unsafe lock heap.
 *
 * Return: 0, or -ENOSYS: the kernel has no vpmc; -ENODEV: it is switched off;
 * -ENOENT: VPMC_OPEN_EXISTING, and there are no counters; -EACCES: only privileged
 * users may count, or somebody counts the kernel in a thread of this process, and the caller
 * may not see that; -EINVAL: unknown flags; -EMFILE, -ENFILE, -ENOMEM.
 */
int vpmc_open(struct vpmc **v, unsigned int flags, struct vpmc_error *error);

/**
 * vpmc_open_thread() - Open the counters of any thread
 * @v:		Receives the handle; NULL on error.
 * @tid:	Thread id. A process id stands for the first thread of the process.
 * @flags:	As for vpmc_open().
 * @error:	Receives what went wrong; may be NULL.
 *
 * To open a thread of another process the caller must be allowed to debug it.
 * vpmc_read() also reads the counts of another thread, by a system call.
 *
 * Context: MT-Safe, AS-Unsafe lock heap.
 *
 * Return: As vpmc_open(), and -ESRCH: there is no such thread, or it is exiting;
 * -EACCES, -EPERM: the caller may not debug it; -EOPNOTSUPP: it is a thread of
 * the kernel.
 */
int vpmc_open_thread(struct vpmc **v, pid_t tid, unsigned int flags,
		     struct vpmc_error *error);

/**
 * vpmc_open_fd() - Open the counters that a descriptor refers to
 * @v:		Receives the handle; NULL on error.
 * @fd:		A descriptor of a file "perfctr", inherited or passed. The handle
 *		keeps a copy. @fd still belongs to the caller.
 * @error:	Receives what went wrong; may be NULL.
 *
 * The permissions are those with which the file was opened.
 *
 * Context: MT-Safe, AS-Unsafe lock heap.
 *
 * Return: 0, or -EBADF; -ENOTTY: it is another kind of file; -ENOENT: there were no
 * counters when it was opened; -EMFILE, -ENOMEM.
 */
int vpmc_open_fd(struct vpmc **v, int fd, struct vpmc_error *error);

/**
 * vpmc_close() - Close a handle
 * @v:		The handle. NULL does nothing.
 *
 * The counters continue. The page and the ring of this handle are unmapped, and
 * must not be read any more.
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v lock heap.
 */
void vpmc_close(struct vpmc *v);

/**
 * vpmc_fd() - The descriptor of a handle
 * @v:		The handle.
 *
 * Callers may poll() it together with others, or pass it on. It belongs to the
 * handle, so do not close it.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The descriptor, or -ESRCH in a child after fork().
 */
int vpmc_fd(const struct vpmc *v);

/**
 * vpmc_page() - The page of a handle, for inline reads
 * @v:		The handle.
 *
 * The functions of vpmc-read.h take it. Only the owner thread may call them, and
 * only if the page's caps have VPMC_CAP_RDPMC. The page stays mapped until
 * vpmc_close(). In a child after fork() it reads as zeros.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The page; or NULL for a thread of another process, and for counters that were
 * detached before they were opened. vpmc_open() fails if it cannot map the page.
 */
const struct vpmc_page *vpmc_page(const struct vpmc *v);

struct vpmc_cpus;

/*
 * Structures of <linux/vpmc.h> may become longer. These calls take the size that the caller
 * knows: they write no more than that, and set to zero what this library does not know. The
 * calls without "_sized" below pass the size of the header that a program is compiled with.
 * Other languages call these.
 */

/**
 * vpmc_get_info_sized() - vpmc_get_info() for a caller that knows @size bytes
 * @info:	Receives them.
 * @size:	Bytes.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_get_info().
 */
int vpmc_get_info_sized(struct vpmc_info *info, size_t size);

/**
 * vpmc_get_control_sized() - vpmc_get_control() for a caller that knows @size bytes
 * @v:		The handle.
 * @control:	Receives them.
 * @size:	Bytes.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_get_control().
 */
int vpmc_get_control_sized(const struct vpmc *v, struct vpmc_control *control,
			   size_t size);

/**
 * vpmc_fill_control_sized() - vpmc_fill_control() for a caller that knows @size bytes
 * @events:	As for vpmc_fill_control().
 * @nr:		As for vpmc_fill_control().
 * @flags:	As for vpmc_fill_control().
 * @control:	Receives them.
 * @size:	Bytes.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_fill_control(), and -ENOSPC: @size has no room for the counters.
 */
int vpmc_fill_control_sized(const struct vpmc_event *events, unsigned int nr,
			    unsigned int flags, struct vpmc_control *control,
			    size_t size);

/**
 * vpmc_program_raw_sized() - vpmc_program_raw() for a caller that has set @control's size
 * @v:		The handle.
 * @control:	The structure, with its size.
 * @error:	As for vpmc_program_raw().
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v heap.
 *
 * Return: As vpmc_program_raw().
 */
int vpmc_program_raw_sized(struct vpmc *v, struct vpmc_control *control,
			   struct vpmc_error *error);

/**
 * vpmc_read_sums_sized() - vpmc_read_sums() for a caller that knows @size bytes
 * @v:		The handle.
 * @flags:	As for vpmc_read_sums().
 * @sums:	Receives them.
 * @size:	Bytes.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_read_sums().
 */
int vpmc_read_sums_sized(const struct vpmc *v, unsigned int flags,
			 struct vpmc_read *sums, size_t size);

/**
 * vpmc_read_members_sized() - vpmc_read_members() for a caller that has set the sizes
 * @v:		The handle.
 * @read:	The structure, with its size and all that it passes to the kernel.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_read_members().
 */
int vpmc_read_members_sized(const struct vpmc *v, struct vpmc_read_members *read);

/**
 * vpmc_cpus_read_sized() - vpmc_cpus_read() for a caller that knows @size bytes
 * @cpus:	The handle.
 * @first:	As for vpmc_cpus_read().
 * @cpu:	Receives the elements.
 * @nr:		Number of elements.
 * @size:	Bytes of an element.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_cpus_read().
 */
int vpmc_cpus_read_sized(const struct vpmc_cpus *cpus, unsigned int first,
			 void *cpu, unsigned int nr, size_t size);

/**
 * vpmc_get_info() - Describe the PMU
 * @info:	Receives what VPMC_IOC_INFO says; zeros on error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -ENOSYS: the kernel has no vpmc; -ENODEV: it is switched off; -EMFILE,
 * -ENFILE: there is no descriptor for the file that tells it; -ENOMEM.
 */
static inline int vpmc_get_info(struct vpmc_info *info)
{
	return vpmc_get_info_sized(info, sizeof(*info));
}

/**
 * vpmc_table() - libpfm4's table of this processor's events
 * @description: Receives libpfm4's name of the processor, or NULL; may be NULL.
 *
 * The environment variable LIBPFM_FORCE_PMU chooses another table. It must be set
 * before the first call that names an event.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: Its name, for instance "skl"; NULL if there is none.
 */
const char *vpmc_table(const char **description);

/**
 * vpmc_check() - Check whether counting is possible here
 * @error:	Receives why not, and what helps; may be NULL.
 *
 * The call creates a thread, which programs a stopped set. So the kernel applies
 * all its rules, and the caller's counters do not change. During the call, and up
 * to a second longer, the PMU belongs to vpmc.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: 0: instructions in user mode can be counted; or the error that
 * vpmc_open() or vpmc_program() gave.
 */
int vpmc_check(struct vpmc_error *error);

/**
 * vpmc_parse_events() - Parse a list of events
 * @list:	The events, separated by commas, as vpmc(7) describes them.
 * @events:	Receives an array, which vpmc_free_events() frees. NULL on error.
 * @nr:		Receives its number of elements, at least 1; 0 on error.
 * @error:	Receives which event is wrong and why; may be NULL.
 *
 * This call asks the kernel only for the kind of the processor. What the kernel
 * permits is known after vpmc_program(). Events with '?' that this processor does
 * not have are in the array with VPMC_EVENT_LEFT_OUT and a reason.
 *
 * A list may have more events than there are counters. A program can then count
 * parts of it in turn.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: 0, or -EINVAL: an event has wrong syntax, is empty, is doubled, or
 * conflicts with another one; -ENOENT: there is no such event; -EOPNOTSUPP: vpmc
 * cannot count an event; -ENOMEM.
 */
int vpmc_parse_events(const char *list, struct vpmc_event **events,
		      unsigned int *nr, struct vpmc_error *error);

/**
 * vpmc_free_events() - Free an array of events
 * @events:	From vpmc_parse_events(). NULL does nothing.
 *
 * Context: MT-Safe, AS-Unsafe heap.
 */
void vpmc_free_events(struct vpmc_event *events);

/**
 * vpmc_list_events() - List all events of this processor
 * @tell:	Called for each event. The list ends when it does not return 0. It
 *		may use the library.
 * @arg:	First argument of @tell.
 *
 * The portable names come first, with perf's other words for them, such as cpu-cycles. Then
 * come perf's generic names that this processor has, then each event of libpfm4's table,
 * followed by its unit masks.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: 0, or what @tell returned.
 */
int vpmc_list_events(int (*tell)(void *arg, const struct vpmc_event_info *info),
		     void *arg);

/**
 * vpmc_program() - Program a set of events
 * @v:		The handle.
 * @events:	The events, which may be a part of what vpmc_parse_events() returned,
 *		or made by hand. NULL counts only run time, switches and migrations.
 * @nr:		Number of @events.
 * @flags:	VPMC_CONTROL_* bits of <linux/vpmc.h>.
 * @error:	Receives what was refused, and why; may be NULL.
 *
 * The call programs the whole set, and starts it unless VPMC_CONTROL_STOPPED is
 * set. On error it changes nothing. It leaves out optional events that the kernel
 * refuses because the processor does not have them. Afterwards @element and
 * @counter of each event tell where its count is.
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v heap.
 *
 * Return: The number of counters in the set, or an error of CONTROL, see vpmc(7):
 * -EINVAL, -ENOSPC, -EOPNOTSUPP, -EACCES, -ENODEV, -EBUSY, -EEXIST, -ENOMEM,
 * -ESRCH, -EBADF.
 */
int vpmc_program(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		 unsigned int flags, struct vpmc_error *error);

/**
 * vpmc_share() - Count events, with the set that is there if there is one
 * @v:		The handle.
 * @events:	As for vpmc_program().
 * @nr:		Number of @events.
 * @error:	Receives what was refused, and why; may be NULL.
 *
 * For code that does not know who else counts its thread, such as a library. If nobody
 * has programmed a set, this is vpmc_program() with VPMC_CONTROL_NEW. If somebody has, as
 * vpmc stat does, that set counts on as it is: what it counts of @events is used, and the
 * others are added (VPMC_CONTROL_ADD) until @v is closed. It is started if it is stopped.
 * Afterwards @element and @counter of each event tell where its count is: among those of
 * others, and not in the order of @events. So give vpmc_read() room for
 * VPMC_MAX_COUNTERS. Periods cannot be added: to a set that is there, an event with a
 * period is refused (-EINVAL).
 *
 * A set that was revoked counts as none. If there is no room for an event, @error has its
 * number and its name, and the number of counters that the set has.
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v heap.
 *
 * Return: The number of counters in the set; or -EEXIST: the thread has inherited a set
 * without counters; or as vpmc_program().
 */
int vpmc_share(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
	       struct vpmc_error *error);

/**
 * vpmc_join() - Count events with the set that is there, or not at all
 * @v:		The handle.
 * @events:	As for vpmc_share().
 * @nr:		Number of @events.
 * @error:	Receives what was refused, and why; may be NULL.
 *
 * This is the part of vpmc_share() that adds. It neither programs a set, nor starts or stops
 * the one that is there, whatever others do at the same time. To know which set it has
 * joined, compare set_number of vpmc_read_sums() before and after: if they are equal, it is
 * that one.
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v heap.
 *
 * Return: The number of counters in the set; or -ENODATA: the thread has no set, or it was
 * revoked; or -EBUSY: somebody has programmed another set meanwhile; or as vpmc_share().
 */
int vpmc_join(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
	      struct vpmc_error *error);

/**
 * vpmc_unshare() - Give back what was added to a set that is there
 * @v:		The handle.
 *
 * vpmc_close() does this, too. After this call the handle can share again, with other
 * events. Counters that others added stay. If other handles have shared the set, what
 * this one added stays as well, until these are closed or call this. Do not call it for a
 * set that this handle has programmed with VPMC_CONTROL_UNLINK_ON_CLOSE: it would end that
 * set.
 *
 * vpmc_fd() and vpmc_page() return the same as before. The descriptor has the flags that it
 * had, such as FD_CLOEXEC and O_NONBLOCK, but it is that of another open file. So epoll(7)
 * has forgotten it, and must be told again. Copies of the descriptor, by dup(2) or fork(2),
 * are still of the old file: as long as there is one, what was added stays.
 *
 * The call neither allocates memory nor writes messages. A signal handler may use it for a
 * handle that the interrupted code does not use.
 *
 * Context: MT-Safe race:v, AS-Safe race:v.
 *
 * Return: 0; or an error, and nothing has changed: -EBUSY: the handle has a ring
 * mapped; -ESRCH: the counters were detached, or in a child after fork(); -EACCES: the
 * caller may not open them any more; -EMFILE, -ENFILE, -ENOMEM.
 */
int vpmc_unshare(struct vpmc *v);

/**
 * vpmc_fill_control() - Fill in the kernel's structure from events
 * @events:	The events. Those that are left out are skipped.
 * @nr:		Number of @events, at most VPMC_MAX_COUNTERS of them not left out.
 * @flags:	VPMC_CONTROL_* bits.
 * @control:	Receives the structure; zeros on error.
 *
 * The caller may add a signal, a ring or room for the records of members before
 * vpmc_program_raw().
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -ENOSPC: too many.
 */
static inline int vpmc_fill_control(const struct vpmc_event *events, unsigned int nr,
				    unsigned int flags, struct vpmc_control *control)
{
	return vpmc_fill_control_sized(events, nr, flags, control, sizeof(*control));
}

/**
 * vpmc_program_raw() - Program a set from the kernel's structure
 * @v:		The handle.
 * @control:	The structure; @size may be 0 for all of it. @bad_counter and
 *		@reason are set.
 * @error:	Receives what was refused, and why; may be NULL.
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v heap.
 *
 * Return: As vpmc_program().
 */
static inline int vpmc_program_raw(struct vpmc *v, struct vpmc_control *control,
				   struct vpmc_error *error)
{
	if (!control->size)
		control->size = sizeof(*control);
	return vpmc_program_raw_sized(v, control, error);
}

/**
 * vpmc_get_control() - Read back what is programmed
 * @v:		The handle.
 * @control:	Receives what VPMC_IOC_READ_CONTROL says; zeros on error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -ESRCH, -ENOENT, -ENOMEM.
 */
static inline int vpmc_get_control(const struct vpmc *v, struct vpmc_control *control)
{
	return vpmc_get_control_sized(v, control, sizeof(*control));
}

/**
 * vpmc_start() - Start a programmed set, from the sums that it has
 * @v:		The handle.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -ENODATA: nothing is programmed, or it was revoked; -ESRCH: the
 * thread has ended, or the set was detached; -EBADF: opened only for reading.
 */
int vpmc_start(struct vpmc *v);

/**
 * vpmc_stop() - Stop a set and keep its sums
 * @v:		The handle.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_start().
 */
int vpmc_stop(struct vpmc *v);

/**
 * vpmc_clear() - Set sums to zero
 * @v:		The handle.
 * @mask:	Bit n stands for element n of the set. 0 clears all of them, the run
 *		time, the switches and the migrations.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_start(), and -EINVAL: the set has no such element.
 */
int vpmc_clear(struct vpmc *v, uint32_t mask);

/**
 * vpmc_resume() - Go on after an overflow
 * @v:		The handle.
 *
 * May be called by a signal handler.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_start().
 */
int vpmc_resume(struct vpmc *v);

/**
 * vpmc_unlink() - Detach the counters from their thread permanently
 * @v:		The handle. Its sums can still be read.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -ESRCH: they are detached; -EBADF: opened only for reading.
 */
int vpmc_unlink(struct vpmc *v);

/**
 * vpmc_read() - Read all counters and the run time of a set
 * @v:		The handle.
 * @count:	Receives the counts, in the order in which they were programmed;
 *		zeros beyond them, and on error.
 * @nr:		Number of elements of @count.
 * @ticks:	Receives the run time while counting, in TSC ticks; 0 on error.
 *		May be NULL.
 *
 * All values are of the same moment. The thread that owns the counters needs no
 * system call. Other threads use VPMC_IOC_READ, and so does the owner if RDPMC is
 * forbidden. A signal handler may call this. A child of vfork() must not, as it
 * must not call the library at all.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The number of counters in the set; or -ENOSPC: they are more than @nr; -EACCES:
 * not allowed to see counts of the kernel; -ESRCH in a child after fork().
 */
int vpmc_read(const struct vpmc *v, uint64_t *count, unsigned int nr,
	      uint64_t *ticks);

/**
 * vpmc_read_sums() - Read a set, or a family of sets, by a system call
 * @v:		The handle. Its thread may have ended.
 * @flags:	0: only this set. VPMC_READ_LIVING and VPMC_READ_FINISHED add the
 *		sums of the descendants that inherited it.
 * @sums:	Receives the sums, nanoseconds, state and numbers of descendants;
 *		zeros on error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -EACCES: not allowed to see counts of the kernel; -ESRCH in a child after
 * fork(); -EINVAL: unknown flags.
 */
static inline int vpmc_read_sums(const struct vpmc *v, unsigned int flags,
				 struct vpmc_read *sums)
{
	return vpmc_read_sums_sized(v, flags, sums, sizeof(*sums));
}

/**
 * vpmc_read_members() - Read what each member of a family counted
 * @v:		The handle of the root. Its thread may have ended.
 * @flags:	VPMC_READ_LIVING: members that live, after number @after of @read; or
 *		VPMC_READ_FINISHED: members that have left.
 * @member:	Receives one element for each member.
 * @nr:		Number of elements in @member, at least 1.
 * @read:	In: @after, 0 for the first call. Out: @after, for the next call;
 *		@nr, @nr_counters, @missed and @born, see <linux/vpmc.h>.
 *
 * The members are the threads that have inherited the root's set. @members of struct
 * vpmc_control, with which vpmc_program_raw() programs the root, is the number of
 * members that can leave before this call must read them. vpmc_wait() reports
 * VPMC_WAIT_OVERFLOW when half of the room is used.
 *
 * Members that live must be read first, and those that have left then. A member that
 * is there twice, with one number, has left meanwhile, and its last values are right.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The number of elements that were filled in, 0 if there are no more; or
 * -ENODATA: the set is no root, or was programmed without @members; -ENOTTY: the
 * kernel does not keep what members counted; -EBADF: VPMC_READ_FINISHED, and opened
 * only for reading; -EACCES: not allowed to see counts of the kernel; -EINVAL:
 * unknown flags, or @nr is 0; -ESRCH in a child after fork(); -ENOMEM.
 */
static inline int vpmc_read_members(const struct vpmc *v, unsigned int flags,
				    struct vpmc_member *member, unsigned int nr,
				    struct vpmc_read_members *read)
{
	read->size = sizeof(*read);
	read->flags = flags;
	read->nr = nr;
	read->member_size = sizeof(*member);
	read->reserved = 0;
	read->members = (uintptr_t)member;
	return vpmc_read_members_sized(v, read);
}

/**
 * vpmc_wait() - Wait for an overflow or for the end
 * @v:		The handle.
 * @milliseconds: Longest time to wait; 0: do not wait.
 * @seen:	Receives VPMC_WAIT_* bits; 0 after the time and on error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0; or -EINTR: a signal came; -EINVAL: a negative time; -ESRCH in a
 * child after fork().
 */
int vpmc_wait(const struct vpmc *v, int milliseconds, unsigned int *seen);

/**
 * vpmc_map_ring() - Map the ring of the set that this handle has programmed
 * @v:		The handle, of a thread of this process.
 * @ring:	Receives the ring; NULL on error.
 *
 * vpmc_ring_unread() and vpmc_ring_record() of vpmc-ring.h read it. It stays
 * mapped until the next vpmc_map_ring() or vpmc_close().
 *
 * Context: MT-Safe race:v, AS-Unsafe race:v lock.
 *
 * Return: 0, or -ENODATA: the set has no ring; -EPERM: not of this process;
 * -ESRCH: it was detached; -ENOMEM.
 */
int vpmc_map_ring(struct vpmc *v, const struct vpmc_ring **ring);

/**
 * vpmc_consume() - Release the oldest records of a ring
 * @v:		The handle.
 * @nr:		How many have been read.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -EINVAL: there are fewer; -ENODATA: the set has no ring; -ESRCH.
 */
int vpmc_consume(struct vpmc *v, uint32_t nr);

/**
 * vpmc_ticks_to_ns() - Convert TSC ticks to nanoseconds
 * @v:		The handle.
 * @ticks:	The ticks.
 * @ns:		Receives the nanoseconds; 0 on error.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0, or -EOPNOTSUPP: the kernel does not know the TSC's rate; -ESRCH in
 * a child after fork().
 */
int vpmc_ticks_to_ns(const struct vpmc *v, uint64_t ticks, uint64_t *ns);

/*
 * Counters of processors (/dev/perfctr). They count all threads that run there.
 */
struct vpmc_cpus;

/**
 * vpmc_cpus_open() - Open the counters of processors
 * @cpus:	Receives the handle, or NULL.
 * @error:	Receives what is wrong; may be NULL.
 *
 * Context: MT-Safe, AS-Unsafe heap.
 *
 * Return: 0; -ENOSYS: the kernel has none; -EACCES: not allowed, see
 * <linux/vpmc.h>; -EMFILE, -ENFILE: there is no descriptor; -ENOMEM; or another error of
 * open().
 */
int vpmc_cpus_open(struct vpmc_cpus **cpus, struct vpmc_error *error);

/**
 * vpmc_cpus_close() - Close a handle and end what it has programmed
 * @cpus:	The handle, or NULL.
 *
 * Context: MT-Safe race:cpus, AS-Unsafe race:cpus heap.
 */
void vpmc_cpus_close(struct vpmc_cpus *cpus);

/**
 * vpmc_cpus_program() - Program the set of one processor or of all
 * @cpus:	The handle.
 * @cpu:	Its number, or VPMC_ALL_CPUS. A processor that is offline gets the set, too,
 *		and counts when it comes online.
 * @events:	The events, as for vpmc_program(). NULL ends the set.
 * @nr:		Number of @events.
 * @flags:	VPMC_GLOBAL_* bits of <linux/vpmc.h>.
 * @interval_ms: Milliseconds between samples, or 0, as in <linux/vpmc.h>.
 * @error:	Receives what was refused, and why; may be NULL.
 *
 * @element of each event tells afterwards which sum is its count. @counter is the
 * counter that the caller has asked for, or VPMC_ANY.
 *
 * Context: MT-Safe, AS-Unsafe heap.
 *
 * Return: The number of counters in the set, or an error of CONTROL, such as -EINVAL: there
 * is no such processor, @interval_ms is not possible, or a flag is unknown; -EBUSY: the
 * processor counts. @error says which one.
 */
int vpmc_cpus_program(struct vpmc_cpus *cpus, unsigned int cpu,
		      struct vpmc_event *events, unsigned int nr,
		      unsigned int flags, unsigned int interval_ms,
		      struct vpmc_error *error);

/**
 * vpmc_cpus_start() - Start all processors that have a set
 * @cpus:	The handle.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: 0; -ENODATA: nothing is programmed, or the PMU was taken away; -EBUSY:
 * another handle has the counters.
 */
int vpmc_cpus_start(struct vpmc_cpus *cpus);

/**
 * vpmc_cpus_stop() - Stop all processors
 * @cpus:	The handle.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_cpus_start().
 */
int vpmc_cpus_stop(struct vpmc_cpus *cpus);

/**
 * vpmc_cpus_clear() - Set the sums and times of all processors to zero
 * @cpus:	The handle.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: As vpmc_cpus_start().
 */
int vpmc_cpus_clear(struct vpmc_cpus *cpus);

/**
 * vpmc_cpus_read() - Read what processors have counted
 * @cpus:	The handle.
 * @first:	Number of the first processor.
 * @cpu:	Receives one element for each processor number from @first.
 * @nr:		Number of elements in @cpu.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: The number of elements filled in, or -EINVAL: there is no such
 * processor, or @nr is 0.
 */
static inline int vpmc_cpus_read(const struct vpmc_cpus *cpus, unsigned int first,
				 struct vpmc_global_cpu *cpu, unsigned int nr)
{
	return vpmc_cpus_read_sized(cpus, first, cpu, nr, sizeof(*cpu));
}

/**
 * vpmc_reason_name() - The name of a reason
 * @reason:	enum vpmc_reason or enum vpmc_why.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: For instance "pmu-watchdog"; "unknown" for a number without a name.
 */
const char *vpmc_reason_name(unsigned int reason);

/**
 * vpmc_reason_text() - The text of a reason
 * @reason:	enum vpmc_reason or enum vpmc_why.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: A clause without a full stop.
 */
const char *vpmc_reason_text(unsigned int reason);

/**
 * vpmc_reason_help() - What helps against a reason
 * @reason:	enum vpmc_reason or enum vpmc_why.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: A clause without a full stop; empty if nothing helps.
 */
const char *vpmc_reason_help(unsigned int reason);

/**
 * vpmc_holder_text() - The text of a holder of the PMU
 * @holder:	VPMC_HOLDER_*, of struct vpmc_info.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: A clause without a full stop.
 */
const char *vpmc_holder_text(unsigned int holder);

/**
 * vpmc_holder_help() - How a holder can be made to give the PMU back
 * @holder:	VPMC_HOLDER_*, of struct vpmc_info.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: A clause without a full stop; empty if there is nothing to do.
 */
const char *vpmc_holder_help(unsigned int holder);

/**
 * vpmc_state_text() - The name of a set's state
 * @state:	enum vpmc_state.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: For instance "running". read() of the file gives the same name.
 */
const char *vpmc_state_text(unsigned int state);

#ifdef __cplusplus
}
#endif

#endif /* VPMC_H */
