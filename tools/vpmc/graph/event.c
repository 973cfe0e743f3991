// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The hooks: what the thread did since the last event is added to the function that
 * is on top. What the event itself takes is added to no function.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "hooks.h"

static void pop(struct thread *thread)
{
	thread->nr_frames--;
	thread->current = thread->nr_frames ?
			  thread->frames[thread->nr_frames - 1].node : 0;
}

static void enter(struct thread *thread, uint64_t function, uintptr_t stack)
{
	struct frame *frame;

	if (unlikely(thread->nr_frames == thread->max_frames) &&
	    !graph_more_frames(thread)) {
		thread->no_frame++;
		thread->head->no_room++;
		return;
	}
	frame = &thread->frames[thread->nr_frames++];
	frame->function = function;
	frame->stack = stack;
	frame->node = graph_child(thread, thread->current, function);
	if (unlikely(frame->node == thread->current))
		thread->head->no_room++;
	else
		graph_node(thread, frame->node)->calls++;
	thread->current = frame->node;
}

/* Ends a function. Functions above it were left without a call of the hook. */
static void leave(struct thread *thread, uint64_t function)
{
	uint32_t n = thread->nr_frames;

	if (unlikely(thread->no_frame)) {
		thread->no_frame--;
		return;
	}
	while (n && thread->frames[n - 1].function != function)
		n--;
	if (unlikely(!n)) {
		thread->head->strays++;
		return;
	}
	while (thread->nr_frames > n) {
		thread->head->unwound++;
		pop(thread);
	}
	pop(thread);
}

/*
 * Ends the functions that began below @stack, to which longjmp() sets the stack
 * pointer.
 */
static void jump(struct thread *thread, uintptr_t stack)
{
	if (thread->nr_frames &&
	    thread->frames[thread->nr_frames - 1].stack < stack)
		thread->no_frame = 0;
	while (thread->nr_frames &&
	       thread->frames[thread->nr_frames - 1].stack < stack) {
		thread->head->unwound++;
		pop(thread);
	}
}

/* Adds what was counted from the last event to this event's first read. */
static void charge(struct thread *thread, enum kind kind, unsigned int retries)
{
	struct record_node *node = graph_node(thread, thread->current);
	unsigned int i;

	for (i = 0; i < process.nr_values; i++)
		node->value[i] += thread->now[i] - thread->last[i] -
				  process.open[kind][i] -
				  retries * process.retry[i];
}

/*
 * Makes the last read, and adds what was counted since the first one to the
 * library's costs.
 */
static void finish(struct thread *thread, enum kind opened, unsigned int retries)
{
	struct record_head *head = thread->head;
	unsigned int i;

	graph_read(thread->page, process.nr_values, thread->last, 0);
	for (i = 0; i < process.nr_values; i++) {
		thread->last[i] += process.close[opened][i];
		head->own[i] += thread->last[i] - thread->now[i] +
				process.open[opened][i] +
				retries * process.retry[i];
		head->last[i] = thread->last[i];
	}
	thread->busy = false;
}

__attribute__((__noinline__, __cold__))
static void first_event(const void *function, unsigned int kind, uintptr_t stack)
{
	struct thread *thread;

	if (kind == KIND_JUMP)
		return;
	thread = graph_begin();
	if (!thread)
		return;
	if (kind == KIND_ENTER)
		enter(thread, (uintptr_t)function, stack);
	else
		leave(thread, (uintptr_t)function);
	finish(thread, KIND_BEGIN, 0);
}

void graph_event(const void *function, const void *site, unsigned int kind,
		 uintptr_t stack)
{
	struct thread *thread;
	unsigned int retries;

	(void)site;
	if (unlikely(!hot->live)) {
		first_event(function, kind, stack);
		return;
	}
	thread = hot->thread;
	if (unlikely(thread->busy)) {
		thread->head->missed += !thread->left;
		return;
	}
	thread->busy = true;
	retries = graph_read(thread->page, process.nr_values, thread->now, 0);
	if (unlikely(thread->page->set_number != GRAPH_SET)) {
		thread->left = true;
		return;
	}
	charge(thread, kind, retries);
	if (kind == KIND_ENTER)
		enter(thread, (uintptr_t)function, stack);
	else if (kind == KIND_EXIT)
		leave(thread, (uintptr_t)function);
	else
		jump(thread, stack);
	finish(thread, kind, retries);
}

/*
 * Handles longjmp(). The stack pointer is the seventh register of @env. glibc
 * mangles it.
 */
void graph_jump(const uint64_t *env)
{
	uintptr_t stack = env[6];

	if (unlikely(!graph_real_jump[0]))
		graph_find_jumps();
	__asm__("ror $17, %0\n\txor %%fs:0x30, %0" : "+r" (stack) : : "cc");
	graph_event(NULL, NULL, KIND_JUMP, stack);
}
