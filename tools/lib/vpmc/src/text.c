// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Texts for reasons, holders and states.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "internal.h"

struct text {
	const char *name, *text, *help;
};

static const char in_parts[] =
	"leave some events out, or count them in several runs";
static const char other_event[] =
	"leave it out, or mark it with '?'";
static const char no_time[] =
	"stop the other user, or wait; with 'none' run time is counted without it";

static const struct text reasons[] = {
	[VPMC_REASON_NONE] = { "none", "nothing is wrong", "" },
	[VPMC_REASON_RESERVED_BIT] = { "reserved-bit",
		"the event select has a bit that must be zero",
		"use event, unit mask, edge, invert, counter mask and modes alone" },
	[VPMC_REASON_RESERVED_FIELD] = { "reserved-field",
		"a counter has an unknown flag or a reserved field that is not zero",
		"zero the structure first" },
	[VPMC_REASON_NO_MODE] = { "no-mode",
		"neither user nor kernel mode is chosen", "add ':u' or ':k'" },
	[VPMC_REASON_BAD_INDEX] = { "bad-index",
		"the processor has no such counter",
		"leave '@' out, or see the counters that vpmc info names" },
	[VPMC_REASON_INDEX_TAKEN] = { "index-taken",
		"another event wants the same counter", "leave one '@' out" },
	[VPMC_REASON_WRONG_EVENT] = { "wrong-event",
		"that counter cannot count this event", "leave '@' out" },
	[VPMC_REASON_NO_COUNTER] = { "no-counter",
		"no free counter can count it", in_parts },
	[VPMC_REASON_UNAVAILABLE] = { "unavailable",
		"the processor does not count this event for a thread",
		other_event },
	[VPMC_REASON_EXTRA_MSR] = { "extra-msr",
		"the event needs one more register, which vpmc does not offer",
		other_event },
	[VPMC_REASON_KERNEL_MODE] = { "kernel-mode",
		"counting the kernel is not allowed",
		"sysctl kernel.perf_event_paranoid=1, or CAP_PERFMON; or count ':u' alone" },
	[VPMC_REASON_TOO_MANY] = { "too-many",
		"there are more events than counters", in_parts },
	[VPMC_REASON_NO_PMU] = { "no-pmu",
		"there is no PMU that can be used",
		"vpmc info tells why; or count 'none': run time and switches" },
	[VPMC_REASON_PMU_BUSY] = { "pmu-busy",
		"something else has the PMU, or had it a moment ago", no_time },
	[VPMC_REASON_PMU_PERF] = { "pmu-perf",
		"perf has events on the PMU", "end perf's measurement, or wait for it" },
	[VPMC_REASON_PMU_WATCHDOG] = { "pmu-watchdog",
		"the hard-lockup watchdog has the PMU or a counter of it",
		"sysctl kernel.nmi_watchdog=0; if perf has events, the next refusal says so" },
	[VPMC_REASON_PMU_TRACE] = { "pmu-trace",
		"Intel PT is in use, or was when the kernel started",
		"end the trace; if PT was on when the kernel started, reboot" },
	[VPMC_REASON_REVOKED] = { "revoked",
		"the administrator keeps the PMU",
		"sysctl kernel.vpmc_revoke=0" },
	[VPMC_REASON_PERIOD] = { "period",
		"the period is shorter than the administrator allows",
		"a longer one, or sysctl kernel.vpmc_period_min" },
	[VPMC_REASON_PARANOID] = { "paranoid",
		"only privileged users may count",
		"sysctl kernel.vpmc_paranoid=0" },
	[VPMC_REASON_SIGNAL] = { "signal",
		"that signal cannot be sent for overflows",
		"another one, best a real-time signal" },
	[VPMC_REASON_NO_PERIOD] = { "no-period",
		"a signal, a ring, samples or going on after overflows needs a period",
		"give a counter a period" },
	[VPMC_REASON_RING] = { "ring",
		"the ring's size is no power of two up to 32768, or its watermark is not within it",
		"for instance 1024 records, watermark 512" },
	[VPMC_REASON_RING_MEMORY] = { "ring-memory",
		"the ring, or the records of members, need more locked memory than allowed",
		"smaller ones, or ulimit -l" },
	[VPMC_REASON_SECURITY] = { "security",
		"a security module does not let this process use perf",
		"a rule of that module; SELinux: perf_event open" },
	[VPMC_REASON_MAPPED] = { "mapped",
		"the target has its page mapped and may not see what the kernel does",
		"count ':u' alone" },
	[VPMC_REASON_LEFT_TO_PERF] = { "left-to-perf",
		"the administrator has left too many counters, or that one, to perf",
		"fewer or other counters, or sysctl kernel.vpmc_counters" },
	[VPMC_REASON_CORE_TYPE] = { "core-type",
		"the processor's types of core do not all define that event in the same way",
		"an architectural event: instructions, cycles, branches" },
	[VPMC_REASON_PMU_GLOBAL] = { "pmu-global",
		"the PMU counts for processors (/dev/perfctr)",
		"end vpmc stat -a or vpmc cpus" },
	[VPMC_REASON_PMU_THREADS] = { "pmu-threads",
		"threads have counters", "end them, or take the PMU by --revoke" },
	[VPMC_REASON_CPU_RUNNING] = { "cpu-running",
		"the processor counts", "stop it first" },
	[VPMC_REASON_MEMBERS] = { "members",
		"counts of single members are kept in families alone, of 65536 at most",
		"fewer, or VPMC_CONTROL_INHERIT_THREADS" },
	[VPMC_REASON_PMU_GUEST] = { "pmu-guest",
		"KVM gives the counters to a virtual machine (mediated vPMU)",
		"end that machine, or load kvm_intel or kvm_amd with enable_mediated_pmu=0" },
	[VPMC_REASON_AMBIGUOUS] = { "ambiguous",
		"two units of the processor have an event with these bits",
		"name a counter of the right unit after '@', see vpmc(7)" },
};

