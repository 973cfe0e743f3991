// SPDX-License-Identifier: GPL-2.0
/*
 * What samples say about the file that their address was mapped from, while mappings
 * are replaced.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <link.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include "log.h"
#include "sample.h"

#define PERIOD	10001
#define TURNS	100000
#define ONE	5100		/* turns that have one period */
#define RECORDS	4096
#define FAMILY	(THREADS | PROCESSES)
#define FIRST	"/tmp/vpmc_first"
#define SECOND	"/tmp/vpmc_second"
#define MIN_ROOM 16384		/* the least size of a buffer */

FIXTURE(sample_map)
{
	struct set set;
	struct samples got;
	char *at;		/* a page with nothing mapped beside it */
};

FIXTURE_SETUP(sample_map)
{
	mkdir("/tmp", 0755);
	ASSERT_EQ(0, write_file(RATE, "1000000000"));
	ASSERT_EQ(0, samples_alloc(&self->got));
	ASSERT_EQ(0, open_sampled(&self->set, PERIOD, FAMILY, RECORDS));
	self->at = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, self->at);
	self->at += PAGE;
}

FIXTURE_TEARDOWN(sample_map)
{
	EXPECT_EQ(0, write_file(RATE, "100000"));
	samples_free(&self->got);
	set_close(&self->set);
	unlink(FIRST);
	unlink(SECOND);
}

static int samples_in(uint64_t turns)
{
	return measured(turns).insns / PERIOD;
}

/* Makes a file with a page of code. Returns 0 or -errno. */
static int make_file(const char *path, const void *code)
{
	char page[PAGE] = "";
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755), err = 0;

	memcpy(page, code, 64);
	if (fd < 0 || write(fd, page, PAGE) != PAGE)
		err = -errno;
	close(fd);
	return err;
}

/* Maps it instead of what is there; NULL: a page of generated code. */
static int put_code(char *at, const char *path)
{
	int fd = path ? open(path, O_RDONLY) : -1, flags = MAP_PRIVATE | MAP_FIXED;

	if (path) {
		at = mmap(at, PAGE, PROT_READ | PROT_EXEC, flags, fd, 0);
		close(fd);
		return at == MAP_FAILED ? -errno : 0;
	}
	at = mmap(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, flags | MAP_ANONYMOUS,
		  -1, 0);
	if (at == MAP_FAILED)
		return -errno;
	memcpy(at, code_loop, 64);
	return 0;
}

/* Puts code there and samples it. */
static int sample_code(struct set *set, char *at, const char *path)
{
	int err = put_code(at, path);

	return err ?: vpmc_ioctl(set->fd, VPMC_IOC_CLEAR, 0) ?:
	       set_measure(set, (code_fn)at, TURNS, 0);
}

/* The number of records about mappings that begin at @start */
static int maps_at(const struct samples *got, const char *start)
{
	int n = 0;

	for (int i = 0; i < got->nr; i++)
		n += got->record[i]->type == VPMC_SAMPLE_MAP &&
		     ((struct vpmc_sample_map *)got->record[i])->start == (uint64_t)start;
	return n;
}

/* Libraries that are loaded one after the other at an address, and generated code */
TEST_F(sample_map, one_after_the_other)
{
	static const char *const path[] = { FIRST, SECOND, FIRST, NULL, SECOND, NULL };
	struct samples *got = &self->got;
	const struct vpmc_sample_map *map;
	int n = 0;

	ASSERT_EQ(0, make_file(FIRST, code_loop));
	ASSERT_EQ(0, make_file(SECOND, code_loop));
	for (int i = 0; i < ARRAY_SIZE(path); i++)
		ASSERT_EQ(0, sample_code(&self->set, self->at, path[i]));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(ARRAY_SIZE(path) * samples_in(TURNS), samples_of(got, 0));
	for (int i = 0; i < got->nr; i++) {
		const struct vpmc_sample *s = (void *)got->record[i];

		if (s->head.type != VPMC_SAMPLE_PERIOD)
			continue;
		map = samples_map(got, s);
		ASSERT_NE(NULL, map);
		EXPECT_STREQ(path[n / samples_in(TURNS)] ?: "", map_path(map));
		EXPECT_EQ((uint64_t)self->at, map->start);
		EXPECT_EQ(0, map->flags);
		n++;
	}
	EXPECT_EQ(ARRAY_SIZE(path), maps_at(got, self->at));
}

