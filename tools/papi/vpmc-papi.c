// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * PAPI's component for vpmc: a thread's own counters, through libvpmc.
 *
 * Copyright (C) 2026 vpmc developers
 *
 * There are two ways to build this source. With VPMC_PAPI_DROP_IN it replaces
 * components/perf_event, under that name and symbol, because only that name has
 * PAPI's presets, component 0 and PAPI's test programs. Without
 * VPMC_PAPI_DROP_IN it is components/vpmc beside perf_event's, with native
 * events "vpmc:::NAME" and no presets.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "papi.h"
#include "papi_internal.h"
#include "papi_vector.h"
#include "papi_memory.h"
#include "papi_preset.h"
#include "extras.h"

#include <vpmc.h>

#include "vpmc-events.h"

#ifdef VPMC_PAPI_DROP_IN
#define VECTOR		_perf_event_vector
#define NAME		"perf_event"
#else
#define VECTOR		_vpmc_vector
#define NAME		"vpmc"
#endif

#define SELECT_USR	(1U << 16)
#define SELECT_OS	(1U << 17)

papi_vector_t VECTOR;

/*
 * State of a thread. @own is opened at its first use, because init_thread() of
 * the main thread runs before init_component(). @programmed is the event set
 * that the kernel has.
 */
struct context {
	struct vpmc *own;
	const struct control *programmed, *running;
};

/* state of an event set */
struct control {
	unsigned int nr, domain;
	int events[VPMC_MAX_COUNTERS];		/* numbers of events, see vpmc-events.h */
	uint64_t period[VPMC_MAX_COUNTERS];
	uint64_t base[VPMC_MAX_COUNTERS];	/* sums at the last reset */
	long long count[VPMC_MAX_COUNTERS];
	/* counters of the thread it is attached to, or NULL */
	struct vpmc *other;
	struct context *context;		/* thread that has programmed it last */
	bool inherit, overflows;
};

static int error_of(int err, const struct vpmc_control *set)
{
	switch (set->reason) {
	case VPMC_REASON_INDEX_TAKEN:
	case VPMC_REASON_NO_COUNTER:
	case VPMC_REASON_TOO_MANY:
	case VPMC_REASON_PMU_BUSY:
	case VPMC_REASON_PMU_PERF:
	case VPMC_REASON_PMU_WATCHDOG:
	case VPMC_REASON_PMU_TRACE:
	case VPMC_REASON_REVOKED:
		return PAPI_ECNFLCT;
	case VPMC_REASON_KERNEL_MODE:
	case VPMC_REASON_PARANOID:
	case VPMC_REASON_SECURITY:
		return PAPI_EPERM;
	case VPMC_REASON_UNAVAILABLE:
	case VPMC_REASON_EXTRA_MSR:
	case VPMC_REASON_RESERVED_BIT:
	case VPMC_REASON_NO_PMU:
		return PAPI_ENOSUPP;
	}
	switch (err) {
	case -EACCES:
	case -EPERM:
		return PAPI_EPERM;
	case -ENOMEM:
		return PAPI_ENOMEM;
	case -EINVAL:
		return PAPI_EINVAL;
	}
	return PAPI_ESYS;
}

/* Returns the thread's own handle. Opens a new one in the child of a fork(). */
static int own_handle(struct context *context, struct vpmc **v)
{
	if (context->own && vpmc_fd(context->own) < 0) {
		vpmc_close(context->own);
		context->own = NULL;
		context->programmed = context->running = NULL;
	}
	if (!context->own) {
		int err = vpmc_open(&context->own, 0, NULL);

		if (err)
			return err == -EACCES ? PAPI_EPERM : PAPI_ESYS;
	}
	*v = context->own;
	return PAPI_OK;
}

static int handle(struct context *context, struct control *control,
		  struct vpmc **v)
{
	*v = control->other;
	return *v ? PAPI_OK : own_handle(context, v);
}

static int make_set(const struct control *control, struct vpmc_control *set)
{
	uint64_t modes = (control->domain & PAPI_DOM_USER ? SELECT_USR : 0) |
			 (control->domain & PAPI_DOM_KERNEL ? SELECT_OS : 0);
	uint64_t select;

	memset(set, 0, sizeof(*set));
	set->size = sizeof(*set);
	set->nr_counters = control->nr;
	for (unsigned int i = 0; i < control->nr; i++) {
		int err = vpmc_event_select(control->events[i], &select);

		if (err)
			return err;
		set->counter[i].evtsel = select | modes;
		set->counter[i].index = VPMC_ANY;
		set->counter[i].period = control->period[i];
		if (control->period[i])
			set->signal = VECTOR.cmp_info.hardware_intr_sig;
	}
	if (control->inherit)
		set->flags = VPMC_CONTROL_INHERIT_THREADS |
			     VPMC_CONTROL_INHERIT_PROCESSES;
	else if (control->other)
		set->flags = VPMC_CONTROL_UNLINK_ON_CLOSE;
	else
		set->flags = VPMC_CONTROL_CLOSE_ON_EXEC;
	return PAPI_OK;
}

