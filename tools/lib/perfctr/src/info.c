// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Describes the processor and its CPUs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define OWN_FILE	"/proc/thread-self/perfctr"
#define ONLINE		"/sys/devices/system/cpu/online"
#define MAX_CPU		8191

/* Joins family and model from the parts in CPUID leaf 1. */
static void processor(unsigned int *family, unsigned int *model)
{
	unsigned int a = 0, b, c, d;

	__get_cpuid(1, &a, &b, &c, &d);
	*family = a >> 8 & 0xf;
	*model = a >> 4 & 0xf;
	if (*family == 6 || *family == 15)
		*model |= a >> 12 & 0xf0;
	if (*family == 15)
		*family += a >> 20 & 0xff;
}

static unsigned int p6_type(unsigned int model)
{
	static const unsigned char types[] = {
		[1] = PERFCTR_X86_INTEL_P6, [3] = PERFCTR_X86_INTEL_PII,
		[5] = PERFCTR_X86_INTEL_PII, [6] = PERFCTR_X86_INTEL_PII,
		[7] = PERFCTR_X86_INTEL_PIII, [8] = PERFCTR_X86_INTEL_PIII,
		[9] = PERFCTR_X86_INTEL_PENTM, [10] = PERFCTR_X86_INTEL_PIII,
		[11] = PERFCTR_X86_INTEL_PIII, [13] = PERFCTR_X86_INTEL_PENTM,
		[14] = PERFCTR_X86_INTEL_CORE,
	};

	/* a Core 2 without fixed counters has Core Duo's, and the same events */
	if (model > 14)
		return PERFCTR_X86_INTEL_CORE;
	return types[model] ?: PERFCTR_X86_INTEL_P6;
}

/*
 * Programs choose their events by the type. A processor that is newer than
 * perfctr gets the Atom's type, for which programs use the architectural events
 * and take the number of counters from CPUID. Later AMD families have those
 * events of family 10h that programs use.
 */
static unsigned int cpu_type(enum vpmc_kind kind)
{
	unsigned int family, model;

	processor(&family, &model);
	if (kind == VPMC_KIND_AMD)
		return family == 6 ? PERFCTR_X86_AMD_K7 :
		       family == 15 ? PERFCTR_X86_AMD_K8C :
				      PERFCTR_X86_AMD_FAM10H;
	if (kind == VPMC_KIND_P6)
		return p6_type(model);
	if (kind == VPMC_KIND_P4)
		return model < 2 ? PERFCTR_X86_INTEL_P4 :
		       model == 2 ? PERFCTR_X86_INTEL_P4M2 : PERFCTR_X86_INTEL_P4M3;
	if (kind != VPMC_KIND_INTEL)
		return PERFCTR_X86_GENERIC;
	if (family == 6 && (model == 15 || model == 22 || model == 23 ||
			    model == 29))
		return PERFCTR_X86_INTEL_CORE2;
	return PERFCTR_X86_INTEL_ATOM;
}

/* Returns true if the processor is newer than the type that it gets. */
bool perfctr_is_later(unsigned int type)
{
	unsigned int family, model;

	processor(&family, &model);
	if (type == PERFCTR_X86_AMD_FAM10H)
		return family > 17;
	return type == PERFCTR_X86_INTEL_ATOM && !(family == 6 && model == 28);
}

int perfctr_kind(int fd)
{
	static int kind = -1;
	int known = __atomic_load_n(&kind, __ATOMIC_RELAXED);
	struct vpmc_info info = { .size = sizeof(info) };
	int err;

	if (known >= 0)
		return known;
	err = perfctr_request(fd, VPMC_IOC_INFO, &info);
	if (err)
		return err;
	__atomic_store_n(&kind, info.kind, __ATOMIC_RELAXED);
	return info.kind;
}

static void fill_info(const struct vpmc_info *vpmc, struct perfctr_info *info)
{
	memset(info, 0, sizeof(*info));
	info->abi_version = PERFCTR_ABI_VERSION;
	snprintf(info->driver_version, sizeof(info->driver_version),
		 "vpmc %u", vpmc->version);
	info->cpu_type = cpu_type(vpmc->kind);
	info->cpu_features = PERFCTR_FEATURE_RDTSC;
	if (vpmc->features & VPMC_FEATURE_RDPMC)
		info->cpu_features |= PERFCTR_FEATURE_RDPMC;
	if (vpmc->features & VPMC_FEATURE_PMI)
		info->cpu_features |= PERFCTR_FEATURE_PCINT;
	info->cpu_khz = vpmc->tsc_khz;
}