static const struct text whys[] = {
	[VPMC_WHY_SYNTAX - VPMC_WHY_SYNTAX] = { "syntax",
		"it is not written as an event",
		"write NAME[:UMASK][:ATTRIBUTE][:u|:k|:uk][@N][?], rUUEE or 0xSELECT" },
	[VPMC_WHY_EMPTY - VPMC_WHY_SYNTAX] = { "empty",
		"there is no event", "name one, for instance 'instructions'" },
	[VPMC_WHY_UNKNOWN - VPMC_WHY_SYNTAX] = { "unknown-event",
		"no event has that name", "vpmc list names them all" },
	[VPMC_WHY_NOT_PORTABLE - VPMC_WHY_SYNTAX] = { "not-portable",
		"this processor has no such portable event",
		"vpmc list names what there is" },
	[VPMC_WHY_NO_TABLE - VPMC_WHY_SYNTAX] = { "no-table",
		"libpfm4 has no table of events for this processor",
		"use a portable name, rUUEE or 0xSELECT; LIBPFM_FORCE_PMU chooses a table" },
	[VPMC_WHY_ATTRIBUTE - VPMC_WHY_SYNTAX] = { "unknown-attribute",
		"the event has no such unit mask, attribute or combination",
		"vpmc list 'EVENT*' names them" },
	[VPMC_WHY_REFUSED_ATTRIBUTE - VPMC_WHY_SYNTAX] = { "refused-attribute",
		"the kernel does not permit this attribute", "leave it out" },
	[VPMC_WHY_DOUBLED - VPMC_WHY_SYNTAX] = { "doubled",
		"the list has this event twice", "name it once" },
	[VPMC_WHY_CONFLICT - VPMC_WHY_SYNTAX] = { "conflict",
		"two events want one counter", "leave one '@' out" },
	[VPMC_WHY_NO_KERNEL - VPMC_WHY_SYNTAX] = { "no-kernel",
		"this kernel has no vpmc, or /proc is not mounted",
		"boot a kernel with CONFIG_VPMC=y" },
	[VPMC_WHY_OFF - VPMC_WHY_SYNTAX] = { "off",
		"vpmc is switched off", "boot without vpmc=off" },
	[VPMC_WHY_NO_THREAD - VPMC_WHY_SYNTAX] = { "no-thread",
		"there is no such thread, or it has ended or lost its counters", "" },
	[VPMC_WHY_NO_ACCESS - VPMC_WHY_SYNTAX] = { "no-access",
		"only those who may debug that process may open its counters",
		"be its user, or have CAP_SYS_PTRACE" },
	[VPMC_WHY_KERNEL_THREAD - VPMC_WHY_SYNTAX] = { "kernel-thread",
		"threads of the kernel have no counters", "" },
	[VPMC_WHY_EXISTS - VPMC_WHY_SYNTAX] = { "exists",
		"the thread has a set of counters already",
		"let its owner end it" },
	[VPMC_WHY_SYSTEM - VPMC_WHY_SYNTAX] = { "system",
		"a system call failed", "" },
	[VPMC_WHY_UMASK - VPMC_WHY_SYNTAX] = { "no-unit-mask",
		"the event needs a unit mask", "write EVENT:UMASK" },
};

