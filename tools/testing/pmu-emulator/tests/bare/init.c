// SPDX-License-Identifier: GPL-2.0
/*
 * INIT does not change the PMU's registers, tested on the second processor. It runs
 * while the first one spins with PAUSE.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"
#include "netburst.h"
#include "pmu-test-msr.h"

#define AP_APIC_ID	1
#define PATIENCE	10000000
/* Each PAUSE lets the other processor run for a whole turn, which is enough. */
#define FEW_PAUSES	100

static bool at_once;	/* it had started before we went on */
static u32 pauses;
static volatile u32 *const report = (volatile u32 *)AP_REPORT;

bool ask_ap(u32 control, u32 counter, u32 *control_was, u32 *counter_was)
{
	u32 starts;

	for (char *from = ap_code, *to = (char *)AP_START; from < ap_code_end;)
		*to++ = *from++;
	report[3] = 0;
	report[4] = control;
	report[5] = counter;
	starts = report[2] + 1;
	apic_write(APIC_ICR_DESTINATION, AP_APIC_ID << 24);
	apic_write(APIC_ICR, ICR_INIT);
	apic_write(APIC_ICR, ICR_STARTUP | AP_START >> 12);
	at_once = report[3] == 1;
	for (pauses = 0; pauses < PATIENCE && report[2] != starts; pauses++)
		asm volatile("pause");
	*control_was = report[0];
	*counter_was = report[1];
	return report[2] == starts;
}

u32 ap_leaf_23h_ebx(void)
{
	return report[6];
}

void test_init(void)
{
	u32 msr = want_netburst ? MSR_CRU_ESCR0 :
		  has_global() ? MSR_GLOBAL_CTRL : evtsel_msr(0);
	u32 ctr = has_global() ? MSR_FIXED_CTR0 : ctr_msr(0);
	u32 control, counter;

	check("second processor: it starts", ask_ap(msr, ctr, &control, &counter));
	if (want_machine & PMU_MACHINE_EXACT) {
		check("second processor: it starts before we go on", at_once);
		check("second processor: it runs at each PAUSE", pauses < FEW_PAUSES);
	}
	check_eq("second processor: control after RESET", control,
		 has_global() ? (1 << NUM_GP) - 1 : 0);
	check_eq("second processor: counter after RESET", counter, 0);
	if (want_version >= 6)
		check_eq("second processor: CPUID.23H.0:EBX", ap_leaf_23h_ebx(),
			 want_user_disable ? CPUID_USER_DISABLE : 0);
	check("second processor: it starts again",
	      ask_ap(msr, ctr, &control, &counter));
	check_eq("second processor: control after INIT", control, AP_CONTROL);
	check_eq("second processor: counter after INIT", counter, AP_COUNTER);
}
