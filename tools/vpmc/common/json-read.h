/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads JSON files, which may be anything.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <json-c/json.h>
#include <stdbool.h>

/*
 * Returns the object in the file, or NULL: it cannot be read, it is not JSON, or it goes on
 * behind the object, with other things than blanks. Then @more is true. Reads no further
 * than to the first error, so that no file is too large.
 */
struct json_object *json_read(const char *name, bool *more);

/*
 * Returns a name that two members of one object in the file have, or NULL. json-c keeps the
 * last of them alone. Nothing in the name is a command for a terminal. The file is one that
 * json_read() has read.
 */
char *json_equal_names(const char *name);

#endif /* JSON_READ_H */
