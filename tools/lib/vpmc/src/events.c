// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Parses event lists into event selects.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A list of events. vpmc_parse_events() returns its array @event. */
struct list {
	unsigned int nr;
	struct vpmc_event event[];
};

/* An element of the list that is being parsed. */
struct element {
	struct vpmc_event *event;
	enum vpmc_kind kind;
	const char *list;
	const struct vpmc_piece *piece;
	char *body;		/* without '@' and '?' */
	const char *wrong;	/* where @body is wrong, or NULL */
	char why[160];		/* replaces the reason's text; "" keeps it */
	char help[200];		/* replaces the reason's help; "" keeps it */
};

const char *vpmc_refused_attribute(uint64_t select, enum vpmc_kind kind)
{
	static const struct {
		bool p4;
		unsigned int bit;
		const char *name;
	} names[] = {
		{ false, 21, "t" }, { false, 32, "intx" }, { false, 33, "intxcp" },
		{ false, 40, "g" }, { false, 41, "h" },
		{ true, 25, "forced overflow" },
		{ true, 27, "overflow interrupt of the other thread" },
		{ true, 30, "cascade" }, { true, 31, "OVF" },
		{ true, 32, "T1_USR" }, { true, 33, "T1_OS" },
	};
	const struct select_form form = select_form(kind);
	unsigned int i;

	select &= ~(form.event | form.user | form.kernel | form.owned);
	if (!select)
		return NULL;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].p4 == (kind == VPMC_KIND_P4) &&
		    select & SELECT_BIT(names[i].bit))
			return names[i].name;
	return "";
}

static int wrong(struct element *e, int reason, const char *at, const char *why)
{
	e->wrong = at;
	snprintf(e->why, sizeof(e->why), "%s", why ? why : "");
	return reason;
}

/* As wrong(), with what helps. */
static int complain(struct element *e, int reason, const char *at, const char *why,
		    const char *help)
{
	snprintf(e->help, sizeof(e->help), "%s", help);
	return wrong(e, reason, at, why);
}

/* Without modes, an event counts in user mode, and its name says so. */
static int usual_modes(struct element *e)
{
	size_t length = strlen(e->event->name);
	bool slash = length && e->event->name[length - 1] == '/';
	char *name;

	if (asprintf(&name, "%s%su", e->event->name, slash ? "" : ":") < 0)
		return -ENOMEM;
	free((char *)e->event->name);
	e->event->name = name;
	e->event->flags |= VPMC_EVENT_USUAL_MODES;
	return 0;
}

/*
 * Parses what follows a portable name or a number: nothing, or ':' and modes.
 */
static int take_modes(struct element *e, const char *rest, uint64_t *modes)
{
	const char *text = rest + (*rest == ':'), *at, *why, *help;

	*modes = select_form(e->kind).user;
	if (!*rest)
		return usual_modes(e);
	*modes = vpmc_modes_of(text, e->kind);
	if (*modes)
		return 0;
	at = vpmc_perf_modifier(text, &why, &help);
	if (at)
		return complain(e, VPMC_WHY_SYNTAX, at, why, help);
	return wrong(e, VPMC_WHY_SYNTAX, rest,
		     "only ':u', ':k' or ':uk' can follow here");
}

static int portable_event(struct element *e, const struct vpmc_portable *p,
			  const char *rest)
{
	uint64_t code = vpmc_portable_code(p, e->kind);
	uint64_t modes, other = 0;
	struct vpmc_complaint c;
	int reason = take_modes(e, rest, &modes);

	if (reason)
		return reason;
	if (!code && !vpmc_perf_name(p->name, strlen(p->name), e->kind, &other, &c))
		snprintf(e->help, sizeof(e->help), "perf counts another event under that name: cpu/%s/",
			 p->name);
	if (!code)
		return wrong(e, VPMC_WHY_NOT_PORTABLE, NULL, NULL);
	e->event->select = code | modes;
	e->event->flags |= VPMC_EVENT_PORTABLE;
	return 0;
}

