// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * usage: threads_test N [FLAG]...
 *
 * N threads, one after the other, count a region and end without closing it. Nothing may
 * be left of them: no descriptor and no memory. With FLAG "report", as with VPMC_REPORT,
 * the values of most threads are added up, none is lost, and no report has one twice. With "keep", the main thread
 * reads the values after the thread's end, and closes the regions. With "sanitized" the
 * memory is not compared, because sanitizers keep some.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <dirent.h>
#include <err.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vpmc.h>

#define FIRST		100	/* threads that warm up */
#define KEPT		64	/* threads that a report has one by one */
#define TURNS		1000

static bool keep;

struct thread {
	struct vpmc_regions *regions;
	struct vpmc_region *region;
};

static void work(unsigned long turns)
{
	__asm__ __volatile__("1:\tdec %0\n\tjnz 1b" : "+r" (turns) : : "cc");
}

/* Destructors of other keys may count, too, whichever comes first. */
static void destroy(void *arg)
{
	struct thread *thread = arg;

	if (vpmc_begin(thread->region) || vpmc_end(thread->region))
		errx(1, "a destructor cannot count");
}

static pthread_key_t before, after;

static void count(struct thread *thread)
{
	struct vpmc_error error;

	if (vpmc_regions_open(&thread->regions, "instructions",
			      keep ? VPMC_REGIONS_KEEP : 0, &error))
		errx(1, "%s", error.text);
	if (vpmc_region_get(thread->regions, "work", &thread->region) ||
	    vpmc_begin(thread->region))
		errx(1, "it does not begin");
	work(TURNS);
	if (vpmc_end(thread->region))
		errx(1, "it does not end");
}

static void *run(void *arg)
{
	struct thread *thread = arg;

	count(thread);
	pthread_setspecific(before, thread);
	pthread_setspecific(after, thread);
	return NULL;
}

/* Its values can be read until it is closed. */
static void read_and_close(struct thread *thread)
{
	struct vpmc_region_calls calls;
	uint64_t total = vpmc_region_total(thread->region, 0, VPMC_INCLUSIVE, NULL);

	vpmc_region_count(thread->region, &calls);
	if (calls.calls != 3 || calls.unfinished || total < 2 * TURNS)
		errx(1, "%llu calls, %llu unfinished, %llu instructions",
		     (unsigned long long)calls.calls,
		     (unsigned long long)calls.unfinished, (unsigned long long)total);
	if (vpmc_begin(thread->region) != -EPERM)
		errx(1, "an ended thread's region begins");
	if (vpmc_regions_close(thread->regions))
		errx(1, "an ended thread's regions cannot be closed");
}

static void threads(unsigned long n)
{
	struct thread thread;
	pthread_t id;

	while (n--) {
		if (pthread_create(&id, NULL, run, &thread) || pthread_join(id, NULL))
			errx(1, "pthread_create");
		if (keep)
			read_and_close(&thread);
	}
}

static unsigned int descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	unsigned int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* In pages: mapped, and in use */
static void memory(long size[2])
{
	FILE *f = fopen("/proc/self/statm", "r");

	if (!f || fscanf(f, "%ld %ld", &size[0], &size[1]) != 2)
		errx(1, "/proc/self/statm");
	fclose(f);
}

/* Returns the report, which the caller frees. */
static char *report_text(void)
{
	int fd = memfd_create("report", 0);
	off_t length;
	char *text;

	if (vpmc_report(fd, VPMC_REPORT_JSON))
		errx(1, "vpmc_report");
	length = lseek(fd, 0, SEEK_END);
	text = calloc(1, length + 1);
	if (!text || pread(fd, text, length, 0) != length)
		errx(1, "the report");
	close(fd);
	return text;
}

/* Returns the calls of all regions in a report, and their number. */
static unsigned long calls_in(const char *text, unsigned long *found)
{
	unsigned long calls = 0;
	const char *at;

	*found = 0;
	for (at = text; (at = strstr(at, "\"calls\":")); ++*found)
		calls += strtoul(at += 8, NULL, 10);
	return calls;
}

/* All calls of all threads are in the report. */
static void check_report(unsigned long n)
{
	char *text = report_text(), *at;
	unsigned long found, merged = 0, calls = calls_in(text, &found);

	at = strstr(text, "\"merged\":");
	if (at)
		merged = strtoul(at + 9, NULL, 10);
	if (calls != 3 * n + 1 || found != KEPT + 1 || merged != n - KEPT)
		errx(1, "the report has %lu calls of %lu, in %lu threads and %lu others",
		     calls, 3 * n + 1, found, merged);
	free(text);
}

#ifdef WRAPPED
/* The calls that each report must have from now on; 0: nobody looks. */
static unsigned long expected;
/* locks that the thread has */
static __thread unsigned int held;

int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_mutex_trylock(pthread_mutex_t *mutex);
int __real_pthread_mutex_unlock(pthread_mutex_t *mutex);

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	held++;
	return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int err = __real_pthread_mutex_trylock(mutex);

	held += !err;
	return err;
}

/* Where the library has no lock, any other thread may write a report. */
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int err = __real_pthread_mutex_unlock(mutex);
	unsigned long wanted = expected, calls, found;
	char *text;

	if (--held || !wanted)
		return err;
	expected = 0;
	text = report_text();
	calls = calls_in(text, &found);
	if (calls != wanted)
		errx(1, "a report has %lu calls of %lu", calls, wanted);
	free(text);
	expected = wanted;
	return err;
}

/* Adds its values to those of another thread, while others look. */
static void *run_watched(void *calls)
{
	struct thread thread;

	count(&thread);
	expected = *(unsigned long *)calls + 1;
	vpmc_regions_close(thread.regions);
	expected = 0;
	return NULL;
}

static void check_reports(unsigned long calls)
{
	pthread_t id;

	if (pthread_create(&id, NULL, run_watched, &calls) || pthread_join(id, NULL))
		errx(1, "pthread_create");
}
#endif

int main(int argc, char **argv)
{
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	long size[2][2], pages = 64;
	unsigned int open;
	bool report = false, sanitized = false;
	int i;

	for (i = 2; i < argc; i++) {
		report |= !strcmp(argv[i], "report");
		keep |= !strcmp(argv[i], "keep");
		sanitized |= !strcmp(argv[i], "sanitized");
	}
	if (report)
		setenv("VPMC_REPORT", "/dev/null", 1);
	if (pthread_key_create(&before, destroy))
		errx(1, "pthread_key_create");
	count(&(struct thread){});	/* makes the library's key between the two */
	if (pthread_key_create(&after, destroy))
		errx(1, "pthread_key_create");
	threads(FIRST);
	open = descriptors();
	memory(size[0]);
	threads(n);
	memory(size[1]);
	if (descriptors() != open)
		errx(1, "%u descriptors, and %u before", descriptors(), open);
	for (i = 0; i < 2 && !sanitized; i++)
		if (size[1][i] > size[0][i] + pages)
			errx(1, "%ld pages, and %ld before", size[1][i], size[0][i]);
	if (report)
		check_report(FIRST + n);
#ifdef WRAPPED
	if (report)
		check_reports(3 * (FIRST + n) + 1);
#endif
	printf("%lu threads left nothing\n", n);
	return 0;
}
