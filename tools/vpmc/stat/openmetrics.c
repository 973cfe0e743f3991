// SPDX-License-Identifier: GPL-2.0
/*
 * Prints counts as OpenMetrics. Numbers in the file never decrease: the counts
 * of earlier runs are added. Events of earlier runs stay in the file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fail.h"
#include "common/output.h"
#include "stat/openmetrics.h"

#define NS		1000000000ULL
#define MOST_FILE	(1 << 20)	/* bytes; some hundred events have 100,000 */

/* number of an earlier run */
struct series {
	char *event;	/* name of the event, escaped as in the file */
	uint64_t value;
};

static struct series *before;
static unsigned int nr_before;
static const struct result *counted;

/*
 * The sum of all intervals of this run. Unlike a set's counts it does not decrease when the
 * set is cleared or replaced.
 */
static struct run so_far;

/* facts that are in the file, in its order */
static const struct {
	enum fact fact;
	const char *name, *unit, *help;
	bool is_gauge;		/* the greatest value, where others are sums */
} facts[] = {
	{ FACT_RUN_TIME, "vpmc_run_seconds", "seconds", "Time that all threads ran on a CPU while counting.", false },
	{ FACT_SWITCHES, "vpmc_switches", NULL, "How often threads were put on a CPU.", false },
	{ FACT_MIGRATIONS, "vpmc_migrations", NULL, "How many of these to another CPU.", false },
	{ FACT_USER_TIME, "vpmc_user_seconds", "seconds", "User time of commands that have ended.", false },
	{ FACT_SYSTEM_TIME, "vpmc_system_seconds", "seconds", "System time of commands that have ended.", false },
	{ FACT_MINOR_FAULTS, "vpmc_minor_faults", NULL, "Page faults without a read from a disk, of commands that have ended.", false },
	{ FACT_MAJOR_FAULTS, "vpmc_major_faults", NULL, "Page faults with a read from a disk, of commands that have ended.", false },
	{ FACT_MAX_RSS, "vpmc_max_rss_bytes", "bytes", "Most resident memory of a process of commands that have ended.", true },
};
#define NR_FILE_FACTS	(sizeof(facts) / sizeof(facts[0]))

static uint64_t fact_before[NR_FILE_FACTS];
static bool fact_was_there[NR_FILE_FACTS];

/* threads that were counted and then not, by way: departures, and those replaced */
#define NR_WAYS		(DEPARTURES + 1)
#define WAY_HEAD	"vpmc_left_threads_total{way=\""
#define WAY_TAIL	"\"} "

static uint64_t way_before[NR_WAYS];