/*
 * Parses hexadecimal digits up to the end or a ':'. Returns false if there are
 * none or too many.
 */
static bool number_of(const char *text, uint64_t *value, const char **rest)
{
	size_t digits = strspn(text, "0123456789abcdefABCDEF");

	*rest = text + digits;
	if (!digits || digits > 16 || (**rest && **rest != ':'))
		return false;
	*value = strtoull(text, NULL, 16);
	return true;
}

/* Encodes "rUUEE". The number must not contain modes. They follow it. */
static int raw_event(struct element *e, uint64_t value, const char *rest)
{
	uint64_t modes;
	int reason;

	if (e->kind == VPMC_KIND_P4)
		return complain(e, VPMC_WHY_UNKNOWN, e->body, vpmc_p4_perf_why, vpmc_p4_perf_help);
	reason = take_modes(e, rest, &modes);
	if (reason)
		return reason;
	if (value & (select_modes(e->kind) | select_form(e->kind).owned))
		return wrong(e, VPMC_WHY_SYNTAX, e->body,
			     "'r' takes event and unit mask without modes");
	e->event->select = value | modes;
	e->event->flags |= VPMC_EVENT_RAW;
	return 0;
}

/*
 * Refuses a bit of a NetBurst's select by its name. It has two registers, so that a wrong
 * bit is hard to find.
 */
static int check_bits(struct element *e, uint64_t select)
{
	const char *name = vpmc_refused_attribute(select, VPMC_KIND_P4);
	char why[80];

	if (!name)
		return 0;
	if (!*name)
		return complain(e, VPMC_REASON_RESERVED_BIT, NULL,
				"it has bits that mean nothing in ESCR and CCCR",
				"write the ESCR in bits 32 to 63, and the CCCR in bits 0 to 31");
	snprintf(why, sizeof(why), "the kernel does not permit the bit '%s'", name);
	return complain(e, VPMC_WHY_REFUSED_ATTRIBUTE, NULL, why, "leave it out");
}

/* Encodes "0xSELECT". The modes are in the number or follow it. */
static int whole_select(struct element *e)
{
	uint64_t value, modes;
	const char *rest;
	int reason;

	if (!number_of(e->body + 2, &value, &rest))
		return wrong(e, VPMC_WHY_SYNTAX, e->body,
			     "after 0x come up to 16 hexadecimal digits");
	reason = e->kind == VPMC_KIND_P4 ? check_bits(e, value) : 0;
	if (reason)
		return reason;
	if (value & select_modes(e->kind)) {
		if (*rest)
			return wrong(e, VPMC_WHY_SYNTAX, rest, e->kind == VPMC_KIND_P4 ?
				     "the event select has its modes in bits 34 and 35 already" :
				     "the event select has its modes in bits 16 and 17 already");
		modes = 0;
	} else {
		reason = take_modes(e, rest, &modes);
		if (reason)
			return reason;
	}
	e->event->select = value | modes;
	e->event->flags |= VPMC_EVENT_RAW;
	return 0;
}

/* Encodes "cpu/TERMS/". The modes follow the second '/', with or without ':'. */
static int terms_event(struct element *e, const char *open)
{
	const char *close = vpmc_terms_end(open);
	struct vpmc_complaint c = { .at = NULL };
	uint64_t select, modes;
	int reason;

	if (!close)
		return wrong(e, VPMC_WHY_SYNTAX, open, "its second '/' is missing");
	reason = vpmc_terms_encode(e->body, open, close, e->kind, &select, &c);
	if (reason)
		return complain(e, reason, c.at, c.why, c.help);
	reason = take_modes(e, close + 1, &modes);
	if (reason)
		return reason;
	e->event->select = select | modes;
	e->event->flags |= VPMC_EVENT_RAW;
	return 0;
}

