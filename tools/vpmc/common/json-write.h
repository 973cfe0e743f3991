/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Short helpers to build and print JSON objects.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/fail.h"
#include "utf8.h"

static inline void member(struct json_object *object, const char *key,
			  struct json_object *value)
{
	json_object_object_add(object, key, value);
}

/* JSON is UTF-8. Arguments, names of threads and symbols may be anything. */
static inline struct json_object *json_text(const char *text)
{
	char *utf8 = vpmc_utf8(text);
	struct json_object *object = utf8 ? json_object_new_string(utf8) : NULL;

	if (!object)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	free(utf8);
	return object;
}

static inline void member_number(struct json_object *object, const char *key,
				 uint64_t value)
{
	member(object, key, json_object_new_uint64(value));
}

static inline void member_text(struct json_object *object, const char *key,
			       const char *text)
{
	member(object, key, json_text(text));
}

static inline struct json_object *number_array(const uint64_t *value,
					       unsigned int nr)
{
	struct json_object *array = json_object_new_array_ext(nr);
	unsigned int i;

	for (i = 0; i < nr; i++)
		json_object_array_add(array, json_object_new_uint64(value[i]));
	return array;
}

/* Prints @object and releases it. */
static inline void print_object(FILE *file, struct json_object *object)
{
	fputs(json_object_to_json_string_ext(object,
		JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE), file);
	json_object_put(object);
}

#endif /* JSON_WRITE_H */