/* Ends the thread after some time. */
static const unsigned char ends_thread[64] = {
	0xb9, 0xd0, 7, 0, 0,		/* mov $2000, %ecx */
	0xe2, 0xfe,			/* loop . */
	0xb8, SYS_exit, 0, 0, 0,	/* mov $SYS_exit, %eax */
	0x31, 0xff,			/* xor %edi, %edi */
	0x0f, 0x05,			/* syscall */
};

/* How many instructions a thread has executed. 0 on failure. */
static uint64_t run_thread(struct set *set, char *at)
{
	struct vpmc_read before, after;
	pthread_t thread;

	if (vpmc_ioctl(set->fd, VPMC_IOC_START, 0) ||
	    family_read(set->fd, FINISHED, &before) ||
	    pthread_create(&thread, NULL, (void *(*)(void *))at, NULL) ||
	    pthread_join(thread, NULL) || vpmc_ioctl(set->fd, VPMC_IOC_STOP, 0) ||
	    family_read(set->fd, FINISHED, &after))
		return 0;
	/* The sum is that of the root, too. */
	return after.finished - before.finished == 1 ? after.sum[0] : 0;
}

/* A period ends with the last instruction of a thread, in code that nothing has sampled. */
TEST_F(sample_map, end)
{
	struct vpmc_control *control = &self->set.control;
	const struct vpmc_sample_map *map;
	struct samples *got = &self->got;
	uint64_t insns = 0, own = 0;
	struct vpmc_read read;
	int n = 0;

	ASSERT_EQ(0, make_file(FIRST, ends_thread));
	ASSERT_EQ(0, put_code(self->at, FIRST));
	control->counter[0].period = 1ULL << 40;
	/* The first thread has more to do. */
	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, set_control(&self->set));
		insns = run_thread(&self->set, self->at);
		ASSERT_EQ(0, vpmc_read(self->set.fd, &read));
		own = read.sum[0];
		ASSERT_LT(own + 2000, insns);
	}
	control->counter[0].period = insns - own;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(insns, run_thread(&self->set, self->at));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	for (int i = 0; i < got->nr; i++) {
		const struct vpmc_sample *s = (void *)got->record[i];

		if (s->head.type != VPMC_SAMPLE_PERIOD || s->head.tid == my_tid())
			continue;
		EXPECT_EQ((uint64_t)self->at + 16, s->ip);
		map = samples_map(got, s);
		ASSERT_NE(NULL, map);
		EXPECT_STREQ(FIRST, map_path(map));
		n++;
	}
	EXPECT_EQ(1, n);
	EXPECT_EQ(0, got->lost);
}

/* What is as it was is not reported again, whatever else was mapped meanwhile. */
TEST_F(sample_map, once)
{
	struct samples *got = &self->got;
	char *other;

	ASSERT_EQ(0, make_file(FIRST, code_loop));
	for (int i = 0; i < 5; i++) {
		/* The last time the file itself is mapped anew. */
		ASSERT_EQ(0, i % 4 ? set_measure(&self->set, (code_fn)self->at, TURNS, 0) :
			  sample_code(&self->set, self->at, FIRST));
		other = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, other);
		ASSERT_EQ(0, munmap(other, PAGE));
	}
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(1, maps_at(got, self->at));
}

