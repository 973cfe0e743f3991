// SPDX-License-Identifier: MIT
#include <err.h>
#include "counters.h"

/* in the order of the counts */
static const char list[] = "instructions,cycles,branches";

void counters_start(struct counters *c)
{
	struct vpmc_event *events;
	struct vpmc_error error;
	unsigned int nr;

	if (vpmc_open(&c->v, 0, &error) ||
	    vpmc_parse_events(list, &events, &nr, &error) ||
	    vpmc_program(c->v, events, nr, VPMC_CONTROL_NEW, &error) < 0)
		errx(1, "%s", error.text);
	vpmc_free_events(events);
	c->page = vpmc_page(c->v);
	if (!(c->page->caps & VPMC_CAP_RDPMC) || !(c->page->caps & VPMC_CAP_TSC))
		errx(1, "the counters cannot be read in user space here");
}

void counters_end(struct counters *c)
{
	if (c->page->state != VPMC_STATE_RUNNING)
		errx(1, "the counters did not run to the end; they are %s",
		     vpmc_state_text(c->page->state));
	if (vpmc_unlink(c->v))
		errx(1, "the counters cannot be detached");
	vpmc_close(c->v);
}

uint64_t counters_ns(const struct counters *c, uint64_t ticks)
{
	uint64_t ns;

	/* without a known rate of the TSC there is no time */
	vpmc_ticks_to_ns(c->v, ticks, &ns);
	return ns;
}
