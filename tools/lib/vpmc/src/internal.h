/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the library's files share. None of them is exported.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_INTERNAL_H
#define VPMC_INTERNAL_H

#include <stdarg.h>
#include <stdbool.h>

#include "../include/vpmc.h"
#include "pieces.h"
#include "select.h"

#define EXPORT		__attribute__((__visibility__("default")))
#define unlikely(x)	__builtin_expect(!!(x), 0)

/*
 * Do two selects count the same? Those of libpfm4's events have bits that
 * VPMC_IOC_READ_CONTROL does not return.
 */
static inline bool vpmc_same_select(enum vpmc_kind kind, uint64_t a, uint64_t b)
{
	return !((a ^ b) & ~select_form(kind).owned);
}

/*
 * A handle. The members that vpmc_read() needs come first. @reader is @owner,
 * or NULL if RDPMC is forbidden. @nr is the number of counters in the set, as
 * this handle knows it. @running is the page's value of state and nr_counters,
 * read as one, while a set of @nr counters runs. @owner is the thread pointer
 * of the counters' thread, or NULL if that is unknown.
 */
struct vpmc {
	const struct vpmc_page *page;
	const void *reader;
	uint64_t running;
	unsigned int nr;
	int fd;
	const void *owner;
	bool local;		/* the counters are of a thread of this process */
	struct vpmc_ring *ring;
	size_t ring_size;
	struct vpmc *next, **link;
};

/* value of @running without a set; no page has this state */
#define NOT_RUNNING	(~0ULL)

/*
 * Returns the address of the calling thread's control block. It is unique among
 * the living threads of the process. A new thread may get the address of an
 * ended one. The page is then that of an ended set, which is not read by RDPMC.
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
 * @request:	Programs a set. Returns 0, or a negative error number with
 *		bad_counter and reason set in @control.
 * @to:		First argument of @request.
 * @events:	As in vpmc_program(), like all later arguments.
 */
int vpmc_program_events(int (*request)(void *to, struct vpmc_control *control),
			void *to, struct vpmc_event *events, unsigned int nr,
			unsigned int flags, struct vpmc_error *error);

/* Marks all events as not placed in a set. */
int vpmc_add_events(struct vpmc *v, struct vpmc_event *events, unsigned int nr,
		    struct vpmc_error *error);
void vpmc_forget_places(struct vpmc_event *events, unsigned int nr);

/* error.c */

void vpmc_error_none(struct vpmc_error *error);

/**
 * vpmc_error_set() - Fill in an error
 * @error:	The error to fill in, or NULL.
 * @err:	Negative error number. The function returns it.
 * @reason:	Its text and help replace @why and @remedy that are NULL.
 * @what:	What was wrong.
 * @why:	Why it was wrong, or NULL.
 * @remedy:	What helps, or NULL.
 */
int vpmc_error_set(struct vpmc_error *error, int err, unsigned int reason,
		   const char *what, const char *why, const char *remedy);

/* Fills in an error from an error number without a known reason. */
int vpmc_error_system(struct vpmc_error *error, int err, const char *what);

/* handle.c */

/* Calls ioctl(). Returns a negative error number; -ESRCH after fork(). */
int vpmc_request(const struct vpmc *v, unsigned long request, unsigned long arg);

/*
 * Copies from the page what vpmc_read() needs, after opening and after CONTROL.
 */
void vpmc_take_page(struct vpmc *v);

/* Sets the handle's ring. Unmaps the ring that it had before. */
void vpmc_set_ring(struct vpmc *v, struct vpmc_ring *ring, size_t size);

/* table.c: access to libpfm4 under a lock */

/* an event, or one unit mask of it */
struct vpmc_umask {
	const char *table;
	const char *event;
	const char *umask;	/* NULL for the event itself */
	const char *description;
	bool is_default;
};

void vpmc_table_lock(void);
void vpmc_table_unlock(void);

/**
 * vpmc_table_encode() - Encode one of libpfm4's names
 * @name:	The name, with unit masks and attributes.
 * @select:	Receives the event select.
 * @full:	Receives a full name to be freed, or NULL.
 *
 * Return: 0, a VPMC_WHY_* or VPMC_REASON_* value, or -ENOMEM.
 */
