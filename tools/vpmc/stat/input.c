// SPDX-License-Identifier: GPL-2.0
/*
 * Finds out whether a run of COMMAND has read standard input.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "stat/input.h"

struct input input_now(void)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN | POLLRDHUP };
	struct input now = {};
	struct stat st;

	if (fstat(STDIN_FILENO, &st))
		return now;
	if (S_ISREG(st.st_mode)) {
		now.offset = lseek(STDIN_FILENO, 0, SEEK_CUR);
	} else if (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)) {
		/* The end is asked for first: what comes in between is seen then. */
		now.at_end = poll(&fd, 1, 0) > 0 && fd.revents & (POLLHUP | POLLRDHUP);
		if (ioctl(STDIN_FILENO, FIONREAD, &now.ready))
			now.ready = 0;
		now.at_end &= !now.ready;
	}
	return now;
}

bool input_was_read(const struct input *before)
{
	struct input now = input_now();

	return now.offset != before->offset || now.ready < before->ready ||
	       (now.at_end && !before->at_end);
}
