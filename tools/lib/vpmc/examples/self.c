// SPDX-License-Identifier: MIT
/* Counts what a loop of a million iterations executes in this thread. */
#include <err.h>
#include <stdio.h>
#include <vpmc.h>

int main(void)
{
	struct vpmc_event *events;
	uint64_t before[2], after[2];
	struct vpmc_error error;
	unsigned int nr, i;
	struct vpmc *v;

	if (vpmc_open(&v, 0, &error) ||
	    vpmc_parse_events("instructions,branches", &events, &nr, &error) ||
	    vpmc_program(v, events, nr, 0, &error) < 0)
		errx(1, "%s", error.text);
	vpmc_read(v, before, 2, NULL);	/* no system call, here and below */
	for (i = 1000000; i; i--)
		__asm__ __volatile__("" : "+r" (i));	/* the code that is counted */
	vpmc_read(v, after, 2, NULL);
	printf("%llu instructions, %llu branches\n",
	       (unsigned long long)(after[0] - before[0]),
	       (unsigned long long)(after[1] - before[1]));
	vpmc_free_events(events);
	vpmc_close(v);
	return 0;
}
