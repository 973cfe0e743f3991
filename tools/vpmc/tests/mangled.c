// SPDX-License-Identifier: GPL-2.0
/*
 * usage: mangled TURNS
 *
 * Functions with the names that compilers of several languages give. Each executes 2
 * instructions in each of its TURNS iterations.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <stdlib.h>

#define FUNCTION(name, symbol)					\
void name(unsigned long n) __asm__(symbol);			\
__attribute__((__noinline__)) void name(unsigned long n)	\
{								\
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n));	\
}

FUNCTION(cpp, "_ZN5space3addIiEEvT_")
FUNCTION(rust, "_RNvNtC5crate6module3add")
FUNCTION(old_rust, "_ZN5crate6module3sub17h0123456789abcdefE")
FUNCTION(d, "_D6module3addFZv")
FUNCTION(odd, "_Dodd")

int main(int argc, char **argv)
{
	unsigned long turns = argc > 1 ? strtoul(argv[1], NULL, 0) : 1;

	cpp(turns);
	rust(turns);
	old_rust(turns);
	d(turns);
	odd(turns);
	return 0;
}
