/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The file of vpmc record, as vpmc-record(1) describes it: this head, then a
 * text, then records. Kernel records have the format of READ_SAMPLES.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef RECORD_FILE_H
#define RECORD_FILE_H

#include <linux/vpmc.h>
#include <stdint.h>

#include "common/departures.h"

#define RECORD_FILE_MAGIC	"vpmcrec\n"
#define RECORD_FILE_VERSION	3

struct record_file {
	char magic[8];
	uint32_t version;
	uint32_t text_size;	/* size of the JSON text, padded with zeros to 8 bytes */
};

/* Types of vpmc record's own records. The kernel's types are small numbers. */
#define RECORD_LOST	0x80000000U
#define RECORD_END	0x80000001U

/* Number of samples of the whole program that were lost so far. */
struct record_lost {
	struct vpmc_sample_head head;
	uint64_t lost;
};

/* Written when the program has ended. A file without this record is cut off. */
struct record_end {
	struct vpmc_sample_head head;
	uint64_t lost;
	uint64_t threads;	/* number of threads that were counted */
	uint64_t living;	/* number of these threads that still run */
	struct departures left;	/* threads that went on without these counters */
	uint64_t ticks;
	uint64_t run_ns;
	uint64_t switches;
	uint64_t migrations;
	int32_t status;		/* status of COMMAND, from wait() */
	uint32_t reserved;
	uint64_t sum[];		/* sums over all threads, by number of the event */
};

#endif /* RECORD_FILE_H */
