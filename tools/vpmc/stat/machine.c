// SPDX-License-Identifier: GPL-2.0
/*
 * What a result says of the machine.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <cpuid.h>
#include <string.h>
#include <sys/utsname.h>
#include <vpmc.h>

#include "common/json-write.h"
#include "stat/machine.h"

#define BRAND	0x80000002u	/* and the next two leaves have the processor's name */

/* Writes the processor's name, without the blanks around it. */
static void brand(char name[49])
{
	unsigned int word[12] = {}, i;
	char *first = (char *)word;

	for (i = 0; i < 3; i++)
		if (!__get_cpuid(BRAND + i, &word[4 * i], &word[4 * i + 1],
				 &word[4 * i + 2], &word[4 * i + 3]))
			break;
	first += strspn(first, " ");
	snprintf(name, 49, "%.*s", (int)((char *)(word + 12) - first), first);
	for (i = strlen(name); i && name[i - 1] == ' '; i--)
		name[i - 1] = 0;
}

/* Writes vendor, family, model and stepping, such as "GenuineIntel-6-5e-3". */
static void identity(char text[48])
{
	unsigned int a = 0, b = 0, c = 0, d = 0, family, model;
	char vendor[13] = "";

	if (__get_cpuid(0, &a, &b, &c, &d)) {
		memcpy(vendor, &b, 4);
		memcpy(vendor + 4, &d, 4);
		memcpy(vendor + 8, &c, 4);
	}
	if (!__get_cpuid(1, &a, &b, &c, &d))
		a = 0;
	family = a >> 8 & 0xf;
	model = a >> 4 & 0xf;
	if (family == 6 || family == 15)
		model |= a >> 12 & 0xf0;
	if (family == 15)
		family += a >> 20 & 0xff;
	snprintf(text, 48, "%s-%x-%x-%x", vendor, family, model, a & 0xf);
}

struct json_object *machine_object(void)
{
	struct json_object *object = json_object_new_object();
	struct utsname system;
	char name[49], id[48];

	brand(name);
	identity(id);
	member_text(object, "cpu", name);
	member_text(object, "cpu_id", id);
	if (!uname(&system))
		member_text(object, "kernel", system.release);
	member_text(object, "vpmc", vpmc_version());
	return object;
}
