/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Registers of Intel's NetBurst processors.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef NETBURST_H
#define NETBURST_H

#define NUM_NETBURST		18
#define MSR_COUNTER0		0x300
#define MSR_CCCR0		0x360
#define MSR_BSU_ESCR0		0x3a0
#define MSR_CRU_ESCR0		0x3b8
#define MSR_IQ_ESCR		0x3ba
#define MSR_RAT_ESCR0		0x3bc
#define MSR_CRU_ESCR2		0x3cc

#define FAST			(1u << 31)	/* RDPMC */

#define CCCR_ENABLE		(1u << 12)
#define CCCR_SELECT(n)		((n) << 13)
#define CCCR_ANY		(3u << 16)
#define CCCR_COMPARE		(1u << 18)
#define CCCR_COMPLEMENT		(1u << 19)
#define CCCR_THRESHOLD(n)	((n) << 20)
#define CCCR_EDGE		(1u << 24)
#define CCCR_PMI		(1u << 26)
#define CCCR_OVF		(1u << 31)
#define CCCR_RUN		(CCCR_ENABLE | CCCR_ANY)

#define ESCR(event, mask)	((event) << 25 | (mask) << 9)
#define ESCR_USR		(1u << 2)
#define ESCR_OS			(1u << 3)
#define ESCR_TAG_ENABLE		(1u << 4)
#define ESCR_TAG(n)		((n) << 5 | ESCR_TAG_ENABLE)

#endif
