// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * Tests the harness: known vectors, start and stop that save all registers,
 * errors.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "lib_test.h"

#define N	200
#define NR	2

/*
 * Loops @turns times. INSTRUCTIONS() and BRANCHES() also count what calls it: a
 * constant, the call and the return.
 */
void turns_loop(uint64_t turns);
__asm__(".text\nturns_loop:\n1:\tdec %rdi\n\tjnz 1b\n\tret\n");

#define INSTRUCTIONS(turns)	(2 * (uint64_t)(turns) + 3)
#define BRANCHES(turns)		((uint64_t)(turns) + 2)

FIXTURE(harness) {
	struct vpmc_regions *regions;
	struct vpmc_vectors vectors;
	uint64_t raw[(NR + 1) * N], corrected[(NR + 1) * N];
	uint8_t dirty[N];
};

FIXTURE_VARIANT(harness) {
	unsigned int flags;	/* flags of the regions */
	unsigned int how;
};

FIXTURE_VARIANT_ADD(harness, plain) { .flags = 0 };
FIXTURE_VARIANT_ADD(harness, lfence) { .flags = VPMC_REGIONS_LFENCE };
FIXTURE_VARIANT_ADD(harness, save) { .how = VPMC_HARNESS_SAVE };

FIXTURE_SETUP(harness)
{
	struct vpmc_error error;

	ASSERT_EQ(0, vpmc_regions_open(&self->regions, "instructions,branches",
				       variant->flags, &error)) {
		TH_LOG("%s", error.text);
	}
	memset(&self->vectors, 0xff, sizeof(self->vectors));
	self->vectors.raw = self->raw;
	self->vectors.corrected = self->corrected;
	self->vectors.dirty = self->dirty;
}

FIXTURE_TEARDOWN(harness)
{
	vpmc_regions_close(self->regions);
}

static void by_index(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
		     void *arg)
{
	start();
	turns_loop(i + 1);
	stop();
}

TEST_F(harness, known_vector)
{
	struct vpmc_vectors *v = &self->vectors;
	unsigned int i, clean = 0;

	ASSERT_EQ(0, vpmc_harness(self->regions, NULL, by_index, NULL, N,
				  variant->how, v));
	ASSERT_EQ(NR, v->nr);
	for (i = 0; i < N; i++) {
		if (self->dirty[i])
			continue;
		clean++;
		EXPECT_EQ(INSTRUCTIONS(i + 1), self->corrected[i]);
		EXPECT_EQ(BRANCHES(i + 1), self->corrected[N + i]);
		EXPECT_EQ(self->corrected[i] + v->cost[0], self->raw[i]);
		EXPECT_EQ(self->corrected[N + i] + v->cost[1], self->raw[N + i]);
		EXPECT_LT(0, self->raw[2 * N + i]);
	}
	EXPECT_EQ(N, clean + v->nr_dirty);
	EXPECT_LT(N / 2, clean);
	/* no vector is requested */
	v->raw = v->corrected = NULL;
	v->dirty = NULL;
	EXPECT_EQ(0, vpmc_harness(self->regions, NULL, by_index, NULL, N,
				  variant->how, v));
}

/* A run with several parts, and a baseline with as many. */
static void two_parts(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
		      void *arg)
{
	start();
	turns_loop(10);
	stop();
	turns_loop(1000);
	start();
	turns_loop(i + 1);
	stop();
}

static void no_parts(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
		     void *arg)
{
	start();
	stop();
	turns_loop(1000);
	start();
	stop();
}

TEST_F(harness, several_parts)
{
	unsigned int i;

	ASSERT_EQ(0, vpmc_harness(self->regions, no_parts, two_parts, NULL, N,
				  variant->how, &self->vectors));
	for (i = 0; i < N; i++)
		if (!self->dirty[i])
			EXPECT_EQ(INSTRUCTIONS(10) + INSTRUCTIONS(i + 1),
				  self->corrected[i]);
}

/*
 * Leaves the CPU. The time is longer than an interrupt and the work that follows
 * it. Otherwise it could be over before the thread has left the CPU.
 */
static void leave_the_cpu(void)
{
	usleep(5000);
}

static void sleeps_sometimes(vpmc_mark_fn *start, vpmc_mark_fn *stop,
			     unsigned long i, void *arg)
{
	if (i % 5 == 1)
		leave_the_cpu();
	start();
	turns_loop(7);
	if (i % 5 == 2)
		leave_the_cpu();
	stop();
}

TEST_F(harness, dirty)
{
	unsigned int i;

	ASSERT_EQ(0, vpmc_harness(self->regions, NULL, sleeps_sometimes, NULL, N,
				  variant->how, &self->vectors));
	for (i = 0; i < N; i++)
		if (i % 5 == 2)
			EXPECT_EQ(1, self->dirty[i]);
	EXPECT_LE(N / 5, self->vectors.nr_dirty);
	EXPECT_GE(N / 5 + 3, self->vectors.nr_dirty);
}

static void function(unsigned long i, void *arg)
{
	*(unsigned long *)arg += i;
	/* the same instructions as the baseline's empty function, and a loop */
	__asm__ __volatile__("mov $50, %%ecx\n1:\tdec %%ecx\n\tjnz 1b"
			     : : : "ecx", "cc");
}

