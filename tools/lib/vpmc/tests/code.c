// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Code with a known number of instructions, for the test of the Python module.
 * count_turns() counts the same code from C. Both results must be equal.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <vpmc.h>

/*
 * Executes a constant number of instructions, and two more in each iteration.
 * Its return is subtracted, because the function of the baseline returns, too.
 */
void turns(unsigned long i, void *arg);
__asm__(".text\n.globl turns\n.type turns, @function\nturns:\n"
	"	lea 1(%rdi), %rcx\n1:	dec %rcx\n	jnz 1b\n	ret\n");

int count_turns(unsigned long n, uint64_t *corrected, uint8_t *dirty);
int count_turns(unsigned long n, uint64_t *corrected, uint8_t *dirty)
{
	struct vpmc_vectors vectors = { .corrected = corrected, .dirty = dirty };
	struct vpmc_harness_call call = { turns, NULL };
	struct vpmc_regions *regions;
	int err = vpmc_regions_open(&regions, "instructions,branches", 0, NULL);

	if (!err)
		err = vpmc_harness(regions, vpmc_harness_nothing,
				   vpmc_harness_around, &call, n, 0, &vectors);
	if (!err)
		err = vpmc_regions_close(regions);
	return err;
}

/*
 * The caller passes symbols of libvpmc-ffi, as another language does. What they count
 * besides turns() is the same for each @i.
 */
typedef void read_page_fn(const struct vpmc_page *page, uint64_t *count, uint64_t *ticks);
typedef int region_fn(struct vpmc_region *region);

void read_around(read_page_fn *read_page, const struct vpmc_page *page, unsigned long i,
		 uint64_t *before, uint64_t *after);
void read_around(read_page_fn *read_page, const struct vpmc_page *page, unsigned long i,
		 uint64_t *before, uint64_t *after)
{
	read_page(page, before, NULL);
	turns(i, NULL);
	read_page(page, after, NULL);
}

int region_around(region_fn *begin, region_fn *end, struct vpmc_region *region,
		  unsigned long i);
int region_around(region_fn *begin, region_fn *end, struct vpmc_region *region,
		  unsigned long i)
{
	int err = begin(region);

	turns(i, NULL);
	return err ? err : end(region);
}
