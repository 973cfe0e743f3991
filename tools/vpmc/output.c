// SPDX-License-Identifier: GPL-2.0
/*
 * Writes a result to standard error, standard output or a file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fail.h"
#include "output.h"

static const char *wanted;	/* argument of -o */
static char *beside;		/* temporary file, until it is renamed to the wanted name */
static int fd;
static char *text;		/* text to be written */
static size_t length;

static const char *written_to(void)
{
	if (!wanted)
		return "standard error";
	return strcmp(wanted, "-") ? wanted : "standard output";
}

static const char *remedy(int error)
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
	default:
		return "name another file by -o";
	}
}

__attribute__((__noreturn__))
static void cannot(const char *verb, int error)
{
	fail(STATUS_OURS, "%s: cannot %s it: %s; %s", written_to(), verb,
	     strerror(error), remedy(error));
}

static void remove_beside(void)
{
	if (beside)
		unlink(beside);
}

/*
 * Creates a temporary file in the directory of @name, with the mode of open().
 */
static int open_beside(const char *name)
{
	static bool registered;
	const char *slash = strrchr(name, '/');
	int directory = slash ? slash - name + 1 : 0;
	mode_t mask = umask(0);
	int new;

	umask(mask);
	beside = get_text("%.*s.vpmc-XXXXXX", directory, name);
	new = mkostemp(beside, O_CLOEXEC);
	if (new < 0) {
		int error = errno;

		free(beside);
		beside = NULL;
		errno = error;
		return -1;
	}
	if (!registered)
		atexit(remove_beside);
	registered = true;
	if (fchmod(new, 0666 & ~mask))
		cannot("create", errno);
	return new;
}

FILE *output_open(const char *name)
{
	struct stat there;
	FILE *file;

	wanted = name;
	if (!name) {
		fd = STDERR_FILENO;
	} else if (!strcmp(name, "-")) {
		fd = STDOUT_FILENO;
	} else if (!*name) {
		fail(STATUS_OURS, "-o: the file's name is empty; name a file");
	} else {
		if (stat(name, &there))
			there.st_mode = S_IFREG;
		if (S_ISDIR(there.st_mode))
			cannot("write", EISDIR);
		fd = S_ISREG(there.st_mode) ? open_beside(name) :
					      open(name, O_WRONLY | O_CLOEXEC);
		if (fd < 0)
			cannot("create", errno);
	}
	file = open_memstream(&text, &length);
	if (!file)
		cannot("create", errno);
	return file;
}

void output_close(FILE *file)
{
	size_t done = 0;
	ssize_t n;

	if (fclose(file))
		cannot("write", errno);
	/* A closed pipe is reported as an error, like a full disk. */
	signal(SIGPIPE, SIG_IGN);
	while (done < length) {
		n = write(fd, text + done, length - done);
		if (n < 0 && errno != EINTR)
			cannot("write", errno);
		done += n > 0 ? n : 0;
	}
	free(text);
	if (fd > STDERR_FILENO && close(fd))
		cannot("write", errno);
	if (!beside)
		return;
	if (rename(beside, wanted))
		cannot("rename", errno);
	free(beside);
	beside = NULL;
}

bool output_is_terminal(void)
{
	return isatty(fd);
}

void output_finish(void)
{
	wanted = "-";
	if (fflush(stdout) || ferror(stdout))
		cannot("write", errno);
}
