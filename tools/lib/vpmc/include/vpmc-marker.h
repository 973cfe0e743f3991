/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * libvpmc: markers, which are regions in one line of source.
 *
 *	#include <vpmc-marker.h>
 *
 *	VPMC_REGION("rows") {
 *		work();
 *	}
 *
 * Without -DVPMC the macros are empty, and the program needs no library. With -DVPMC, and
 * -lvpmc, each pass of a marker is a sample of the region of that name, in the thread that
 * passes it. Nothing is counted unless somebody asks for it: vpmc stat -m or --rank,
 * VPMC_EVENTS or VPMC_REPORT in the environment, or a program that has opened its regions
 * itself. vpmc-marker(7) describes this.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_MARKER_H
#define VPMC_MARKER_H

#ifndef VPMC

/*
 * VPMC_REGION(NAME) { ... }	counts what is in the braces, however they are left.
 * VPMC_SCOPE(NAME);		counts from here to the end of the block that it is in.
 * VPMC_BEGIN(NAME);		begins a region, and
 * VPMC_END(NAME);		ends it, in the same thread; maybe in another function.
 * VPMC_OPEN();			makes the thread ready. Its first marker does this otherwise.
 * VPMC_WRITE();		writes the report now, as at exit: before _exit() or execve().
 *
 * NAME is a string that does not change, of 1 to 255 bytes.
 */
#define VPMC_REGION(name)
#define VPMC_SCOPE(name)	((void)0)
#define VPMC_BEGIN(name)	((void)0)
#define VPMC_END(name)		((void)0)
#define VPMC_OPEN()		((void)0)
#define VPMC_WRITE()		((void)0)

#else

#include <errno.h>

#include <vpmc-region.h>

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct vpmc_place - A marker in the source
 * @name:	Name of the region.
 * @file:	File of the marker.
 * @line:	Its line.
 */
struct vpmc_place {
	const char *name, *file;
	unsigned int line;
};

/**
 * vpmc_marker_find() - Find the region of a marker that begins one
 * @handle:	Receives the region. The marker keeps it for this thread.
 * @place:	The marker.
 *
 * The macros call this at the first pass of each thread. It opens the thread's regions. What
 * the search counts is taken out of the regions around it. A signal handler may pass markers
 * if its thread has its regions open, see vpmc_marker_open().
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 *
 * Return: The region, or one that does nothing: nobody has asked for counts, or counting is
 * not possible. A line on standard error says why, if somebody has asked.
 */
struct vpmc_region *vpmc_marker_find(struct vpmc_region **handle,
				     const struct vpmc_place *place);

/**
 * vpmc_marker_late() - Look after a marker that could not end its region
 * @handle:	The marker's handle for this thread.
 * @place:	The marker.
 * @error:	What vpmc_end() has returned.
 *
 * At the first pass of VPMC_END() this finds the region and ends it. Otherwise it says on
 * standard error, once, that the region has not begun.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 */
void vpmc_marker_late(struct vpmc_region **handle, const struct vpmc_place *place, int error);

/**
 * vpmc_marker_open() - Make the calling thread ready for markers
 *
 * The thread's first marker does this otherwise, and takes some time for it. A thread whose
 * signal handlers pass markers calls it before.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 */
void vpmc_marker_open(void);

/**
 * vpmc_marker_write() - Write the report of this process now
 *
 * It has what was counted up to now. exit() writes it again. A process that ends by _exit(), or
 * executes another program, calls this before.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 */
void vpmc_marker_write(void);

/**
 * vpmc_marker_broken() - Say that break has left VPMC_REGION() alone
 *
 * In C it does not leave the loop around. The compiler finds this if it optimizes.
 *
 * Context: MT-Safe, AS-Safe.
 */
void vpmc_marker_broken(void);

/**
 * vpmc_name_begin() - Begin a region by its name
 * @name:	The name; it need not end with a NUL.
 * @length:	Its bytes.
 *
 * For languages without these macros. It searches for the region each time.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 */
void vpmc_name_begin(const char *name, size_t length);

/**
 * vpmc_name_end() - End a region by its name
 * @name:	The name; it need not end with a NUL.
 * @length:	Its bytes.
 *
 * Context: MT-Safe env, AS-Unsafe lock heap.
 */
void vpmc_name_end(const char *name, size_t length);

/* A handle of VPMC_END() before its first pass. */
static __attribute__((__unused__)) int vpmc_unknown_call(struct vpmc_region *region)
{
	(void)region;
	return -ENXIO;
}

static __attribute__((__unused__)) struct vpmc_region vpmc_unknown_region = {
	vpmc_unknown_call, vpmc_unknown_call
};

#define VPMC_MARKER_INLINE	static __inline__ __attribute__((__always_inline__, __unused__))
#define VPMC_RARELY(condition)	__builtin_expect(!!(condition), 0)

/* Has a region in the register of a first argument, without one more copy of it. */
#ifdef __x86_64__
#define VPMC_ARGUMENT(region)	__asm__("" : "+D" (region))
#else
#define VPMC_ARGUMENT(region)	((void)0)
#endif

/*
 * A program has its handles at known places. A library finds each of them by one load, but
 * dlopen() has room for some 200 of them, in all libraries together. With -DVPMC_HANDLE= there
 * is no such limit. The first such mark of a thread may allocate memory, so that a signal
 * handler must not be the first to pass one.
 */
#ifdef VPMC_HANDLE
#elif defined(__PIC__) && !defined(__PIE__)
#define VPMC_HANDLE		__attribute__((__tls_model__("initial-exec")))
#else
#define VPMC_HANDLE
#endif

