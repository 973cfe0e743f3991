/* SPDX-License-Identifier: MIT */
/*
 * Reading the records of a thread's overflows, in any one thread of its process.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Copy this file, or include it after installing <linux/vpmc.h>. It makes no
 * system call: mapping the ring and VPMC_IOC_CONSUME are the caller's.
 */
#ifndef VPMC_RING_H
#define VPMC_RING_H

#include <stddef.h>
#include <stdint.h>
#include <linux/vpmc.h>

/**
 * vpmc_ring_unread() - How many records are there to be read
 * @ring:	The ring, as it is mapped.
 *
 * They are complete, and stay as they are until they are consumed.
 *
 * Return: Their number, at most @ring->nr_records.
 */
static inline uint32_t vpmc_ring_unread(const struct vpmc_ring *ring)
{
	return __atomic_load_n(&ring->head, __ATOMIC_ACQUIRE) -
	       *(const volatile __u32 *)&ring->tail;
}

/**
 * vpmc_ring_record() - The oldest record that was not consumed, or a later one
 * @ring:	The ring.
 * @i:		Below what vpmc_ring_unread() said.
 *
 * Return: The record, read-only, and there until VPMC_IOC_CONSUME gives it back.
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
 * vpmc_ring_lost() - How many records found no place, because it was full
 * @ring:	The ring.
 *
 * Return: Their number since CONTROL made the ring.
 */
static inline uint64_t vpmc_ring_lost(const struct vpmc_ring *ring)
{
	return *(const volatile __u64 *)&ring->lost;
}

#endif /* VPMC_RING_H */
