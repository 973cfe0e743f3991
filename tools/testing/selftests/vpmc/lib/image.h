/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes that count and become exec_image, and their results.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef IMAGE_H
#define IMAGE_H

#include <sys/mount.h>
#include <sys/stat.h>
#include "target.h"

#define IMAGE_DIR	"/tmp/vpmc_exec"
#define IMAGE		IMAGE_DIR "/image"

/**
 * struct image - A process that counts and then executes the image
 * @uid:	Its user id while it counts.
 * @effective:	Its effective user id, if that differs.
 * @flags:	Flags of CONTROL.
 * @thread:	A thread other than the leader calls execve().
 * @context:	Value of /proc/self/attr/exec for security modules, or NULL.
 * @read:	Result of READ in the image after STOP.
 * @page:	The page that the image mapped, if @mapped.
 * @mapped:	The image could map the page.
 * @pid:	Process id.
 * @status:	Exit status.
 */
struct image {
	uid_t uid, effective;
	unsigned int flags;
	bool thread;
	const char *context;
	struct vpmc_read read;
	struct vpmc_page page;
	bool mapped;
	pid_t pid;
	int status;
};

/* Installs the program. Returns 0 on success. */
static inline int image_install(uid_t owner, gid_t group, mode_t mode)
{
	mkdir("/tmp", 0755);
	mkdir(IMAGE_DIR, 0755);
	return copy_file(exec_image_path(), IMAGE) ||
	       chown(IMAGE, owner, group) || chmod(IMAGE, mode);
}

/* On a file system of its own: the root of an initramfs has no attributes. */
static inline int image_mount(uid_t owner, gid_t group, mode_t mode)
{
	mkdir("/tmp", 0755);
	mkdir(IMAGE_DIR, 0755);
	return mount("tmpfs", IMAGE_DIR, "tmpfs", 0, NULL) ||
	       image_install(owner, group, mode);
}

static inline int image_unmount(void)
{
	return umount(IMAGE_DIR);
}

/* Counts, and becomes the image. */
static inline void *image_exec(void *arg)
{
	char *argv[] = { "image", NULL };
	const struct image *image = arg;
	struct set set;

	set.fd = vpmc_open();
	control_init(&set.control, VPMC_CONTROL_STOPPED | image->flags);
	control_choose(&set.control, EV_INSNS, 0);
	control_choose(&set.control, EV_BRANCHES, 1);
	if (vpmc_ioctl(set.fd, VPMC_IOC_CONTROL, &set.control) ||
	    vpmc_map(set.fd) == MAP_FAILED || dup2(set.fd, EXEC_FD) != EXEC_FD ||
	    (image->context && write_file("/proc/thread-self/attr/exec",
					  image->context)))
		_exit(101);
	code_measure(EXEC_FD, VPMC_IOC_START, VPMC_IOC_STOP, code_exec,
		     (long)IMAGE, (long)argv);
	_exit(102);
}

static inline int image_identify(const struct image *image)
{
	uid_t effective = image->effective;

	if (!effective)
		return become(image->uid);
	return setresuid(image->uid, effective, effective) ||
	       prctl(PR_SET_DUMPABLE, 1);
}

static inline void image_become(const struct image *image, int out)
{
	pthread_t exec;

	if (image_identify(image) || dup2(out, 1) != 1)
		_exit(100);
	if (!image->thread)
		image_exec((void *)image);
	pthread_create(&exec, NULL, image_exec, (void *)image);
	for (;;)
		pause();
}

static inline ssize_t read_all(int fd, void *buf, size_t size)
{
	size_t done = 0;
	ssize_t n;

	while (done < size && (n = read(fd, (char *)buf + done, size - done)) > 0)
		done += n;
	return done;
}

/* To its end. 0 or not. */
static inline int image_run(struct image *image)
{
	ssize_t size = sizeof(image->page), n;
	int fds[2];

	if (pipe(fds))
		return -1;
	tolerance_begin();
	image->pid = fork();
	if (!image->pid)
		image_become(image, fds[1]);
	close(fds[1]);
	n = read_all(fds[0], &image->read, sizeof(image->read));
	image->mapped = read_all(fds[0], &image->page, size) == size;
	close(fds[0]);
	image->status = child_status(image->pid);
	return n != sizeof(image->read);
}

/* Did it count on, or was it detached before the image's first instruction? */
static inline void image_expect(struct __test_metadata *_metadata,
				const struct image *image, bool unlinked)
{
	struct code_count before = code_add(CODE_MEASURE_HEAD, CODE_EXEC);
	struct code_count all = code_add(before, CODE_EXEC_IMAGE);
	struct code_count want = counted_here(unlinked ? before : all);
	struct code_count piece = counted_here(CODE_EXEC_IMAGE);
	const struct vpmc_read *read = &image->read;

	ASSERT_EQ(counters_here(2), read->nr_counters);
	EXPECT_TRUE(piece_fits_since(read->sum[0], want.insns, 1, piece.insns)) {
		TH_LOG("%llu, not %llu", (unsigned long long)read->sum[0],
		       (unsigned long long)want.insns);
	}
	EXPECT_TRUE(piece_fits_since(read->sum[1], want.branches, 1,
				     piece.branches)) {
		TH_LOG("%llu, not %llu", (unsigned long long)read->sum[1],
		       (unsigned long long)want.branches);
	}
	EXPECT_EQ(!unlinked, image->mapped);
	if (unlinked) {
		EXPECT_EQ(VPMC_STATE_UNLINKED, read->state);
		EXPECT_EQ(ESRCH, image->status);
	} else {
		EXPECT_EQ(image->pid, read->tid);
		EXPECT_EQ(VPMC_STATE_STOPPED, read->state);
		EXPECT_EQ(0, image->status);
	}
}

#endif /* IMAGE_H */
