// SPDX-License-Identifier: GPL-2.0
/*
 * Which file was mapped, and whether a file is that one. The name of a file tells
 * nothing: a program may have been built anew, a library may be another one in a
 * container, and a file may be gone.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "common/fail.h"
#include "profile/identity.h"

#define DELETED	" (deleted)"	/* behind the path of a file that had no name any more */

static const char *symfs;

void identity_symfs(const char *directory)
{
	symfs = directory;
}

static bool has_build_id(int fd, const struct identity *identity)
{
	const void *id;
	bool has = false;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf) {
		has = dwelf_elf_gnu_build_id(elf, &id) == (ssize_t)identity->build_id_size &&
		      !memcmp(id, identity->build_id, identity->build_id_size);
		elf_end(elf);
	}
	return has;
}

/* @copied: the file was copied to the directory of --symfs. */
static bool is_same(int fd, const struct identity *identity, bool copied)
{
	struct stat status;

	if (fstat(fd, &status) || !S_ISREG(status.st_mode))
		return false;
	if (identity->build_id_size)
		return has_build_id(fd, identity);
	if ((uint64_t)status.st_size != identity->size)
		return false;
	return copied ||
	       (status.st_ino == identity->inode &&
		major(status.st_dev) == identity->major &&
		minor(status.st_dev) == identity->minor &&
		status.st_mtim.tv_sec * 1000000000ULL + status.st_mtim.tv_nsec ==
		identity->mtime);
}

/* Frees @name. */
static int open_if_same(char *name, const struct identity *identity, bool copied)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	free(name);
	if (fd < 0 || is_same(fd, identity, copied))
		return fd;
	close(fd);
	return -1;
}

int identity_open(const char *path, const struct identity *identity, unsigned int pid)
{
	size_t length = strlen(path), end = strlen(DELETED);
	char *name;
	int fd = -1;

	if (length > end && !strcmp(path + length - end, DELETED))
		length -= end;
	name = get_text("%.*s", (int)length, path);
	if (symfs)
		fd = open_if_same(get_text("%s%s", symfs, name), identity, true);
	if (fd < 0 && symfs)
		fd = open_if_same(get_text("%s%s", symfs, strrchr(name, '/')), identity, true);
	if (fd < 0)
		fd = open_if_same(get_text("%s", name), identity, false);
	if (fd < 0 && pid)
		fd = open_if_same(get_text("/proc/%u/root%s", pid, name), identity, false);
	free(name);
	return fd;
}