static int is_file(const struct vpmc_sample_map *map, const struct stat *st)
{
	return map->inode == st->st_ino && map->dev_major == major(st->st_dev) &&
	       map->dev_minor == minor(st->st_dev) &&
	       map->file_size == (uint64_t)st->st_size &&
	       map->mtime == st->st_mtim.tv_sec * 1000000000ULL + st->st_mtim.tv_nsec;
}

/* A program that is built anew has the same path and is another file. */
TEST_F(sample_map, renamed_over)
{
	struct samples *got = &self->got;
	const struct vpmc_sample_map *map;
	struct stat st[2];
	int n = 0;

	ASSERT_EQ(0, make_file(FIRST, code_loop));
	ASSERT_EQ(0, stat(FIRST, &st[0]));
	ASSERT_EQ(0, sample_code(&self->set, self->at, FIRST));
	ASSERT_EQ(0, make_file(SECOND, code_loop));
	ASSERT_EQ(0, rename(SECOND, FIRST));
	ASSERT_EQ(0, stat(FIRST, &st[1]));
	ASSERT_EQ(0, sample_code(&self->set, self->at, FIRST));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	for (int i = 0; i < got->nr; i++) {
		map = (void *)got->record[i];
		if (map->head.type != VPMC_SAMPLE_MAP || map->start != (uint64_t)self->at)
			continue;
		ASSERT_GT(2, n);
		EXPECT_STREQ(FIRST, map_path(map));
		EXPECT_EQ(1, is_file(map, &st[n]));
		EXPECT_EQ(0, map->build_id_size);
		n++;
	}
	EXPECT_EQ(2, n);
}

static int set_mtime(const char *path, time_t at)
{
	const struct timespec times[2] = { { .tv_sec = at }, { .tv_sec = at } };

	return utimensat(AT_FDCWD, path, times, 0) ? -errno : 0;
}

/* A file that is written anew has the same inode, and may be another library. */
TEST_F(sample_map, written_anew)
{
	struct samples *got = &self->got;
	const struct vpmc_sample_map *map;
	uint64_t at = 1000;

	for (int i = 0; i < 2; i++) {
		ASSERT_EQ(0, make_file(FIRST, code_loop));
		ASSERT_EQ(0, set_mtime(FIRST, at + i));
		ASSERT_EQ(0, sample_code(&self->set, self->at, FIRST));
	}
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	for (int i = 0; i < got->nr; i++) {
		map = (void *)got->record[i];
		if (map->head.type == VPMC_SAMPLE_MAP && map->start == (uint64_t)self->at)
			EXPECT_EQ(at++ * 1000000000, map->mtime);
	}
	EXPECT_EQ(1002, at);
}