/* Encodes one of perf's generic names. Returns -ENOENT for others. */
static int perf_event(struct element *e, size_t length)
{
	struct vpmc_complaint c;
	uint64_t select = 0, modes;
	int reason = vpmc_perf_name(e->body, length, e->kind, &select, &c);

	if (reason)
		return reason == -ENOENT ? reason :
		       complain(e, reason, c.at, c.why, c.help);
	reason = take_modes(e, e->body + length, &modes);
	if (reason)
		return reason;
	e->event->select = select | modes;
	return 0;
}

/* libpfm4 takes both modes only as ":u:k". */
static char *with_both_modes(const char *body)
{
	char *copy = malloc(2 * strlen(body) + 1), *to = copy;

	if (!copy)
		return NULL;
	for (; *body; body++) {
		*to++ = *body;
		if (*body == ':' && (!strncasecmp(body, ":uk", 3) ||
				     !strncasecmp(body, ":ku", 3)) &&
		    (!body[3] || body[3] == ':')) {
			memcpy(to, "u:k", 3);
			to += 3;
			body += 2;
		}
	}
	*to = '\0';
	return copy;
}

/* Returns true if an attribute of libpfm4's, ":u" or "u=1" and the like, names modes. */
static bool has_modes(const char *body)
{
	for (body = strchr(body, ':'); body; body = strchr(body, ':')) {
		size_t letters = strspn(++body, "uUkK");

		if (letters && (!body[letters] || strchr(":=", body[letters])))
			return true;
	}
	return false;
}

/*
 * A name that libpfm4 does not take. It may be no event of the processor, or its last
 * attribute one of perf's modifiers.
 */
static int foreign_event(struct element *e, int reason)
{
	const char *last = strrchr(e->body, ':'), *at = NULL, *why, *help;
	struct vpmc_complaint c;

	if ((reason == VPMC_WHY_UNKNOWN || reason == VPMC_WHY_NO_TABLE) &&
	    vpmc_perf_foreign(e->body, &c))
		return complain(e, VPMC_WHY_UNKNOWN, c.at, c.why, c.help);
	if (last && reason == VPMC_WHY_ATTRIBUTE)
		at = vpmc_perf_modifier(last + 1, &why, &help);
	return at ? complain(e, VPMC_WHY_SYNTAX, at, why, help) : wrong(e, reason, NULL, NULL);
}

static int table_event(struct element *e)
{
	char *name = with_both_modes(e->body), *full, why[80];
	const char *attribute;
	uint64_t select;
	int reason;

	if (!name)
		return -ENOMEM;
	reason = vpmc_table_encode(name, &select, &full);
	free(name);
	if (reason == VPMC_WHY_UNKNOWN && strstr(e->body, "::")) {
		snprintf(why, sizeof(why), "libpfm4's table '%.40s' has no such event",
			 vpmc_table(NULL));
		return wrong(e, reason, NULL, why);
	}
	if (reason)
		return foreign_event(e, reason);
	free((char *)e->event->name);
	e->event->name = full;
	if (!has_modes(e->body))
		e->event->flags |= VPMC_EVENT_USUAL_MODES;
	attribute = vpmc_refused_attribute(select, e->kind);
	if (attribute) {
		snprintf(why, sizeof(why),
			 "the kernel does not permit the attribute '%s'",
			 attribute);
		return wrong(e, *attribute ? VPMC_WHY_REFUSED_ATTRIBUTE :
			     VPMC_REASON_RESERVED_BIT, NULL,
			     *attribute ? why : NULL);
	}
	e->event->select = select;
	return 0;
}

/* Parses "@N" or "@fixedN". */
static int take_counter(struct element *e, const char *at)
{
	bool fixed = !strncmp(at + 1, "fixed", 5);
	const char *number = fixed ? at + 6 : at + 1;
	size_t digits = strspn(number, "0123456789");

	if (!digits || digits > 2 || number[digits])
		return wrong(e, VPMC_WHY_SYNTAX, at,
			     "after '@' comes the number of a counter, or fixed and a number");
	e->event->index = strtoul(number, NULL, 10) |
			  (fixed ? VPMC_RDPMC_FIXED :
			   e->kind == VPMC_KIND_P4 ? RDPMC_FAST : 0);
	return 0;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (!isgraph((unsigned char)*text))
			return false;
	return true;
}

