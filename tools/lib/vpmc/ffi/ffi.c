// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * libvpmc-ffi: the inline calls of the headers as symbols, for languages that cannot
 * compile C's headers.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/types.h>
#include <linux/vpmc.h>

/*
 * In C, the object file has a function that is "extern inline". So each function that the
 * headers have as "static inline" becomes a symbol, and none can be forgotten.
 * libvpmc-ffi.map names those that are exported.
 */
#define static extern
#include <vpmc.h>
