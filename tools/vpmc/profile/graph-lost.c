// SPDX-License-Identifier: GPL-2.0
/*
 * Reads what the preloaded library could not record. Each program has a file PID.IMAGE.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fail.h"
#include "graph/lost.h"
#include "profile/graph.h"

static void add(struct graph *graph, const char *directory, const char *name)
{
	struct graph_lost lost;
	unsigned int pid, image;
	char *path;
	int fd, end = 0;

	if (sscanf(name, "%u.%u%n", &pid, &image, &end) != 2 || name[end])
		return;
	path = get_text("%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return;
	/* The process may have been killed when it had just made the file. */
	if (read(fd, &lost, sizeof(lost)) == sizeof(lost) && lost.magic == LOST_MAGIC) {
		graph->unrecorded += lost.threads;
		graph->stopped += lost.stopped;
		lost.why[sizeof(lost.why) - 1] = 0;
		if (*lost.why && !graph->why)
			graph->why = get_text("%s", lost.why);
	}
	close(fd);
}

void graph_load_lost(struct graph *graph, const char *directory)
{
	DIR *files = opendir(directory);
	struct dirent *entry;

	while (files && (entry = readdir(files)))
		add(graph, directory, entry->d_name);
	if (files)
		closedir(files);
}

void graph_note_lost(const struct graph *graph)
{
	if (graph->unrecorded)
		note("%llu threads: are in no tree, as no file could be made for them; the program may have restricted itself (a filter of system calls, another user or root, no descriptor, no memory)",
		     (unsigned long long)graph->unrecorded);
	if (graph->stopped)
		note("%llu threads: have forbidden themselves to read the time; what they did later is missing",
		     (unsigned long long)graph->stopped);
}
