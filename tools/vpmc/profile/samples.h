/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Samples of vpmc record, by function, line and thread.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef SAMPLES_H
#define SAMPLES_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "profile/record-file.h"

/* share of the samples */
struct weight {
	uint64_t samples;
	uint64_t periods;	/* number of periods in the samples */
};

struct sampled_function {
	const char *name, *module;
	const char *file;	/* source file of the line with most samples, or NULL */
	int line;
	struct weight weight;
};

struct sampled_line {
	const char *file;
	int line;
	unsigned int function;
	struct weight weight;
};

/* sample of a thread */
struct moment {
	uint64_t ns, switches, migrations;
	uint32_t cpu, function;
	uint64_t periods;
	bool delayed;			/* has no address; function is [delayed] */
};

struct sampled_thread {
	uint32_t pid, tid;
	char name[17];
	struct weight weight;		/* sum over all of its samples, delayed ones, too */
	struct moment *moment;
	size_t nr_moments;
};

struct samples {
	const char *file;
	struct json_object *text;	/* JSON text of the file's head */
	uint64_t period;
	unsigned int nr_events;
	const struct record_end *end;	/* NULL if the file is cut off */
	uint64_t lost;
	struct weight weight;		/* sum over all samples that have an address */
	struct weight delayed;		/* sum over the others */
	struct sampled_function *function;
	unsigned int nr_functions;
	struct sampled_line *line;
	unsigned int nr_lines;
	struct sampled_thread *thread;
	unsigned int nr_threads;
};

/* Returns true for a file of vpmc record, of any version. */
bool samples_is_file(const char *file);

/* Reads a file. Fails if it cannot be read, and notes what is missing. */
void samples_read(struct samples *samples, const char *file);

void samples_print_text(FILE *file, const struct samples *samples);
void samples_print_folded(FILE *file, const struct samples *samples);

/* Returns the object that vpmc-samples.schema.json describes. */
struct json_object *samples_object(const struct samples *samples);

#endif /* SAMPLES_H */