VPMC_MARKER_INLINE void vpmc_marker_begin(struct vpmc_region **handle,
					 const struct vpmc_place *place)
{
	struct vpmc_region *region = *handle;

	VPMC_ARGUMENT(region);
	if (VPMC_RARELY(!region)) {
		region = vpmc_marker_find(handle, place);
		VPMC_ARGUMENT(region);
	}
	vpmc_begin(region);
}

VPMC_MARKER_INLINE void vpmc_marker_end(struct vpmc_region **handle,
				       const struct vpmc_place *place)
{
	struct vpmc_region *region = *handle;
	int err;

	VPMC_ARGUMENT(region);
	err = vpmc_end(region);
	if (VPMC_RARELY(err))
		vpmc_marker_late(handle, place, err);
}

/* Begins the region of a block, which keeps it. */
VPMC_MARKER_INLINE struct vpmc_region *vpmc_marker_enter(struct vpmc_region **handle,
							const struct vpmc_place *place)
{
	struct vpmc_region *region = *handle;

	if (VPMC_RARELY(!region))
		region = vpmc_marker_find(handle, place);
	vpmc_begin(region);
	return region;
}

/*
 * A block has its region in a register, which takes one instruction more than VPMC_BEGIN(), and
 * tests no error, which takes two less, one of them a branch. With this branch both forms take
 * the same, which the library measures and subtracts from the regions around.
 */
#define VPMC_SAME_COST()	__asm__ __volatile__("jmp 1f\n1:")

/* The region has begun, or does nothing. A child of fork() ends what its parent has begun. */
VPMC_MARKER_INLINE void vpmc_marker_leave(struct vpmc_region *region)
{
	VPMC_ARGUMENT(region);
	vpmc_end(region);
	VPMC_SAME_COST();
}

VPMC_MARKER_INLINE void vpmc_marker_cleanup(struct vpmc_region **region)
{
	vpmc_marker_leave(*region);
}

#ifdef __cplusplus
}

/* The region of a block. */
class vpmc_scope {
public:
	explicit vpmc_scope(struct vpmc_region *begun) : region(begun) {}
	__attribute__((__always_inline__)) ~vpmc_scope() { vpmc_marker_leave(region); }
	explicit operator bool() const { return false; }
	vpmc_scope(const vpmc_scope &) = delete;
	vpmc_scope &operator=(const vpmc_scope &) = delete;

private:
	struct vpmc_region *region;
};
#endif

/* The variables of a marker: its handle, which each thread has, and its place. */
#define VPMC_PLACE(text, initial)					\
	static __thread struct vpmc_region *vpmc_handle VPMC_HANDLE = initial; \
	static const struct vpmc_place vpmc_place = { text, __FILE__, __LINE__ }

/* Begins a region, and returns it. */
#define VPMC_ENTER(text)	__extension__({				\
	VPMC_PLACE(text, 0);						\
	vpmc_marker_enter(&vpmc_handle, &vpmc_place);			\
})

#define VPMC_BEGIN(text)	__extension__({				\
	VPMC_PLACE(text, 0);						\
	vpmc_marker_begin(&vpmc_handle, &vpmc_place);			\
})
#define VPMC_END(text)		__extension__({				\
	VPMC_PLACE(text, &vpmc_unknown_region);				\
	vpmc_marker_end(&vpmc_handle, &vpmc_place);			\
})
#define VPMC_OPEN()		vpmc_marker_open()
#define VPMC_WRITE()		vpmc_marker_write()

#define VPMC_JOIN_(a, b)	a##b
#define VPMC_JOIN(a, b)		VPMC_JOIN_(a, b)

#ifdef __cplusplus

#define VPMC_REGION(text) VPMC_REGION_(text, VPMC_JOIN(vpmc_scope_, __COUNTER__))
#define VPMC_REGION_(text, scope)					\
	if (vpmc_scope scope{VPMC_ENTER(text)}) {} else

#define VPMC_SCOPE(text)						\
	const vpmc_scope VPMC_JOIN(vpmc_scope_, __COUNTER__){VPMC_ENTER(text)}

#else

/*
 * Only a loop is a statement that declares a variable, so in C the braces are those of a loop
 * that runs once. break would leave it, and not the loop around. Then @done is 0, and the
 * compiler knows this if it optimizes.
 */
#ifdef __OPTIMIZE__
extern void vpmc_break_in_region(void)
	__attribute__((__error__("break leaves VPMC_REGION alone, and not the loop around: use VPMC_SCOPE, return or goto")));
#else
static __inline__ __attribute__((__unused__)) void vpmc_break_in_region(void)
{
	vpmc_marker_broken();
	__builtin_trap();
}
#endif

#define VPMC_REGION(text)						\
	VPMC_REGION_(text, VPMC_JOIN(vpmc_done_, __COUNTER__),		\
		     VPMC_JOIN(vpmc_scope_, __COUNTER__))
#define VPMC_REGION_(text, done, scope)					\
	for (int done = 0; !done; done || (vpmc_break_in_region(), done = 1)) \
		for (struct vpmc_region *scope __attribute__((__cleanup__(vpmc_marker_cleanup))) = \
			VPMC_ENTER(text); !done; done = 1)

#define VPMC_SCOPE(text)						\
	struct vpmc_region *VPMC_JOIN(vpmc_scope_, __COUNTER__)		\
		__attribute__((__cleanup__(vpmc_marker_cleanup), __unused__)) = VPMC_ENTER(text)

#endif /* __cplusplus */

#endif /* VPMC */

#endif /* VPMC_MARKER_H */
