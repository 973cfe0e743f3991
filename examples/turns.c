// SPDX-License-Identifier: MIT
/*
 * A loop of a million turns. With -DMORE each of them takes one instruction more, as after
 * a change of a program.
 */
int main(void)
{
	for (int i = 1000000; i; i--) {
		__asm__ __volatile__("" : "+r" (i));	/* the compiler keeps the loop */
#ifdef MORE
		__asm__ __volatile__("nop");
#endif
	}
	return 0;
}
