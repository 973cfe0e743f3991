/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file of vpmc record, as vpmc-record(1) describes it: this head, then a text,
 * then records. The records of the kernel are as READ_SAMPLES returns them.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include <linux/vpmc.h>
#include <stdint.h>

#define RECORD_FILE_MAGIC	"vpmcrec\n"
#define RECORD_FILE_VERSION	1

struct record_file {
	char magic[8];
	uint32_t version;
	uint32_t text_size;	/* of a JSON object, padded with zeros to 8 bytes */
};

/* Types of records of our own; the kernel's are small numbers. */
#define RECORD_LOST	0x80000000U
#define RECORD_END	0x80000001U

/* So many samples were lost up to here, of the whole program. */
struct record_lost {
	struct vpmc_sample_head head;
	uint64_t lost;
};

/* The program has ended. Without this record the file is cut off. */
struct record_end {
	struct vpmc_sample_head head;
	uint64_t lost;
	uint64_t threads;	/* that were counted */
	uint64_t living;	/* of these, how many live on */
	uint64_t ticks;
	uint64_t run_ns;
	uint64_t switches;
	uint64_t migrations;
	int32_t status;		/* as wait() has it */
	uint32_t reserved;
	uint64_t sum[];		/* by number of the event, of all threads */
};

#endif /* RECORD_FILE_H */
