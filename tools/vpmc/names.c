// SPDX-License-Identifier: GPL-2.0
/*
 * From addresses to names, by libdw.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dlfcn.h>
#include <elfutils/libdwfl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fail.h"
#include "names.h"

struct names {
	Dwfl *dwfl;
	char *text;
	struct names *next;
};

static struct names *all;

/*
 * The lines of files, but for those that are written to together: these are the threads'
 * own, and others in each process, as are heap and stacks.
 */
static char *read_maps(const char *name)
{
	FILE *file = fopen(name, "re"), *memory;
	char *text = NULL, *line = NULL;
	size_t size = 0, length = 0;

	if (!file)
		return NULL;
	memory = open_memstream(&text, &length);
	if (!memory)
		fail(STATUS_OURS, "memory: there is none for names; end other programs");
	while (getline(&line, &size, file) > 0)
		if (strchr(line, '/') && !strstr(line, " rw-s "))
			fputs(line, memory);
	fclose(memory);
	fclose(file);
	free(line);
	return text;
}

static Dwfl *report(char *text)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_linux_proc_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.debuginfo_path = &debug_path,
	};
	FILE *file = fmemopen(text, strlen(text), "r");
	Dwfl *dwfl = dwfl_begin(&callbacks);

	if (!file || !dwfl)
		fail(STATUS_OURS, "memory: there is none for names; end other programs");
	dwfl_report_begin(dwfl);
	dwfl_linux_proc_maps_report(dwfl, file);
	dwfl_report_end(dwfl, NULL, NULL);
	fclose(file);
	return dwfl;
}

struct names *names_open(const char *maps)
{
	char *text = read_maps(maps);
	struct names *names;

	if (!text || !*text)
		return NULL;
	for (names = all; names; names = names->next)
		if (!strcmp(names->text, text)) {
			free(text);
			return names;
		}
	names = get_memory(NULL, 1, sizeof(*names));
	*names = (struct names){ .dwfl = report(text), .text = text, .next = all };
	all = names;
	return names;
}

/* By the library of the program's own language, where there is one. */
static char *plain(const char *symbol)
{
	static char *(*demangle)(const char *name, char *buffer, size_t *size,
				 int *status);
	static bool looked;
	char *result;

	if (!looked) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY);

		looked = true;
		if (library)
			demangle = (char *(*)(const char *, char *, size_t *, int *))
				   dlsym(library, "__cxa_demangle");
	}
	if (strncmp(symbol, "_Z", 2) || !demangle)
		return get_text("%s", symbol);
	result = demangle(symbol, NULL, NULL, NULL);
	return result ? result : get_text("%s", symbol);
}

static void find_source(Dwfl_Module *module, uint64_t address, struct name *name)
{
	Dwfl_Line *line = dwfl_module_getsrc(module, address);
	const char *file = line ? dwfl_lineinfo(line, NULL, &name->line, NULL, NULL,
						NULL) : NULL;

	name->file = file ? get_text("%s", file) : NULL;
}

bool names_find(struct names *names, uint64_t address, struct name *name)
{
	Dwfl_Module *module = dwfl_addrmodule(names->dwfl, address);
	const char *file = NULL, *base, *symbol;
	GElf_Off offset = 0;
	Dwarf_Addr start;
	GElf_Sym sym;

	*name = (struct name){};
	if (!module)
		return false;
	base = dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, &file, NULL);
	if (file)
		base = file;
	base = strrchr(base, '/') ? strrchr(base, '/') + 1 : base;
	symbol = dwfl_module_addrinfo(module, address, &offset, &sym, NULL, NULL, NULL);
	name->module = get_text("%s", base);
	/* the nearest symbol of a stripped file says nothing */
	name->nameless = !symbol || offset;
	if (name->nameless)
		name->function = get_text("%s+%#llx", base,
					  (unsigned long long)(address - start));
	else
		name->function = plain(symbol);
	find_source(module, address, name);
	return true;
}