static int program(struct context *context, struct control *control,
		   unsigned int flags)
{
	struct vpmc_control set;
	struct vpmc *v;
	int err = handle(context, control, &v);

	if (!err)
		err = make_set(control, &set);
	if (err)
		return err;
	set.flags |= flags;
	err = vpmc_program_raw(v, &set, NULL);
	if (err < 0)
		return error_of(err, &set);
	memset(control->base, 0, sizeof(control->base));
	if (!control->other) {
		context->programmed = control;
		control->context = context;
	}
	return PAPI_OK;
}

/*
 * Asks whether the kernel accepts the set. Does not ask while another set of
 * the thread counts, because programming would replace that set.
 */
static int judge(struct context *context, struct control *control)
{
	if (!control->nr || (!control->other && context->running))
		return PAPI_OK;
	return program(context, control, VPMC_CONTROL_STOPPED);
}

/* Notes that the kernel's set no longer matches @control. */
static void forget(struct context *context, const struct control *control)
{
	if (context->programmed == control)
		context->programmed = NULL;
}

static int read_sums(struct vpmc *v, const struct control *control, uint64_t *now)
{
	struct vpmc_read sums;
	int err;

	/* vpmc_read() is fastest with the exact number of counters. */
	if (!control->inherit)
		return vpmc_read(v, now, control->nr, NULL);
	err = vpmc_read_sums(v, VPMC_READ_LIVING | VPMC_READ_FINISHED, &sums);
	memcpy(now, sums.sum, sizeof(sums.sum));
	return err;
}

static int vpmc_start_set(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	struct vpmc *v;
	int err = handle(context, control, &v);

	if (err)
		return err;
	/* The kernel has this set since judge(). Its sums become the base. */
	if (context->programmed == control && !control->overflows &&
	    !control->inherit && !control->other &&
	    read_sums(v, control, control->base) >= 0 && !vpmc_start(v))
		err = PAPI_OK;
	else
		err = program(context, control, 0);
	if (!err && !control->other)
		context->running = control;
	return err;
}

static int vpmc_stop_set(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	struct vpmc *v;
	int err = handle(context, control, &v);

	if (err)
		return err;
	if (!control->other)
		context->running = NULL;
	err = vpmc_stop(v);
	/* A target that has ended is stopped already. */
	return err && err != -ESRCH ? PAPI_ESYS : PAPI_OK;
}

/*
 * Reads another thread's set, inherited counts, or the first time after a
 * fork().
 */
static __attribute__((__noinline__, __cold__)) int
read_slowly(struct context *context, struct control *control)
{
	uint64_t now[VPMC_MAX_COUNTERS];
	struct vpmc *v;
	int err = handle(context, control, &v);

	if (err)
		return err;
	if (read_sums(v, control, now) < 0)
		return PAPI_ESYS;
	for (unsigned int i = 0; i < control->nr; i++)
		control->count[i] = now[i] - control->base[i];
	return PAPI_OK;
}

/*
 * Reads a set of the calling thread in few instructions. This is the usual
 * case.
 */
static int vpmc_read_set(hwd_context_t *ctx, hwd_control_state_t *ctl,
			 long long **values, int flags)
{
	struct context *context = (struct context *)ctx;
	struct control *control = (struct control *)ctl;
	uint64_t *now = (uint64_t *)control->count;
	unsigned int i;

	(void)flags;
	*values = control->count;
	if (context->running != control || control->inherit ||
	    vpmc_read(context->own, now, control->nr, NULL) != (int)control->nr)
		return read_slowly(context, control);
	for (i = 0; i < control->nr; i++)
		now[i] -= control->base[i];
	return PAPI_OK;
}

static int vpmc_write_set(hwd_context_t *ctx, hwd_control_state_t *ctl,
			  long long *values)
{
	struct control *control = (struct control *)ctl;
	uint64_t now[VPMC_MAX_COUNTERS];
	struct vpmc *v;
	int err = handle((struct context *)ctx, control, &v);

	if (err)
		return err;
	if (read_sums(v, control, now) < 0)
		return PAPI_ESYS;
	for (unsigned int i = 0; i < control->nr; i++)
		control->base[i] = now[i] - values[i];
	return PAPI_OK;
}

static int vpmc_reset_set(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	long long zero[VPMC_MAX_COUNTERS] = { 0 };

	return vpmc_write_set(ctx, ctl, zero);
}

