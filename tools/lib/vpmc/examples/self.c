// SPDX-License-Identifier: MIT
/* Counts what a loop of a million iterations executes in this thread. */
#include <err.h>
#include <stdio.h>
#include <vpmc.h>

int main(void)
{
	struct vpmc_event *events;
	uint64_t before[VPMC_MAX_COUNTERS], after[VPMC_MAX_COUNTERS];
	struct vpmc_error error;
	unsigned int nr, i, insns, branches;
	struct vpmc *v;

	if (vpmc_open(&v, 0, &error) ||
	    vpmc_parse_events("instructions,branches", &events, &nr, &error) ||
	    vpmc_share(v, events, nr, &error) < 0)
		errx(1, "%s", error.text);
	insns = events[0].element;
	branches = events[1].element;
	vpmc_read(v, before, VPMC_MAX_COUNTERS, NULL);	/* no system call, here and below */
	for (i = 1000000; i; i--)
		__asm__ __volatile__("" : "+r" (i));	/* the code that is counted */
	vpmc_read(v, after, VPMC_MAX_COUNTERS, NULL);
	printf("%llu instructions, %llu branches\n",
	       (unsigned long long)(after[insns] - before[insns]),
	       (unsigned long long)(after[branches] - before[branches]));
	vpmc_free_events(events);
	vpmc_close(v);
	return 0;
}
