/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What kernel/vpmc/ needs from an architecture, for the suite arm64, which only
 * compiles. Functions without a body here would be the architecture's.
 *
 * arm64 permits reads of counters by a register of each CPU (PMUSERENR_EL0), which
 * the kernel can write for each thread. x86 permits them for an address space.
 * kernel/vpmc/ asks for an address space, because a thread must not see what another
 * address space counted. An architecture may permit less.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef _ASM_VPMC_H
#define _ASM_VPMC_H

#include <linux/mm_types.h>
#include <linux/vpmc_backend.h>

#include <asm/arch_timer.h>

u64 vpmc_arch_read(u32 index);
bool vpmc_arch_read_safe(u32 index, u64 *value);

static __always_inline u64 vpmc_arch_clock(void)
{
	return read_sysreg(cntvct_el0);
}

static inline u32 vpmc_arch_clock_khz(void)
{
	return arch_timer_get_cntfrq() / 1000;
}

u64 vpmc_arch_context(const struct mm_struct *mm);
bool vpmc_arch_access_on(void);
bool vpmc_arch_has_access(void);
bool vpmc_arch_permits_access(struct mm_struct *mm);
void vpmc_arch_trap_access(void);
bool vpmc_arch_untrap_access(void);
void vpmc_arch_clean_counters(void);
void vpmc_arch_allow_access(struct mm_struct *mm);
bool vpmc_arch_forbid_access(struct mm_struct *mm);
void vpmc_arch_update_access(const struct cpumask *cpus);
bool vpmc_arch_time(struct vpmc_page *page);

#endif /* _ASM_VPMC_H */
