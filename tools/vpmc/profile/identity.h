/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which file was mapped, and whether a file is that one.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <stdbool.h>
#include <stdint.h>

/* A file as it was when it was mapped. Compared as a whole, so there are no holes. */
struct identity {
	uint64_t inode;
	uint64_t mtime;		/* nanoseconds since 1970 */
	uint64_t size;
	uint32_t major, minor;	/* its device */
	uint8_t build_id[24];
	uint64_t build_id_size;	/* 0 if it has none, or if that is not known */
};

/* Sets the directory of --symfs. */
void identity_symfs(const char *directory);

/*
 * Opens the file that was mapped from @path. Looks in the directory of --symfs, at the
 * path, and at the path as the process @pid sees it if it still lives. Returns -1 if
 * none of these is that file.
 */
int identity_open(const char *path, const struct identity *identity, unsigned int pid);

#endif /* IDENTITY_H */
