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
 *
 * CPUID of a made-up leaf, at any CPL, reads totals too: EAX is
 * PMU_TEST_TOTALS, ECX an event.  Returns the total at CPL 0 in RAX and
 * at CPL 1 to 3 in RBX, in RCX and RDX those of the event after it, 0 where
 * there is no event.  The CPUID itself is not included, the next one includes
 * it.
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
/* Of the data caches; an access counts once for each line that it touches */
#define PMU_TEST_LOADS          12
#define PMU_TEST_STORES         13
#define PMU_TEST_L1_LOAD_MISSES 14  /* L1 misses are L2 references */
#define PMU_TEST_L1_STORE_MISSES 15
#define PMU_TEST_L2_LOAD_MISSES 16
#define PMU_TEST_L2_STORE_MISSES 17
/* Branches that were not predicted */
#define PMU_TEST_COND_MISSES    18  /* conditional ones, LOOP and JCXZ too */
#define PMU_TEST_INDIRECT_MISSES 19 /* indirect JMP and CALL */
#define PMU_TEST_NR_EVENTS      20

#define PMU_TEST_MSR_BASE       0xf0000000u
#define PMU_TEST_MSR_USER       0x100u
#define PMU_TEST_MSR_ID         0xf0000020u
#define PMU_TEST_MSR(event)     (PMU_TEST_MSR_BASE + (event))

/* "PMUT", version of this interface, number of events */
#define PMU_TEST_ID             (0x504d555400040000ull | PMU_TEST_NR_EVENTS)

#define PMU_TEST_EVTSEL(event)  ((event) << 8 | 0xf0u)

/* The same for NetBurst: the ESCR, which may be any one, without modes */
#define PMU_TEST_NETBURST_EVENT 0x3fu
#define PMU_TEST_ESCR(event)    (PMU_TEST_NETBURST_EVENT << 25 | (event) << 9)

#define PMU_TEST_TOTALS         0x4fff5055u

/*
 * Which machine is this?  CPUID of a made-up leaf, at any CPL: EAX is
 * PMU_TEST_MACHINE.  Returns PMU_MACHINE_ID in EAX, PMU_MACHINE_* in EBX, the
 * version of this leaf in ECX and 0 in EDX.  It is there without a PMU, too.
 * Processors, hypervisors and QEMU without the series return something else in EAX.
 */
#define PMU_TEST_MACHINE        0x4fff5056u
#define PMU_MACHINE_ID          0x56504d43u     /* "VPMC" */
#define PMU_MACHINE_VERSION     1
#define PMU_MACHINE_EXACT       (1u << 0)   /* counts exactly, deterministic */
#define PMU_MACHINE_SILICON     (1u << 1)   /* counts as badly as silicon */
#define PMU_MACHINE_PARALLEL    (1u << 2)   /* CPUs run at the same time */

/*
 * The trigger: something happens to a vCPU right before it executes a chosen
 * instruction.  CPUID of a made-up leaf, at any CPL: EAX is PMU_TEST_TRIGGER,
 * ECX the command, and RBX, RDX and RSI are its arguments.
 *
 *   STATUS
 *   RANGE   number, low, high: addresses from low to high - 1 count
 *   ARM     vCPU, n, action: it fires when that vCPU is about to execute an
 *           instruction in a range after having executed n there
 *   DISARM
 *   WAIT    events: if RDX would still say so, this vCPU halts until it does
 *           not, or until an interrupt comes
 *   GO      n: the vCPU that is held goes on when the others have executed n
 *           instructions more (at most PMU_TRIGGER_LIMIT)
 *
 * All return the status:
 *
 *   RAX     bits 0 to 7 state, 8 to 15 why a vCPU is held no more, 16 to 23
 *           CPL where it fired, PMU_TRIGGER_IF, PMU_TRIGGER_REFUSED
 *   RBX     linear address of the instruction before which it fired
 *   RCX     instructions in the ranges since ARM, with the one where it fired
 *   RDX     events: how often it has fired and has been disarmed, ARM included
 *
 * The ranges stay from one ARM to the next.
 */
#define PMU_TEST_TRIGGER        0x4fff5054u

#define PMU_TRIGGER_STATUS      0
#define PMU_TRIGGER_RANGE       1
#define PMU_TRIGGER_ARM         2
#define PMU_TRIGGER_DISARM      3
#define PMU_TRIGGER_WAIT        4
#define PMU_TRIGGER_GO          5

#define PMU_TRIGGER_RANGES      32

/* Actions: what happens */
#define PMU_TRIGGER_HOLD        0       /* it is held back, others go on */
#define PMU_TRIGGER_INTERRUPT   1       /* bits 8 to 15: an interrupt's vector */
#define PMU_TRIGGER_PMI         2       /* PMIs held back since ARM are let in */

/* States */
#define PMU_TRIGGER_IDLE        0
#define PMU_TRIGGER_ARMED       1
#define PMU_TRIGGER_HELD        2       /* has fired, and the vCPU is held */
#define PMU_TRIGGER_FIRED       3       /* has fired, and the vCPU goes on */

/* Why a vCPU is held no more; before that, why it will be at the latest */
#define PMU_TRIGGER_BY_GO       1
#define PMU_TRIGGER_BY_IDLE     2       /* all others are halted */
#define PMU_TRIGGER_BY_SPIN     3       /* another one has executed PAUSE */
#define PMU_TRIGGER_BY_LIMIT    4       /* nobody said GO */
#define PMU_TRIGGER_LIMIT       100000000

#define PMU_TRIGGER_IF          (1u << 24)      /* with interrupts enabled */
#define PMU_TRIGGER_REFUSED     (1u << 31)      /* wrong argument or state */

#endif
