// SPDX-License-Identifier: GPL-2.0
/*
 * usage: read-locked FILE COMMAND...
 *
 * Runs COMMAND while FILE is locked by all means of a program that may only read it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <err.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct flock all = { .l_type = F_RDLCK, .l_whence = SEEK_SET };
	int fd;

	if (argc < 3)
		errx(1, "usage: read-locked FILE COMMAND...");
	fd = open(argv[1], O_RDONLY);
	/* COMMAND inherits the descriptor, and the locks with it. */
	if (fd < 0 || flock(fd, LOCK_EX) || fcntl(fd, F_OFD_SETLK, &all))
		err(1, "%s", argv[1]);
	execvp(argv[2], argv + 2);
	err(1, "%s", argv[2]);
}