TEST_F(harness, one_function)
{
	unsigned long sum = 0;
	struct vpmc_harness_call call = { function, &sum };
	unsigned int i;

	ASSERT_EQ(0, vpmc_harness(self->regions, vpmc_harness_nothing,
				  vpmc_harness_around, &call, N, variant->how,
				  &self->vectors));
	EXPECT_EQ(N * (N - 1) / 2, sum);
	/* an addition to memory, a constant and the loop */
	for (i = 0; i < N; i++)
		if (!self->dirty[i])
			EXPECT_EQ(1 + 1 + 2 * 50, self->corrected[i]);
}

/* Calls start and stop wrongly, in the way that @arg says. */
static void wrong(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
		  void *arg)
{
	long what = i == 3 ? (long)arg : 0;

	if (what == 3)
		stop();
	start();
	if (what == 1)
		start();
	if (what != 2)
		stop();
}

TEST_F(harness, errors)
{
	static const int answer[] = { 0, -EINVAL, -EINVAL, -ENOENT };
	struct vpmc_vectors *v = &self->vectors;
	long what;

	for (what = 0; what < 4; what++) {
		EXPECT_EQ(answer[what],
			  vpmc_harness(self->regions, NULL, wrong, (void *)what,
				       10, variant->how, v));
		EXPECT_EQ(what ? 3 : 0, v->failed);
	}
	EXPECT_EQ(-EINVAL, vpmc_harness(self->regions, NULL, wrong, NULL, 1,
					2, v));
	EXPECT_EQ(-EINVAL, vpmc_harness(self->regions, NULL, NULL, NULL, 1, 0,
					v));
	EXPECT_EQ(0, v->cost[0]);
	EXPECT_EQ(0, vpmc_harness(self->regions, NULL, by_index, NULL, 0,
				  variant->how, v));
}

/* Somebody programs another set between start and stop of one run. */
static void replaces_set(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i, void *arg)
{
	start();
	if (i == 5)
		vpmc_program(vpmc_regions_handle(arg), NULL, 0, 0, NULL);
	stop();
}

TEST_F(harness, replaced_set)
{
	struct vpmc_vectors *v = &self->vectors;

	EXPECT_EQ(0, vpmc_harness(self->regions, NULL, replaces_set, self->regions, 5,
				  variant->how, v));
	/* in the last run, so that no other one begins */
	EXPECT_EQ(-ENODATA, vpmc_harness(self->regions, NULL, replaces_set, self->regions, 6,
					 variant->how, v));
	EXPECT_EQ(5, v->failed);
}

/* Stops the set before a run. This one cannot begin then, nor one of a later call. */
static void stops_set(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i, void *arg)
{
	if (i == 5)
		vpmc_stop(vpmc_regions_handle(arg));
	start();
	stop();
}

TEST_F(harness, stopped_set)
{
	struct vpmc_vectors *v = &self->vectors;

	EXPECT_EQ(-ENODATA, vpmc_harness(self->regions, NULL, stops_set, self->regions, 10,
					 variant->how, v));
	EXPECT_EQ(5, v->failed);
	EXPECT_EQ(-ENODATA, vpmc_harness(self->regions, NULL, by_index, NULL, 10,
					 variant->how, v));
	EXPECT_EQ(0, v->failed);
}

/*
 * Sets all integer registers, the SSE registers and the carry flag, calls start
 * and stop, and compares them. Returns 1 if all are unchanged.
 */
int registers_are_kept(vpmc_mark_fn *start, vpmc_mark_fn *stop);
__asm__(".text\n"
	".macro each_register act\n"
	".set n, 0x100\n"
	".irp r, rax, rbx, rcx, rdx, rsi, rdi, rbp, r8, r9, r10, r11, r12, r13, r14, r15\n"
	"	.set n, n + 1\n"
	"	\\act \\r\n"
	".endr\n"
	".endm\n"
	".macro each_vector act\n"
	".set n, 0x200\n"
	".irp x, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15\n"
	"	.set n, n + 1\n"
	"	\\act \\x\n"
	".endr\n"
	".endm\n"
	".macro set_register r\n	mov $n, %\\r\n.endm\n"
	".macro compare_register r\n	cmp $n, %\\r\n	jne 8f\n.endm\n"
	".macro set_vector x\n	mov $n, %eax\n	movq %rax, %xmm\\x\n.endm\n"
	".macro compare_vector x\n	movq %xmm\\x, %rax\n	cmp $n, %rax\n	jne 8f\n.endm\n"
	"registers_are_kept:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n	push %r13\n"
	"	push %r14\n	push %r15\n	push %rsi\n	push %rdi\n"
	"	sub $8, %rsp\n"
	"	each_vector set_vector\n"
	"	each_register set_register\n"
	"	stc\n"
	"	call *8(%rsp)\n"
	"	call *16(%rsp)\n"
	"	jnc 8f\n"
	"	each_register compare_register\n"
	"	each_vector compare_vector\n"
	"	mov $1, %eax\n"
	"	jmp 9f\n"
	"8:	xor %eax, %eax\n"
	"9:	add $24, %rsp\n"
	"	pop %r15\n	pop %r14\n	pop %r13\n	pop %r12\n"
	"	pop %rbp\n	pop %rbx\n	ret\n");

static void count_kept(vpmc_mark_fn *start, vpmc_mark_fn *stop, unsigned long i,
		       void *arg)
{
	*(unsigned int *)arg += registers_are_kept(start, stop);
}

TEST_F(harness, registers)
{
	unsigned int kept = 0;

	ASSERT_EQ(0, vpmc_harness(self->regions, no_parts, count_kept, &kept, N,
				  variant->how, &self->vectors));
	/* without saving, a call of a C function does not keep them */
	EXPECT_EQ(variant->how & VPMC_HARNESS_SAVE ? N : 0, kept);
}

TEST_HARNESS_MAIN
