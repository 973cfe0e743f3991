// SPDX-License-Identifier: GPL-2.0
/*
 * perfex: perfctr's command, with the same options and output. vpmc runs it if
 * vpmc is called by that name.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <getopt.h>
#include <libperfctr.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vpmc.h>

#include "commands.h"
#include "common/fail.h"
#include "common/output.h"
#include "common/portable.h"
#include "select.h"
#include "stat/child.h"

#define MAX_EVENTS	PERFCTR_X86_MAX_COUNTERS
/*
 * Long options without a letter. They set registers that these processors do
 * not have.
 */
enum { OPTION_OFFCORE = 256, OPTION_P4 };

/* Values of one -e, as they are printed. */
struct spec {
	unsigned int select, high, counter;
	bool named;		/* the counter is after '@' */
};

struct options {
	struct spec spec[MAX_EVENTS];
	struct vpmc_event event[MAX_EVENTS];
	unsigned int nr;
	int base;
	bool is_p4;		/* evntsel is the CCCR, and evntsel2 the ESCR */
	bool quiet;		/* do not warn of numbers that may be decimal */
	const char *output;	/* argument of -o, or NULL */
};

/*
 * Parses the digits at the beginning of @text. The base was 10 in early
 * versions of perfctr. A number that depends on the base gets perfctr's
 * warning.
 */
static unsigned int number(const struct options *o, const char *text,
			   const char **end)
{
	unsigned long value;
	char *after;

	errno = 0;
	value = strtoul(text, &after, o->base);
	if (after == text || errno || value > 0xffffffffUL || *text == '-')
		fail(STATUS_OURS, "%s: not a number of 32 bits; write it as 0x004100c0",
		     *text ? text : "a number that is empty");
	if (o->base == 16 && !o->quiet && strtoul(text, NULL, 0) != value)
		note("warning: string '%s' is base-dependent, assuming base 16. Please prefix hexadecimal numbers with '0x'.",
		     text);
	*end = after;
	return value;
}

/*
 * Returns the event of Intel's fixed counter, without the modes. In the select that
 * the user gives, only the modes and the enable bit have a meaning. Programmable counters
 * have the events of the first two counters, too.
 */
static unsigned int fixed_event(unsigned int counter)
{
	return counter == 0 ? 0xc0 : counter == 1 ? 0x3c : (counter + 1) << 8;
}

/*
 * Returns the counter's index. NetBurst's have bit 31 in it, which perfctr took or left
 * out. The kernel chooses one there if none is named, because few counters count an event.
 */
static unsigned int index_of(const struct options *o, const struct spec *spec)
{
	if (!o->is_p4)
		return spec->counter;
	return spec->named ? spec->counter | RDPMC_FAST : VPMC_ANY;
}

/* EVNTSEL[/EVNTSEL2][@PMC] */
static void add_event(struct options *o, char *text)
{
	struct spec *spec = &o->spec[o->nr];
	struct vpmc_event *event = &o->event[o->nr];
	struct select_form form = select_form(events_kind());
	unsigned int enable = form.enable;
	const char *at;

	if (o->nr == MAX_EVENTS)
		fail(STATUS_OURS, "%s: too many event specifiers; give at most %d",
		     text, MAX_EVENTS);
	*spec = (struct spec){ .select = number(o, text, &at), .counter = o->nr };
	if (*at == '/')
		spec->high = number(o, at + 1, &at);
	spec->named = *at == '@';
	if (spec->named)
		spec->counter = number(o, at + 1, &at);
	if (*at)
		fail(STATUS_OURS, "%s: invalid event specifier; write EVNTSEL[/EVNTSEL2][@PMC]",
		     text);
	if (spec->named && index_of(o, spec) == VPMC_ANY)
		fail(STATUS_OURS, "%s: %#x is no counter; name one of 0 to 17", text, spec->counter);
	if (!(spec->select & enable))
		fail(STATUS_OURS, "%s: the enable bit is not set; add 0x%08x", text,
		     enable);
	if (!((spec->select | (uint64_t)spec->high << 32) & (form.user | form.kernel)))
		fail(STATUS_OURS, "%s: neither user nor kernel mode is chosen; add %s", text,
		     o->is_p4 ? "4 or 8 to EVNTSEL2" : "0x00010000 or 0x00020000");
	*event = (struct vpmc_event){
		.text = text,
		.select = spec->select | (uint64_t)spec->high << 32,
		.index = index_of(o, spec),
	};
	if (!o->is_p4 && spec->counter >= VPMC_RDPMC_FIXED)
		event->select = modes_of(spec->select) |
				fixed_event(spec->counter - VPMC_RDPMC_FIXED);
	for (unsigned int i = 0; i < o->nr; i++)
		if (event->index != VPMC_ANY && o->event[i].index == event->index)
			fail(STATUS_OURS, "%s: another event wants the same counter; name another one after '@'",
			     text);
	o->nr++;
}

