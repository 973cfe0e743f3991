// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Encodes "cpu/event=0xc0,umask=1/", as perf(1) writes it. The usual terms are known here.
 * Others are looked for where perf's driver, if there is one, tells which bits they mean.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "internal.h"

#define FORMATS		"/sys/bus/event_source/devices/cpu/format/"
#define MOST_TERM	40	/* bytes that messages have of a term */

/* The bits of the event select that a term means, from the lowest one. */
struct field {
	struct { unsigned int first, last; } part[4];
	unsigned int nr;
};

struct known {
	const char *name;
	struct field intel, amd;
};

#define ONE(first, last)	{ { { first, last } }, 1 }
#define TWO(a, b, c, d)		{ { { a, b }, { c, d } }, 2 }

static const struct known known[] = {
	{ "event", ONE(0, 7), TWO(0, 7, 32, 35) },
	{ "umask", ONE(8, 15), ONE(8, 15) },
	{ "edge", ONE(18, 18), ONE(18, 18) },
	{ "inv", ONE(23, 23), ONE(23, 23) },
	{ "cmask", ONE(24, 31), ONE(24, 31) },
	{ "config", ONE(0, 63), ONE(0, 63) },
	{ "pc", ONE(19, 19), {} },
	{ "any", ONE(21, 21), {} },
	{ "in_tx", ONE(32, 32), {} },
	{ "in_tx_cp", ONE(33, 33), {} },
};

/* Terms that need another register than the event select, on whatever processor */
static const char *const registers[] = {
	"config1", "config2", "config3", "offcore_rsp", "ldlat", "frontend", "snoop_rsp",
};

/* Terms of samples */
static const char *const samples[] = {
	"period", "freq", "branch_type", "time", "call-graph", "stack-size", "max-stack",
	"inherit", "no-inherit", "overwrite", "no-overwrite", "percore", "aux-output",
	"aux-sample-size",
};

/* The text between two commas: NAME or NAME=VALUE */
struct term {
	const char *name, *value;	/* @value: NULL if there is none */
	size_t name_length, value_length;
};

__attribute__((__format__(__printf__, 5, 6)))
static int wrong(struct vpmc_complaint *c, int reason, const char *at, const char *help,
		 const char *why, ...)
{
	va_list args;

	c->at = at;
	va_start(args, why);
	vsnprintf(c->why, sizeof(c->why), why, args);
	va_end(args);
	snprintf(c->help, sizeof(c->help), "%s", help);
	return reason;
}

static bool is_named(const struct term *t, const char *name)
{
	return strlen(name) == t->name_length && !memcmp(name, t->name, t->name_length);
}

static bool is_one_of(const struct term *t, const char *const *names, size_t nr)
{
	size_t i;

	for (i = 0; i < nr && !is_named(t, names[i]); i++)
		;
	return i < nr;
}

static unsigned int bits_of(const struct field *f)
{
	unsigned int i, bits = 0;

	for (i = 0; i < f->nr; i++)
		bits += f->part[i].last - f->part[i].first + 1;
	return bits;
}

/* Puts @value into the bits of the field. */
static uint64_t scatter(const struct field *f, uint64_t value)
{
	uint64_t select = 0;
	unsigned int i, bit;

	for (i = 0; i < f->nr; i++)
		for (bit = f->part[i].first; bit <= f->part[i].last; bit++, value >>= 1)
			select |= (value & 1) << bit;
	return select;
}

/*
 * Parses what the driver writes, "config:0-7,32-35" and the like. Returns false if it is
 * not about the event select.
 */
static bool parse_format(const char *text, struct field *f)
{
	int length;

	*f = (struct field){};
	if (strncmp(text, "config:", 7))
		return false;
	for (text += 7; f->nr < 4; text += *text == ',') {
		unsigned int first, last;

		if (sscanf(text, "%2u%n", &first, &length) != 1)
			break;
		text += length;
		last = first;
		if (*text == '-' && sscanf(++text, "%2u%n", &last, &length) == 1)
			text += length;
		if (last < first || last > 63)
			return false;
		f->part[f->nr].first = first;
		f->part[f->nr++].last = last;
	}
	return f->nr;
}

/* Returns 0, -ENOENT if the driver has no such term, or -ENXIO if it is in another register. */
static int ask_driver(const struct term *t, struct field *f)
{
	char path[sizeof(FORMATS) + MOST_TERM], text[128];
	ssize_t n = -1;
	size_t i;
	int fd;

	for (i = 0; i < t->name_length; i++)
		if (!isalnum((unsigned char)t->name[i]) && t->name[i] != '_')
			return -ENOENT;
	if (!t->name_length || t->name_length >= MOST_TERM)
		return -ENOENT;
	snprintf(path, sizeof(path), FORMATS "%.*s", (int)t->name_length, t->name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, sizeof(text) - 1);
		close(fd);
	}
	if (n <= 0)
		return -ENOENT;
	text[n] = '\0';
	return parse_format(text, f) ? 0 : -ENXIO;
}

