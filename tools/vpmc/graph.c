// SPDX-License-Identifier: GPL-2.0
/*
 * vpmc graph: shows the calls between functions of a program, and their costs.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <argp.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands.h"
#include "common/fail.h"
#include "common/options.h"
#include "common/output.h"
#include "graph/record.h"
#include "profile/graph.h"
#include "stat/child.h"
#include "stat/plan.h"

#ifndef GRAPH_LIBRARY
#define GRAPH_LIBRARY	"/usr/lib/vpmc/libvpmc-graph.so"
#endif

struct graph_options {
	struct stat_options stat;
	const char *base;
};

static const char usual_base[] = "vpmc-graph";

static char *directory;	/* directory of the threads' files, removed at exit */

static void remove_directory(void)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(directory);
}

/*
 * Creates the directory. Its path is absolute, because COMMAND may change its
 * working directory.
 */
static void make_directory(void)
{
	const char *wanted = getenv("TMPDIR");
	char *where = realpath(wanted && *wanted ? wanted : "/tmp", NULL), *new = NULL;

	if (where)
		new = get_text("%s/vpmc-graph-XXXXXX", where);
	if (new && strlen(new) >= RECORD_PATH)
		fail(STATUS_OURS, "%s: is too long for the names of files; set TMPDIR to a shorter one",
		     where);
	if (!new || !mkdtemp(new))
		fail(STATUS_OURS, "%s: no directory can be made there: %s; set TMPDIR to one that you may write to",
		     wanted && *wanted ? wanted : "/tmp", strerror(errno));
	directory = new;
	free(where);
	atexit(remove_directory);
}

/* Finds the library relative to the command, or in the default directory. */
static char *find_library(void)
{
	char self[PATH_MAX], *file = NULL, *end;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n > 0) {
		self[n] = 0;
		end = strrchr(self, '/');
		file = get_text("%.*s/../lib/vpmc/libvpmc-graph.so",
				(int)(end - self), self);
	}
	if (!file || access(file, R_OK))
		file = get_text("%s", GRAPH_LIBRARY);
	if (access(file, R_OK))
		fail(STATUS_OURS, "%s: the library that is loaded into COMMAND is not there; install vpmc-tools, or run make tools",
		     file);
	return file;
}

static void set_environment(const char *library)
{
	const char *others = getenv("LD_PRELOAD");
	char *list = others && *others ? get_text("%s:%s", library, others) :
					 get_text("%s", library);

	if (setenv("LD_PRELOAD", list, 1) || setenv(RECORD_DIRECTORY, directory, 1))
		fail(STATUS_OURS, "memory: there is none; end other programs");
}

/* Prints why no thread has left a file. */
__attribute__((__noreturn__))
static void no_calls(const struct graph *graph)
{
	char *name = get_text("%s/why", directory), why[160];
	int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, why, sizeof(why) - 1);

	if (graph->why)
		fail(STATUS_OURS, "%s: %s", graph->command[0], graph->why);
	if (n > 0)
		fail(STATUS_OURS, "%s: %.*s", graph->command[0], (int)n, why);
	fail(STATUS_OURS, "%s: none of its functions calls the hooks; compile it with -finstrument-functions, and do not link it with -static",
	     graph->command[0]);
}

static void note_losses(const struct graph *graph)
{
	unsigned long long no_room = 0, missed = 0, strays = 0;
	unsigned int i, nameless = 0, changed = 0;
	const char *module = NULL;

	for (i = 0; i < graph->nr_trees; i++) {
		no_room += graph->tree[i].no_room;
		missed += graph->tree[i].missed;
		strays += graph->tree[i].strays;
	}
	for (i = 0; i < graph->nr_functions; i++) {
		changed += graph->function[i].changed;
		if (graph->function[i].nameless) {
			nameless++;
			module = graph->function[i].module;
		}
	}
	if (no_room)
		note("%llu calls: are with their callers, as there was no room for them; free space in TMPDIR, or instrument fewer functions (-finstrument-functions-exclude-file-list); after seccomp no function gets room",
		     no_room);
	if (missed)
		note("%llu calls: came during another one, in a signal handler, and are missing; block that signal", missed);
	if (strays)
		note("%llu ends of functions: had no beginning, as in coroutines and where a program changes its stack; callers may be wrong, sums are right; build such functions with no_instrument_function",
		     strays);
	if (changed)
		note("%u files: were replaced while the program ran, so their functions have no names; let them be as they are meanwhile",
		     changed);
	if (nameless)
		note("%u functions: have no name, as in %s, and have an address instead; do not strip it, or install its debug symbols",
		     nameless, module);
}

/* Nobody has named the usual files, so links of these names are not followed. */
static void write_one(const char *base, const char *suffix,
		      const struct graph *graph,
		      void (*print)(FILE *file, const struct graph *graph))
{
	char *name = get_text("%s.%s", base, suffix);
	FILE *file = output_open(name, base == usual_base ? OUTFILE_NO_LINK : 0);

	print(file, graph);
	output_close(file);
	free(name);
}

/* Waits until dot ends, and hands signals on to it: a large graph takes long. */
static int wait_for_dot(pid_t pid)
{
	struct pollfd fd = { .fd = signal_fd(), .events = POLLIN };
	int status;
	pid_t ended;

	while (!(ended = waitpid(pid, &status, WNOHANG)))
		if (poll(&fd, 1, -1) > 0)
			signal_take(pid);
	return ended < 0 ? -1 : status;
}

/* Runs dot, which writes to @picture. Returns its status as waitpid() does, or -1. */
static int run_dot(const char *from, const struct outfile *picture)
{
	pid_t pid = fork();

	if (!pid) {
		sigset_t none;

		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		unsetenv("LD_PRELOAD");
		if (dup2(picture->fd, STDOUT_FILENO) == STDOUT_FILENO)
			execlp("dot", "dot", "-Tsvg", from, NULL);
		_exit(STATUS_NOT_FOUND);
	}
	return pid < 0 ? -1 : wait_for_dot(pid);
}

