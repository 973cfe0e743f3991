/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the files of the preloaded library share.
 *
 * The library runs inside of another program: it does not call malloc(), keeps errno,
 * leaves no descriptor open, and starts no thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef GRAPH_HOOKS_H
#define GRAPH_HOOKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/vpmc.h>

#include "read.h"
#include "record.h"

#pragma GCC visibility push(hidden)

/* Kinds of events. ENTER and EXIT cost the same up to the first read. */
enum kind { KIND_ENTER, KIND_EXIT, KIND_JUMP, KIND_BEGIN, NR_KINDS };

/* A function that has begun. */
struct frame {
	uint64_t function;
	uintptr_t stack;	/* the stack pointer at its beginning */
	uint32_t node;
	uint32_t reserved;
};

/*
 * A thread's tree. @nodes is mapped from its file, behind @head; frames and the
 * hash table of nodes by parent and function are memory of the process, of which
 * fork() gives the child a copy.
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
	uint64_t no_frame;		/* functions that have begun beyond max_frames */
	bool busy;
	struct hot *hot;		/* the owner's */
	char name[48];			/* of the file, in the directory */
	uint64_t now[RECORD_VALUES];	/* the last event's first read */
	uint64_t last[RECORD_VALUES];	/* its last read, and what is behind it */
};

/* What begins anew in the child of a fork(): the kernel wipes it there. */
struct hot {
	uint32_t live;
	struct thread *thread;
};

/* What is the same for all threads of a process. */
struct process {
	uint32_t nr_values;
	uint32_t node_size;
	uint32_t pid;
	uint32_t parent;	/* that forked it, or 0 */
	uint32_t image;		/* its programs are counted, from 0 */
	char directory[RECORD_PATH];
	/* what an event's own instructions come to, before and behind its reads */
	uint64_t open[NR_KINDS][RECORD_VALUES];
	uint64_t close[NR_KINDS][RECORD_VALUES];
	uint64_t retry[RECORD_VALUES];	/* one more turn of the reading loop */
};

extern struct process process;
extern __thread struct hot *hot __attribute__((__tls_model__("initial-exec")));

/* event.c */

/* An event: see enum kind. @stack is the stack pointer of who calls the hook. */
void graph_event(const void *function, const void *site, unsigned int kind,
		 uintptr_t stack);

/* begin.c */

/* Called by longjmp(), with the registers that setjmp() saved. */
void graph_jump(const uint64_t *env);

/*
 * The calling thread's first event, or a child's. Returns its tree, with @now read,
 * or NULL if nothing is to be done.
 */
struct thread *graph_begin(void);

/* While it is set, graph_begin() makes a tree that nobody gets. */
extern struct thread *graph_trial;

/* Opens a file in the directory; a descriptor, or a negative error number. */
long graph_open(const char *name, long flags);

/* tree.c */

/* The child of @node for @function, or @node if there is no room. */
uint32_t graph_child(struct thread *thread, uint32_t node, uint64_t function);
bool graph_tree_make(struct thread *thread);
struct record_node *graph_node(const struct thread *thread, uint32_t node);
bool graph_more_frames(struct thread *thread);
void *graph_memory(size_t size);

/* calibrate.c */

/* Fills the costs in @process; with the set of @page, the calling thread's. */
void graph_calibrate(const struct vpmc_page *page);

/* maps.c */

/* Keeps what is mapped where, if @function is in no file that is known. */
void graph_note_maps(uint64_t function);

/* In a process that begins: nothing is known yet. */
void graph_forget_maps(void);

/* asm.S: a probe around nothing, twice its beginning, or a call */
enum probe { PROBE_NOTHING, PROBE_TWICE, PROBE_CALL };

/*
 * Reads a counter, or the TSC with VPMC_ANY, calls @target, and reads it again.
 */
void graph_probe(uint32_t index, enum probe probe, void (*target)(void),
		 uint64_t value[2]);
void graph_stub(void);
void graph_try_enter(void);
void graph_try_jump(void);
extern void (*graph_real_jump[4])(void);

/* A system call that is no point of cancellation and keeps errno. */
static inline long graph_call(long number, long a, long b, long c, long d, long e,
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

#pragma GCC visibility pop

#endif /* GRAPH_HOOKS_H */
