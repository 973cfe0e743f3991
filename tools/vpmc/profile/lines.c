// SPDX-License-Identifier: GPL-2.0
/*
 * Finds lines of source code for addresses, with libdw. Which unit an address belongs to
 * is written in .debug_aranges. Not all compilers write that section: clang and rustc do
 * not. A linker may put files with and without it together. So what is not found there is
 * looked for in the ranges of the units themselves.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "profile/lines.h"

/* addresses of a unit, without the module's bias */
struct unit {
	Dwarf_Addr begin, end;
	Dwarf_Die die;
};

struct units {
	struct unit *unit;
	size_t nr, room;
};

static int compare_units(const void *a, const void *b)
{
	const struct unit *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

static void add_unit(struct units *units, Dwarf_Die *die)
{
	Dwarf_Addr base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &begin, &end)) > 0) {
		/* The linker has left out what begins at 0. */
		if (!begin || begin >= end)
			continue;
		if (units->nr == units->room) {
			units->room = units->room ? 2 * units->room : 64;
			units->unit = get_memory(units->unit, units->room,
						 sizeof(*units->unit));
		}
		units->unit[units->nr++] = (struct unit){ begin, end, *die };
	}
}

/* Reads the ranges of all units once. */
static struct units *read_units(Dwfl_Module *module)
{
	struct units *units = get_memory(NULL, 1, sizeof(*units));
	Dwarf_Die *die = NULL;
	Dwarf_Addr bias;

	*units = (struct units){};
	while ((die = dwfl_module_nextcu(module, die, &bias)))
		add_unit(units, die);
	if (units->nr)
		qsort(units->unit, units->nr, sizeof(*units->unit), compare_units);
	return units;
}

/* Returns the last unit that begins at or before @address, if it covers it. */
static struct unit *find_unit(const struct units *units, Dwarf_Addr address)
{
	size_t low = 0, high = units->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units->unit[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < units->unit[low - 1].end ? &units->unit[low - 1] : NULL;
}

const char *lines_find(Dwfl_Module *module, struct units **units, uint64_t address,
		       int *number)
{
	Dwfl_Line *found = dwfl_module_getsrc(module, address);
	struct unit *unit;
	Dwarf_Line *line;
	Dwarf_Addr bias;

	if (found)
		return dwfl_lineinfo(found, NULL, number, NULL, NULL, NULL);
	if (!dwfl_module_getdwarf(module, &bias))
		return NULL;
	if (!*units)
		*units = read_units(module);
	unit = find_unit(*units, address - bias);
	line = unit ? dwarf_getsrc_die(&unit->die, address - bias) : NULL;
	if (!line || dwarf_lineno(line, number))
		return NULL;
	return dwarf_linesrc(line, NULL, NULL);
}
