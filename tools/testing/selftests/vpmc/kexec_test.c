// SPDX-License-Identifier: GPL-2.0
/*
 * kexec leaves the counters off for the next kernel, whatever they did before.
 *
 * In the first kernel this program loads another one (/add/bzImage), with
 * itself as init, starts counters on all CPUs and boots that. There it looks at
 * the registers. That kernel does not know that there is a PMU, so nobody has
 * touched them. Its output goes to the channels of scripts/vm.
 *
 * The counters are threads', with periods and signals; with the argument "cpus", those
 * of /dev/perfctr; with "borrowed", threads' that borrow all of them from perf. Where perf
 * keeps counters they are threads' that borrow some, beside more events of perf than
 * there are counters, and beside the watchdog.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <linux/reboot.h>
#include "global.h"
#include "msr.h"
#include "overflow.h"
#include "perf.h"

#define KERNEL		"/add/bzImage"
#define INITRAMFS	"/tmp/kexec-initramfs"
#define NR_GP		4
#define NR_FIXED	3
#define MAX_CPUS	8

#define PERIOD		200003

static const struct choice all[] = {
	{ 0x300c0, 0 }, { 0x300c4, 1 }, { 0x3003c, 2 }, { 0x200c0, 3 },
	{ 0x300c0, FIXED(0) }, { 0x3003c, FIXED(1) }, { 0x30300, FIXED(2) },
	{}
};

/* The watchdog has fixed counter 1. */
static const struct choice some[] = {
	{ 0x300c0, FIXED(0) }, { 0x300c4, VPMC_ANY }, { 0x300c0, VPMC_ANY }, {}
};

enum mode {
	ALL, OF_CPUS, BORROWED, BESIDE,
};

static const char *const mode_name[] = { "all", "cpus", "borrowed", "beside" };

static void die(const char *what)
{
	printf("Bail out! %s: %s\n", what, strerror(errno));
	fflush(stdout);
	exit(1);
}

static uint64_t rdmsr(int cpu, uint32_t msr)
{
	uint64_t value;

	if (msr_read(cpu, msr, &value))
		die("/dev/cpu");
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

static void load_kernel(enum mode mode)
{
	char line[512] = "console=ttyS0 panic=-1 clearcpuid=arch_perfmon -- ";
	int kernel = open(KERNEL, O_RDONLY), initramfs, cpu;

	if (kernel < 0)
		die(KERNEL);
	initramfs = make_initramfs();
	strcat(line, mode_name[mode]);
	/*
	 * What GLOBAL_CTRL was before the counters were taken. With borrowed
	 * counters perf's bits stay in it. They are zero: perf has no events.
	 */
	for (cpu = 0; cpu < nr_cpus() && cpu < MAX_CPUS; cpu++)
		sprintf(strchr(line, 0), " %#llx",
			mode == BORROWED ? 0ULL :
			(unsigned long long)rdmsr(cpu, MSR_GLOBAL_CTRL));
	if (syscall(SYS_kexec_file_load, kernel, initramfs, strlen(line) + 1,
		    line, 0UL))
		die("kexec_file_load");
}

static void nothing_to_do(int sig)
{
}

/* Counts with a period, whose end stops nothing. */
static void count(int cpu, const struct choice *choice)
{
	struct set set;

	if (pin(cpu) || set_open(&set, choice))
		die("a counting thread");
	set.control.counter[0].period = PERIOD;
	set.control.flags |= VPMC_CONTROL_REARM;
	set.control.signal = OVERFLOW_SIGNAL;
	if (set_control(&set))
		die("a period");
	set_measure(&set, code_loop, LONG_MAX, 0);
}

static void *count_all(void *arg)
{
	count((long)arg, all);
	return NULL;
}

static void *count_some(void *arg)
{
	count((long)arg, some);
	return NULL;
}

/* Flexible events of a CPU, which perf multiplexes. */
static void open_flexible_events(int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS,
	};
	int i;

	for (i = 0; i < NR_GP + 1; i++)
		if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) < 0)
			die("an event of perf");
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

static void await_registers(int cpu, enum mode mode)
{
	int i;

	for (i = 0; i < NR_GP; i++) {
		await_register(cpu, MSR_EVTSEL0 + i);
		await_register(cpu, MSR_PERFCTR0 + i);
	}
	/* In BESIDE nobody has the last one. */
	for (i = 0; i < NR_FIXED - (mode == BESIDE); i++)
		await_register(cpu, MSR_FIXED_CTR0 + i);
	await_register(cpu, MSR_FIXED_CTR_CTRL);
}

