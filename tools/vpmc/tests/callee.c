// SPDX-License-Identifier: GPL-2.0
/*
 * A library that calls.c loads.
 *
 * Copyright (C) 2026 vpmc developers
 */
void callee(unsigned int n);

static void inner(unsigned int n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n));
}

void callee(unsigned int n)
{
	inner(n);
}
