/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Reads JSON files, which may be anything.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef JSON_READ_H
#define JSON_READ_H

#include <json-c/json.h>

/*
 * Returns the object in the file, or NULL: it cannot be read, or it is not JSON. Reads no
 * further than to the first error, so that no file is too large.
 */
struct json_object *json_read(const char *name);

#endif /* JSON_READ_H */