/* A file that is no regular one is not read for a build id. */
TEST_F(sample_map, device)
{
	const char *what = "read not supported for file";
	struct samples *got = &self->got;
	int logged = times_in_log(what), fd = open("/dev/zero", O_RDONLY);
	const struct vpmc_sample_map *map;
	char *at;

	at = mmap(self->at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		  MAP_PRIVATE | MAP_FIXED, fd, 0);
	close(fd);
	ASSERT_NE(MAP_FAILED, at);
	memcpy(at, code_loop, 64);
	ASSERT_EQ(0, set_measure(&self->set, (code_fn)at, TURNS, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(1, maps_at(got, at));
	map = samples_map(got, (void *)got->record[0]);
	ASSERT_NE(NULL, map);
	EXPECT_STREQ("/dev/zero", map_path(map));
	EXPECT_EQ(0, map->build_id_size);
	EXPECT_EQ(logged, times_in_log(what));
}

/* A mapping that was reported remains known in a fork(), which locks all of them. */
TEST_F(sample_map, in_fork)
{
	struct vpmc_control *control = &self->set.control;
	struct samples *got = &self->got;
	const struct vpmc_sample_map *map;
	int n, turn = test_times(20);

	control_init(control, VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE);
	control_add_period(control, EV_KERNEL_INSNS, VPMC_ANY, KERNEL_PERIOD);
	control->ring_records = RECORDS;
	control->ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	/* This reports it. */
	while (!samples_of(got, 0)) {
		syscall(SYS_getppid);
		ASSERT_EQ(0, samples_read(self->set.fd, got));
	}
	n = samples_of(got, 0);
	while (turn--) {
		pid_t pid = fork();

		if (!pid)
			_exit(0);
		ASSERT_EQ(0, child_status(pid));
	}
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_LT(n, samples_of(got, 0));
	for (int i = 0; i < got->nr; i++) {
		map = (void *)got->record[i];
		if (map->head.type == VPMC_SAMPLE_MAP)
			EXPECT_EQ(0, map->flags);
	}
}

/* Finds the build id of this program. @data: 20 bytes. */
static int find_build_id(struct dl_phdr_info *info, size_t size, void *data)
{
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *note = (char *)info->dlpi_addr + p->p_vaddr, *end;

		if (p->p_type != PT_NOTE)
			continue;
		for (end = note + p->p_memsz; note < end;) {
			const ElfW(Nhdr) *head = (void *)note;

			note += sizeof(*head) + ((head->n_namesz + 3) & -4);
			if (head->n_type == NT_GNU_BUILD_ID && head->n_descsz == 20) {
				memcpy(data, note, 20);
				return 1;
			}
			note += (head->n_descsz + 3) & -4;
		}
	}
	(void)size;
	return 0;
}

TEST_F(sample_map, build_id)
{
	struct samples *got = &self->got;
	const struct vpmc_sample_map *map;
	char id[24] = "";
	struct stat st;

	ASSERT_EQ(1, dl_iterate_phdr(find_build_id, id));
	ASSERT_EQ(0, stat("/proc/self/exe", &st));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, TURNS, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	map = samples_map(got, (void *)got->record[0]);
	ASSERT_NE(NULL, map);
	EXPECT_EQ(1, is_file(map, &st));
	EXPECT_EQ(20, map->build_id_size);
	EXPECT_EQ(0, memcmp(id, map->build_id, sizeof(id)));
}

struct writer {
	char *at;
	char *from;
	int pipe[2];
	long bytes;
	pid_t tid;
};

/* Runs the code of the file, and is in its system call when the file is replaced. */
static void *write_much(void *arg)
{
	struct writer *w = arg;

	w->tid = my_tid();
	return (void *)((long (*)(long, const void *, long))w->at)(w->pipe[1], w->from,
								   w->bytes);
}

/*
 * Another thread replaces a mapping between a sample in a system call and the return
 * from it.
 */
TEST_F(sample_map, replaced_meanwhile)
{
	struct vpmc_control *control = &self->set.control;
	struct samples *got = &self->got;
	struct writer w = { .at = self->at };
	int unknown = 0, others = 0, there;
	const struct vpmc_sample_map *map;
	struct timespec replaced;
	pthread_t thread;
	void *done;
	long room;

	ASSERT_EQ(0, pipe(w.pipe));
	/* The kernel executes some periods until it is full. */
	room = fcntl(w.pipe[1], F_SETPIPE_SZ, 4 << 20);
	ASSERT_LT(0, room);
	w.bytes = room + 1;
	w.from = calloc(w.bytes, 1);
	ASSERT_NE(NULL, w.from);
	ASSERT_EQ(0, make_file(FIRST, code_write_out));
	ASSERT_EQ(0, make_file(SECOND, code_write_out));
	ASSERT_EQ(0, put_code(self->at, FIRST));
	control_init(control, VPMC_CONTROL_REARM | VPMC_CONTROL_SAMPLE | FAMILY);
	control_add_period(control, EV_KERNEL_INSNS, VPMC_ANY, KERNEL_PERIOD);
	control->ring_records = RECORDS;
	control->ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, pthread_create(&thread, NULL, write_much, &w));
	for (there = 0; there < room; usleep(1000))
		ASSERT_EQ(0, ioctl(w.pipe[0], FIONREAD, &there));
	ASSERT_EQ(0, put_code(self->at, SECOND));
	clock_gettime(CLOCK_MONOTONIC, &replaced);
	for (long n, left = w.bytes; left; left -= n) {
		n = read(w.pipe[0], w.from, left);
		ASSERT_LT(0, n);
	}
	ASSERT_EQ(0, pthread_join(thread, &done));
	ASSERT_EQ((void *)w.bytes, done);
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_STOP, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	for (int i = 0; i < got->nr; i++) {
		const struct vpmc_sample *s = (void *)got->record[i];

		if (s->head.type != VPMC_SAMPLE_PERIOD || s->head.tid != (uint32_t)w.tid ||
		    s->ip - (uint64_t)self->at >= PAGE)
			continue;
		map = samples_map(got, s);
		/* The thread's way back to user mode can make one more, after the record. */
		if (map && s->head.ns > replaced.tv_sec * 1000000000ULL + replaced.tv_nsec &&
		    !strcmp(SECOND, map_path(map)))
			continue;
		if (map && map->flags & VPMC_MAP_UNKNOWN)
			unknown++;
		else
			others++;
		EXPECT_EQ(s->ip, map ? map->start : 0);
		EXPECT_STREQ("", map ? map_path(map) : "none");
	}
	EXPECT_LT(0, unknown);
	EXPECT_EQ(0, others);
	free(w.from);
}