EXPORT int perfctr_info(int fd, struct perfctr_info *info)
{
	struct vpmc_info vpmc = { .size = sizeof(vpmc) };
	int err = perfctr_request(fd, VPMC_IOC_INFO, &vpmc);

	if (err)
		memset(info, 0, sizeof(*info));
	else
		fill_info(&vpmc, info);
	return perfctr_result(err);
}

EXPORT int perfctr_get_info(struct perfctr_info *info)
{
	int fd = open(OWN_FILE, O_RDONLY | O_CLOEXEC), saved, result;

	if (fd < 0) {
		memset(info, 0, sizeof(*info));
		return -1;
	}
	result = perfctr_info(fd, info);
	saved = errno;
	close(fd);
	errno = saved;
	return result;
}

/*
 * Returns how many counters CPUID leaf 0AH reports, programmable and fixed
 * ones.
 */
static unsigned int architectural_counters(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid_count(10, 0, &a, &b, &c, &d) || !(a & 0xff))
		return 0;
	return (a >> 8 & 0xff) + ((a & 0xff) > 1 ? d & 0x1f : 0);
}

/* The type decides, because @info may describe another machine. */
EXPORT unsigned int perfctr_info_nrctrs(const struct perfctr_info *info)
{
	switch (info->cpu_type) {
	case PERFCTR_X86_VIA_C3:
		return 1;
	case PERFCTR_X86_INTEL_P5:
	case PERFCTR_X86_INTEL_P5MMX:
	case PERFCTR_X86_INTEL_P6:
	case PERFCTR_X86_INTEL_PII:
	case PERFCTR_X86_INTEL_PIII:
	case PERFCTR_X86_INTEL_PENTM:
	case PERFCTR_X86_INTEL_CORE:
	case PERFCTR_X86_CYRIX_MII:
	case PERFCTR_X86_WINCHIP_C6:
	case PERFCTR_X86_WINCHIP_2:
		return 2;
	case PERFCTR_X86_AMD_K7:
	case PERFCTR_X86_AMD_K8:
	case PERFCTR_X86_AMD_K8C:
	case PERFCTR_X86_AMD_FAM10H:
		return 4;
	case PERFCTR_X86_INTEL_CORE2:
		return 5;
	case PERFCTR_X86_INTEL_NHLM:
	case PERFCTR_X86_INTEL_WSTMR:
		return 7;
	case PERFCTR_X86_INTEL_P4:
	case PERFCTR_X86_INTEL_P4M2:
	case PERFCTR_X86_INTEL_P4M3:
		return 18;
	case PERFCTR_X86_INTEL_ATOM:
		return architectural_counters();
	}
	return 0;
}

static char brand[49];

/* Reads the processor's own name, without the blanks around it. */
static void read_brand(void)
{
	unsigned int words[12] = { 0 };
	const char *begin = (const char *)words;
	size_t length = 0;

	for (unsigned int i = 0; i < 3; i++) {
		unsigned int *w = &words[4 * i];

		if (!__get_cpuid(0x80000002 + i, &w[0], &w[1], &w[2], &w[3]))
			return;
	}
	while (length < sizeof(words) && begin[length] == ' ')
		length++;
	memcpy(brand, begin + length, sizeof(words) - length);
	for (length = strlen(brand); length && brand[length - 1] == ' ';)
		brand[--length] = '\0';
}

