/* SPDX-License-Identifier: MIT */
/*
 * Reads the records of a thread's overflows. Only one thread of its process may
 * read them at a time.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Copy this file, or include it after installing <linux/vpmc.h>. It makes no
 * system call. The caller maps the ring and calls VPMC_IOC_CONSUME.
 */
#ifndef VPMC_RING_H
#define VPMC_RING_H

#include <stddef.h>
#include <stdint.h>
#include <linux/vpmc.h>

/**
 * vpmc_ring_unread() - How many records can be read
 * @ring:	The ring, as it is mapped.
 *
 * They are complete, and do not change until they are consumed.
 *
 * Context: MT-Safe race:ring, AS-Safe race:ring.
 *
 * Return: Their number, at most @ring->nr_records.
 */
static inline uint32_t vpmc_ring_unread(const struct vpmc_ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) -
	       *(const volatile __u32 *)&ring->tail;
}

/**
 * vpmc_ring_record() - One of the records that can be read
 * @ring:	The ring.
 * @i:		0 for the oldest one; less than vpmc_ring_unread() returned.
 *
 * Context: MT-Safe race:ring, AS-Safe race:ring.
 *
 * Return: The record. It is read-only, and valid until VPMC_IOC_CONSUME.
 */
static inline const struct vpmc_record *
vpmc_ring_record(const struct vpmc_ring *ring, uint32_t i)
{
	uint32_t n = *(const volatile __u32 *)&ring->tail + i;

	return (const struct vpmc_record *)
	       ((const char *)(ring + 1) +
		(n & (ring->nr_records - 1)) * (size_t)ring->record_size);
}

/**
 * vpmc_ring_lost() - How many records were lost because the ring was full
 * @ring:	The ring.
 *
 * Context: MT-Safe, AS-Safe.
 *
 * Return: Their number since CONTROL made the ring.
 */
static inline uint64_t vpmc_ring_lost(const struct vpmc_ring *ring)
{
	return *(const volatile __u64 *)&ring->lost;
}

#endif /* VPMC_RING_H */