static void usage(void)
{
	fputs("Usage:  perfex [options] <command> [<command arg>] ...\n"
	      "\tperfex -i\n\tperfex -l\n\tperfex -L\n\tperfex -h\n\n"
	      "Options:\n"
	      "\t-e <event> | --event=<event>\tcount this event\n"
	      "\t-o <file> | --output=<file>\tcounts go there (default: stderr)\n"
	      "\t-d | --decimal\t\t\tnumbers without 0x are decimal\n"
	      "\t-x | --hex\t\t\tthey are hexadecimal, and no warning of that\n"
	      "\t-i | --info\t\t\ttell what the processor is\n"
	      "\t-l | --list\t\t\tlist its events\n"
	      "\t-L | --long-list\t\tlist them with their numbers\n"
	      "\t-h | --help\t\t\tthis text\n\n"
	      "event ::= evntsel[/evntsel2][@pmc]\n\n"
	      "\tevntsel is the event select: event, unit mask << 8, 0x10000 for user\n"
	      "\tmode, 0x20000 for the kernel, and 0x400000, which has to be set.\n"
	      "\tevntsel2 is its upper half, on AMD's processors alone. On a Pentium 4\n"
	      "\tevntsel is the CCCR, with 0x1000, and evntsel2 is the ESCR. pmc is the\n"
	      "\tcounter; by default the events use 0 and up, as listed, and on a\n"
	      "\tPentium 4 the ones that can count them. Intel's fixed counters are\n"
	      "\t0x40000000 and up; of their evntsel only the modes count.\n",
	      stdout);
}

static struct perfctr_info read_info(void)
{
	struct perfctr_info info;

	if (perfctr_get_info(&info) < 0)
		fail(STATUS_OURS, "counters: %s; vpmc info tells more",
		     errno == ENOENT ? "the kernel has no vpmc" : strerror(errno));
	return info;
}

static void print_info(void)
{
	struct perfctr_info info = read_info();
	int fd = _vperfctr_open(0);
	struct perfctr_cpus_info *cpus = fd < 0 ? NULL : perfctr_cpus_info(fd);

	printf("PerfCtr Info:\n");
	perfctr_info_print(&info);
	if (cpus)
		perfctr_cpus_info_print(cpus);
	free(cpus);
	if (fd >= 0)
		close(fd);
}

static void print_events(bool with_numbers)
{
	struct perfctr_info info = read_info();
	unsigned int nr = perfctr_info_nrctrs(&info), i;
	const struct perfctr_event_set *set = perfctr_cpu_event_set(info.cpu_type);
	const struct perfctr_event *event;

	printf("CPU type %s\n", perfctr_info_cpu_name(&info));
	printf("%s time-stamp counter available\n",
	       info.cpu_features & PERFCTR_FEATURE_RDTSC ? "One" : "No");
	printf("%u performance counter%s available\n", nr, nr == 1 ? "" : "s");
	printf("Overflow interrupts%s available\n",
	       info.cpu_features & PERFCTR_FEATURE_PCINT ? "" : " not");
	if (!set || !set->nevents) {
		printf("\nThe user-space library does not include an event list for this CPU type (this is not an error)\n");
		return;
	}
	printf("\nEvents Available:\n");
	if (with_numbers)
		printf("Name:EvntSel:CounterSet:DefaultUnitMask\n");
	for (i = 0; i < set->nevents; i++) {
		event = &set->events[i];
		printf("%s%s", set->event_prefix, event->name);
		if (with_numbers)
			printf(":0x%02X:0x%X:0x%X", event->evntsel,
			       event->counters_set, event->unit_mask ?
			       event->unit_mask->default_value : 0);
		putchar('\n');
	}
}

/*
 * Parses all options. Returns -1, or the letter of an option that ends the
 * program.
 */
