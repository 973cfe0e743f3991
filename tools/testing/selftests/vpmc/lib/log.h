/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's log.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LOG_H
#define LOG_H

#include <fcntl.h>
#include <unistd.h>

/* The kernel's log from the beginning. */
static inline const char *kernel_log(void)
{
	static char log[1 << 18];
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	size_t used = 0;
	ssize_t n;

	/* A record with each read(). */
	while ((n = read(fd, log + used, sizeof(log) - 1 - used)) > 0)
		used += n;
	close(fd);
	log[used] = 0;
	return log;
}

#endif
