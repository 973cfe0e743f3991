// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * The modes behind an event's name, and perf's other modifiers, which are refused.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <string.h>

#include "internal.h"

/* perf's modifiers. perf_event_open(2) describes what they ask for. */
static const struct {
	char letter;
	const char *why, *help;
} refused[] = {
	{ 'p', "'p' asks for samples by PEBS or IBS, which vpmc does not use",
	  "leave it out, or use perf record" },
	{ 'P', "'P' asks for samples by PEBS or IBS, which vpmc does not use",
	  "leave it out, or use perf record" },
	{ 'D', "'D' pins an event to its counter, as all events of vpmc are",
	  "leave it out" },
	{ 'S', "'S' reads a group with its first event, as vpmc always does",
	  "leave it out" },
	{ 'e', "'e' asks for the PMU alone, and vpmc never multiplexes",
	  "leave it out" },
	{ 'W', "'W' lets perf break a group up, and vpmc counts all events at once or says what does not fit",
	  "leave it out, or use vpmc stat --split" },
	{ 'b', "'b' asks for counting by BPF, which vpmc does not use",
	  "leave it out" },
	{ 'I', "'I' leaves out the idle task, which no thread of a program is",
	  "leave it out" },
	{ 'h', "'h' asks for the hypervisor's mode, which x86 has not",
	  "leave it out" },
	{ 'H', "'H' leaves virtual machines out, and vpmc counts threads in user and kernel mode alone",
	  "leave it out" },
	{ 'G', "'G' asks for what a virtual machine does, and vpmc counts threads in user and kernel mode alone",
	  "count inside of the machine, or use perf kvm stat" },
	{ 'R', "'R' asks for a latency instead of a count", "leave it out" },
};

uint64_t vpmc_modes_of(const char *text, enum vpmc_kind kind)
{
	const struct select_form form = select_form(kind);
	uint64_t modes = 0;

	for (; *text; text++) {
		if (*text == 'u' && !(modes & form.user))
			modes |= form.user;
		else if (*text == 'k' && !(modes & form.kernel))
			modes |= form.kernel;
		else if (*text != ':' || !modes || !text[1])
			return 0;
	}
	return modes;
}

const char *vpmc_perf_modifier(const char *text, const char **why, const char **help)
{
	const char *first = NULL;
	unsigned int i;

	for (; *text; text++) {
		if (*text == 'u' || *text == 'k')
			continue;
		for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
			if (refused[i].letter == *text)
				break;
		if (i == sizeof(refused) / sizeof(refused[0]))
			return NULL;
		if (first)
			continue;
		first = text;
		*why = refused[i].why;
		*help = refused[i].help;
	}
	return first;
}