static int unknown_term(const struct term *t, struct vpmc_complaint *c)
{
	int length = t->name_length < MOST_TERM ? (int)t->name_length : MOST_TERM;

	if (is_one_of(t, samples, sizeof(samples) / sizeof(samples[0])))
		return wrong(c, VPMC_WHY_SYNTAX, t->name,
			     "leave it out; vpmc record -c takes a period",
			     "the term '%.*s' is about perf's samples", length, t->name);
	if (memchr(t->name, '.', t->name_length))
		return wrong(c, VPMC_WHY_UNKNOWN, t->name,
			     "write libpfm4's name of the event, without cpu/.../; vpmc list names them all",
			     "'%.*s' is a name of perf's own lists", length, t->name);
	return wrong(c, VPMC_WHY_ATTRIBUTE, t->name,
		     "the terms are event, umask, edge, inv, cmask, config and name",
		     "there is no term '%.*s' for this processor's counters", length, t->name);
}

/* Finds the bits of a term. */
static int find_field(const struct term *t, enum vpmc_kind kind, struct field *f,
		      struct vpmc_complaint *c)
{
	unsigned int i;
	int err;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (is_named(t, known[i].name)) {
			*f = kind == VPMC_KIND_AMD ? known[i].amd : known[i].intel;
			if (f->nr)
				return 0;
		}
	err = is_one_of(t, registers, sizeof(registers) / sizeof(registers[0])) ? -ENXIO :
	      ask_driver(t, f);
	if (err == -ENXIO)
		return wrong(c, VPMC_REASON_EXTRA_MSR, t->name,
			     "leave the event out, or use perf stat",
			     "the term '%.*s' needs one more register, which vpmc does not offer",
			     (int)t->name_length, t->name);
	return err ? unknown_term(t, c) : 0;
}

/* Parses a decimal number, or a hexadecimal one after 0x. */
static bool number_of(const struct term *t, uint64_t *value)
{
	bool hex = t->value_length > 2 && !strncasecmp(t->value, "0x", 2);
	const char *digits = hex ? "0123456789abcdefABCDEF" : "0123456789";
	size_t skip = hex ? 2 : 0;

	if (!t->value_length ||
	    strspn(t->value + skip, digits) != t->value_length - skip)
		return false;
	errno = 0;
	*value = strtoull(t->value + skip, NULL, hex ? 16 : 10);
	return !errno;
}

/* Adds one term's bits to @select. @used are those that earlier terms have. */
static int take_value(const struct term *t, const struct field *f, enum vpmc_kind kind,
		      uint64_t *select, uint64_t *used, struct vpmc_complaint *c)
{
	unsigned int bits = bits_of(f);
	uint64_t value = 1, all = scatter(f, ~0ULL);
	const int length = t->name_length;

	if (!t->value && bits > 1)
		return wrong(c, VPMC_WHY_SYNTAX, t->name, "write '=' and a number behind it",
			     "the term '%.*s' has no value", length, t->name);
	if (t->value && !number_of(t, &value))
		return wrong(c, VPMC_WHY_SYNTAX, t->value, "write decimal digits, or 0x and hexadecimal ones",
			     "the value of '%.*s' is no number of 64 bits", length, t->name);
	if (bits < 64 && value >> bits)
		return wrong(c, VPMC_WHY_SYNTAX, t->value, "write a smaller number",
			     "the value of '%.*s' is at most %#llx", length, t->name,
			     (1ULL << bits) - 1);
	if (*used & all && !is_named(t, "config"))
		return wrong(c, VPMC_WHY_SYNTAX, t->name, "name each bit of the event select once",
			     "another term has bits of '%.*s'", length, t->name);
	value = scatter(f, value);
	if (value & (select_modes(kind) | select_form(kind).owned))
		return wrong(c, VPMC_WHY_SYNTAX, t->name, "write the modes behind the second '/', as in cpu/.../uk",
			     "the term '%.*s' has bits of the modes, or 20 or 22", length, t->name);
	if (vpmc_refused_attribute(value, kind))
		return wrong(c, VPMC_WHY_REFUSED_ATTRIBUTE, t->name, "leave it out",
			     "the kernel does not permit the term '%.*s'", length, t->name);
	*used |= is_named(t, "config") ? 0 : all;
	*select |= value;
	return 0;
}

