// SPDX-License-Identifier: MIT
/* Counts a part of a program, each time that it runs. */
#include <err.h>
#include <unistd.h>
#include <vpmc.h>

int main(void)
{
	struct vpmc_regions *regions;
	struct vpmc_region *loop;
	struct vpmc_error error;

	if (vpmc_regions_open(&regions, "instructions,branches", 0, &error))
		errx(1, "%s", error.text);
	if (vpmc_region_get(regions, "loop", &loop))
		errx(1, "no memory");
	for (int turn = 0; turn < 3; turn++) {
		vpmc_begin(loop);
		for (int i = 1000000; i; i--)
			__asm__ __volatile__("" : "+r" (i));	/* the code that is counted */
		vpmc_end(loop);
	}
	vpmc_report(STDOUT_FILENO, VPMC_REPORT_TEXT);	/* the regions of all threads */
	return vpmc_regions_close(regions);
}
