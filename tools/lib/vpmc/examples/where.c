// SPDX-License-Identifier: MIT
/*
 * Shows where a program spends its instructions, with one record per 100,000.
 */
#include <err.h>
#include <stdio.h>
#include <vpmc.h>

#define PERIOD	100000

static void __attribute__((noinline, aligned(64))) little(void)
{
	for (unsigned int i = 1000000; i; i--)
		__asm__ __volatile__("" : "+r" (i));
}

static void __attribute__((noinline, aligned(64))) much(void)
{
	for (unsigned int i = 3000000; i; i--)
		__asm__ __volatile__("" : "+r" (i));
}

int main(void)
{
	unsigned int nr, i, n, of_little = 0, of_much = 0;
	const struct vpmc_ring *ring;
	struct vpmc_control control;
	struct vpmc_event *events;
	struct vpmc_error error;
	struct vpmc *v;

	if (vpmc_open(&v, 0, &error) ||
	    vpmc_parse_events("instructions", &events, &nr, &error))
		errx(1, "%s", error.text);
	events[0].period = PERIOD;
	vpmc_fill_control(events, nr, VPMC_CONTROL_REARM, &control);
	control.ring_records = 1024;
	control.ring_watermark = 1024;
	if (vpmc_program_raw(v, &control, &error) < 0)
		errx(1, "%s", error.text);
	if (vpmc_map_ring(v, &ring))
		errx(1, "no ring");
	little();
	much();
	vpmc_stop(v);
	n = vpmc_ring_unread(ring);
	for (i = 0; i < n; i++) {
		uint64_t ip = vpmc_ring_record(ring, i)->ip;

		/* Both functions fit into 64 bytes. */
		if (ip >= (uint64_t)little && ip < (uint64_t)little + 64)
			of_little++;
		else if (ip >= (uint64_t)much && ip < (uint64_t)much + 64)
			of_much++;
	}
	vpmc_consume(v, n);
	printf("%u of %u records in much(), %u in little()\n", of_much, n, of_little);
	vpmc_free_events(events);
	vpmc_close(v);
	return 0;
}
