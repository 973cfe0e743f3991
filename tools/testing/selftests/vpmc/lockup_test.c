// SPDX-License-Identifier: GPL-2.0
/*
 * The hard-lockup watchdog reports a CPU that is locked up while perf lends
 * counters to sets. For a machine with the watchdog on from boot, whose
 * processors execute a user's pages in kernel mode (smep=off,smap=off).
 *
 * A CPU is locked up without help of the kernel: SYSCALL disables interrupts and
 * jumps to the address in MSR_LSTAR. For one system call that is a function of
 * this program. It restores the register, loops until the test ends, and
 * returns by SYSRET. NMIs are not blocked, because they use a stack of their own.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <asm/unistd_64.h>
#include "beside.h"

#define NR_TEXT(nr)	NR_TEXT_(nr)
#define NR_TEXT_(nr)	#nr

/**
 * struct lockup - What the two processes share
 * @handler:	Address of MSR_LSTAR while the kernel has it.
 * @ours:	The function that takes its place.
 * @msr:	/dev/cpu/N/msr of the CPU.
 * @end:	Not zero: the loop is to end.
 * @ready:	The locked process has its set.
 */
struct lockup {
	uint64_t handler;
	uint64_t ours;
	int msr;
	volatile uint32_t end;
	volatile uint32_t ready;
};

#define HANDLER		"0"
#define OURS		"8"
#define MSR		"16"
#define END		"20"
_Static_assert(offsetof(struct lockup, ours) == 8, "OURS");
_Static_assert(offsetof(struct lockup, msr) == 16, "MSR");
_Static_assert(offsetof(struct lockup, end) == 20, "END");

#define MSR_LSTAR	0xc0000082

extern const char lockup_entry[];
long lock_up(long lockup, long unused);

/* In user mode, with both SYSCALLs. */
#define CODE_LOCK_UP	CODE_COUNT(10, 1)

/* pwrite(msr, &ours, 8, MSR_LSTAR), and a system call that the kernel does not see. */
asm("	.text\n"
	"lock_up:\n"
	"	mov	%rdi, %r8\n"
	"	lea	" OURS "(%r8), %rsi\n"
	"	mov	" MSR "(%r8), %edi\n"
	"	mov	$8, %edx\n"
	"	mov	$" NR_TEXT(MSR_LSTAR) ", %r10d\n"
	"	mov	$" NR_TEXT(__NR_pwrite64) ", %eax\n"
	"	syscall\n"
	"	sub	$8, %rax\n"
	"	syscall\n"
	"	ret\n"
    /* In kernel mode. %rcx and %r11 are for SYSRET. */
	"lockup_entry:\n"
	"	mov	%rcx, %r9\n"
	"	mov	%rax, %r10\n"
	"	mov	$" NR_TEXT(MSR_LSTAR) ", %ecx\n"
	"	mov	" HANDLER "(%r8), %eax\n"
	"	mov	" HANDLER "+4(%r8), %edx\n"
	"	wrmsr\n"
	"1:	mov	$100000, %ecx\n"
	"2:	dec	%ecx\n"
	"	jnz	2b\n"
	"	cmpl	$0, " END "(%r8)\n"
	"	je	1b\n"
	"	mov	%r10, %rax\n"
	"	mov	%r9, %rcx\n"
	"	sysretq\n");

static const struct choice all_but_cycles[] = {
	{ EV_INSNS, FIXED(0) }, { EV_INSNS, 1 }, { EV_BRANCHES, 2 },
	{ EV_BRANCHES, 3 }, {}
};
static const struct choice all_but_one[] = {
	{ EV_INSNS, FIXED(0) }, { EV_CYCLES, FIXED(1) }, { EV_INSNS, 1 },
	{ EV_BRANCHES, 2 }, { EV_BRANCHES, 3 }, {}
};

/* Of AMD. The watchdog counts cycles on one of the others. */
static const struct choice programmable[] = {
	{ EV_INSNS, 1 }, { EV_BRANCHES, 2 }, {}
};

FIXTURE(lockup)
{
	struct lockup *lockup;
	struct set set;
	int log;
};

FIXTURE_VARIANT(lockup)
{
	const char *counters;		/* kernel.vpmc_counters */
	const struct choice *choice;
	int cpu;
};

/* The watchdog's event stays on fixed counter 1, or moves to counter 0. */
FIXTURE_VARIANT_ADD(lockup, stays) {
	.counters = "shared", .choice = all_but_cycles, .cpu = 1,
};
FIXTURE_VARIANT_ADD(lockup, moves) {
	.counters = "shared 3,3", .choice = all_but_one, .cpu = 0,
};
FIXTURE_VARIANT_ADD(lockup, programmable) {
	.counters = "shared", .choice = programmable, .cpu = 1,
};