/* Splits the body into name, counter and '?', and encodes the name. */
static int encode(struct element *e)
{
	const struct vpmc_portable *portable;
	const char *open = vpmc_slashes(e->body), *close = open ? vpmc_terms_end(open) : NULL;
	char *body = e->body, *at, *tail = body + (close ? close - body : 0);
	size_t length = strlen(body);
	const char *rest;
	uint64_t value;
	int reason;

	if (!is_printable(body))
		return wrong(e, VPMC_WHY_SYNTAX, NULL,
			     "there is a blank or a control character in it");
	if (length && body[length - 1] == '?') {
		e->event->flags |= VPMC_EVENT_OPTIONAL;
		body[--length] = '\0';
	}
	at = strchr(tail, '?');
	if (at)
		return wrong(e, VPMC_WHY_SYNTAX, at, "'?' comes once, and last");
	at = strchr(tail, '@');
	if (at) {
		reason = take_counter(e, at);
		if (reason)
			return reason;
		*at = '\0';
	}
	if (!*body || *body == ':')
		return wrong(e, VPMC_WHY_EMPTY, body, "the name is missing");
	e->event->name = strdup(body);
	if (!e->event->name)
		return -ENOMEM;
	if (open)
		return terms_event(e, open);
	length = strcspn(body, ":");
	portable = vpmc_portable_find(body, length);
	if (portable)
		return portable_event(e, portable, body + length);
	if (!strncasecmp(body, "0x", 2))
		return whole_select(e);
	if (*body == 'r' && number_of(body + 1, &value, &rest))
		return raw_event(e, value, rest);
	reason = perf_event(e, length);
	return reason == -ENOENT ? table_event(e) : reason;
}

/* Returns true if the reason means that this processor lacks the event. */
static bool is_missing(int reason)
{
	return reason == VPMC_WHY_UNKNOWN || reason == VPMC_WHY_NOT_PORTABLE ||
	       reason == VPMC_WHY_NO_TABLE || reason == VPMC_WHY_ATTRIBUTE ||
	       reason == VPMC_WHY_UMASK || reason == VPMC_REASON_EXTRA_MSR ||
	       reason == VPMC_WHY_REFUSED_ATTRIBUTE;
}

static int errno_of(int reason)
{
	switch (reason) {
	case VPMC_WHY_UNKNOWN:
	case VPMC_WHY_NO_TABLE:
		return -ENOENT;
	case VPMC_WHY_NOT_PORTABLE:
	case VPMC_WHY_REFUSED_ATTRIBUTE:
	case VPMC_REASON_EXTRA_MSR:
		return -EOPNOTSUPP;
	}
	return -EINVAL;
}

static int report(const struct element *e, int reason, unsigned int nr,
		  struct vpmc_error *error)
{
	struct vpmc_event *event = e->event;
	int err;

	if (reason < 0)
		return vpmc_error_system(error, reason, event->text ?: "events");
	err = errno_of(reason);
	if (!error)
		return err;
	vpmc_error_set(error, err, reason,
		       *event->text ? event->text : "the list of events",
		       e->why[0] ? e->why : NULL, e->help[0] ? e->help : NULL);
	if (e->help[0])
		;	/* that is better than a similar name */
	else if (reason == VPMC_WHY_UNKNOWN)
		vpmc_similar(error, e->body, true);
	else if (reason == VPMC_WHY_ATTRIBUTE || reason == VPMC_WHY_UMASK)
		vpmc_similar(error, e->body, false);
	error->event = nr;
	error->position = event->position;
	if (e->piece->why)
		error->position = e->piece->wrong - e->list;
	else if (e->wrong)
		error->position = vpmc_piece_at(e->piece, event->text, e->wrong - e->body) -
				  e->list;
	return err;
}

