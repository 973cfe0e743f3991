/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Text that may have bytes of any kind, such as arguments and names of threads.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_UTF8_H
#define VPMC_UTF8_H

/* Returns how many bytes form the UTF-8 character at @s, or 0 if it is none. */
unsigned int vpmc_utf8_length(const unsigned char *s);

/* Room for one character as vpmc_utf8_printable() writes it */
#define VPMC_PRINTABLE	9

/*
 * Stores the character at @s to @to so that it can be printed, and returns how many bytes of
 * @s it has. What could command a terminal or begin another line, and bytes that are no
 * character, become escapes such as \x1b. So does a backslash that looks like the beginning
 * of one.
 */
unsigned int vpmc_utf8_printable(const unsigned char *s, char to[VPMC_PRINTABLE]);

/*
 * Returns a copy of @text in UTF-8, which the caller frees, or NULL without memory. A byte
 * that is not UTF-8 becomes the character of the same number.
 */
char *vpmc_utf8(const char *text);

#endif /* VPMC_UTF8_H */
