// SPDX-License-Identifier: GPL-2.0
/*
 * Reads JSON files, which may be anything.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <fcntl.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/json-read.h"

struct json_object *json_read(const char *name)
{
	struct json_tokener *tokener = json_tokener_new();
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct json_object *object = NULL;
	static char part[1 << 16];
	ssize_t n;

	if (!tokener)
		fail(STATUS_OURS, "memory: there is none; end other programs, or count less");
	while (fd >= 0 && (n = read(fd, part, sizeof(part))) > 0) {
		object = json_tokener_parse_ex(tokener, part, n);
		if (json_tokener_get_error(tokener) != json_tokener_continue)
			break;
	}
	if (fd >= 0)
		close(fd);
	json_tokener_free(tokener);
	return object;
}
