// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc record: writes samples of a program, its threads and its children to a
 * file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "common/fail.h"
#include "common/json-write.h"
#include "common/options.h"
#include "common/output.h"
#include "profile/record-file.h"
#include "stat/child.h"
#include "stat/plan.h"
#include "stat/result.h"
#include "stat/run.h"

#define MOST_RECORDS	4096	/* samples in the kernel's buffer of each CPU */
#define LEAST_RECORDS	16
#define ROOM		(1 << 18)
#define USUAL_FILE	"vpmc.record"
#define PATIENCE	200	/* most milliseconds until samples are written to the file */

struct record_options {
	struct stat_options stat;
	uint64_t period;
	const char *output;
};

/* output file */
struct target_file {
	const char *name;
	struct outfile out;	/* its fd is -1 after an error */
	off_t whole;		/* size up to the last whole record */
	uint64_t lost;		/* lost samples, as recorded in the file */
	bool failed;
};

/*
 * Stops writing. The file keeps what was written up to the last whole record. A descriptor of
 * the caller's is left as it is: it may have more than the samples.
 */
static void give_up(struct target_file *file, int error)
{
	note("%s: cannot write it: %s; %s; what was sampled before is kept", file->name,
	     strerror(error), output_remedy(error));
	if (file->out.name)
		(void)!ftruncate(file->out.fd, file->whole);
	vpmc_outfile_close(&file->out);
	file->failed = true;
}

static void put(struct target_file *file, const void *data, size_t size)
{
	const char *at = data;
	size_t left = size;
	ssize_t n;

	while (left && file->out.fd >= 0) {
		n = write(file->out.fd, at, left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			give_up(file, n ? errno : ENOSPC);
			return;
		}
		at += n;
		left -= n;
	}
	file->whole += size;
}

static struct json_object *describe(const struct record_options *options,
				    const struct group *group)
{
	struct json_object *object = json_object_new_object();
	struct json_object *command = json_object_new_array();
	struct json_object *events = json_object_new_array();
	char label[VPMC_NAME_SIZE];
	unsigned int i;
	char **word;

	for (word = options->stat.command; *word; word++)
		json_object_array_add(command, json_text(*word));
	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i]))
			json_object_array_add(events, json_text(
					event_label(&group->events[i], label)));
	member(object, "command", command);
	member(object, "events", events);
	member_number(object, "period", options->period);
	return object;
}