static int vpmc_init_control_state(hwd_control_state_t *ctl)
{
	struct control *control = (struct control *)ctl;

	memset(control, 0, sizeof(*control));
	control->domain = VECTOR.cmp_info.default_domain;
	return PAPI_OK;
}

/* Gives the thread's counters back to the kernel, for other users. */
static void release(struct context *context)
{
	if (!context->own)
		return;
	vpmc_unlink(context->own);
	vpmc_close(context->own);
	memset(context, 0, sizeof(*context));
}

static int vpmc_update_control_state(hwd_control_state_t *ctl,
				     NativeInfo_t *native, int count,
				     hwd_context_t *ctx)
{
	struct control *control = (struct control *)ctl;
	struct context *context = (struct context *)ctx;
	unsigned int before = control->nr;

	if (count > VPMC_MAX_COUNTERS)
		return PAPI_ECNFLCT;
	if (!count && context->programmed == control && !context->running)
		release(context);
	forget(context, control);
	for (int i = 0; i < count; i++) {
		control->events[i] = native[i].ni_event;
		native[i].ni_position = i;
	}
	control->nr = count;
	for (unsigned int i = count; i < before; i++)
		control->period[i] = 0;
	return judge(context, control);
}

static int vpmc_cleanup_eventset(hwd_control_state_t *ctl)
{
	struct control *control = (struct control *)ctl;

	vpmc_close(control->other);
	control->other = NULL;
	return PAPI_OK;
}

static int vpmc_set_domain(hwd_control_state_t *ctl, int domain)
{
	struct control *control = (struct control *)ctl;

	if (!(domain & (PAPI_DOM_USER | PAPI_DOM_KERNEL)))
		return PAPI_EINVAL;
	control->domain = domain;
	if (control->context)
		forget(control->context, control);
	return PAPI_OK;
}

static int attach(struct context *context, struct control *control,
		  unsigned long tid)
{
	struct vpmc *v;
	int err = vpmc_open_thread(&v, tid, 0, NULL);

	if (err)
		return err == -EACCES || err == -EPERM ? PAPI_EPERM : PAPI_ESYS;
	vpmc_close(control->other);
	control->other = v;
	return judge(context, control);
}

static int vpmc_ctl(hwd_context_t *ctx, int code, _papi_int_option_t *option)
{
	struct context *context = (struct context *)ctx;
	struct control *control;

	switch (code) {
	case PAPI_ATTACH:
		return attach(context, (struct control *)option->attach.ESI->ctl_state,
			      option->attach.tid);
	case PAPI_DETACH:
		return vpmc_cleanup_eventset(option->attach.ESI->ctl_state);
	case PAPI_DOMAIN:
		return vpmc_set_domain(option->domain.ESI->ctl_state,
				       option->domain.domain);
	case PAPI_GRANUL:
		return option->granularity.granularity == PAPI_GRN_THR ?
		       PAPI_OK : PAPI_ECMP;
	case PAPI_INHERIT:
		control = (struct control *)option->inherit.ESI->ctl_state;
		control->inherit = option->inherit.inherit;
		forget(context, control);
		return PAPI_OK;
	case PAPI_MULTIPLEX:
	case PAPI_DEF_ITIMER:
	case PAPI_DEF_ITIMER_NS:
		return PAPI_OK;
	}
	return PAPI_ENOSUPP;
}

static int vpmc_set_overflow(EventSetInfo_t *set, int index, int threshold)
{
	struct control *control = (struct control *)set->ctl_state;
	struct context *context = set->master->context[set->CmpIdx];
	int at = set->EventInfoArray[index].pos[0], err;
	bool before = control->overflows;

	if (at < 0 || (!threshold && !control->period[at]))
		return PAPI_EINVAL;
	control->period[at] = threshold;
	control->overflows = false;
	for (unsigned int i = 0; i < control->nr; i++)
		control->overflows |= control->period[i] != 0;
	forget(context, control);
	err = judge(context, control);
	if (err || before == control->overflows)
		return err;
	return control->overflows ?
	       _papi_hwi_start_signal(VECTOR.cmp_info.hardware_intr_sig, 1, set->CmpIdx) :
	       _papi_hwi_stop_signal(VECTOR.cmp_info.hardware_intr_sig);
}

