// SPDX-License-Identifier: GPL-2.0
/*
 * kexec leaves the counters off for the next kernel, whatever they did before.
 *
 * In the first kernel this program loads another one (/add/bzImage), with
 * itself as init, starts counters on all CPUs (threads'; with the argument
 * "cpus", those of /dev/perfctr; with "borrowed", threads' that borrow them from
 * perf) and boots that. There it looks at
 * the registers. That kernel does not know that there is a PMU, so nobody has
 * touched them. Its output goes to the channels of scripts/vm.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <linux/reboot.h>
#include "global.h"

#define KERNEL		"/add/bzImage"
#define INITRAMFS	"/tmp/kexec-initramfs"
#define NR_GP		4
#define NR_FIXED	3
#define MAX_CPUS	8

#define MSR_PERFCTR0		0xc1
#define MSR_EVTSEL0		0x186
#define MSR_FIXED_CTR0		0x309
#define MSR_FIXED_CTR_CTRL	0x38d
#define MSR_GLOBAL_STATUS	0x38e
#define MSR_GLOBAL_CTRL		0x38f

static const struct choice all[] = {
	{ 0x300c0, 0 }, { 0x300c4, 1 }, { 0x3003c, 2 }, { 0x200c0, 3 },
	{ 0x300c0, FIXED(0) }, { 0x3003c, FIXED(1) }, { 0x30300, FIXED(2) },
	{}
};

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	fflush(stdout);
	exit(1);
}

static uint64_t rdmsr(int cpu, uint32_t msr)
{
	char path[32];
	uint64_t value;
	int fd;

	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", cpu);
	fd = open(path, O_RDONLY);
	if (fd < 0 || pread(fd, &value, sizeof(value), msr) != sizeof(value))
		die(path);
	close(fd);
	return value;
}

/* One file of a cpio archive (Documentation/driver-api/early-userspace). */
static void cpio_add(FILE *archive, const char *name, unsigned int mode,
		     const void *data, size_t size)
{
	static const char zeros[4];
	size_t head = 110 + strlen(name) + 1;

	fprintf(archive, "070701%08x%08x%08x%08x%08x%08x%08zx%08x%08x%08x%08x%08zx%08x",
		0, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, strlen(name) + 1, 0);
	fwrite(name, strlen(name) + 1, 1, archive);
	fwrite(zeros, -head & 3, 1, archive);
	fwrite(data, size, 1, archive);
	fwrite(zeros, -size & 3, 1, archive);
}

static int make_initramfs(void)
{
	int self = open("/proc/self/exe", O_RDONLY);
	FILE *archive = fopen(INITRAMFS, "w");
	struct stat info;
	void *data;

	if (self < 0 || !archive || fstat(self, &info))
		die("initramfs");
	data = mmap(NULL, info.st_size, PROT_READ, MAP_PRIVATE, self, 0);
	if (data == MAP_FAILED)
		die("initramfs");
	cpio_add(archive, "dev", S_IFDIR | 0755, "", 0);
	cpio_add(archive, "sys", S_IFDIR | 0755, "", 0);
	cpio_add(archive, "init", S_IFREG | 0755, data, info.st_size);
	cpio_add(archive, "TRAILER!!!", 0, "", 0);
	if (ferror(archive) || fclose(archive))
		die("initramfs");
	return open(INITRAMFS, O_RDONLY);
}

static void load_kernel(bool borrowed)
{
	char line[512] = "console=ttyS0 panic=-1 clearcpuid=arch_perfmon --";
	int kernel = open(KERNEL, O_RDONLY), initramfs, cpu;

	if (kernel < 0)
		die(KERNEL);
	initramfs = make_initramfs();
	/*
	 * What GLOBAL_CTRL was before the counters were taken. With borrowed
	 * counters perf's bits stay in it. They are zero: perf has no events.
	 */
	for (cpu = 0; cpu < nr_cpus() && cpu < MAX_CPUS; cpu++)
		sprintf(strchr(line, 0), " %#llx",
			borrowed ? 0ULL :
			(unsigned long long)rdmsr(cpu, MSR_GLOBAL_CTRL));
	if (syscall(SYS_kexec_file_load, kernel, initramfs, strlen(line) + 1,
		    line, 0UL))
		die("kexec_file_load");
}

static void *count(void *arg)
{
	struct set set;

	if (pin((long)arg) || set_open(&set, all))
		die("a counting thread");
	set_measure(&set, code_loop, LONG_MAX, 0);
	return NULL;
}

