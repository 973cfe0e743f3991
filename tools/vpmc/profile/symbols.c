// SPDX-License-Identifier: GPL-2.0
/*
 * Finds the names of functions for addresses, with libdw.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <libiberty/demangle.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fail.h"
#include "profile/lines.h"
#include "profile/symbols.h"

struct names {
	char *path;
	struct identity identity;
	Dwfl *dwfl;		/* NULL if the file is not there any more */
	Dwfl_Module *file;	/* NULL if it has no names */
	struct symbols *symbols;	/* of names_find_start(), or NULL */
	struct units *units;	/* of lines_find() */
	struct names *next;
};

static struct names *all;

/* Demangles a name of C++, Rust or D. */
static char *plain(const char *symbol)
{
	/* D is not tried by itself: other names begin alike. */
	int language = strncmp(symbol, "_D", 2) ? DMGL_AUTO : DMGL_DLANG;
	char *result = NULL;

	if (*symbol == '_')
		result = cplus_demangle(symbol, language | DMGL_PARAMS | DMGL_ANSI);
	return result ? result : get_text("%s", symbol);
}

static void find_source(struct names *names, uint64_t address, struct name *name)
{
	const char *file = lines_find(names->file, &names->units, address, &name->line);

	name->file = file ? get_text("%s", file) : NULL;
}

/*
 * Functions of a file, sorted by address. libdw would search all symbols for
 * each address.
 */
struct symbols {
	struct symbol {
		GElf_Addr address;
		const char *name;
		/*
		 * of several names at an address, the one with the least rank
		 * is used
		 */
		int rank;
	} *symbol;
	size_t nr;
};

static int compare_symbols(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->rank != y->rank ? x->rank - y->rank : strcmp(x->name, y->name);
}

static int rank_of(const GElf_Sym *sym)
{
	switch (GELF_ST_BIND(sym->st_info)) {
	case STB_GLOBAL:
		return 0;
	case STB_WEAK:
		return 1;
	default:
		return 2;
	}
}

static struct symbols *read_symbols(Dwfl_Module *module)
{
	struct symbols *symbols = get_memory(NULL, 1, sizeof(*symbols));
	int nr = dwfl_module_getsymtab(module), i;

	*symbols = (struct symbols){};
	if (nr > 0)
		symbols->symbol = get_memory(NULL, nr, sizeof(*symbols->symbol));
	for (i = 0; i < nr; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		const char *name = dwfl_module_getsym_info(module, i, &sym, &address,
							   NULL, NULL, NULL);
		int type = GELF_ST_TYPE(sym.st_info);

		if (name && *name && sym.st_shndx != SHN_UNDEF &&
		    (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE))
			symbols->symbol[symbols->nr++] = (struct symbol){
				address, name, rank_of(&sym) };
	}
	if (symbols->nr)
		qsort(symbols->symbol, symbols->nr, sizeof(*symbols->symbol),
		      compare_symbols);
	return symbols;
}

/* The name of the function that begins at @address, or NULL. */
static const char *find_symbol(const struct symbols *symbols, GElf_Addr address)
{
	size_t low = 0, high = symbols->nr;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (symbols->symbol[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < symbols->nr && symbols->symbol[low].address == address ?
	       symbols->symbol[low].name : NULL;
}

/* Returns NULL if the file has no names. */
static Dwfl_Module *report_file(Dwfl *dwfl, const char *path, int fd)
{
	Dwfl_Module *module;

	dwfl_report_begin(dwfl);
	module = dwfl_report_elf(dwfl, path, path, fd, 0, false);
	dwfl_report_end(dwfl, NULL, NULL);
	/* libdw closes the descriptor if it has made a module. */
	if (!module)
		close(fd);
	return module;
}

struct names *names_open_file(const char *path, const struct identity *identity,
			      unsigned int pid)
{
	static char *debug_path;
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = dwfl_standard_find_debuginfo,
		.section_address = dwfl_offline_section_address,
		.debuginfo_path = &debug_path,
	};
	struct names *names;
	int fd;

	for (names = all; names; names = names->next)
		if (!strcmp(names->path, path) &&
		    !memcmp(&names->identity, identity, sizeof(*identity)))
			break;
	if (!names) {
		names = get_memory(NULL, 1, sizeof(*names));
		*names = (struct names){ .path = get_text("%s", path),
					 .identity = *identity, .next = all };
		all = names;
	}
	if (names->dwfl)
		return names;
	/* Another process may see it. */
	fd = identity_open(path, identity, pid);
	if (fd < 0)
		return NULL;
	names->dwfl = dwfl_begin(&callbacks);
	if (!names->dwfl)
		fail(STATUS_OURS, "memory: there is none for names; end other programs");
	names->file = report_file(names->dwfl, path, fd);
	return names;
}

/*
 * Computes the address of a file offset. Returns false if the offset is not
 * loaded.
 */
static bool find_address(Dwfl_Module *module, uint64_t offset, uint64_t *address)
{
	GElf_Addr bias;
	Elf *elf = dwfl_module_getelf(module, &bias);
	size_t nr, i;

	if (!elf || elf_getphdrnum(elf, &nr))
		return false;
	for (i = 0; i < nr; i++) {
		GElf_Phdr header;

		if (!gelf_getphdr(elf, i, &header) || header.p_type != PT_LOAD ||
		    offset < header.p_offset ||
		    offset - header.p_offset >= header.p_filesz)
			continue;
		*address = offset - header.p_offset + header.p_vaddr + bias;
		return true;
	}
	return false;
}

bool names_find_offset(struct names *names, uint64_t offset, struct name *name)
{
	const char *base = strrchr(names->path, '/'), *symbol;
	GElf_Off inside = 0;
	uint64_t address;
	GElf_Sym sym;

	*name = (struct name){};
	if (!names->file || !find_address(names->file, offset, &address))
		return false;
	symbol = dwfl_module_addrinfo(names->file, address, &inside, &sym, NULL,
				      NULL, NULL);
	name->module = get_text("%s", base ? base + 1 : names->path);
	name->nameless = !symbol || (sym.st_size && inside >= sym.st_size);
	name->function = name->nameless ? get_text("[%s]", name->module) :
					  plain(symbol);
	find_source(names, address, name);
	return true;
}

bool names_find_start(struct names *names, uint64_t offset, struct name *name)
{
	const char *base = strrchr(names->path, '/'), *symbol;
	uint64_t address;
	Dwarf_Addr start;

	*name = (struct name){};
	if (!names->file || !find_address(names->file, offset, &address))
		return false;
	if (!names->symbols)
		names->symbols = read_symbols(names->file);
	dwfl_module_info(names->file, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	symbol = find_symbol(names->symbols, address);
	name->module = get_text("%s", base ? base + 1 : names->path);
	/* A stripped file has no symbol at this address. */
	name->nameless = !symbol;
	name->function = symbol ? plain(symbol) :
			 get_text("%s+%#llx", name->module,
				  (unsigned long long)(address - start));
	find_source(names, address, name);
	return true;
}