int vpmc_table_encode(const char *name, uint64_t *select, char **full);

/*
 * Calls @tell for each event of the table, followed by each of its unit masks.
 * The lock is not held during the calls. Stops when @tell does not return 0,
 * and returns that value.
 */
int vpmc_table_walk(int (*tell)(void *arg, const struct vpmc_umask *umask),
		    void *arg);

/* portable.c */

/*
 * Returns the kind of this processor's event selects and events. This is VPMC_KIND_P6 for
 * the processors of this kind whose events are not Intel's architectural ones. For the
 * others it is VPMC_KIND_INTEL.
 */
enum vpmc_kind vpmc_processor_kind(void);

/* The selects have no modes. 0: there is no such event. */
struct vpmc_portable {
	const char *name, *alias, *description;
	uint32_t intel, amd, p6;
	uint64_t p4;
};

extern const struct vpmc_portable vpmc_portable[];
extern const unsigned int vpmc_nr_portable;

const struct vpmc_portable *vpmc_portable_find(const char *name, size_t length);
uint64_t vpmc_portable_code(const struct vpmc_portable *p, enum vpmc_kind kind);

/* similar.c */

/*
 * Adds similar names to @error: names of events if the event of @name is
 * unknown, otherwise unit masks of that event.
 */
void vpmc_similar(struct vpmc_error *error, const char *name, bool of_event);

/* modes.c */

/* Parses the modes "u", "k", "uk" or "u:k". Returns 0 for anything else. */
uint64_t vpmc_modes_of(const char *text, enum vpmc_kind kind);

/*
 * If @text has perf's modifiers and no other letters, returns the first one that vpmc does
 * not take, why, and what helps. Otherwise returns NULL.
 */
const char *vpmc_perf_modifier(const char *text, const char **why, const char **help);

/* terms.c */

/* What is wrong with an event: where, why, and what helps. */
struct vpmc_complaint {
	const char *at;
	char why[160];
	char help[200];
};

/**
 * vpmc_terms_encode() - Encode the terms of "cpu/TERM,TERM/"
 * @body:	The event. @open and @close are its slashes.
 * @select:	Receives the event select, without modes.
 * @c:		Receives what is wrong.
 *
 * Return: 0, or a VPMC_WHY_* or VPMC_REASON_* value.
 */
int vpmc_terms_encode(const char *body, const char *open, const char *close,
		      enum vpmc_kind kind, uint64_t *select, struct vpmc_complaint *c);

/* Why NetBurst has none of perf's numbers and terms, and what helps */
extern const char vpmc_p4_perf_why[], vpmc_p4_perf_help[];

/* perfnames.c */

/* Does another register choose what is counted? The kernel does not program it. */
bool vpmc_needs_register(uint64_t select, enum vpmc_kind kind);

/**
 * vpmc_perf_name() - Find what perf in the kernel counts under a generic name
 * @name:	The name.
 * @length:	Its length.
 * @kind:	The processor's kind.
 * @select:	Receives the event select, without modes.
 * @c:		Receives what is wrong.
 *
 * Return: 0, or -ENOENT: perf has no such name; or a VPMC_WHY_* or VPMC_REASON_* value.
 */
int vpmc_perf_name(const char *name, size_t length, enum vpmc_kind kind,
		   uint64_t *select, struct vpmc_complaint *c);

/*
 * Returns true if an event that no table has is a tracepoint or a breakpoint, as perf writes
 * them. @c then says what helps.
 */
bool vpmc_perf_foreign(const char *name, struct vpmc_complaint *c);

/* The names, and other words for some of them, one after the other, up to NULL. */
const char *vpmc_perf_name_at(unsigned int i);

/* events.c */

/*
 * Returns the name of the attribute whose bit in @select the kernel refuses.
 * Returns NULL if there is no such bit, and "" if the bit has no name. On NetBurst
 * the names are those of bits in ESCR and CCCR.
 */
const char *vpmc_refused_attribute(uint64_t select, enum vpmc_kind kind);


#endif /* VPMC_INTERNAL_H */
