// SPDX-License-Identifier: GPL-2.0
/*
 * The trigger of the test interface: a thread is held or interrupted before
 * each instruction of a piece of code, in user mode and in the kernel.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "guest.h"
#include "pmu-trigger.h"
#include <pthread.h>

#define STEPS		50
#define STEP_BYTES	7
#define VECTOR_IRQ_WORK	0xf6
#define GO_LAST		3001

/* steps++, STEPS times, and a return */
extern char step_code[], step_code_end[];
extern volatile uint64_t steps;
void run_step_code(void);

asm(".pushsection .text\n"
    "	.balign 64\n"
    "run_step_code:\n"
    "step_code:\n"
    "	.rept 50\n"
    "	incq	steps(%rip)\n"
    "	.endr\n"
    "	ret\n"
    "step_code_end:\n"
    "	.popsection\n"
    "	.pushsection .bss\n"
    "	.balign 8\n"
    "steps:	.quad 0\n"
    "	.popsection");

/* Actions of the thread on CPU 1 while the one on CPU 0 is held */
enum answer { GO, GO_AND_COUNT, PAUSE, SPIN, SLEEP };

static struct {
	enum answer answer;
	uint64_t go;			/* instructions */
	struct pmu_trigger seen;
	uint64_t steps_seen;
	volatile uint64_t turns;
	volatile int ready, busy, over, quit;
} other;

static void go_and_count(void)
{
	struct pmu_trigger t = { PMU_TEST_TRIGGER, other.go, PMU_TRIGGER_GO, 0 };

	asm volatile("cpuid\n"
		     "1:	incq	%4\n"
		     "	cmpl	$0, %5\n"
		     "	je	1b"
		     : "+a"(t.state), "+b"(t.pc), "+c"(t.count), "+d"(t.events),
		       "+m"(other.turns) : "m"(other.over) : "memory", "cc");
}

/* The code has ended. Makes the other thread wait for the next trigger. */
static void end_run(void)
{
	other.over = 1;
	pmu_trigger_disarm();
	while (other.busy)
		asm volatile("pause");
}

static void *other_thread(void *unused)
{
	struct pmu_trigger t;

	(void)unused;
	run_on_cpu(1);
	other.ready = 1;
	while (!other.quit) {
		t = pmu_trigger_status();
		if (pmu_trigger_state(&t) != PMU_TRIGGER_HELD || other.over) {
			pmu_trigger_wait(t.events);
			continue;
		}
		other.busy = 1;
		other.seen = t;
		other.steps_seen = steps;
		switch (other.answer) {
		case GO:
			pmu_trigger_go(0);
			break;
		case GO_AND_COUNT:
			go_and_count();
			break;
		case PAUSE:
			while (!other.over)
				asm volatile("pause");
			break;
		case SPIN:
			while (!other.over)
				;
			break;
		case SLEEP:
			while (!other.over)
				usleep(100000);
			break;
		}
		other.busy = 0;
	}
	return NULL;
}

/*
 * Runs the code with a trigger before instruction k. Returns the status after
 * it.
 */
static struct pmu_trigger run(unsigned int k, unsigned int action,
			      enum answer answer)
{
	struct pmu_trigger t;

	other.answer = answer;
	other.over = 0;
	other.turns = 0;
	steps = 0;
	if (pmu_trigger_arm(0, k, action))
		die("the trigger");
	run_step_code();
	t = pmu_trigger_status();
	end_run();
	return t;
}

static void test_hold(void)
{
	int wrong = 0, cause = 0, k;
	struct pmu_trigger t;

	for (k = 0; k <= STEPS; k++) {
		t = run(k, PMU_TRIGGER_HOLD, GO);
		wrong += other.seen.pc != (unsigned long)step_code + k * STEP_BYTES;
		wrong += other.steps_seen != (uint64_t)k;
		wrong += other.seen.count != k + 1ul;
		wrong += pmu_trigger_cpl(&other.seen) != 3;
		wrong += !(other.seen.state & PMU_TRIGGER_IF);
		wrong += pmu_trigger_state(&t) != PMU_TRIGGER_FIRED;
		wrong += steps != STEPS;
		cause += pmu_trigger_cause(&t) != PMU_TRIGGER_BY_GO;
	}
	check_eq("held before each instruction", wrong, 0);
	check_eq("until GO", cause, 0);
	t = run(k, PMU_TRIGGER_HOLD, GO);
	check(pmu_trigger_state(&t) == PMU_TRIGGER_ARMED && steps == STEPS,
	      "not past the end");
	check_eq("and the length is told", t.count, STEPS + 1);
}

