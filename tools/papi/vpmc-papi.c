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
#include <stdio.h>
#include <string.h>

#include "papi.h"
#include "papi_internal.h"
#include "papi_vector.h"
#include "papi_memory.h"
#include "papi_preset.h"
#include "extras.h"

#include <vpmc.h>

#include "vpmc-events.h"
#include "vpmc-set.h"

papi_vector_t VECTOR;

static int vpmc_reset_set(hwd_context_t *ctx, hwd_control_state_t *ctl)
{
	long long zero[VPMC_MAX_COUNTERS] = { 0 };

	return vpmc_set_write(ctx, ctl, zero);
}

static int vpmc_init_control_state(hwd_control_state_t *ctl)
{
	struct control *control = (struct control *)ctl;

	memset(control, 0, sizeof(*control));
	control->domain = VECTOR.cmp_info.default_domain;
	return PAPI_OK;
}

/* The event set needs no counters any more, or only those of another thread. */
static void release(struct context *context, struct control *control)
{
	vpmc_set_release_other(control);
	if (context->holder == control && !context->running)
		vpmc_set_release(context);
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
	if (!count)
		release(context, control);
	vpmc_set_forget(context, control);
	for (int i = 0; i < count; i++) {
		int err = vpmc_event_select(native[i].ni_event,
					    &control->event[i].select,
					    &control->event[i].name);

		if (err)
			return err;
		native[i].ni_position = i;
	}
	control->nr = count;
	for (unsigned int i = count; i < before; i++)
		control->period[i] = 0;
	return vpmc_set_judge(context, control);
}

static int vpmc_cleanup_eventset(hwd_control_state_t *ctl)
{
	vpmc_set_detach((struct control *)ctl);
	return PAPI_OK;
}

static int vpmc_set_domain(hwd_control_state_t *ctl, int domain)
{
	struct control *control = (struct control *)ctl;

	if (!(domain & (PAPI_DOM_USER | PAPI_DOM_KERNEL)))
		return PAPI_EINVAL;
	control->domain = domain;
	if (control->context)
		vpmc_set_forget(control->context, control);
	return PAPI_OK;
}

static int attach(struct context *context, struct control *control,
		  unsigned long tid)
{
	int err = vpmc_set_attach(control, tid);

	if (err)
		return err;
	/* The calling thread does not need what was added for this event set. */
	release(context, control);
	err = vpmc_set_judge(context, control);
	if (err)
		vpmc_set_detach(control);
	return err;
}

static int set_inherit(struct context *context, struct control *control, bool inherit)
{
	bool before = control->inherit;
	int err;

	control->inherit = inherit;
	vpmc_set_forget(context, control);
	err = vpmc_set_judge(context, control);
	if (err)
		control->inherit = before;
	return err;
}

static int vpmc_ctl(hwd_context_t *ctx, int code, _papi_int_option_t *option)
{
	struct context *context = (struct context *)ctx;

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
		return set_inherit(context, (struct control *)option->inherit.ESI->ctl_state,
				   option->inherit.inherit);
	case PAPI_MULTIPLEX:
	case PAPI_DEF_ITIMER:
	case PAPI_DEF_ITIMER_NS:
		return PAPI_OK;
	}
	return PAPI_ENOSUPP;
}

static void set_period(struct control *control, unsigned int at, uint64_t period)
{
	control->period[at] = period;
	control->overflows = false;
	for (unsigned int i = 0; i < control->nr; i++)
		control->overflows |= control->period[i] != 0;
}

static int vpmc_set_overflow(EventSetInfo_t *set, int index, int threshold)
{
	struct control *control = (struct control *)set->ctl_state;
	struct context *context = set->master->context[set->CmpIdx];
	int at = set->EventInfoArray[index].pos[0], err;
	bool before = control->overflows;
	uint64_t period;

	if (at < 0 || (!threshold && !control->period[at]))
		return PAPI_EINVAL;
	period = control->period[at];
	set_period(control, at, threshold);
	vpmc_set_forget(context, control);
	err = vpmc_set_judge(context, control);
	if (err)
		set_period(control, at, period);
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
	if (context->own.v)
		vpmc_resume(context->own.v);
}

static int vpmc_init_thread(hwd_context_t *ctx)
{
	memset(ctx, 0, sizeof(struct context));
	return PAPI_OK;
}

static int vpmc_shutdown_thread(hwd_context_t *ctx)
{
	vpmc_set_release((struct context *)ctx);
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
	.start = vpmc_set_start,
	.stop = vpmc_set_stop,
	.read = vpmc_set_read,
	.write = vpmc_set_write,
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
