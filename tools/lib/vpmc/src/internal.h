/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the library's files share. Nothing of this is exported.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_INTERNAL_H
#define VPMC_INTERNAL_H

#include <stdarg.h>
#include <stdbool.h>

#include "../include/vpmc.h"

#define EXPORT		__attribute__((__visibility__("default")))
#define unlikely(x)	__builtin_expect(!!(x), 0)

/* Bits of an event select. */
#define SELECT_USR	(1ULL << 16)
#define SELECT_OS	(1ULL << 17)
#define SELECT_MODES	(SELECT_USR | SELECT_OS)

/*
 * A handle. What vpmc_read() needs comes first: @reader is @owner, or NULL where
 * RDPMC is forbidden; @nr is the number of counters in the set, as far as this
 * handle knows, and @running what the page has for VPMC_STATE_RUNNING and this
 * number: state and nr_counters in one. @owner is the thread pointer of the thread
 * whose counters they are, or NULL if that is unknown.
 */
struct vpmc {
	const struct vpmc_page *page;
	const void *reader;
	uint64_t running;
	unsigned int nr;
	int fd;
	const void *owner;
	bool local;		/* of a thread of this process */
	struct vpmc_ring *ring;
	size_t ring_size;
	struct vpmc *next, **link;
};

/* For no set: another state than any. */
#define NOT_RUNNING	(~0ULL)

/*
 * The address of the calling thread's control block: no other living thread of
 * the process has the same. A thread that has the address of one that ended
 * finds the page of a set that has ended, which is read without RDPMC.
 */
static inline const void *thread_pointer(void)
{
	const void *pointer;

#ifdef __x86_64__
	__asm__("mov %%fs:0, %0" : "=r" (pointer));
#else
	__asm__("mov %%gs:0, %0" : "=r" (pointer));
#endif
	return pointer;
}

/* program.c */

/**
 * vpmc_program_events() - Program events, without optional ones that are missing
 * @request:	Programs a set: 0, or a negative error number with bad_counter and
 *		reason set in @control.
 * @to:		Its first argument.
 * @events:	As in vpmc_program(), like all that follows.
 */
int vpmc_program_events(int (*request)(void *to, struct vpmc_control *control),
			void *to, struct vpmc_event *events, unsigned int nr,
			unsigned int flags, struct vpmc_error *error);

/* error.c */

void vpmc_error_none(struct vpmc_error *error);

/**
 * vpmc_error_set() - Fill in an error
 * @error:	May be NULL.
 * @err:	Negative error number; is returned.
 * @reason:	Its text and help are taken where @why and @remedy are NULL.
 * @what:	What was wrong.
 * @why:	Or NULL.
 * @remedy:	Or NULL.
 */
int vpmc_error_set(struct vpmc_error *error, int err, unsigned int reason,
		   const char *what, const char *why, const char *remedy);

/* An error number for which no reason is known. */
int vpmc_error_system(struct vpmc_error *error, int err, const char *what);

/* handle.c */

/* ioctl() with the error as negative number; -ESRCH after fork(). */
int vpmc_request(const struct vpmc *v, unsigned long request, unsigned long arg);

/* What vpmc_read() may rely on, of the page as opening or CONTROL has left it. */
void vpmc_take_page(struct vpmc *v);

/* The handle's ring from now on; what it had before is unmapped. */
void vpmc_set_ring(struct vpmc *v, struct vpmc_ring *ring, size_t size);

/* table.c: libpfm4, under its lock */

/* An event, or one unit mask of it. */
struct vpmc_umask {
	const char *table;
	const char *event;
	const char *umask;	/* or NULL: the event itself */
	const char *description;
	bool is_default;
};

void vpmc_table_lock(void);
void vpmc_table_unlock(void);

/**
 * vpmc_table_encode() - Encode a name of libpfm4's
 * @name:	The name, with unit masks and attributes.
 * @select:	Receives the event select.
 * @full:	Receives a full name to be freed, or NULL.
 *
 * Return: 0, or VPMC_WHY_* or VPMC_REASON_*; -ENOMEM.
 */
int vpmc_table_encode(const char *name, uint64_t *select, char **full);

/*
 * Calls @tell for each event of the table, and after it for each of its unit
 * masks. The lock is not held then. Ends when that returns other than 0, which is
 * returned.
 */
int vpmc_table_walk(int (*tell)(void *arg, const struct vpmc_umask *umask),
		    void *arg);

/* portable.c */

enum vpmc_kind vpmc_processor_kind(void);

struct vpmc_portable {
	const char *name, *alias, *description;
	uint32_t intel, amd;	/* event and unit mask; 0: there is none */
};

extern const struct vpmc_portable vpmc_portable[];
extern const unsigned int vpmc_nr_portable;

const struct vpmc_portable *vpmc_portable_find(const char *name, size_t length);
uint32_t vpmc_portable_code(const struct vpmc_portable *p, enum vpmc_kind kind);

/* similar.c */

/*
 * Adds names that come near to @error: events if @name's is unknown, else unit
 * masks of that event.
 */
void vpmc_similar(struct vpmc_error *error, const char *name, bool of_event);

/* events.c */

/*
 * The attribute by which an event select has a bit that the kernel refuses; NULL if
 * there is none, "" if the bit has no name.
 */
const char *vpmc_refused_attribute(uint64_t select, enum vpmc_kind kind);


#endif /* VPMC_INTERNAL_H */
