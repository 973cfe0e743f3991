// SPDX-License-Identifier: MIT
/* Marks a part of a program. Without -DVPMC the mark is no code. */
#include <vpmc-marker.h>

int main(void)
{
	for (int turn = 0; turn < 3; turn++)
		VPMC_REGION("loop") {
			for (int i = 1000000; i; i--)
				__asm__ __volatile__("" : "+r" (i));	/* the code that is counted */
		}
	return 0;
}
