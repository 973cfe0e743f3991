// SPDX-License-Identifier: GPL-2.0
/*
 * A coroutine that is left and entered again inside a function.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <ucontext.h>

static ucontext_t outside, inside;
static char stack[65536];

static void work(void)
{
	swapcontext(&inside, &outside);
}

static void coroutine(void)
{
	for (;;)
		work();
}

static void turn(void)
{
	swapcontext(&outside, &inside);
}

int main(void)
{
	int i;

	if (getcontext(&inside))
		err(1, "getcontext");
	inside.uc_stack.ss_sp = stack;
	inside.uc_stack.ss_size = sizeof(stack);
	makecontext(&inside, coroutine, 0);
	for (i = 0; i < 100; i++)
		turn();
	return 0;
}
