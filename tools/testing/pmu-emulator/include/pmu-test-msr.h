/* SPDX-License-Identifier: MIT */
/*
 * The test interface of the emulated x86 PMU: made-up MSRs that no processor
 * has, for tests that count what a guest executes.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * Each event has a free-running 64-bit total per vCPU and mode.  Totals start
 * at 0 at power-on, never wrap in practice, survive reset and INIT, and no
 * write to a PMU register starts, stops or changes them.  All are read-only.
 *
 *   RDMSR(PMU_TEST_MSR(event))                        counted at CPL 0
 *   RDMSR(PMU_TEST_MSR(event) + PMU_TEST_MSR_USER)    counted at CPL 1 to 3
 *   RDMSR(PMU_TEST_MSR_ID)                            PMU_TEST_ID
 *
 * An RDMSR of a total does not include itself.  Instructions retired are
 * PMU_TEST_CYCLES - PMU_TEST_REP_PASSES.  The same events can be counted with
 * a programmable counter: PMU_TEST_EVTSEL(event) is event select and umask.
 */
#ifndef PMU_TEST_MSR_H
#define PMU_TEST_MSR_H

#define PMU_TEST_CYCLES         0   /* executed instructions and REP passes */
#define PMU_TEST_REP_PASSES     1   /* passes of REP that loop back */
#define PMU_TEST_BRANCHES       2   /* near branches, taken or not */
#define PMU_TEST_WRMSR          3
#define PMU_TEST_RDMSR          4
#define PMU_TEST_RDPMC          5
#define PMU_TEST_TLB_FILLS      6   /* of the emulator's TLB */
#define PMU_TEST_INTERRUPTS     7   /* external interrupts and NMIs taken */
#define PMU_TEST_CR4_WRITES     8   /* MOV to CR4 */
#define PMU_TEST_RDTSC          9   /* RDTSC and RDTSCP */
#define PMU_TEST_PAGE_FAULTS    10  /* #PF delivered */
#define PMU_TEST_SYSCALLS       11  /* SYSCALL and SYSENTER */
#define PMU_TEST_NR_EVENTS      12

#define PMU_TEST_MSR_BASE       0xf0000000u
#define PMU_TEST_MSR_USER       0x10u
#define PMU_TEST_MSR_ID         0xf0000020u
#define PMU_TEST_MSR(event)     (PMU_TEST_MSR_BASE + (event))

/* "PMUT", version of this interface, number of events */
#define PMU_TEST_ID             (0x504d555400010000ull | PMU_TEST_NR_EVENTS)

#define PMU_TEST_EVTSEL(event)  ((event) << 8 | 0xf0u)

#endif