/* "r1c0" is "config=0x1c0". */
static int take_raw(const struct term *t, enum vpmc_kind kind, uint64_t *select,
		    struct vpmc_complaint *c)
{
	static const struct field all = ONE(0, 63);
	uint64_t used = 0;
	char text[32];
	struct term config = { "config", text, 6, 0 };
	int err;

	config.value_length = snprintf(text, sizeof(text), "0x%.*s", (int)t->name_length - 1,
				       t->name + 1);
	err = take_value(&config, &all, kind, select, &used, c);
	c->at = t->name;
	return err;
}

/*
 * Takes a name of an event among the terms: "cpu/instructions/" or "cpu/r1c0/". Returns
 * -ENOENT for others.
 */
static int take_name(const struct term *t, enum vpmc_kind kind, uint64_t *select,
		     struct vpmc_complaint *c)
{
	const struct vpmc_portable *p;
	size_t digits;
	int err;

	if (t->value)
		return -ENOENT;
	/* It is perf's spelling, so perf's event comes before the portable one. */
	err = vpmc_perf_name(t->name, t->name_length, kind, select, c);
	if (!err)
		return 0;
	p = vpmc_portable_find(t->name, t->name_length);
	if (p && vpmc_portable_code(p, kind)) {
		*select |= vpmc_portable_code(p, kind);
		return 0;
	}
	digits = *t->name == 'r' ? strspn(t->name + 1, "0123456789abcdefABCDEF") : 0;
	if (digits && digits == t->name_length - 1 && digits <= 16)
		return take_raw(t, kind, select, c);
	return err;
}

static int take_term(const struct term *t, enum vpmc_kind kind, uint64_t *select,
		     uint64_t *used, struct vpmc_complaint *c)
{
	struct field f;
	int err;

	if (!t->name_length)
		return wrong(c, VPMC_WHY_EMPTY, t->name, "write it as in cpu/event=0xc0,umask=1/",
			     "there is no term");
	/* perf prints it instead of the terms. Here the event is called as it is written. */
	if (is_named(t, "name") && t->value)
		return 0;
	err = take_name(t, kind, select, c);
	if (err != -ENOENT)
		return err;
	err = find_field(t, kind, &f, c);
	return err ? err : take_value(t, &f, kind, select, used, c);
}

/* Returns where the term that begins at @at ends. A value between ' may have commas. */
static const char *term_end(const char *at, const char *close)
{
	bool quoted = false;

	for (; at < close && (quoted || *at != ','); at++)
		quoted ^= *at == '\'';
	return at;
}

/* perf's numbers of these events are its own. It has a table of the processor's. */
const char vpmc_p4_perf_why[] = "perf's numbers of NetBurst's events are not the processor's";
const char vpmc_p4_perf_help[] =
	"write libpfm4's name, as vpmc list does, or 0x with the ESCR in bits 32 to 63 and the CCCR in bits 0 to 31";

static int other_pmu(const char *body, const char *open, struct vpmc_complaint *c)
{
	int length = open - body < MOST_TERM ? (int)(open - body) : MOST_TERM;

	if (!strncmp(body, "cpu_", 4))
		return wrong(c, VPMC_WHY_UNKNOWN, body, "write cpu/.../",
			     "'%.*s' is one type of core, and vpmc counts threads on all of them", length, body);
	return wrong(c, VPMC_WHY_UNKNOWN, body, "perf stat counts that, for the machine as a whole",
		     "'%.*s' is another PMU, and vpmc has the processor's counters alone", length, body);
}

int vpmc_terms_encode(const char *body, const char *open, const char *close,
		      enum vpmc_kind kind, uint64_t *select, struct vpmc_complaint *c)
{
	const char *at = open + 1, *end, *equal;
	uint64_t used = 0;
	int err;

	*select = 0;
	if (open - body != 3 || memcmp(body, "cpu", 3))
		return other_pmu(body, open, c);
	if (kind == VPMC_KIND_P4)
		return wrong(c, VPMC_WHY_UNKNOWN, body, vpmc_p4_perf_help, "%s", vpmc_p4_perf_why);
	do {
		struct term t = { .name = at };

		end = term_end(at, close);
		equal = memchr(at, '=', end - at);
		t.name_length = (equal ?: end) - at;
		if (equal) {
			t.value = equal + 1;
			t.value_length = end - t.value;
		}
		err = take_term(&t, kind, select, &used, c);
		at = end + 1;
	} while (!err && end < close);
	return err;
}