/* Until a register is not zero, at most a minute. */
static void await_register(int cpu, uint32_t msr)
{
	const time_t end = time(NULL) + 60 * test_slowness();

	while (!rdmsr(cpu, msr)) {
		if (time(NULL) > end) {
			errno = ETIMEDOUT;
			die("a register that is not in use");
		}
		sched_yield();
	}
}

static void *run(void *arg)
{
	if (pin((long)arg))
		die("a thread");
	code_loop(LONG_MAX, 0);
	return NULL;
}

/* Returns when all registers are in use on all CPUs. */
static void start_counting(bool cpus)
{
	pthread_t thread;
	int cpu, i, fd;

	if (cpus) {
		fd = global_open();
		if (global_program(fd, VPMC_ALL_CPUS, all) || global_start(fd))
			die("/dev/perfctr");
	}
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		if (pthread_create(&thread, NULL, cpus ? run : count,
				   (void *)(long)cpu))
			die("pthread_create");
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < NR_GP; i++) {
			await_register(cpu, MSR_EVTSEL0 + i);
			await_register(cpu, MSR_PERFCTR0 + i);
		}
		for (i = 0; i < NR_FIXED; i++)
			await_register(cpu, MSR_FIXED_CTR0 + i);
		await_register(cpu, MSR_FIXED_CTR_CTRL);
	}
}

/* Of the second kernel: opens a channel of scripts/vm. */
static int channel(const char *path)
{
	int fd, i;

	for (i = 0; i < 1000; i++) {
		fd = open(path, O_WRONLY);
		if (fd >= 0)
			return fd;
		usleep(10000);
	}
	return -1;
}

/* Of the second kernel: what the first one found in GLOBAL_CTRL. */
static uint64_t global_ctrl[MAX_CPUS];

TEST(nobody_has_touched_the_counters)
{
	ASSERT_EQ(0, access("/sys/bus/event_source/devices", F_OK));
	EXPECT_EQ(-1, access("/sys/bus/event_source/devices/cpu", F_OK));
}

TEST(nothing_counts)
{
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < NR_GP; i++)
			EXPECT_EQ(0, rdmsr(cpu, MSR_EVTSEL0 + i));
		EXPECT_EQ(0, rdmsr(cpu, MSR_FIXED_CTR_CTRL));
		EXPECT_EQ(global_ctrl[cpu], rdmsr(cpu, MSR_GLOBAL_CTRL));
	}
}

TEST(nothing_was_counted)
{
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < NR_GP; i++)
			EXPECT_EQ(0, rdmsr(cpu, MSR_PERFCTR0 + i));
		for (i = 0; i < NR_FIXED; i++)
			EXPECT_EQ(0, rdmsr(cpu, MSR_FIXED_CTR0 + i));
		EXPECT_EQ(0, rdmsr(cpu, MSR_GLOBAL_STATUS));
	}
}

static void second_kernel(int argc, char **argv)
{
	int status, failed, cpu;

	/* Without it there is no channel to say so. */
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	dup2(channel("/dev/vport0p1"), STDOUT_FILENO);
	dup2(channel("/dev/vport0p2"), STDERR_FILENO);
	status = channel("/dev/vport0p3");
	if (mount("sys", "/sys", "sysfs", 0, NULL))
		die("/sys");
	if (argc != 1 + nr_cpus() || nr_cpus() > MAX_CPUS)
		die("arguments");
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		global_ctrl[cpu] = strtoull(argv[1 + cpu], NULL, 0);
	/* A child, because it ends the process. */
	if (!fork()) {
		argv[1] = NULL;
		exit(test_harness_run(1, argv));
	}
	wait(&failed);
	if (write(status, failed ? "1\n" : "0\n", 2) != 2)
		die("status");
	reboot(LINUX_REBOOT_CMD_RESTART);
}

NEEDS({ "*", EXACT | DISTURBS | ROOT },);

int main(int argc, char **argv)
{
	bool borrowed;

	if (getpid() == 1) {
		second_kernel(argc, argv);
		return 1;
	}
	/* Where it may not run, the tests tell why. */
	if (machine_lacks(test_needs))
		return test_harness_run(argc, argv);
	borrowed = argc > 1 && !strcmp(argv[1], "borrowed");
	if (borrowed && write_file("/proc/sys/kernel/vpmc_counters", "shared 4,3"))
		die("kernel.vpmc_counters");
	load_kernel(borrowed);
	start_counting(argc > 1 && !strcmp(argv[1], "cpus"));
	reboot(LINUX_REBOOT_CMD_KEXEC);
	die("kexec");
}
