// SPDX-License-Identifier: MIT
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>
#include "counters.h"

#define USER_MODE	(1 << 16)

/* By VPMC_KIND_AMD or not */
static const unsigned int events_of[2][NR_EVENTS] = {
	{ [INSTRUCTIONS] = 0xc0, [CYCLES] = 0x3c, [BRANCHES] = 0xc4 },
	{ [INSTRUCTIONS] = 0xc0, [CYCLES] = 0x76, [BRANCHES] = 0xc2 },
};

static const char *reason_text(unsigned int reason)
{
	switch (reason) {
	case VPMC_REASON_NO_COUNTER:	return "no free counter can count it";
	case VPMC_REASON_UNAVAILABLE:	return "this processor does not have the event";
	case VPMC_REASON_TOO_MANY:	return "the processor has fewer counters";
	case VPMC_REASON_NO_PMU:	return "there is no PMU that can be used";
	case VPMC_REASON_PMU_BUSY:	return "something else holds the PMU";
	case VPMC_REASON_PMU_PERF:	return "perf has events on the PMU";
	case VPMC_REASON_PMU_WATCHDOG:
		return "the watchdog has the PMU (sysctl kernel.nmi_watchdog=0 stops it)";
	case VPMC_REASON_PMU_TRACE:	return "Intel PT is used";
	case VPMC_REASON_REVOKED:
		return "the administrator keeps the PMU (sysctl kernel.vpmc_revoke)";
	case VPMC_REASON_PARANOID:
		return "it takes CAP_PERFMON here (sysctl kernel.vpmc_paranoid)";
	default:			return "see enum vpmc_reason";
	}
}

static void program(const struct counters *c)
{
	struct vpmc_control set = { .size = sizeof(set), .nr_counters = NR_EVENTS };
	struct vpmc_info info = { .size = sizeof(info) };
	const unsigned int *events;

	if (ioctl(c->fd, VPMC_IOC_INFO, &info))
		err(1, "VPMC_IOC_INFO");
	events = events_of[info.kind == VPMC_KIND_AMD];
	for (int i = 0; i < NR_EVENTS; i++) {
		set.counter[i].evtsel = events[i] | USER_MODE;
		set.counter[i].index = VPMC_ANY;
	}
	if (!ioctl(c->fd, VPMC_IOC_CONTROL, &set))
		return;
	if (!set.reason)
		err(1, "VPMC_IOC_CONTROL");
	if (set.bad_counter < NR_EVENTS)
		errx(1, "event 0x%x is refused: %s (reason %u)", events[set.bad_counter],
		     reason_text(set.reason), set.reason);
	errx(1, "the counters are refused: %s (reason %u)", reason_text(set.reason), set.reason);
}

void counters_start(struct counters *c)
{
	/* ../thread-self, not ../self: here a thread means itself in any case */
	c->fd = open("/proc/thread-self/perfctr", O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	if (c->fd < 0)
		err(1, "/proc/thread-self/perfctr%s",
		    errno == ENOENT ? " (is this a kernel with CONFIG_VPMC=y?)" : "");
	c->page = mmap(NULL, sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, c->fd, 0);
	if (c->page == MAP_FAILED)
		err(1, "mapping the page of the counters");
	program(c);
	if (!(c->page->caps & VPMC_CAP_RDPMC) || !(c->page->caps & VPMC_CAP_TSC))
		errx(1, "the counters cannot be read in user space here");
}

void counters_end(struct counters *c)
{
	if (c->page->state != VPMC_STATE_RUNNING)
		errx(1, "the counters did not run to the end: state %u, see enum vpmc_state",
		     c->page->state);
	if (ioctl(c->fd, VPMC_IOC_UNLINK, 0))
		err(1, "VPMC_IOC_UNLINK");
	munmap((void *)c->page, sysconf(_SC_PAGESIZE));
	close(c->fd);
}

uint64_t counters_ns(const struct counters *c, uint64_t ticks)
{
	if (!(c->page->caps & VPMC_CAP_TIME))
		return 0;
	return ((unsigned __int128)ticks * c->page->time_mult) >> c->page->time_shift;
}