static const char *way_word(unsigned int way)
{
	return way < DEPARTURES ? departure_word(way) : "replacement";
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t way_number(const struct run *run, unsigned int way)
{
	if (way == DEPARTURES)
		return run->replaced;
	/* The kernel counts lost threads that had inherited. A set of ours is one more. */
	return most(run->left.number[way], way == DEPARTURE_REVOCATION && run->revoked);
}

static char *escape(const char *text)
{
	char *result = get_memory(NULL, 2 * strlen(text) + 1, 1), *at = result;

	for (; *text; text++) {
		if (*text == '\\' || *text == '"' || *text == '\n')
			*at++ = '\\';
		*at++ = *text == '\n' ? 'n' : *text;
	}
	*at = 0;
	return result;
}

static uint64_t earlier(const char *event)
{
	unsigned int i;

	for (i = 0; i < nr_before; i++)
		if (!strcmp(before[i].event, event))
			return before[i].value;
	return 0;
}

static void remember(char *event, uint64_t value)
{
	before = get_memory(before, nr_before + 1, sizeof(*before));
	before[nr_before++] = (struct series){ event, value };
}

/* Parses N or, for seconds, N.NNNNNNNNN, which is returned in nanoseconds. */
static bool take_number(const char *text, bool seconds, uint64_t *value)
{
	unsigned long long whole, part = 0;
	int end = 0;

	if (*text < '0' || *text > '9')
		return false;
	if (!seconds && sscanf(text, "%llu%n", &whole, &end) == 1 && !text[end]) {
		*value = whole;
		return true;
	}
	if (!seconds || sscanf(text, "%llu.%9llu%n", &whole, &part, &end) != 2 ||
	    text[end] || strlen(strchr(text, '.')) != 10)
		return false;
	*value = whole * NS + part;
	return true;
}

static bool take_event(char *line)
{
	static const char head[] = "vpmc_events_total{event=\"";
	static const char tail[] = "\",unit=\"events\"} ";
	char *event, *end;
	uint64_t value;

	if (strncmp(line, head, strlen(head)))
		return false;
	event = line + strlen(head);
	/*
	 * Quotes in an event's name are escaped, so the tail cannot be in the
	 * name.
	 */
	end = strstr(event, tail);
	if (!end || !take_number(end + strlen(tail), false, &value))
		return false;
	*end = 0;
	remember(get_text("%s", event), value);
	return true;
}

static bool take_way(const char *line)
{
	unsigned int way;

	if (strncmp(line, WAY_HEAD, strlen(WAY_HEAD)))
		return false;
	line += strlen(WAY_HEAD);
	for (way = 0; way < NR_WAYS; way++) {
		size_t length = strlen(way_word(way));

		if (!strncmp(line, way_word(way), length) &&
		    !strncmp(line + length, WAY_TAIL, strlen(WAY_TAIL)))
			return take_number(line + length + strlen(WAY_TAIL),
					   false, &way_before[way]);
	}
	return false;
}

static bool take_line(char *line)
{
	size_t i;

	if (*line == '#' || take_event(line) || take_way(line))
		return true;
	for (i = 0; i < NR_FILE_FACTS; i++) {
		const char *tail = facts[i].is_gauge ? " " : "_total ";
		size_t length = strlen(facts[i].name);

		if (strncmp(line, facts[i].name, length) ||
		    strncmp(line + length, tail, strlen(tail)))
			continue;
		fact_was_there[i] = true;
		return take_number(line + length + strlen(tail), fact_is_time(facts[i].fact),
				   &fact_before[i]);
	}
	return false;
}

/*
 * Holds the lock of the file. Two programs would go on from the same numbers, and each would
 * replace what the other one has counted. Each new file is locked before it gets its name. It
 * is a lock of writers, because who may only read the file must not hold up who writes it.
 */
static int held = -1;

/* Locks the file that is open, if that is possible. Returns what holds the lock, or -1. */
static int lock(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	if (copy >= 0)
		fcntl(copy, F_OFD_SETLK, &all);
	return copy;
}

/* Does another program that may write the file hold its lock? */
static bool is_locked(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return !fcntl(fd, F_OFD_GETLK, &all) && all.l_type == F_WRLCK;
}

static void hold(int next)
{
	if (held >= 0)
		close(held);
	held = next;
}

/* Has the file that is open still its name? If not, another program has replaced it. */
static bool has_name(int fd, const char *name)
{
	struct stat open, named;

	return !fstat(fd, &open) && !stat(name, &named) &&
	       open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/*
 * Opens the file to read and write it. If there is none, an empty one is made: two programs
 * that begin together need a file to lock.
 */
static FILE *open_or_make(const char *name)
{
	FILE *file = fopen(name, "r+e");
	int fd;

	if (file || errno != ENOENT)
		return file;
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	return fd < 0 ? NULL : fdopen(fd, "r+");
}

/*
 * Returns NULL and errno if it cannot be opened. A file that cannot be written is replaced. In
 * a directory that cannot be written none can be made, which is reported as that of the output.
 */
static FILE *open_locked(const char *name)
{
	FILE *file;

	while ((file = open_or_make(name)) || (file = fopen(name, "re"))) {
		hold(lock(fileno(file)));
		if (is_locked(fileno(file)))
			fail(STATUS_OURS, "%s: another vpmc stat writes it; name another file by -o, or wait until that has ended",
			     name);
		if (has_name(fileno(file), name))
			break;
		fclose(file);
	}
	return file;
}

/* Opens the file if there is one. A pipe has nothing to go on from: reading it would wait. */
static FILE *open_file(const struct stat_options *options)
{
	struct stat status;
	FILE *file = NULL;

	if (!stat(options->output, &status) && !S_ISREG(status.st_mode))
		fail(STATUS_OURS, "%s: is no regular file, and --format openmetrics goes on from what its file has; name another one by -o",
		     options->output);
	file = open_locked(options->output);
	if (!file && errno != ENOENT)
		fail(STATUS_OURS, "%s: cannot be read: %s; name another file by -o",
		     options->output, strerror(errno));
	if (file && !fstat(fileno(file), &status) && status.st_size > MOST_FILE)
		fail(STATUS_OURS, "%s: is not what vpmc wrote: it is too large; remove it, or name another file by -o",
		     options->output);
	return file;
}

static void read_file(const struct stat_options *options)
{
	FILE *file = open_file(options);
	char *line = NULL;
	size_t size = 0;
	bool begun = false, ended = false;
	ssize_t n;

	if (!file)
		return;
	while ((n = getline(&line, &size, file)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		begun = true;
		if (ended || !take_line(line))
			fail(STATUS_OURS, "%s: is not what vpmc wrote: %.60s; remove it, or name another file by -o",
			     options->output, line);
		ended = !strcmp(line, "# EOF");
	}
	/* An empty one is as good as none. */
	if (begun && !ended)
		fail(STATUS_OURS, "%s: is not what vpmc wrote: it has no end; remove it, or name another file by -o",
		     options->output);
	free(line);
	fclose(file);
}

static void print_head(FILE *file, const char *name, const char *type, const char *unit,
		       const char *help)
{
	fprintf(file, "# TYPE %s %s\n", name, type);
	if (unit)
		fprintf(file, "# UNIT %s %s\n", name, unit);
	fprintf(file, "# HELP %s %s\n", name, help);
}

static void print_event(FILE *file, const char *event, uint64_t value)
{
	fprintf(file, "vpmc_events_total{event=\"%s\",unit=\"events\"} %" PRIu64 "\n",
		event, value);
}

static bool is_counted(const struct group *group, const char *event)
{
	unsigned int i;
	bool found = false;

	for (i = 0; i < group->nr && !found; i++) {
		char *name = escape(group->events[i].name);

		found = !left_out(&group->events[i]) && !strcmp(name, event);
		free(name);
	}
	return found;
}

static void print_events(FILE *file, const struct result *result)
{
	const struct group *group = &result->plan->groups[0];
	unsigned int i;

	print_head(file, "vpmc_events", "counter", NULL, "Events that were counted.");
	for (i = 0; i < group->nr; i++) {
		const struct vpmc_event *event = &group->events[i];
		char *name;

		if (left_out(event))
			continue;
		name = escape(event->name);
		print_event(file, name, earlier(name) +
			    result_event(result, 0, event).mean);
		free(name);
	}
	for (i = 0; i < nr_before; i++)
		if (!is_counted(group, before[i].event))
			print_event(file, before[i].event, before[i].value);
}

static void print_ways(FILE *file, const struct result *result)
{
	unsigned int way;

	print_head(file, "vpmc_left_threads", "counter", NULL,
		   "Threads that were counted, and then not: what they did later is missing.");
	for (way = 0; way < NR_WAYS; way++)
		fprintf(file, WAY_HEAD "%s" WAY_TAIL "%" PRIu64 "\n", way_word(way),
			way_before[way] + (result->nr ? way_number(result->run, way) : 0));
}

/* A fact that is not known here stays as it was in the file, if it was there. */
static void print_fact(FILE *file, const struct result *result, size_t i)
{
	struct value fact = result_fact(result, facts[i].fact);
	uint64_t value = fact_before[i] + fact.mean;

	if (!fact_is_known(facts[i].fact, &fact) && !fact_was_there[i])
		return;
	if (facts[i].is_gauge)
		value = fact.mean > fact_before[i] ? fact.mean : fact_before[i];
	print_head(file, facts[i].name, facts[i].is_gauge ? "gauge" : "counter",
		   facts[i].unit, facts[i].help);
	fprintf(file, "%s%s ", facts[i].name, facts[i].is_gauge ? "" : "_total");
	if (fact_is_time(facts[i].fact))
		fprintf(file, "%" PRIu64 ".%09" PRIu64 "\n", value / (uint64_t)NS,
			value % (uint64_t)NS);
	else
		fprintf(file, "%" PRIu64 "\n", value);
}

static void print_file(FILE *file, const struct result *result)
{
	size_t i;

	print_events(file, result);
	for (i = 0; i < NR_FILE_FACTS; i++)
		print_fact(file, result, i);
	print_ways(file, result);
	fprintf(file, "# EOF\n");
}

/* Writes the file at once, so that errors are reported before COMMAND runs. */
void openmetrics_begin(const struct result *result)
{
	FILE *file;
	int next;

	read_file(result->options);
	counted = result;
	file = output_open(result->options->output, OUTFILE_REPLACE);
	next = lock(output_descriptor());
	print_file(file, result);
	output_close(file);
	hold(next);
}

void print_openmetrics(FILE *file, const struct result *result)
{
	struct run run = so_far;
	struct result one = *result;

	/* There is one run, or none if a signal came before it: -r is refused. */
	if (result->nr) {
		run.has_usage = result->run[0].has_usage;
		run.usage = result->run[0].usage;
		one.run = &run;
	}
	print_file(file, &one);
}

/* Writes the file, or returns why that is not possible. */
static int write_now(const struct result *result)
{
	struct outfile out;
	char *text = NULL;
	size_t length;
	FILE *file;
	int err = vpmc_outfile_open(&out, result->options->output, OUTFILE_REPLACE), next;

	if (err)
		return err;
	next = lock(out.fd);
	file = open_memstream(&text, &length);
	if (file)
		print_file(file, result);
	if (file && !fclose(file))
		err = vpmc_outfile_write(&out, text, length);
	else
		err = -ENOMEM;
	vpmc_outfile_drop(&out);
	free(text);
	if (!err)
		hold(next);
	else if (next >= 0)
		close(next);
	return err;
}

void openmetrics_add(const struct run *interval)
{
	unsigned int i;

	for (i = 0; i < VPMC_MAX_COUNTERS; i++)
		so_far.counts.sum[i] += interval->counts.sum[i];
	so_far.counts.ns += interval->counts.ns;
	so_far.counts.switches += interval->counts.switches;
	so_far.counts.migrations += interval->counts.migrations;
	/*
	 * Each interval has these of the whole. They become zero when a program replaces the
	 * set, so the most is taken.
	 */
	for (i = 0; i < DEPARTURES; i++)
		so_far.left.number[i] = most(so_far.left.number[i], interval->left.number[i]);
	so_far.replaced = most(so_far.replaced, interval->replaced);
	so_far.revoked |= interval->revoked;
}

/* COMMAND is not disturbed by an error here. The next interval brings another try. */
void openmetrics_write(void)
{
	static bool told;
	struct result result = { .options = counted->options, .plan = counted->plan,
				 .run = &so_far, .nr = 1 };
	int err = write_now(&result);

	if (err && !told)
		note("%s: cannot be written: %s; it is tried again at each interval",
		     counted->options->output, strerror(-err));
	told = err;
}