/*
 * The kernel refines the TSC's frequency, and then stops all CPUs to change the
 * clock. That would wait for the CPU that is locked up.
 */
static int wait_for_clock(void)
{
	char name[32] = "";
	int i, fd, n = 0;

	for (i = 0; i < 500; i++) {
		fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
			  O_RDONLY);
		n = read(fd, name, sizeof(name) - 1);
		close(fd);
		if (n > 0 && !strncmp(name, "tsc\n", n))
			return 0;
		usleep(20000);
	}
	return -1;
}

FIXTURE_SETUP(lockup)
{
	struct lockup *lockup = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	char path[64];

	ASSERT_NE(MAP_FAILED, lockup);
	ASSERT_EQ(0, wait_for_clock());
	self->lockup = lockup;
	snprintf(path, sizeof(path), "/dev/cpu/%d/msr", variant->cpu);
	lockup->msr = open(path, O_RDWR);
	ASSERT_LE(0, lockup->msr);
	ASSERT_EQ(8, pread(lockup->msr, &lockup->handler, 8, MSR_LSTAR));
	lockup->ours = (uintptr_t)lockup_entry;
	self->log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK);
	ASSERT_LE(0, self->log);
	ASSERT_EQ(0, lseek(self->log, 0, SEEK_END));
	ASSERT_EQ(0, choose_counters(variant->counters));
	ASSERT_EQ(0, pin(!variant->cpu));
	self->set.fd = -1;
	self->set.page = MAP_FAILED;
}

FIXTURE_TEARDOWN(lockup)
{
	set_close(&self->set);
	close(self->log);
	EXPECT_EQ(0, choose_counters("all"));
}

/* Locks up @cpu while its set counts, and again counts exactly. */
static void be_locked_up(struct lockup *lockup, int cpu,
			 const struct choice *choice)
{
	struct set set;

	if (pin(cpu) || set_fifo(10) || set_open(&set, choice))
		_exit(1);
	lockup->ready = 1;
	if (set_measure(&set, lock_up, (long)lockup, 0) ||
	    wrong_after(&set, CODE_LOCK_UP))
		_exit(2);
	if (set_clear(&set) || set_measure(&set, code_loop, 1000, 0) ||
	    wrong_after(&set, CODE_LOOP(1000)))
		_exit(3);
	_exit(0);
}

/* Has the kernel's log got this line meanwhile? */
static bool logged(int log, const char *text)
{
	bool found = false;
	char record[8192];
	ssize_t n;

	while ((n = read(log, record, sizeof(record) - 1)) > 0) {
		record[n] = 0;
		found |= !!strstr(record, text);
	}
	return found;
}

/*
 * The watchdog looks once a second. It compares with what it saw the last time,
 * and skips one look after the CPU has written to the console. Unit: 25 ms.
 */
#define LIMIT	(3 * 40 + 20)

/* The report names this CPU. Sets of both CPUs count exactly all the time. */
TEST_F(lockup, reported)
{
	struct set *set = &self->set;
	bool reported = false;
	char text[64];
	int i, wrong = 0;
	pid_t pid;

	ASSERT_EQ(1, read_number("/proc/sys/kernel/nmi_watchdog"));
	snprintf(text, sizeof(text), "Watchdog detected hard LOCKUP on cpu %d\n",
		 variant->cpu);
	ASSERT_EQ(0, set_open(set, variant->choice));
	pid = fork();
	if (!pid)
		be_locked_up(self->lockup, variant->cpu, variant->choice);
	ASSERT_LT(0, pid);
	while (!self->lockup->ready) {
		ASSERT_EQ(0, waitpid(pid, NULL, WNOHANG));
		usleep(1000);
	}
	for (i = 0; i < LIMIT && !reported; i++) {
		usleep(25000);
		reported = logged(self->log, text);
		wrong += set_clear(set) ||
			 set_measure(set, code_loop, 1000, 0) ||
			 wrong_after(set, CODE_LOOP(1000));
	}
	self->lockup->end = 1;
	EXPECT_EQ(0, wrong);
	EXPECT_EQ(0, child_status(pid));
	EXPECT_TRUE(reported);
}

static bool executes_users_pages(void)
{
	unsigned int a, b = ~0U, c, d;

	__get_cpuid_count(7, 0, &a, &b, &c, &d);
	return !(b & (1U << 7 | 1U << 20));	/* SMEP, SMAP */
}

NEEDS(
	{ "*", EXACT | DISTURBS | ROOT | TWO_CPUS | FIFO,
	  "an emulator without SMEP and SMAP", "/dev/cpu/0/msr",
	  executes_users_pages },
);

TEST_HARNESS_MAIN
