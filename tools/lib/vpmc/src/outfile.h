/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file that a result is written to. The library, the command and the library for MPI
 * programs use it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef VPMC_OUTFILE_H
#define VPMC_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Readers see the old file or the whole new one. Otherwise the file is written in its
 * place, as other programs do it.
 */
#define OUTFILE_REPLACE		(1U << 0)
/* A link is refused: nobody has named the file, so a link may be planted. */
#define OUTFILE_NO_LINK		(1U << 1)

struct outfile {
	int fd;			/* for writing; -1: it is closed */
	char *name;		/* without links, if it is a regular file */
	char *beside;		/* what gets the name when it is complete, or NULL */
	bool created;		/* the file was not there before */
};

/*
 * Opens a file, follows links, and creates it if it is not there. An existing one keeps
 * its content, its mode, its owner and its links. "/dev/stdout", "/dev/fd/N" and the like
 * are the process's own descriptors, whatever is behind them. Returns 0 or -errno.
 */
int vpmc_outfile_open(struct outfile *file, const char *name, unsigned int flags);

/* Is it the name of one of the process's own descriptors? */
bool vpmc_outfile_is_descriptor(const char *name);

/* Empties a regular file. Anything else stays as it is. Returns 0 or -errno. */
int vpmc_outfile_empty(struct outfile *file);

/*
 * Closes the file, and gives it its name with OUTFILE_REPLACE. Returns 0 or -errno. On
 * error nothing is left of a file that was created.
 */
int vpmc_outfile_close(struct outfile *file);

/* Makes @text the file's content, and closes it. Returns as vpmc_outfile_close(). */
int vpmc_outfile_write(struct outfile *file, const char *text, size_t length);

/*
 * Closes the file without a result: one that was there keeps its content, one that was
 * created is removed. Does nothing if the file is closed.
 */
void vpmc_outfile_drop(struct outfile *file);

#endif /* VPMC_OUTFILE_H */