/* Handles an overflow. The counters are stopped until the handler has ended. */
static void vpmc_dispatch_timer(int number, hwd_siginfo_t *info, void *uc)
{
	int cidx = VECTOR.cmp_info.CmpIdx;
	ThreadInfo_t *thread = _papi_hwi_lookup_thread(0);
	_papi_hwi_context_t where = { .si = info, .ucontext = uc };
	struct context *context;
	EventSetInfo_t *set;

	(void)number;
	set = thread ? thread->running_eventset[cidx] : NULL;
	if (!set || !set->overflow.flags)
		return;
	if (set->overflow.flags & PAPI_OVERFLOW_FORCE_SW) {
		_papi_hwi_dispatch_overflow_signal(&where, GET_OVERFLOW_ADDRESS(where),
						   NULL, 0, 0, &thread, cidx);
		return;
	}
	context = thread->context[cidx];
	_papi_hwi_dispatch_overflow_signal(&where, (vptr_t)info->si_band, NULL,
					   (unsigned int)info->si_fd, 0, &thread, cidx);
	if (context->own)
		vpmc_resume(context->own);
}

static int vpmc_init_thread(hwd_context_t *ctx)
{
	memset(ctx, 0, sizeof(struct context));
	return PAPI_OK;
}

static int vpmc_shutdown_thread(hwd_context_t *ctx)
{
	release((struct context *)ctx);
	return PAPI_OK;
}

static int disable(int error, const char *reason)
{
	snprintf(VECTOR.cmp_info.disabled_reason,
		 sizeof(VECTOR.cmp_info.disabled_reason), "%s", reason);
	VECTOR.cmp_info.disabled = error;
	return error;
}

static int vpmc_init_component(int cidx)
{
	PAPI_component_info_t *about = &VECTOR.cmp_info;
	struct vpmc_info info;
	int err = vpmc_get_info(&info);

	about->CmpIdx = cidx;
	if (err)
		return disable(PAPI_ECMP, err == -ENOSYS ? "The kernel has no vpmc" :
			       "vpmc is switched off");
	if (info.kind == VPMC_KIND_TSC)
		return disable(PAPI_ECMP, "There is no PMU that vpmc can use");
	if (!vpmc_table(NULL))
		return disable(PAPI_ECMP, "libpfm4 has no events of this processor");
	err = vpmc_events_init();
	if (err)
		return disable(err, "There is no memory for the events");
	about->num_native_events = vpmc_nr_events();
	about->num_cntrs = __builtin_popcountll(info.gp_mask) +
			   __builtin_popcountll(info.fixed_mask);
	about->num_mpx_cntrs = PAPI_MAX_SW_MPX_EVENTS;
	about->hardware_intr_sig = SIGRTMIN + 2;
	snprintf(about->kernel_version, sizeof(about->kernel_version),
		 "vpmc %u", info.version);
#ifdef VPMC_PAPI_DROP_IN
	err = _papi_load_preset_table((char *)vpmc_table(NULL), 0, cidx);
	if (err)
		return disable(err, "PAPI's presets cannot be loaded");
#endif
	about->disabled = PAPI_OK;
	return PAPI_OK;
}

static int vpmc_shutdown_component(void)
{
	vpmc_events_exit();
	return PAPI_OK;
}

papi_vector_t VECTOR = {
	.cmp_info = {
		.name = NAME,
		.short_name = "vpmc",
		.version = "0.1.0",
		.description = "Every thread's own counters, by vpmc",
		.default_domain = PAPI_DOM_USER,
		.available_domains = PAPI_DOM_USER | PAPI_DOM_KERNEL,
		.default_granularity = PAPI_GRN_THR,
		.available_granularities = PAPI_GRN_THR,
		.hardware_intr = 1,
		.fast_counter_read = 1,
		.fast_real_timer = 1,
		.attach = 1,
		/*
		 * vpmc does not need this, but two of PAPI's test programs do.
		 */
		.attach_must_ptrace = 1,
		.inherit = 1,
		.cntr_umasks = 1,
	},
	.size = {
		.context = sizeof(struct context),
		.control_state = sizeof(struct control),
		.reg_value = sizeof(int),
		.reg_alloc = sizeof(int),
	},
	.init_component = vpmc_init_component,
	.shutdown_component = vpmc_shutdown_component,
	.init_thread = vpmc_init_thread,
	.shutdown_thread = vpmc_shutdown_thread,
	.init_control_state = vpmc_init_control_state,
	.update_control_state = vpmc_update_control_state,
	.cleanup_eventset = vpmc_cleanup_eventset,
	.start = vpmc_start_set,
	.stop = vpmc_stop_set,
	.read = vpmc_read_set,
	.write = vpmc_write_set,
	.reset = vpmc_reset_set,
	.ctl = vpmc_ctl,
	.set_domain = vpmc_set_domain,
	.set_overflow = vpmc_set_overflow,
	.dispatch_timer = vpmc_dispatch_timer,
	.ntv_enum_events = vpmc_enum_events,
	.ntv_name_to_code = vpmc_name_to_code,
	.ntv_code_to_name = vpmc_code_to_name,
	.ntv_code_to_descr = vpmc_code_to_descr,
	.ntv_code_to_info = vpmc_code_to_info,
};