static int parse_element(struct element *e, const struct vpmc_piece *piece)
{
	struct vpmc_event *event = e->event;
	int reason;

	event->index = VPMC_ANY;
	event->counter = VPMC_ANY;
	event->element = -1;
	event->position = piece->from - e->list;
	event->text = vpmc_piece_text(piece);
	e->body = event->text ? strdup(event->text) : NULL;
	if (!e->body)
		return -ENOMEM;
	if (piece->why)
		return wrong(e, VPMC_WHY_SYNTAX, NULL, piece->why);
	if (piece->from == piece->to)
		return wrong(e, VPMC_WHY_EMPTY, NULL, NULL);
	reason = encode(e);
	if (event->flags & VPMC_EVENT_OPTIONAL && is_missing(reason)) {
		event->flags |= VPMC_EVENT_LEFT_OUT;
		event->reason = reason;
		reason = 0;
	}
	return reason;
}

/*
 * Returns the number of an earlier event that conflicts with the last one, or
 * -1.
 */
static int other(const struct list *list, enum vpmc_kind kind, int *reason)
{
	const struct vpmc_event *last = &list->event[list->nr - 1], *e;
	unsigned int i;

	if (last->flags & VPMC_EVENT_LEFT_OUT)
		return -1;
	for (i = 0; i < list->nr - 1; i++) {
		e = &list->event[i];
		if (e->flags & VPMC_EVENT_LEFT_OUT || e->index != last->index)
			continue;
		*reason = last->index == VPMC_ANY ? VPMC_WHY_DOUBLED :
						    VPMC_WHY_CONFLICT;
		if (last->index != VPMC_ANY ||
		    vpmc_same_select(kind, e->select, last->select))
			return i;
	}
	return -1;
}

/* Adds an element of @text to the list. */
static int add_element(struct list *list, const char *text, const struct vpmc_piece *piece,
		       enum vpmc_kind kind, struct vpmc_error *error)
{
	struct element e = { .event = &list->event[list->nr++], .kind = kind,
			     .list = text, .piece = piece };
	int before, reason = parse_element(&e, piece);

	if (!reason) {
		before = other(list, kind, &reason);
		if (before >= 0)
			snprintf(e.why, sizeof(e.why),
				 reason == VPMC_WHY_DOUBLED ?
				 "the same as '%.60s', event %d of the list" :
				 "wants the same counter as '%.60s', event %d of the list",
				 list->event[before].text, before);
		else
			reason = 0;
	}
	if (reason)
		reason = report(&e, reason, list->nr - 1, error);
	free(e.body);
	return reason;
}

EXPORT int vpmc_parse_events(const char *list, struct vpmc_event **events,
			     unsigned int *nr, struct vpmc_error *error)
{
	enum vpmc_kind kind = vpmc_processor_kind();
	struct vpmc_pieces pieces = { .at = list, .more = true };
	struct vpmc_piece piece;
	unsigned int most = 1;
	const char *from;
	struct list *made;
	int err = 0;

	*events = NULL;
	*nr = 0;
	vpmc_error_none(error);
	for (from = list; *from; from++)
		most += *from == ',';
	made = calloc(1, sizeof(*made) + most * sizeof(made->event[0]));
	if (!made)
		return vpmc_error_system(error, -ENOMEM, "events");
	while (!err && pieces.more) {
		vpmc_pieces_next(&pieces, &piece);
		err = add_element(made, list, &piece, kind, error);
	}
	if (err) {
		vpmc_free_events(made->event);
		return err;
	}
	*events = made->event;
	*nr = made->nr;
	return 0;
}

EXPORT void vpmc_free_events(struct vpmc_event *events)
{
	struct list *list;
	unsigned int i;

	if (!events)
		return;
	list = (struct list *)((char *)events - offsetof(struct list, event));
	for (i = 0; i < list->nr; i++) {
		free((char *)events[i].text);
		free((char *)events[i].name);
	}
	free(list);
}