/* A buffer that has room for a sample, and not for the record of its mapping */
TEST_F(sample_map, no_room)
{
	struct samples *got = &self->got;
	const struct vpmc_sample *s = NULL;
	const struct vpmc_sample_map *map;
	int n;

	ASSERT_EQ(0, make_file(FIRST, code_loop));
	ASSERT_EQ(0, pin(0));
	self->set.control.ring_records = 16;
	self->set.control.ring_watermark = 1;
	ASSERT_EQ(0, set_control(&self->set));
	ASSERT_EQ(0, set_measure(&self->set, code_loop, ONE, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	/* After so many, and the record of this program, one has room. */
	s = (void *)got->record[0];
	n = (MIN_ROOM - (got->bytes - s->head.size)) / s->head.size - 1;

	ASSERT_EQ(0, set_control(&self->set));
	for (int i = 0; i < n; i++) {
		ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
		ASSERT_EQ(0, set_measure(&self->set, code_loop, ONE, 0));
	}
	ASSERT_EQ(0, put_code(self->at, FIRST));
	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	ASSERT_EQ(0, set_measure(&self->set, (code_fn)self->at, ONE, 0));
	samples_forget(got);
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	EXPECT_EQ(0, got->lost);
	EXPECT_EQ(0, maps_at(got, self->at));
	ASSERT_EQ(n + 1, samples_of(got, 0));

	ASSERT_EQ(0, vpmc_ioctl(self->set.fd, VPMC_IOC_CLEAR, 0));
	/* The next record tells it, also if this program was reported before. */
	ASSERT_EQ(0, set_measure(&self->set, code_loop, ONE, 0));
	ASSERT_EQ(0, samples_read(self->set.fd, got));
	ASSERT_EQ(n + 2, samples_of(got, 0));
	for (int i = 0; i < got->nr; i++) {
		s = (void *)got->record[i];
		if (s->head.type == VPMC_SAMPLE_PERIOD && !n--)
			break;
	}
	EXPECT_EQ(NULL, samples_map(got, s));
	map = (void *)got->record[got->nr - 1];
	EXPECT_EQ(VPMC_SAMPLE_MAP, map->head.type);
	EXPECT_EQ(s->head.ns, map->unsure);
	EXPECT_LT((uint64_t)code_loop - map->start, map->end - map->start);
}

NEEDS(
	{ "sample_map.in_fork", PMU | DISTURBS | ROOT },
	{ "sample_map.replaced_meanwhile", PMU | DISTURBS | ROOT },
	{ "*", TRUE_COUNTS | DISTURBS | ROOT },
);

TEST_HARNESS_MAIN
