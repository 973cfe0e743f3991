/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Cuts a list of events into its elements. The vpmc command uses this, too.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_PIECES_H
#define VPMC_PIECES_H

#include <stdbool.h>
#include <stddef.h>

/* A list that is being cut. It begins with @at at its beginning, and @more. */
struct vpmc_pieces {
	const char *at;
	bool more;
	const char *brace;	/* the '}' of the group that @at is in, or NULL */
	const char *behind;	/* what follows the group and its modes */
	const char *modes;	/* of the group */
	size_t modes_length;
};

/* An element, from @from to @to, without the blanks around it. */
struct vpmc_piece {
	const char *from, *to;
	const char *modes;	/* of its group */
	size_t modes_length;
	const char *wrong;	/* where the list cannot be cut */
	const char *why;	/* why not, or NULL */
};

/* Takes the next element. Then @p->more tells whether there is another one. */
void vpmc_pieces_next(struct vpmc_pieces *p, struct vpmc_piece *piece);

/* Returns the element as it could be written alone: with the modes of its group. */
char *vpmc_piece_text(const struct vpmc_piece *piece);

/* Returns where in the list the character @at of this text is. */
const char *vpmc_piece_at(const struct vpmc_piece *piece, const char *text, size_t at);

/* If @text begins with the name of a PMU and '/', returns the '/', otherwise NULL. */
const char *vpmc_slashes(const char *text);

/* Returns the second '/', or NULL. */
const char *vpmc_terms_end(const char *open);

#endif /* VPMC_PIECES_H */
