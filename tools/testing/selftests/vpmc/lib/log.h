/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's log.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef LOG_H
#define LOG_H

#include <fcntl.h>
#include <string.h>
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

/* Returns how often @what is in the kernel's log. */
static inline int times_in_log(const char *what)
{
	const char *at = kernel_log();
	int n = 0;

	for (; (at = strstr(at, what)); at++)
		n++;
	return n;
}

#endif
