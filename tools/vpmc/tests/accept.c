// SPDX-License-Identifier: GPL-2.0
/*
 * usage: accept [--left] <NAMES
 *
 * Programs each event alone, and prints those that are refused. With --left those that
 * only the counters that perf keeps can count are not printed.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <vpmc.h>

int main(int argc, char **argv)
{
	const bool left = argc > 1 && !strcmp(argv[1], "--left");
	struct vpmc_error error;
	struct vpmc_event *events;
	unsigned int nr, accepted = 0;
	struct vpmc *v;
	char name[512];

	if (vpmc_open(&v, 0, &error))
		errx(1, "%s", error.text);
	while (fgets(name, sizeof(name), stdin)) {
		name[strcspn(name, "\n")] = 0;
		if (vpmc_parse_events(name, &events, &nr, &error) ||
		    (vpmc_program(v, events, nr, VPMC_CONTROL_STOPPED, &error) < 0 &&
		     (!left || error.reason != VPMC_REASON_LEFT_TO_PERF)))
			printf("%s\n", error.text);
		else
			accepted++;
		vpmc_free_events(events);
	}
	printf("%u accepted\n", accepted);
	return 0;
}
