/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A piece of code whose instructions and branches are known.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef KNOWN_H
#define KNOWN_H

/* 2 * @turns instructions, one more that sets ECX, and @turns branches */
static inline __attribute__((__always_inline__)) void known(unsigned int turns)
{
	__asm__ __volatile__("1:\tdec %0\n\tjnz 1b" : "+c" (turns) : : "cc");
}

#endif /* KNOWN_H */
