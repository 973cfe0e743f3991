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

/*
 * Returns a copy of @text in UTF-8, which the caller frees, or NULL without memory. A byte
 * that is not UTF-8 becomes the character of the same number.
 */
char *vpmc_utf8(const char *text);

#endif /* VPMC_UTF8_H */
