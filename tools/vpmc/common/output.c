// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a result to standard error, standard output or a file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/output.h"

static const char *wanted;	/* argument of -o */
static struct outfile out = { .fd = -1 };
static char *text;		/* text to be written */
static size_t length;
static bool in_parts;
static struct stat kept[2];	/* of output_keep() */
static unsigned int nr_kept;
static int part_error;		/* -errno of the first part that was not written */

static const char *written_to(void)
{
	if (!wanted)
		return "standard error";
	return strcmp(wanted, "-") ? wanted : "standard output";
}

const char *output_remedy(int error)
{
	switch (error) {
	case ENOENT:
	case ENOTDIR:
		return "make its directory, or name another file by -o";
	case EACCES:
	case EPERM:
	case EROFS:
		return "name a file by -o in a directory that you may write to";
	case ENOSPC:
	case EDQUOT:
		return "free some space, or name another file by -o";
	case EPIPE:
		return "keep its reader running, or name a file by -o";
	case EISDIR:
		return "name a file by -o, not a directory";
	case ELOOP:
		return "a link is followed only if -o names it";
	case EBADF:
		return "open that descriptor, or name a file by -o";
	default:
		return "name another file by -o";
	}
}

__attribute__((__noreturn__))
static void cannot(const char *verb, int error)
{
	fail(STATUS_OURS, "%s: cannot %s it: %s; %s", written_to(), verb,
	     strerror(error), output_remedy(error));
}

static void drop(void)
{
	vpmc_outfile_drop(&out);
}

void output_keep(const char *name)
{
	struct stat there;

	if (nr_kept < sizeof(kept) / sizeof(kept[0]) && !stat(name, &there))
		kept[nr_kept++] = there;
}

/* Would the output replace a file that the result is made of? */
static bool is_kept(const struct outfile *file)
{
	struct stat there;
	unsigned int i;

	if (!file->name || fstat(file->fd, &there))
		return false;
	for (i = 0; i < nr_kept; i++)
		if (there.st_dev == kept[i].st_dev && there.st_ino == kept[i].st_ino)
			return true;
	return false;
}

void output_file(struct outfile *file, const char *name, unsigned int flags)
{
	int err;

	wanted = name;
	if (!*name)
		fail(STATUS_OURS, "-o: the file's name is empty; name a file");
	if (!strcmp(name, "-"))
		name = "/dev/stdout";
	err = vpmc_outfile_open(file, name, flags);
	if (err)
		cannot(err == -EBADF || err == -EISDIR ? "write" : "create", -err);
	if (is_kept(file)) {
		vpmc_outfile_drop(file);
		fail(STATUS_OURS, "%s: the result is made of it, and would replace it; name another file by -o",
		     wanted);
	}
}

FILE *output_open(const char *name, unsigned int flags)
{
	static bool registered;
	FILE *file;

	if (!registered)
		atexit(drop);
	registered = true;
	output_file(&out, name ? name : "/dev/stderr", flags);
	wanted = name;
	file = open_memstream(&text, &length);
	if (!file)
		cannot("create", errno);
	return file;
}

bool output_is_descriptor(const char *name)
{
	return !name || !strcmp(name, "-") || vpmc_outfile_is_descriptor(name);
}

static int write_all(const char *from, size_t bytes)
{
	ssize_t n;

	while (bytes) {
		n = write(out.fd, from, bytes);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0) {
			from += n;
			bytes -= n;
		}
	}
	return 0;
}

int output_part(FILE *file)
{
	int err = 0;

	if (!in_parts)
		err = vpmc_outfile_empty(&out);
	in_parts = true;
	if (fflush(file))
		err = -ENOMEM;
	if (!err && !part_error)
		err = write_all(text, length);
	rewind(file);
	if (!part_error)
		part_error = err;
	return err;
}

void output_close(FILE *file)
{
	int err;

	/* A closed pipe is reported as an error, like a full disk. */
	signal(SIGPIPE, SIG_IGN);
	if (in_parts)
		output_part(file);
	if (fclose(file))
		cannot("write", errno);
	/* The parts that were written stay. */
	err = in_parts ? vpmc_outfile_close(&out) : vpmc_outfile_write(&out, text, length);
	if (part_error)
		err = part_error;
	if (err)
		cannot("write", -err);
	free(text);
}

int output_descriptor(void)
{
	return out.fd;
}

bool output_is_terminal(void)
{
	return isatty(out.fd);
}

void output_finish(void)
{
	wanted = "-";
	if (fflush(stdout) || ferror(stdout))
		cannot("write", errno);
}
