// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Cuts a list of events into its elements. A comma between the slashes of
 * "cpu/event=0xc0,umask=1/" is a part of the element. All events of a list are counted
 * at once, so "{a,b}" is the same as "a,b", and "{a,b}:u" as "a:u,b:u".
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pieces.h"

static const char *skip_blanks(const char *at)
{
	while (isspace((unsigned char)*at))
		at++;
	return at;
}

const char *vpmc_slashes(const char *text)
{
	size_t name = 0;

	while (isalnum((unsigned char)text[name]) || text[name] == '_' || text[name] == '-')
		name++;
	return name && text[name] == '/' ? text + name : NULL;
}

const char *vpmc_terms_end(const char *open)
{
	bool quoted = false;

	for (open++; *open && (quoted || *open != '/'); open++)
		quoted ^= *open == '\'';
	return *open ? open : NULL;
}

/* Returns where the element that begins at @at ends: at a ',', a brace, or the end. */
static const char *end_of(const char *at)
{
	const char *open = vpmc_slashes(at), *close = open ? vpmc_terms_end(open) : NULL;

	if (open && !close)
		return at + strlen(at);
	return (close ?: at) + strcspn(close ?: at, ",{}");
}

/* Returns what ends the group that begins at @at: its '}', another brace, or the end. */
static const char *brace_of(const char *at)
{
	while (*(at = end_of(skip_blanks(at))) == ',')
		at++;
	return at;
}

static void wrong(struct vpmc_piece *piece, const char *at, const char *why)
{
	piece->wrong = at;
	piece->why = why;
}

/* Takes the modes of the group that begins at @p->at, and finds what follows them. */
static void open_group(struct vpmc_pieces *p, struct vpmc_piece *piece)
{
	const char *brace = brace_of(p->at + 1), *end;
	bool colon;

	if (*brace == '{')
		return wrong(piece, brace, "a group has no other group in it");
	if (!*brace)
		return wrong(piece, p->at, "its '}' is missing");
	colon = brace[1] == ':';
	p->modes = brace + 1 + colon;
	p->modes_length = strcspn(p->modes, ", \t\n");
	end = skip_blanks(p->modes + p->modes_length);
	if ((*end && *end != ',') || colon != !!p->modes_length)
		return wrong(piece, brace + 1, "after '}' come ':' and modes, or ','");
	p->behind = end;
	p->brace = brace;
	p->at = skip_blanks(p->at + 1);
}

void vpmc_pieces_next(struct vpmc_pieces *p, struct vpmc_piece *piece)
{
	*piece = (struct vpmc_piece){ .from = skip_blanks(p->at) };
	p->at = piece->from;
	if (*p->at == '{' && !p->brace)
		open_group(p, piece);
	if (!piece->why) {
		piece->from = p->at;
		piece->to = end_of(p->at);
		if (*piece->to == '{')
			wrong(piece, piece->to, "'{' comes before the first event of a group");
		else if (*piece->to == '}' && piece->to != p->brace)
			wrong(piece, piece->to, "there is no '{' before this '}'");
	}
	if (piece->why) {
		piece->to = piece->from + strlen(piece->from);
		p->more = false;
		return;
	}
	if (p->brace) {
		piece->modes = p->modes;
		piece->modes_length = p->modes_length;
	}
	p->at = piece->to;
	if (p->at == p->brace) {
		p->at = p->behind;
		p->brace = NULL;
	}
	p->more = *p->at == ',';
	p->at += p->more;
	while (piece->to > piece->from && isspace((unsigned char)piece->to[-1]))
		piece->to--;
}

/* Appends to @to the modes of the group that @own, the modes of the element, does not have. */
static char *add_modes(char *to, const struct vpmc_piece *piece, const char *own, size_t length)
{
	size_t i;

	for (i = 0; i < piece->modes_length; i++)
		if (!strchr("uk", piece->modes[i]) || !memchr(own, piece->modes[i], length))
			*to++ = piece->modes[i];
	return to;
}

char *vpmc_piece_text(const struct vpmc_piece *piece)
{
	size_t length = piece->to - piece->from, name, own = 0;
	char *copy = strndup(piece->from, length), *text, *to;
	const char *open, *close;

	if (!copy || !piece->modes_length || !length)
		return copy;
	open = vpmc_slashes(copy);
	close = open ? vpmc_terms_end(open) : NULL;
	name = (close ?: copy) - copy;
	name += strcspn(copy + name, "@?");
	while (own < name && strchr("uk", copy[name - 1 - own]))
		own++;
	/* letters at the end of a name are no modes */
	if (own == name || !strchr(":/", copy[name - 1 - own]))
		own = 0;
	text = malloc(length + piece->modes_length + 2);
	if (text) {
		to = mempcpy(text, copy, name);
		if (!own && !(close && close == copy + name - 1))
			*to++ = ':';
		to = add_modes(to, piece, copy + name - own, own);
		strcpy(to, copy + name);
	}
	free(copy);
	return text;
}

/* The text is the element, with something of the group's modes added in one place. */
const char *vpmc_piece_at(const struct vpmc_piece *piece, const char *text, size_t at)
{
	size_t length = piece->to - piece->from, before = 0, added = strlen(text) - length;
	const char *mode;

	while (before < length && text[before] == piece->from[before])
		before++;
	if (at < before)
		return piece->from + at;
	if (at >= before + added)
		return piece->from + at - added;
	mode = memchr(piece->modes, text[at], piece->modes_length);
	/* otherwise it is the ':' before the modes */
	return mode ?: piece->modes - 1;
}