/* Waits until the others have executed exactly n instructions. */
static void test_go(void)
{
	static const uint64_t some[] = { 1, 2, 3, 4, 100, GO_LAST };
	struct pmu_trigger t;
	int wrong = 0;
	size_t i;

	for (i = 0; i < sizeof(some) / sizeof(*some); i++) {
		other.go = some[i];
		/* Holds before RET. The next instruction then reads turns. */
		other.answer = GO_AND_COUNT;
		other.over = other.turns = 0;
		if (pmu_trigger_arm(0, STEPS, PMU_TRIGGER_HOLD))
			die("the trigger");
		run_step_code();
		wrong += other.turns != (some[i] + 2) / 3;
		t = pmu_trigger_status();
		wrong += pmu_trigger_cause(&t) != PMU_TRIGGER_BY_GO;
		end_run();
	}
	check_eq("GO after n instructions of the others", wrong, 0);
}

static void test_others(void)
{
	struct pmu_trigger t;

	t = run(3, PMU_TRIGGER_HOLD, SLEEP);
	check_eq("held until the others sleep", pmu_trigger_cause(&t),
		 PMU_TRIGGER_BY_IDLE);
	t = run(3, PMU_TRIGGER_HOLD, PAUSE);
	check_eq("held until another one pauses", pmu_trigger_cause(&t),
		 PMU_TRIGGER_BY_SPIN);
	t = run(3, PMU_TRIGGER_HOLD, SPIN);
	check_eq("held until the limit", pmu_trigger_cause(&t),
		 PMU_TRIGGER_BY_LIMIT);
}

static void test_refused(void)
{
	check(pmu_trigger_arm(2, 0, PMU_TRIGGER_HOLD), "refused: no such CPU");
	check(pmu_trigger_arm(0, 0, PMU_TRIGGER_PMI + 1), "refused: no such action");
	check(pmu_trigger_range(PMU_TRIGGER_RANGES, 0, 1), "refused: no such range");
	check(pmu_trigger_go(0), "refused: nothing is held");
	check(pmu_trigger_result(pmu_trigger(PMU_TRIGGER_GO + 1, 0, 0, 0)),
	      "refused: no such command");
}

/* Returns how many irq_work interrupts CPU 0 has had */
static uint64_t irq_works(void)
{
	FILE *f = fopen("/proc/interrupts", "r");
	unsigned long n = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " IWI: %lu", &n) == 1)
			break;
	if (!f || feof(f))
		die("IWI in /proc/interrupts");
	fclose(f);
	return n;
}

/* Returns where a kernel function begins, and in *end where the next one does */
static unsigned long symbol(const char *name, unsigned long *end)
{
	FILE *f = fopen("/proc/kallsyms", "r");
	unsigned long address, found = 0;
	char type, what[128];

	*end = 0;
	while (f && !*end && fscanf(f, "%lx %c %127s%*[^\n]", &address, &type, what) == 3) {
		if (found && address > found)
			*end = address;
		if (!strcmp(what, name))
			found = address;
	}
	if (!f || !*end)
		die(name);
	fclose(f);
	return found;
}

static void test_interrupt(void)
{
	const unsigned int action = PMU_TRIGGER_INTERRUPT | VECTOR_IRQ_WORK << 8;
	unsigned long start, end, k, on = 0, off = 0;
	uint64_t before = irq_works();
	struct pmu_trigger t;
	int wrong = 0;

	for (k = 0; k <= STEPS; k++) {
		t = run(k, action, GO);
		wrong += pmu_trigger_state(&t) != PMU_TRIGGER_FIRED;
		wrong += steps != STEPS;
	}
	check_eq("interrupted before each instruction", wrong, 0);
	check_eq("so many interrupts", irq_works() - before, STEPS + 1);

	/* schedule() is called without an interrupt, away and back */
	start = symbol("__schedule", &end);
	pmu_trigger_range(0, start, end);
	before = irq_works();
	for (k = 0, wrong = 0;; k++) {
		if (pmu_trigger_arm(0, k, action))
			die("the trigger");
		usleep(1);
		t = pmu_trigger_status();
		pmu_trigger_disarm();
		if (pmu_trigger_state(&t) == PMU_TRIGGER_ARMED)
			break;
		wrong += t.pc < start || t.pc >= end || t.count != k + 1;
		wrong += pmu_trigger_cpl(&t) != 0;
		on += !!(t.state & PMU_TRIGGER_IF);
		off += !(t.state & PMU_TRIGGER_IF);
	}
	check_eq("__schedule(): interrupted before each instruction", wrong, 0);
	check_eq("__schedule(): so many interrupts", irq_works() - before, k);
	check(on && off, "__schedule(): with interrupts on, and off");
}

int main(void)
{
	pthread_t thread;

	run_on_cpu(0);
	if (pthread_create(&thread, NULL, other_thread, NULL))
		die("pthread_create");
	while (!other.ready)
		usleep(1000);
	pmu_trigger_range(0, (unsigned long)step_code,
			  (unsigned long)step_code_end);
	test_hold();
	test_go();
	test_others();
	test_refused();
	test_interrupt();
	other.quit = 1;
	pmu_trigger_disarm();
	pthread_join(thread, NULL);
	return done_testing();
}
