/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * perfctr's interface: the part that is the same on all processors.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * perfctr's ioctl() requests are missing, because the kernel's /dev/perfctr has
 * other ones. Programs call the functions of libperfctr.h.
 */
#ifndef LIBPERFCTR_LINUX_PERFCTR_H
#define LIBPERFCTR_LINUX_PERFCTR_H

#include <asm/perfctr.h>

/*
 * The upper half is the version of the calls, the lower half that of
 * <asm/perfctr.h>.
 */
#define PERFCTR_API_VERSION	0x0502
#define PERFCTR_ABI_VERSION	((PERFCTR_API_VERSION << 16) | PERFCTR_CPU_VERSION)

/* struct perfctr_info.cpu_features */
#define PERFCTR_FEATURE_RDPMC	0x01
#define PERFCTR_FEATURE_RDTSC	0x02
#define PERFCTR_FEATURE_PCINT	0x04

/**
 * struct perfctr_info - The processor and its driver
 * @abi_version:	PERFCTR_ABI_VERSION.
 * @driver_version:	"vpmc" and the version of its interface.
 * @cpu_type:		PERFCTR_X86_*. Programs choose their events by it.
 * @cpu_features:	PERFCTR_FEATURE_* bits.
 * @cpu_khz:		Rate of the TSC; 0 if it is not known.
 * @tsc_to_cpu_mult:	0: the processor's rate is taken to be the TSC's.
 */
struct perfctr_info {
	unsigned int abi_version;
	char driver_version[32];
	unsigned int cpu_type;
	unsigned int cpu_features;
	unsigned int cpu_khz;
	unsigned int tsc_to_cpu_mult;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

/**
 * struct perfctr_cpu_mask - A set of CPUs
 * @nrwords:	Number of elements of @mask.
 * @mask:	Bit n of word m: CPU 32 * m + n.
 */
struct perfctr_cpu_mask {
	unsigned int nrwords;
	unsigned int mask[1];
};

/**
 * struct vperfctr_control - How a thread's counters are programmed
 * @si_signo:	Signal of an overflow, or 0.
 * @cpu_control: What the counters count.
 * @preserve:	Bit n: counter n continues from its old sum.
 * @flags:	VPERFCTR_CONTROL_* bits.
 */
struct vperfctr_control {
	int si_signo;
	struct perfctr_cpu_control cpu_control;
	unsigned int preserve;
	unsigned int flags;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

#define VPERFCTR_CONTROL_CLOEXEC	0x01	/* execve() detaches the counters */

/* Structures of the global mode, for one CPU each. */
struct gperfctr_cpu_control {
	unsigned int cpu;
	struct perfctr_cpu_control cpu_control;
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

struct gperfctr_cpu_state {
	unsigned int cpu;
	struct perfctr_cpu_control cpu_control;
	struct perfctr_sum_ctrs sum;
	unsigned int _reserved1;
	unsigned int _reserved2;
	unsigned int _reserved3;
	unsigned int _reserved4;
};

#endif /* LIBPERFCTR_LINUX_PERFCTR_H */
