// SPDX-License-Identifier: GPL-2.0
/*
 * A library for plugins: its function NAME executes 2 instructions in each of TURNS
 * iterations.
 *
 * Copyright (C) 2026 vpmc developers
 */
void NAME(void);
void run(void);

void NAME(void)
{
	unsigned long n = TURNS;

	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n));
}

void run(void)
{
	NAME();
}