EXPORT const char *perfctr_info_cpu_name(const struct perfctr_info *info)
{
	static const char *const names[] = {
		[PERFCTR_X86_GENERIC]		= "Generic x86 with TSC",
		[PERFCTR_X86_INTEL_P5]		= "Intel Pentium",
		[PERFCTR_X86_INTEL_P5MMX]	= "Intel Pentium MMX",
		[PERFCTR_X86_INTEL_P6]		= "Intel Pentium Pro",
		[PERFCTR_X86_INTEL_PII]		= "Intel Pentium II",
		[PERFCTR_X86_INTEL_PIII]	= "Intel Pentium III",
		[PERFCTR_X86_CYRIX_MII]		= "Cyrix 6x86MX/MII/III",
		[PERFCTR_X86_WINCHIP_C6]	= "WinChip C6",
		[PERFCTR_X86_WINCHIP_2]		= "WinChip 2/3",
		[PERFCTR_X86_AMD_K7]		= "AMD K7",
		[PERFCTR_X86_VIA_C3]		= "VIA C3",
		[PERFCTR_X86_INTEL_P4]		= "Intel Pentium 4",
		[PERFCTR_X86_INTEL_P4M2]	= "Intel Pentium 4 Model 2",
		[PERFCTR_X86_AMD_K8]		= "AMD K8",
		[PERFCTR_X86_INTEL_PENTM]	= "Intel Pentium M",
		[PERFCTR_X86_AMD_K8C]		= "AMD K8 Revision C",
		[PERFCTR_X86_INTEL_P4M3]	= "Intel Pentium 4 Model 3",
		[PERFCTR_X86_INTEL_CORE]	= "Intel Core",
		[PERFCTR_X86_INTEL_CORE2]	= "Intel Core 2",
		[PERFCTR_X86_AMD_FAM10H]	= "AMD Family 10h",
		[PERFCTR_X86_INTEL_ATOM]	= "Intel Atom",
		[PERFCTR_X86_INTEL_NHLM]	= "Intel Nehalem",
		[PERFCTR_X86_INTEL_WSTMR]	= "Intel Westmere",
	};
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (info->cpu_type >= sizeof(names) / sizeof(names[0]))
		return "?";
	pthread_once(&once, read_brand);
	if (*brand && perfctr_is_later(info->cpu_type))
		return brand;
	return names[info->cpu_type];
}

/*
 * Calls @add for each CPU of a list like "0-3,8". Returns false if the list is
 * malformed.
 */
static bool walk_cpus(const char *list, void (*add)(void *arg, unsigned int cpu),
		      void *arg)
{
	unsigned int first, last;
	char *end;

	while (*list && *list != '\n') {
		first = last = strtoul(list, &end, 10);
		if (end == list)
			return false;
		if (*end == '-') {
			list = end + 1;
			last = strtoul(list, &end, 10);
			if (end == list)
				return false;
		}
		if (last > MAX_CPU || first > last)
			return false;
		for (; first <= last; first++)
			add(arg, first);
		list = *end == ',' ? end + 1 : end;
		if (*end && *end != ',' && *end != '\n')
			return false;
	}
	return true;
}

static void add_max(void *arg, unsigned int cpu)
{
	unsigned int *max = arg;

	if (cpu > *max)
		*max = cpu;
}

static void add_bit(void *arg, unsigned int cpu)
{
	struct perfctr_cpu_mask *mask = arg;

	mask->mask[cpu / 32] |= 1U << cpu % 32;
}

/* Allocates all in one piece, so that free() of it is enough. */
static struct perfctr_cpus_info *make_cpus_info(const char *online)
{
	struct perfctr_cpus_info *info;
	unsigned int max = 0, words;
	size_t size;

	if (!walk_cpus(online, add_max, &max)) {
		errno = EINVAL;
		return NULL;
	}
	words = max / 32 + 1;
	size = sizeof(unsigned int) * (1 + words);
	info = calloc(1, sizeof(*info) + 2 * size);
	if (!info)
		return NULL;
	info->cpus = (struct perfctr_cpu_mask *)(info + 1);
	info->cpus_forbidden = (struct perfctr_cpu_mask *)((char *)info->cpus + size);
	info->cpus->nrwords = words;
	info->cpus_forbidden->nrwords = words;
	walk_cpus(online, add_bit, info->cpus);
	return info;
}

EXPORT struct perfctr_cpus_info *perfctr_cpus_info(int fd)
{
	struct perfctr_cpus_info *cpus;
	struct perfctr_info info;
	char online[4096];
	ssize_t got;
	int file;

	if (perfctr_info(fd, &info) < 0) {
		perror("perfctr_cpus_info");
		return NULL;
	}
	file = open(ONLINE, O_RDONLY | O_CLOEXEC);
	got = file < 0 ? -1 : read(file, online, sizeof(online) - 1);
	if (file >= 0)
		close(file);
	if (got < 0) {
		perror(ONLINE);
		return NULL;
	}
	online[got] = '\0';
	cpus = make_cpus_info(online);
	if (!cpus)
		perror("perfctr_cpus_info");
	return cpus;
}
