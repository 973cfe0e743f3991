// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc info: prints what can be counted on this machine, or why nothing can.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <cpuid.h>
#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vpmc.h>

#include "commands.h"
#include "common/fail.h"
#include "common/json-write.h"
#include "common/options.h"
#include "common/output.h"
#include "common/setting.h"

struct info_options {
	bool quiet, json;
};

/* everything that vpmc info prints */
struct about {
	struct vpmc_info info;
	bool known;		/* @info is valid */
	bool possible;
	struct vpmc_error error;	/* why counting is not possible */
	const char *table, *table_description;
	bool emulated;
};

static const char *const kinds[] = {
	[VPMC_KIND_TSC] = "none", [VPMC_KIND_INTEL] = "intel",
	[VPMC_KIND_AMD] = "amd", [VPMC_KIND_P6] = "p6", [VPMC_KIND_P4] = "p4",
};
#define NR_KINDS	(sizeof(kinds) / sizeof(kinds[0]))

static const char *const features[] = {
	"rdpmc", "pmi", "global-ctrl", "full-width", "time", "hybrid", "hide",
};

static bool is_virtual(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c >> 31;
}

/* NetBurst is family 15 of Intel. */
static bool is_netburst(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0, &a, &b, &c, &d) && b == signature_INTEL_ebx &&
	       __get_cpuid(1, &a, &b, &c, &d) && (a >> 8 & 0xf) == 15;
}

/* Siblings that were online once, or are, end counters until the machine is booted again. */
static bool has_threads(void)
{
	FILE *f = fopen("/sys/devices/system/cpu/smt/control", "re");
	char word[32] = "";
	bool can = f && fgets(word, sizeof(word), f) && strncmp(word, "not", 3);

	if (f)
		fclose(f);
	return can;
}

/*
 * Returns true if CPUID announces a PMU, whether or not the kernel uses it. It tells
 * nothing of NetBurst's and P6's. The processors themselves have one, and virtual machines
 * may have none.
 */
static bool processor_has_pmu(void)
{
	unsigned int max, a, b, c, d;

	if (!__get_cpuid(0, &max, &b, &c, &d))
		return false;
	if (b == signature_AMD_ebx)
		return true;
	if (b != signature_INTEL_ebx)
		return false;
	if (__get_cpuid(0xa, &a, &b, &c, &d) && (a & 0xff))
		return true;
	return !is_virtual() && (is_netburst() || max < 0xa);
}

/*
 * Returns true on the project's emulator. It returns its totals in a CPUID leaf
 * that no processor has.
 */
static bool is_emulated(void)
{
	unsigned int before[4], after[4];

	if (!is_virtual())
		return false;
	__cpuid_count(0x4fff5055, 0, before[0], before[1], before[2], before[3]);
	__cpuid_count(0x4fff5055, 0, after[0], after[1], after[2], after[3]);
	/* EBX has the number of instructions executed in user mode. */
	return before[1] && after[1] > before[1];
}

/* NO_PMU has several causes, and each cause has its own remedy. */
static void explain_no_pmu(struct vpmc_error *error)
{
	if (is_netburst() && has_threads())
		snprintf(error->text, sizeof(error->text),
			 "PMU: the hyper-threads of this processor share one, so the kernel does not use it once two were online; boot with nosmt, or count none: run time and switches");
	else if (processor_has_pmu())
		snprintf(error->text, sizeof(error->text),
			 "PMU: the kernel does not use this processor's, for it has errata or is not supported; use another processor, or count none: run time and switches");
	else if (is_virtual())
		snprintf(error->text, sizeof(error->text),
			 "PMU: this virtual machine has none; let the host give it one (QEMU: -cpu host,pmu=on), or count none: run time and switches");
	else
		snprintf(error->text, sizeof(error->text),
			 "PMU: this processor has none that is known; use another one, or count none: run time and switches");
}

static void find_out(struct about *about)
{
	*about = (struct about){};
	about->known = !vpmc_get_info(&about->info);
	about->possible = !vpmc_check(&about->error);
	about->table = vpmc_table(&about->table_description);
	about->emulated = is_emulated();
	if (about->error.reason == VPMC_REASON_NO_PMU)
		explain_no_pmu(&about->error);
}

static void print_masks(const struct vpmc_info *info)
{
	printf("counters:    %u programmable (mask %#llx) and %u fixed (mask %#llx), of %u bits\n",
	       info->nr_gp, (unsigned long long)info->gp_mask, info->nr_fixed,
	       (unsigned long long)info->fixed_mask, info->width);
}

/* who has counters now, and the word for it in text and in JSON */
struct share {
	const char *text, *key;
	uint64_t counters;	/* fixed counter n is bit 32 + n */
};

enum { NR_SHARES = 3 };

/* Returns false if the kernel is too old to tell. */
static bool find_shares(const struct vpmc_info *info, struct share *share)
{
	share[0] = (struct share){ "vpmc's own:", "own", info->own_mask };
	share[1] = (struct share){ "borrowed:", "borrowed", info->borrowed_mask };
	share[2] = (struct share){ "perf's:", "perf", info->perf_mask };
	return info->size >= offsetof(struct vpmc_info, perf_mask) +
			     sizeof(info->perf_mask);
}

