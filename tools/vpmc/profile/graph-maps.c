// SPDX-License-Identifier: GPL-2.0
/*
 * Reads the lists of mappings that the preloaded library of vpmc graph leaves. Each
 * line has the first address, the end, the offset in the file, the device's two
 * numbers, the inode, the time of modification, the size, and the path.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/fail.h"
#include "profile/graph-maps.h"

static void take_line(struct maps *maps, char *line)
{
	struct mapped mapped = {};
	struct identity *file = &mapped.identity;
	int path = 0;

	line[strcspn(line, "\n")] = 0;
	if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNu32 " %" SCNu32
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &mapped.begin, &mapped.end,
		   &mapped.offset, &file->major, &file->minor, &file->inode, &file->mtime,
		   &file->size, &path) < 8 || line[path] != ' ')
		return;
	mapped.path = get_text("%s", line + path + 1);
	maps->mapped = get_memory(maps->mapped, maps->nr + 1, sizeof(mapped));
	maps->mapped[maps->nr++] = mapped;
}

void maps_read(struct maps *maps, const char *name)
{
	FILE *file = fopen(name, "re");
	char *line = NULL;
	size_t size = 0;

	*maps = (struct maps){};
	if (!file)
		return;
	while (getline(&line, &size, file) > 0)
		take_line(maps, line);
	free(line);
	fclose(file);
}

const struct mapped *maps_find(const struct maps *maps, uint64_t address)
{
	unsigned int i;

	for (i = 0; i < maps->nr; i++)
		if (address >= maps->mapped[i].begin && address < maps->mapped[i].end)
			return &maps->mapped[i];
	return NULL;
}

void maps_free(struct maps *maps)
{
	while (maps->nr)
		free(maps->mapped[--maps->nr].path);
	free(maps->mapped);
}