static int parse(struct options *o, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "decimal", 0, NULL, 'd' },
		{ "event", 1, NULL, 'e' },
		{ "help", 0, NULL, 'h' },
		{ "hex", 0, NULL, 'x' },
		{ "info", 0, NULL, 'i' },
		{ "list", 0, NULL, 'l' },
		{ "long-list", 0, NULL, 'L' },
		{ "output", 1, NULL, 'o' },
		{ "nhlm_offcore_rsp_0", 1, NULL, OPTION_OFFCORE },
		{ "nhlm_offcore_rsp_1", 1, NULL, OPTION_OFFCORE },
		{ "p4pe", 1, NULL, OPTION_P4 },
		{ "p4_pebs_enable", 1, NULL, OPTION_P4 },
		{ "p4pmv", 1, NULL, OPTION_P4 },
		{ "p4_pebs_matrix_vert", 1, NULL, OPTION_P4 },
		{ NULL, 0, NULL, 0 }
	};
	int letter;

	opterr = 0;
	/* '+' stops at COMMAND: later options belong to COMMAND. */
	while ((letter = getopt_long(argc, argv, "+:de:hilLo:x", longs, NULL)) != -1) {
		switch (letter) {
		case 'd':
			o->base = 0;
			break;
		case 'x':
			o->base = 16;
			o->quiet = true;
			break;
		case 'e':
			add_event(o, optarg);
			break;
		case 'o':
			o->output = optarg;
			break;
		case 'h':
		case 'i':
		case 'l':
		case 'L':
			return letter;
		case OPTION_OFFCORE:
			fail(STATUS_OURS, "%s: vpmc does not program the off-core response registers; leave it out",
			     argv[optind - 1]);
		case OPTION_P4:
			fail(STATUS_OURS, o->is_p4 ?
			     "%s: vpmc does not program the registers of PEBS; leave it out" :
			     "%s: this processor is no Pentium 4; leave it out",
			     argv[optind - 1]);
		case ':':
			fail(STATUS_OURS, "%s: needs an argument; perfex -h tells which",
			     argv[optind - 1]);
		default:
			fail(STATUS_OURS, "%s: no such option; perfex -h tells which there are",
			     argv[optind - 1]);
		}
	}
	if (optind >= argc)
		fail(STATUS_OURS, "command missing; perfex -h tells how to call it");
	return -1;
}

/* Waits until the command ends, and forwards signals to it. */
static int wait_for(pid_t pid)
{
	struct pollfd signals = { .fd = signal_fd(), .events = POLLIN };
	int status;

	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return status;
		if (ended < 0 && errno != EINTR)
			fail(STATUS_OURS, "the command's status is lost: %s; try again",
			     strerror(errno));
		if (poll(&signals, 1, -1) > 0)
			signal_take(pid);
	}
}

static void print_counts(FILE *f, const struct options *o, const struct vpmc_read *sums)
{
	unsigned int i, counter;

	fprintf(f, "tsc\t\t\t\t%19llu\n", (unsigned long long)sums->ticks);
	for (i = 0; i < o->nr; i++) {
		fprintf(f, "event 0x%08X", o->spec[i].select);
		if (o->spec[i].high)
			fprintf(f, "/0x%08X", o->spec[i].high);
		counter = o->is_p4 && !o->spec[i].named ? o->event[i].counter :
							  o->spec[i].counter;
		fprintf(f, counter < MAX_EVENTS ? "@%u\t\t" : "@0x%08x\t", counter);
		fprintf(f, "%19llu\n", (unsigned long long)sums->sum[i]);
	}
}

/*
 * Opens the output. It keeps its content until there are counts. "-" is a file of that name,
 * as it is for perfctr.
 */
static FILE *open_output(const struct options *o)
{
	return output_open(o->output && !strcmp(o->output, "-") ? "./-" : o->output, 0);
}

static int count(const struct options *o, char **command)
{
	struct group group = {
		.events = (struct vpmc_event *)o->event,
		.nr = o->nr,
		.may_move = true,
	};
	struct vpmc_read sums;
	struct child child;
	int status, err;
	FILE *output;

	output = open_output(o);
	signals_begin();
	/*
	 * Count only the command, from its first instruction on, and not its
	 * children.
	 */
	child_start(&child, command, &group, VPMC_CONTROL_NEW |
		    VPMC_CONTROL_STOPPED | VPMC_CONTROL_ENABLE_ON_EXEC);
	child_exec(&child, command);
	status = wait_for(child.pid);
	err = vpmc_read_sums(child.v, 0, &sums);
	if (err)
		fail(STATUS_OURS, "the counters cannot be read: %s; try again",
		     strerror(-err));
	if (sums.state == VPMC_STATE_REVOKED)
		fail(STATUS_OURS, "the counters were taken away (kernel.vpmc_revoke); try again later");
	if (sums.set_number != 1)
		fail(STATUS_OURS, "the command has programmed counters of its own: what it did is not known; vpmc stat tells what was counted before that");
	/* It would be EXITED if the thread had kept its set to its end. */
	if (sums.state == VPMC_STATE_UNLINKED)
		fail(STATUS_OURS, "the command has removed its counters, or executed a program with other privileges: what it did then is not known; vpmc stat tells what was counted before that");
	print_counts(output, o, &sums);
	output_close(output);
	vpmc_close(child.v);
	if (WIFSIGNALED(status)) {
		note("child did not exit normally");
		return STATUS_SIGNAL + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

int perfex_main(int argc, char **argv)
{
	static struct options o = { .base = 16 };

	fail_as("perfex");
	o.is_p4 = events_kind() == VPMC_KIND_P4;
	switch (parse(&o, argc, argv)) {
	case 'h':
		usage();
		break;
	case 'i':
		print_info();
		break;
	case 'l':
		print_events(false);
		break;
	case 'L':
		print_events(true);
		break;
	default:
		return count(&o, argv + optind);
	}
	output_finish();
	return 0;
}
