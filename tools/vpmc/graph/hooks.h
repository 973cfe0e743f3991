/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Declarations that the files of the preloaded library share.
 *
 * The library runs inside another program: it does not call malloc(), keeps
 * errno, leaves no descriptor open, and starts no thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_HOOKS_H
#define GRAPH_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <linux/vpmc.h>

#include "read.h"
#include "record.h"

#pragma GCC visibility push(hidden)

/* Kinds of events. ENTER and EXIT cost the same up to their first read. */
enum kind { KIND_ENTER, KIND_EXIT, KIND_JUMP, KIND_BEGIN, NR_KINDS };

/* function that has begun and not ended */
struct frame {
	uint64_t function;
	uintptr_t stack;	/* stack pointer at the beginning of the function */
	uint32_t node;
	uint32_t reserved;
};

/*
 * A thread's tree. @head and @nodes are mapped from the thread's file. The
 * frames and the hash table are private memory of the process, so fork() copies
 * them. The hash table finds nodes by parent and function.
 */
struct thread {
	const struct vpmc_page *page;
	struct record_head *head;
	char *nodes;
	struct frame *frames;
	uint32_t *hash;
	uint32_t nr_frames, max_frames;
	uint32_t nr_nodes, max_nodes;
	uint32_t max_hash;
	uint32_t current;		/* node of the top frame, or the root */
	uint64_t no_frame;		/* number of open functions without a frame */
	bool busy;			/* in an event, or for ever if @left */
	bool left;			/* the thread has programmed counters of its own */
	struct hot *hot;		/* struct hot of the thread that owns the tree */
	char name[48];			/* name of the file in the directory */
	uint64_t now[RECORD_VALUES];	/* first read of the last event */
	/* last read of the last event, plus the instructions after it */
	uint64_t last[RECORD_VALUES];
};

/* state that the kernel wipes in the child of a fork() */
struct hot {
	uint32_t live;
	struct thread *thread;
};

/* Number of vpmc graph's set in each thread; a thread that programs another one has 2. */
#define GRAPH_SET	1

/* state of the process, shared by all threads */
struct process {
	uint32_t nr_values;
	uint32_t node_size;
	uint32_t pid;
	uint32_t parent;	/* process that forked this one, or 0 */
	uint32_t born;		/* when it began, in clock ticks */
	uint32_t image;		/* number of the program in this process, from 0 */
	bool confined;		/* a system call may end the process */
	char directory[RECORD_PATH];
	/* costs of an event's own instructions, before and after its reads */
	uint64_t open[NR_KINDS][RECORD_VALUES];
	uint64_t close[NR_KINDS][RECORD_VALUES];
	uint64_t retry[RECORD_VALUES];	/* cost of one more turn of the reading loop */
};

/* state.c */

extern struct process process;
extern __thread struct hot *hot __attribute__((__tls_model__("initial-exec")));

/* tree that graph_begin() uses, and gives to no thread, while this is set */
extern struct thread *graph_trial;

/* the C library's longjmp() and its siblings, in the order of asm.S */
extern void (*graph_real_jump[4])(void);
void graph_find_jumps(void);

/* event.c */

/*
 * Handles an event of enum kind. @stack is the stack pointer of the hook's
 * caller.
 */
void graph_event(const void *function, const void *site, unsigned int kind,
		 uintptr_t stack);

/* Handles longjmp(). @env has the registers that setjmp() saved. */
void graph_jump(const uint64_t *env);

/* begin.c */

/*
 * Handles the first event of a thread or of a forked child. Returns its tree
 * with @now read, or NULL if the thread is not measured.
 */
struct thread *graph_begin(void);

/* tree.c */

/* Returns the child of @node for @function, or @node if there is no room. */
uint32_t graph_child(struct thread *thread, uint32_t node, uint64_t function);
bool graph_tree_make(struct thread *thread);
struct record_node *graph_node(const struct thread *thread, uint32_t node);
bool graph_more_frames(struct thread *thread);
void *graph_memory(size_t size);

/* confine.c */

/* Makes the program's struct graph_lost in the file @fd, which is empty. */
bool graph_lost_make(long fd);
/* Says in it why a thread has no tree. Returns false if there is no file. */
bool graph_lost_why(const char *why);
/* Counts the calling thread as one that is not recorded. */
void graph_lost_thread(void);
/* The calling thread is recorded from now on. It may have been counted before. */
void graph_found_thread(void);
/* Returns true if a thread cannot begin, because the program has restricted itself. */
bool graph_is_confined(void);
/* Returns false if a file of this @size would bring a signal to the program. */
bool graph_may_write(size_t size);
/*
 * Opens a file in the directory. Returns a descriptor, or a negative error
 * number.
 */
long graph_open(const char *name, long flags);

/* calibrate.c */

/*
 * Measures the costs in @process, with the calling thread's set, which has the
 * page @page.
 */
void graph_calibrate(const struct vpmc_page *page);

/* maps.c */

/* How often libraries were unloaded. Nodes of an earlier epoch are checked. */
extern uint32_t graph_epoch;

/*
 * Returns the number of the list of mappings that has @function. Writes a new list if
 * there is none. Returns RECORD_MAPS if it cannot be told what is mapped there.
 */
uint32_t graph_maps(uint64_t function);

/* Forgets all lists, in a new process. */
void graph_forget_maps(void);

/*
 * asm.S: probes without code in between, with the beginning twice, or with a
 * call
 */
enum probe { PROBE_NOTHING, PROBE_TWICE, PROBE_CALL };

/*
 * Reads a counter, or the TSC with VPMC_ANY, calls @target, and reads it again.
 */
void graph_probe(uint32_t index, enum probe probe, void (*target)(void),
		 uint64_t value[2]);
void graph_stub(void);
void graph_try_enter(void);
void graph_try_jump(void);

/* Makes a system call. This is not a cancellation point and keeps errno. */
static inline long graph_system_call(long number, long a, long b, long c, long d, long e,
			      long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long result;

	__asm__ __volatile__("syscall"
			     : "=a" (result)
			     : "0" (number), "D" (a), "S" (b), "d" (c), "r" (r10),
			       "r" (r8), "r" (r9)
			     : "rcx", "r11", "memory");
	return result;
}

static inline bool graph_failed(long result)
{
	return (unsigned long)result >= -4095UL;
}

/* The same for the library's own needs: fails if a system call may end the process. */
static inline long graph_call(long number, long a, long b, long c, long d, long e,
			      long f)
{
	if (unlikely(__atomic_load_n(&process.confined, __ATOMIC_RELAXED)))
		return -1;
	return graph_system_call(number, a, b, c, d, e, f);
}

static inline long graph_tid(void)
{
	return graph_call(SYS_gettid, 0, 0, 0, 0, 0, 0);
}

#pragma GCC visibility pop

#endif /* GRAPH_HOOKS_H */
