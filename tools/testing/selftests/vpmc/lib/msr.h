/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers of a CPU.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef MSR_H
#define MSR_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#define MSR_PERFCTR0		0xc1
#define MSR_EVTSEL0		0x186
#define MSR_FIXED_CTR0		0x309
#define MSR_FIXED_CTR_CTRL	0x38d
#define MSR_GLOBAL_STATUS	0x38e
#define MSR_GLOBAL_CTRL		0x38f

#define EVTSEL_ENABLE		(1ULL << 22)

/* 0 or not. */
static inline int msr_read(int cpu, uint32_t msr, uint64_t *value)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	n = pread(fd, value, sizeof(*value), msr);
	close(fd);
	return n != sizeof(*value);
}

/* 0 or not. */
static inline int msr_write(int cpu, uint32_t msr, uint64_t value)
{
	char path[32];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_WRONLY);
	n = pwrite(fd, &value, sizeof(value), msr);
	close(fd);
	return n != sizeof(value);
}

#endif /* MSR_H */
