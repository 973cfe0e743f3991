// SPDX-License-Identifier: GPL-2.0
/*
 * usage: throwing TURNS
 *
 * A program for vpmc graph. Its exceptions leave two functions at once.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cstdlib>

static unsigned int turns;

static void loop(unsigned int n)
{
	__asm__ __volatile__("1: dec %0\n\tjnz 1b" : "+r" (n));
}

namespace space {
class Thrower {
public:
	void deep(int depth)
	{
		loop(turns);
		if (!depth)
			throw depth;
		deep(depth - 1);
	}
};
}

static void catching()
{
	space::Thrower thrower;

	for (int i = 0; i < 3; i++)
		try {
			thrower.deep(1);
		} catch (int) {
			loop(turns);
		}
}

int main(int argc, char **argv)
{
	turns = argc > 1 ? atoi(argv[1]) : 1000;
	catching();
	loop(turns);
	return 0;
}
