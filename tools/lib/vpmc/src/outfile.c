// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Opens, writes and replaces files that results are written to.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "outfile.h"

/* In 32-bit programs, too: XFS and others number files beyond 2^32, which fstat() refuses. */
_Static_assert(sizeof(off_t) == 8, "build with _FILE_OFFSET_BITS=64");

/*
 * Returns the descriptor that a name stands for, or -1. To open such a name again would
 * begin at the start of a file that others have written to.
 */
static int descriptor_of(const char *name)
{
	static const char *const prefix[] = {
		"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/",
	};
	unsigned int i;
	size_t length;
	char *end;
	long fd;

	if (!strcmp(name, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(name, "/dev/stderr"))
		return STDERR_FILENO;
	for (i = 0; i < sizeof(prefix) / sizeof(prefix[0]); i++) {
		length = strlen(prefix[i]);
		if (strncmp(name, prefix[i], length))
			continue;
		fd = strtol(name + length, &end, 10);
		if (name[length] >= '0' && name[length] <= '9' && !*end &&
		    fd <= 0x7fffffff)
			return fd;
	}
	return -1;
}

bool vpmc_outfile_is_descriptor(const char *name)
{
	return descriptor_of(name) >= 0;
}

static int open_descriptor(struct outfile *file, int fd)
{
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return file->fd < 0 ? -errno : 0;
}

/*
 * Creates a file in the directory of file->name, under a name that nobody can guess, with
 * the mode of a new file.
 */
static int create_beside(struct outfile *file)
{
	const char *slash = strrchr(file->name, '/');
	int directory = slash ? slash - file->name + 1 : 0, tries = 100, fd;
	unsigned long long number;

	do {
		free(file->beside);
		file->beside = NULL;
		if (getrandom(&number, sizeof(number), 0) != sizeof(number))
			return -EIO;
		if (asprintf(&file->beside, "%.*s.vpmc-%016llx", directory,
			     file->name, number) < 0) {
			file->beside = NULL;
			return -ENOMEM;
		}
		fd = open(file->beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
			  0666);
	} while (fd < 0 && errno == EEXIST && --tries);
	if (fd < 0) {
		int err = -errno;

		free(file->beside);
		file->beside = NULL;
		return err;
	}
	if (file->fd >= 0)
		close(file->fd);
	file->fd = fd;
	return 0;
}

/* Creates the file that will replace the one that is open, with its owner and mode. */
static int open_beside(struct outfile *file)
{
	struct stat like;
	int err = fstat(file->fd, &like) ? -errno : create_beside(file);

	if (err)
		return err;
	/* Only root can give a file away. The mode comes last, because chown() changes it. */
	if (fchown(file->fd, like.st_uid, like.st_gid) && errno != EPERM)
		return -errno;
	return fchmod(file->fd, like.st_mode & 07777) ? -errno : 0;
}

/* There is no file of that name, but there may be a link that leads nowhere. */
static int create(struct outfile *file, const char *name, int mode, bool replace)
{
	struct stat there;

	if (replace && lstat(name, &there)) {
		file->name = strdup(name);
		return file->name ? create_beside(file) : -ENOMEM;
	}
	file->fd = open(name, mode | O_CREAT, 0666);
	if (file->fd < 0)
		return -errno;
	file->created = true;
	return 0;
}

/* The file is open. Finds its name, and the file that replaces it. */
static int prepare(struct outfile *file, const char *name, bool replace)
{
	struct stat there;

	if (file->name)
		return 0;
	if (fstat(file->fd, &there))
		return -errno;
	if (!S_ISREG(there.st_mode))
		return 0;
	file->name = realpath(name, NULL);
	if (!file->name)
		return -errno;
	return replace ? open_beside(file) : 0;
}

int vpmc_outfile_open(struct outfile *file, const char *name, unsigned int flags)
{
	int mode = O_WRONLY | O_CLOEXEC | O_NOCTTY |
		   (flags & OUTFILE_NO_LINK ? O_NOFOLLOW : 0);
	bool replace = flags & OUTFILE_REPLACE;
	int own = descriptor_of(name), err = 0;

	*file = (struct outfile){ .fd = -1 };
	if (own >= 0)
		return open_descriptor(file, own);
	file->fd = open(name, mode);
	if (file->fd < 0)
		err = errno == ENOENT ? create(file, name, mode, replace) : -errno;
	if (!err)
		err = prepare(file, name, replace);
	if (err)
		vpmc_outfile_drop(file);
	return err;
}

/*
 * A regular file that was opened by its name. What the caller of this program has written
 * to a descriptor before stays.
 */
static bool is_ours(const struct outfile *file)
{
	struct stat there;

	return file->name && !fstat(file->fd, &there) && S_ISREG(there.st_mode);
}

int vpmc_outfile_empty(struct outfile *file)
{
	return is_ours(file) && ftruncate(file->fd, 0) ? -errno : 0;
}

/* Finds out whether there is room, before the old content is lost. */
static int reserve(struct outfile *file, size_t length)
{
	if (!length || !fallocate(file->fd, FALLOC_FL_KEEP_SIZE, 0, length))
		return 0;
	/* Not each file system can tell. */
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG ? -errno : 0;
}

/* @err: 0, or why there is no result */
static int end(struct outfile *file, int err)
{
	if (file->fd >= 0 && close(file->fd) && !err)
		err = -errno;
	file->fd = -1;
	if (file->beside && !err && rename(file->beside, file->name))
		err = -errno;
	if (file->beside && err)
		unlink(file->beside);
	if (file->created && file->name && err)
		unlink(file->name);
	free(file->beside);
	free(file->name);
	file->beside = NULL;
	file->name = NULL;
	return err;
}

int vpmc_outfile_close(struct outfile *file)
{
	return end(file, 0);
}

int vpmc_outfile_write(struct outfile *file, const char *text, size_t length)
{
	bool ours = is_ours(file);
	int err = ours ? reserve(file, length) : 0;
	size_t done = 0;
	ssize_t n;

	while (!err && done < length) {
		n = write(file->fd, text + done, length - done);
		if (n >= 0)
			done += n;
		else if (errno != EINTR)
			err = -errno;
	}
	if (!err && ours && ftruncate(file->fd, length))
		err = -errno;
	return end(file, err);
}

void vpmc_outfile_drop(struct outfile *file)
{
	end(file, -ECANCELED);
}