static void put_head(struct target_file *file, const struct record_options *options,
		     const struct group *group)
{
	struct json_object *object = describe(options, group);
	const char *text = json_object_to_json_string_ext(object,
			JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	size_t size = (strlen(text) + 8) & ~7UL;
	struct record_file *head = get_memory(NULL, 1, sizeof(*head) + size);

	memset(head, 0, sizeof(*head) + size);
	memcpy(head->magic, RECORD_FILE_MAGIC, sizeof(head->magic));
	head->version = RECORD_FILE_VERSION;
	head->text_size = size;
	memcpy(head + 1, text, strlen(text));
	put(file, head, sizeof(*head) + size);
	free(head);
	json_object_put(object);
}

static struct outfile *untouched;	/* the output file until COMMAND begins */

/* A file that was there keeps its content. */
static void drop_untouched(void)
{
	if (untouched)
		vpmc_outfile_drop(untouched);
}

/* Nobody has named the usual file, so a link of that name is not followed. */
static void file_open(struct target_file *file, const char *name)
{
	*file = (struct target_file){ .name = name ? name : USUAL_FILE };
	output_file(&file->out, file->name, name ? 0 : OUTFILE_NO_LINK);
	if (!strcmp(file->name, "-"))
		file->name = "standard output";
	untouched = &file->out;
	atexit(drop_untouched);
}

/*
 * Empties the file. COMMAND has begun, so the old content is no longer needed.
 */
static void file_begin(struct target_file *file)
{
	int err = vpmc_outfile_empty(&file->out);

	untouched = NULL;
	if (err)
		give_up(file, -err);
}

/* Programs the set again, with sample buffers. */
static void sample(struct vpmc *v, const struct group *group)
{
	struct vpmc_control control;
	unsigned int records;
	int error = vpmc_get_control(v, &control);

	if (error)
		fail(STATUS_OURS, "counters: %s; try again", strerror(-error));
	control.size = sizeof(control);
	control.flags |= VPMC_CONTROL_STOPPED | VPMC_CONTROL_SAMPLE;
	for (records = MOST_RECORDS; records >= LEAST_RECORDS; records /= 2) {
		control.ring_records = records;
		control.ring_watermark = records / 2;
		if (!ioctl(vpmc_fd(v), VPMC_IOC_CONTROL, &control))
			return;
		if (control.reason != VPMC_REASON_RING_MEMORY)
			break;
	}
	if (control.reason == VPMC_REASON_RING_MEMORY)
		fail(STATUS_OURS, "samples: need more locked memory than allowed; raise ulimit -l");
	if (errno == EINVAL && !control.reason)
		fail(STATUS_OURS, "samples: this kernel does not take them of whole programs; use a newer one");
	fail(STATUS_OURS, "%s: cannot be sampled: %s; vpmc info tells what is possible",
	     group->events[0].text, strerror(errno));
}

/* Writes all pending samples to the file, or drops them after an error. */
static void drain(struct target_file *file, struct vpmc *v)
{
	static char buffer[ROOM] __attribute__((__aligned__(8)));
	struct vpmc_read_samples read;

	do {
		read = (struct vpmc_read_samples){
			.size = sizeof(read), .buffer = (uintptr_t)buffer,
			.bytes = sizeof(buffer),
		};
		if (ioctl(vpmc_fd(v), VPMC_IOC_READ_SAMPLES, &read))
			return;
		put(file, buffer, read.bytes);
		if (read.lost != file->lost) {
			struct record_lost lost = {
				.head = { .type = RECORD_LOST, .size = sizeof(lost) },
				.lost = read.lost,
			};

			put(file, &lost, sizeof(lost));
			file->lost = read.lost;
		}
	} while (read.bytes);
}

/* Waits until COMMAND ends. Returns its status. */
static int wait_for(struct child *child, struct vpmc *v, struct target_file *file)
{
	struct pollfd fds[] = { { .fd = signal_fd(), .events = POLLIN },
				{ .fd = vpmc_fd(v), .events = POLLIN } };
	int status;

	while (!waitpid(child->pid, &status, WNOHANG)) {
		poll(fds, 2, PATIENCE);
		drain(file, v);
		if (fds[0].revents)
			signal_take(child->pid);
		if (fds[1].revents & POLLERR)
			note("samples: end here, because the counters were taken away, by the administrator or for a CPU that lacks them; try again later");
		if (fds[1].revents & (POLLERR | POLLHUP))
			fds[1].fd = -1;
	}
	return status;
}

static void put_end(struct target_file *file, struct vpmc *v, unsigned int nr, int status)
{
	size_t size = sizeof(struct record_end) + nr * sizeof(uint64_t);
	struct record_end *end = get_memory(NULL, 1, size);
	struct vpmc_read sums;

	if (vpmc_read_sums(v, VPMC_READ_LIVING | VPMC_READ_FINISHED, &sums))
		sums = (struct vpmc_read){};
	*end = (struct record_end){
		.head = { .type = RECORD_END, .size = size },
		.lost = file->lost, .status = status,
		.threads = sums.living + sums.finished, .living = sums.living,
		.ticks = sums.ticks, .run_ns = sums.ns,
		.switches = sums.switches, .migrations = sums.migrations,
	};
	departures_add(&end->left, &sums);
	memcpy(end->sum, sums.sum, nr * sizeof(uint64_t));
	put(file, end, size);
	if (sums.living)
		note("%u threads: live on and are not sampled any more; let COMMAND wait for them",
		     sums.living);
	departures_note(&end->left, "what they did later has no samples");
	if (file->lost)
		note("%llu samples: were lost, because they came too fast; use a longer period, or raise ulimit -l",
		     (unsigned long long)file->lost);
	free(end);
}

static int record(const struct record_options *options, struct group *group)
{
	unsigned int flags = VPMC_CONTROL_NEW | VPMC_CONTROL_STOPPED |
			     VPMC_CONTROL_ENABLE_ON_EXEC | VPMC_CONTROL_REARM |
			     VPMC_CONTROL_INHERIT_THREADS |
			     VPMC_CONTROL_INHERIT_PROCESSES;
	unsigned int i, nr = 0;
	static struct target_file file;
	struct child child;
	int status, error;
	struct vpmc *v;

	for (i = 0; i < group->nr; i++)
		nr += !left_out(&group->events[i]);
	/* A pipe is opened when it has a reader. Until then each signal ends this program. */
	file_open(&file, options->output);
	signals_begin();
	v = child_family(group, flags, false);
	sample(v, group);
	child_start(&child, options->stat.command, NULL, 0);
	child_exec(&child, options->stat.command);
	file_begin(&file);
	put_head(&file, options, group);
	status = wait_for(&child, v, &file);
	drain(&file, v);
	put_end(&file, v, nr, status);
	vpmc_unlink(v);
	vpmc_close(v);
	if (file.failed)
		return STATUS_OURS;
	error = vpmc_outfile_close(&file.out);
	if (error)
		fail(STATUS_OURS, "%s: cannot write it: %s; free some space",
		     file.name, strerror(-error));
	return WIFSIGNALED(status) ? STATUS_SIGNAL + WTERMSIG(status) :
				     WEXITSTATUS(status);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct record_options *options = state->input;

	switch (key) {
	case 'c':
		options->period = options_number("-c", arg, 1, INT64_MAX);
		return 0;
	case 'e':
		options->stat.events = options_list(options->stat.events, arg);
		return 0;
	case 'o':
		options->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		options->stat.command = options_command(state);
		return 0;
	default:
		return options_default(key, state);
	}
}

int record_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "count", 'c', "PERIOD", 0, "A sample each time that the first event has come so often (1000000)", 0 },
		{ "event", 'e', "EVENTS", 0, "The event that makes samples, and others that are counted beside it (instructions)", 0 },
		{ "output", 'o', "FILE", 0, "The samples go to FILE (vpmc.record)", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "[--] COMMAND [ARGUMENT]...",
		.doc = "Samples COMMAND, its threads and its children: where they are each time that an event has come PERIOD times. vpmc report shows the file."
		       "\vThe exit status is COMMAND's; 128+N if signal N ended it; 127 if it is not found, 126 if it cannot be executed; 125 if something else failed.",
	};
	struct record_options options = {
		.stat = { .repeat = 1, .inherit = true },
		.period = 1000000,
	};
	struct plan plan;

	options_parse("vpmc record", &argp, argc, argv, &options);
	if (!options.stat.command)
		fail(STATUS_OURS, "COMMAND: there is none; name one");
	if (!options.stat.events)
		options.stat.events = "instructions";
	plan_make(&plan, &options.stat);
	if (!plan.groups[0].nr || left_out(&plan.groups[0].events[0]))
		fail(STATUS_OURS, "-e: its first event makes the samples, and there is none; name one, such as instructions");
	plan.groups[0].events[0].period = options.period;
	return record(&options, &plan.groups[0]);
}
