// SPDX-License-Identifier: GPL-2.0
/*
 * INIT leaves the PMU's registers as they were: seen on the second processor.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define AP_APIC_ID	1
#define PATIENCE	10000000

static volatile u32 *const report = (volatile u32 *)AP_REPORT;

/* INIT and start-up; false if the processor has not reported after a while */
static bool start_ap(u32 starts)
{
	apic_write(APIC_ICR_DESTINATION, AP_APIC_ID << 24);
	apic_write(APIC_ICR, ICR_INIT);
	apic_write(APIC_ICR, ICR_STARTUP | AP_START >> 12);
	for (u32 i = 0; i < PATIENCE; i++) {
		if (report[2] == starts)
			return true;
		asm volatile("pause");
	}
	return false;
}

void test_init(void)
{
	for (char *from = ap_code, *to = (char *)AP_START; from < ap_code_end;)
		*to++ = *from++;
	report[2] = 0;
	report[4] = want_amd ? evtsel_msr(0) : MSR_GLOBAL_CTRL;
	report[5] = want_amd ? ctr_msr(0) : MSR_FIXED_CTR0;
	check("second processor: it starts", start_ap(1));
	check_eq("second processor: control after RESET", report[0],
		 want_amd ? 0 : (1 << NUM_GP) - 1);
	check_eq("second processor: counter after RESET", report[1], 0);
	check("second processor: it starts again", start_ap(2));
	check_eq("second processor: control after INIT", report[0], AP_CONTROL);
	check_eq("second processor: counter after INIT", report[1], AP_COUNTER);
}