static void print_shares(const struct vpmc_info *info)
{
	struct share share[NR_SHARES];
	unsigned int i;

	if (!find_shares(info, share))
		return;
	for (i = 0; i < NR_SHARES; i++) {
		uint32_t gp = share[i].counters, fixed = share[i].counters >> 32;

		printf("%-12s", share[i].text);
		if (gp)
			printf(" programmable %#x", gp);
		if (fixed)
			printf("%s fixed %#x", gp ? "," : "", fixed);
		printf("%s\n", gp || fixed ? "" : " none");
	}
}

static void print_features(const struct vpmc_info *info)
{
	unsigned int i;

	printf("features:   ");
	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (info->features & 1U << i)
			printf(" %s", features[i]);
	printf("\n");
}

static void print_text(const struct about *about)
{
	const struct vpmc_info *info = &about->info;
	const struct setting *setting;
	char value[64];

	if (about->known) {
		printf("PMU:         %s, version %u\n", info->name,
		       info->pmu_version);
		print_masks(info);
		print_features(info);
		printf("TSC:         %u.%03u MHz\n", info->tsc_khz / 1000,
		       info->tsc_khz % 1000);
		printf("held by:     %s\n", vpmc_holder_text(info->holder));
		if (info->kind != VPMC_KIND_TSC)
			print_shares(info);
	}
	if (about->table)
		printf("events:      libpfm4's table %s (%s)\n", about->table,
		       about->table_description);
	else
		printf("events:      libpfm4 has no table for this processor\n");
	if (about->known && about->emulated && info->kind != VPMC_KIND_TSC)
		printf("emulated:    %s count here; all other events read 0\n",
		       info->kind == VPMC_KIND_INTEL ?
		       "instructions, cycles, ref-cycles and branches" :
		       "instructions, cycles and branches");
	for (setting = settings; setting->name; setting++)
		if (setting_read(setting, value, sizeof(value)))
			printf("%s: %s\n", setting->name, value);
	if (about->possible)
		printf("Counting is possible.\n");
	else
		printf("Counting is not possible. %s\n", about->error.text);
}

static void add_number(struct json_object *object, const char *key,
		       uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

static void add_text(struct json_object *object, const char *key,
		     const char *text)
{
	json_object_object_add(object, key,
			       text ? json_text(text) : NULL);
}

/* "own": { "programmable_mask": 0, "fixed_mask": 0 }, and so on */
static void add_shares(struct json_object *object, const struct vpmc_info *info)
{
	struct share share[NR_SHARES];
	unsigned int i;

	if (!find_shares(info, share))
		return;
	for (i = 0; i < NR_SHARES; i++) {
		struct json_object *masks = json_object_new_object();

		add_number(masks, "programmable_mask",
			   (uint32_t)share[i].counters);
		add_number(masks, "fixed_mask", share[i].counters >> 32);
		json_object_object_add(object, share[i].key, masks);
	}
}

static void add_pmu(struct json_object *object, const struct vpmc_info *info)
{
	struct json_object *list = json_object_new_array();
	unsigned int i;

	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++)
		if (info->features & 1U << i)
			json_object_array_add(list,
					      json_text(features[i]));
	add_text(object, "name", info->name);
	add_text(object, "kind", info->kind < NR_KINDS ?
				 kinds[info->kind] : "unknown");
	add_number(object, "abi_version", info->version);
	add_number(object, "pmu_version", info->pmu_version);
	add_number(object, "programmable", info->nr_gp);
	add_number(object, "programmable_mask", info->gp_mask);
	add_number(object, "fixed", info->nr_fixed);
	add_number(object, "fixed_mask", info->fixed_mask);
	add_number(object, "width", info->width);
	json_object_object_add(object, "features", list);
	add_number(object, "tsc_khz", info->tsc_khz);
	add_text(object, "holder", vpmc_holder_text(info->holder));
	add_shares(object, info);
}

static void print_json(const struct about *about)
{
	struct json_object *object = json_object_new_object();
	struct json_object *list = json_object_new_object();
	const struct setting *setting;
	char value[64];

	add_number(object, "version", 1);
	if (about->known)
		add_pmu(object, &about->info);
	add_text(object, "table", about->table);
	json_object_object_add(object, "emulated",
			       json_object_new_boolean(about->emulated));
	for (setting = settings; setting->name; setting++)
		if (setting_read(setting, value, sizeof(value)))
			add_text(list, setting->name, value);
	json_object_object_add(object, "settings", list);
	json_object_object_add(object, "possible",
			       json_object_new_boolean(about->possible));
	add_text(object, "why_not", about->possible ? NULL : about->error.text);
	printf("%s\n", json_object_to_json_string_ext(object,
			JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct info_options *options = state->input;

	switch (key) {
	case 'q':
		options->quiet = true;
		return 0;
	case 'j':
		options->json = true;
		return 0;
	case ARGP_KEY_ARG:
		fail(STATUS_OURS, "%s: vpmc info takes no arguments; leave it out",
		     arg);
	default:
		return options_default(key, state);
	}
}

int info_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "quiet", 'q', NULL, 0, "Print nothing: the status tells", 0 },
		{ "json", 'j', NULL, 0, "One JSON object", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.doc = "Tells what can be counted here."
		       "\vThe exit status is 0 if counting is possible, 1 if it is not, 125 if something else failed.",
	};
	struct info_options options = {};
	struct about about;

	options_parse("vpmc info", &argp, argc, argv, &options);
	find_out(&about);
	if (options.json && !options.quiet)
		print_json(&about);
	else if (!options.quiet)
		print_text(&about);
	output_finish();
	return !about.possible;
}