static const struct text holders[] = {
	[VPMC_HOLDER_NONE] = { .text = "nobody has the PMU", .help = "" },
	[VPMC_HOLDER_VPMC] = { .text = "vpmc has the PMU", .help = "" },
	[VPMC_HOLDER_OTHER] = {
		.text = "a driver or a hypervisor has the PMU",
		.help = "unload the driver, or end the virtual machine" },
	[VPMC_HOLDER_PERF] = { .text = "perf has the PMU",
		.help = "end perf's measurement" },
	[VPMC_HOLDER_WATCHDOG] = { .text = "the hard-lockup watchdog has the PMU",
		.help = "sysctl kernel.nmi_watchdog=0" },
	[VPMC_HOLDER_TRACE] = { .text = "Intel PT is in use",
		.help = "end the trace" },
	[VPMC_HOLDER_REVOKED] = { .text = "the administrator keeps the PMU",
		.help = "sysctl kernel.vpmc_revoke=0" },
	[VPMC_HOLDER_GLOBAL] = {
		.text = "the PMU counts for processors (/dev/perfctr)",
		.help = "end vpmc stat -a or vpmc cpus" },
	[VPMC_HOLDER_GUEST] = {
		.text = "KVM gives the counters to a virtual machine (mediated vPMU)",
		.help = "end that machine" },
};

static const char *const states[] = {
	[VPMC_STATE_EMPTY] = "empty",
	[VPMC_STATE_STOPPED] = "stopped",
	[VPMC_STATE_RUNNING] = "running",
	[VPMC_STATE_UNLINKED] = "unlinked",
	[VPMC_STATE_EXITED] = "exited",
	[VPMC_STATE_REVOKED] = "revoked",
	[VPMC_STATE_OVERFLOWED] = "overflowed",
};

#define NUMBER_OF(array)	(sizeof(array) / sizeof((array)[0]))

static const struct text *find(unsigned int reason)
{
	static const struct text unknown = {
		"unknown", "the kernel gives a reason that this library does not know",
		"a newer libvpmc knows it",
	};

	if (reason < NUMBER_OF(reasons) && reasons[reason].name)
		return &reasons[reason];
	if (reason - VPMC_WHY_SYNTAX < NUMBER_OF(whys))
		return &whys[reason - VPMC_WHY_SYNTAX];
	return &unknown;
}

EXPORT const char *vpmc_reason_name(unsigned int reason)
{
	return find(reason)->name;
}

EXPORT const char *vpmc_reason_text(unsigned int reason)
{
	return find(reason)->text;
}

EXPORT const char *vpmc_reason_help(unsigned int reason)
{
	return find(reason)->help;
}

EXPORT const char *vpmc_holder_text(unsigned int holder)
{
	return holder < NUMBER_OF(holders) ? holders[holder].text :
	       "an unknown user has the PMU";
}

EXPORT const char *vpmc_holder_help(unsigned int holder)
{
	return holder < NUMBER_OF(holders) ? holders[holder].help : "";
}

EXPORT const char *vpmc_state_text(unsigned int state)
{
	return state < NUMBER_OF(states) ? states[state] : "unknown";
}

EXPORT const char *vpmc_version(void)
{
	return VPMC_VERSION;
}