/* Draws the graph with dot, if dot is installed. */
static void draw(const char *base)
{
	char *from = get_text("%s.dot", base), *to = get_text("%s.svg", base);
	struct outfile picture;
	int status;

	output_file(&picture, to, OUTFILE_REPLACE |
		    (base == usual_base ? OUTFILE_NO_LINK : 0));
	status = run_dot(from, &picture);
	if (status)
		vpmc_outfile_drop(&picture);
	else
		status = vpmc_outfile_close(&picture) ? -1 : 0;
	if (status && WIFEXITED(status) && WEXITSTATUS(status) == STATUS_NOT_FOUND)
		note("%s: is not drawn: dot is not installed; install graphviz, and run dot -Tsvg %s", to, from);
	else if (status > 0 && WIFSIGNALED(status))
		note("%s: is not drawn: signal %d (%s) has ended dot; run dot -Tsvg %s", to,
		     WTERMSIG(status), strsignal(WTERMSIG(status)), from);
	else if (status)
		note("%s: is not drawn: dot has failed; run dot -Tsvg %s", to, from);
}

static void set_events(struct graph *graph, const struct group *group,
		       const struct run *run)
{
	unsigned int i;

	for (i = 0; i < group->nr; i++)
		if (!left_out(&group->events[i])) {
			graph->event[graph->nr_values] = group->events[i].name;
			graph->total[graph->nr_values++] =
				run->counts.sum[group->events[i].element];
		}
	graph->event[graph->nr_values] = "run-time-ns";
	graph->total[graph->nr_values++] = run->counts.ns;
}

/* Finds out whether the files can be written, before COMMAND runs. */
static void check_files(const char *base)
{
	static const char *const suffix[] = { "json", "folded", "dot", "svg" };
	unsigned int i;

	for (i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		char *name = get_text("%s.%s", base, suffix[i]);
		struct outfile file;
		struct stat there;

		/* To open a pipe and to close it would end its reader. */
		if (!stat(name, &there) && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
			continue;
		output_file(&file, name, (strcmp(suffix[i], "svg") ? 0 : OUTFILE_REPLACE) |
			    (base == usual_base ? OUTFILE_NO_LINK : 0));
		vpmc_outfile_drop(&file);
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct graph_options *options = state->input;

	switch (key) {
	case 'e':
		options->stat.events = options_list(options->stat.events, arg);
		return 0;
	case 'o':
		options->base = arg;
		return 0;
	case ARGP_KEY_ARG:
		options->stat.command = options_command(state);
		return 0;
	default:
		return options_default(key, state);
	}
}

/* Runs COMMAND and loads the graph. Ends the process if there is no graph. */
static void measure(struct graph *graph, const struct stat_options *options)
{
	struct run run = {};
	struct plan plan;

	plan_make(&plan, options);
	make_directory();
	set_environment(find_library());
	signals_begin();
	command_run(options, &plan.groups[0], &run);
	if (plan.note)
		note("%s", plan.note);
	if (run.revoked)
		note("the PMU: it was taken away, by the administrator or for a CPU that lacks its counters; the counts are those up to then");
	if (run.living)
		note("%llu threads: live on and are not in the graph any more; let COMMAND wait for them",
		     (unsigned long long)run.living);
	departures_note(&run.left, "what they did later is not in the graph");
	graph->command = options->command;
	graph->status = run.status;
	graph->living = run.living;
	set_events(graph, &plan.groups[0], &run);
	graph_load(graph, directory, &plan.groups[0]);
	graph_load_lost(graph, directory);
	if (!graph->nr_trees)
		no_calls(graph);
	graph_sum(graph);
}

int graph_main(int argc, char **argv)
{
	static const struct argp_option option[] = {
		{ "event", 'e', "EVENTS", 0, "What to count, as for vpmc stat; pictures are of the first one", 0 },
		{ "output", 'o', "BASE", 0, "Write BASE.json, BASE.folded, BASE.dot and BASE.svg (vpmc-graph)", 0 },
		{}
	};
	static const struct argp argp = {
		.options = option,
		.parser = parse,
		.args_doc = "[--] COMMAND [ARGUMENT]...",
		.doc = "Tells who calls whom in COMMAND, and what each function takes. COMMAND is compiled with -finstrument-functions."
		       "\vThe exit status is as of vpmc stat.",
	};
	struct graph_options options = {
		.stat = { .repeat = 1, .inherit = true },
		.base = usual_base,
	};
	struct graph graph = {};
	FILE *file;

	options_parse("vpmc graph", &argp, argc, argv, &options);
	if (!options.stat.command)
		fail(STATUS_OURS, "COMMAND: there is none; name a program that was compiled with -finstrument-functions");
	if (!*options.base)
		fail(STATUS_OURS, "-o: the name is empty; give the beginning of the files' names");
	check_files(options.base);
	measure(&graph, &options.stat);
	/*
	 * Print the table first: a full disk can end the program at the files
	 * below.
	 */
	file = output_open(NULL, 0);
	graph_print_text(file, &graph);
	output_close(file);
	write_one(options.base, "json", &graph, graph_print_json);
	write_one(options.base, "folded", &graph, graph_print_folded);
	write_one(options.base, "dot", &graph, graph_print_dot);
	draw(options.base);
	note_losses(&graph);
	graph_note_lost(&graph);
	if (WIFSIGNALED(graph.status))
		return STATUS_SIGNAL + WTERMSIG(graph.status);
	return WEXITSTATUS(graph.status);
}