/* Returns when all registers are in use on all CPUs. */
static void start_counting(enum mode mode)
{
	void *(*const body[])(void *) = { count_all, run, count_all, count_some };
	pthread_t thread;
	int cpu, fd;

	if (signal(OVERFLOW_SIGNAL, nothing_to_do) == SIG_ERR)
		die("signal");
	if (mode == OF_CPUS) {
		fd = global_open();
		if (global_program(fd, VPMC_ALL_CPUS, all) || global_start(fd))
			die("/dev/perfctr");
	}
	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		if (mode == BESIDE)
			open_flexible_events(cpu);
		if (pthread_create(&thread, NULL, body[mode], (void *)(long)cpu))
			die("pthread_create");
	}
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		await_registers(cpu, mode);
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

/* Of the second kernel: what the first one did, and what it found in GLOBAL_CTRL. */
static enum mode mode;
static uint64_t global_ctrl[MAX_CPUS];

TEST(nobody_has_touched_the_counters)
{
	ASSERT_EQ(0, access("/sys/bus/event_source/devices", F_OK));
	EXPECT_EQ(-1, access("/sys/bus/event_source/devices/cpu", F_OK));
}

/* perf leaves what a counter counted in its select, and switches it off. */
TEST(nothing_counts)
{
	const uint64_t on = mode == BESIDE ? EVTSEL_ENABLE : ~0ULL;
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < NR_GP; i++)
			EXPECT_EQ(0, rdmsr(cpu, MSR_EVTSEL0 + i) & on);
		EXPECT_EQ(0, rdmsr(cpu, MSR_FIXED_CTR_CTRL));
		EXPECT_EQ(global_ctrl[cpu], rdmsr(cpu, MSR_GLOBAL_CTRL));
	}
}

/* perf leaves its counts in the counters that it had, and in those that came back to it. */
TEST(nothing_was_counted)
{
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		for (i = 0; i < NR_GP && mode != BESIDE; i++)
			EXPECT_EQ(0, rdmsr(cpu, MSR_PERFCTR0 + i));
		for (i = 0; i < NR_FIXED; i++)
			if (mode != BESIDE || i != 1)
				EXPECT_EQ(0, rdmsr(cpu, MSR_FIXED_CTR0 + i));
		EXPECT_EQ(0, rdmsr(cpu, MSR_GLOBAL_STATUS));
	}
}

/* Whoever had a counter: sets with periods, perf's flexible events, the watchdog. */
TEST(no_counter_moves)
{
	uint64_t gp[NR_GP], fixed[NR_FIXED];
	int cpu, i;

	for (cpu = 0; cpu < nr_cpus(); cpu++) {
		ASSERT_EQ(0, pin(cpu));
		for (i = 0; i < NR_GP; i++)
			gp[i] = rdmsr(cpu, MSR_PERFCTR0 + i);
		for (i = 0; i < NR_FIXED; i++)
			fixed[i] = rdmsr(cpu, MSR_FIXED_CTR0 + i);
		code_loop(10000, 0);
		for (i = 0; i < NR_GP; i++)
			EXPECT_EQ(gp[i], rdmsr(cpu, MSR_PERFCTR0 + i));
		for (i = 0; i < NR_FIXED; i++)
			EXPECT_EQ(fixed[i], rdmsr(cpu, MSR_FIXED_CTR0 + i));
		EXPECT_EQ(0, rdmsr(cpu, MSR_GLOBAL_STATUS));
	}
}

static enum mode mode_of(const char *name)
{
	enum mode m = BESIDE;

	while (m && strcmp(name, mode_name[m]))
		m--;
	return m;
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
	if (argc != 2 + nr_cpus() || nr_cpus() > MAX_CPUS)
		die("arguments");
	mode = mode_of(argv[1]);
	for (cpu = 0; cpu < nr_cpus(); cpu++)
		global_ctrl[cpu] = strtoull(argv[2 + cpu], NULL, 0);
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
	if (getpid() == 1) {
		second_kernel(argc, argv);
		return 1;
	}
	/* Where it may not run, the tests tell why. */
	if (machine_lacks(test_needs))
		return test_harness_run(argc, argv);
	mode = perf_keeps_counters() ? BESIDE : argc > 1 ? mode_of(argv[1]) : ALL;
	if (mode == BORROWED && write_file("/proc/sys/kernel/vpmc_counters", "shared 4,3"))
		die("kernel.vpmc_counters");
	if (mode == BESIDE && read_number("/proc/sys/kernel/nmi_watchdog") != 1)
		die("no watchdog");
	load_kernel(mode);
	start_counting(mode);
	reboot(LINUX_REBOOT_CMD_KEXEC);
	die("kexec");
}
