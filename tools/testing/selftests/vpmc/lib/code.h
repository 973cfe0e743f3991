/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length: what the functions in code.S execute.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifndef CODE_H
#define CODE_H

/* For assembly; checked against <linux/vpmc.h> below. */
#define CODE_IOC_CONTROL	0xbf01
#define CODE_IOC_STOP		0xbf04
#define CODE_IOC_READ		0xbf06
#define CODE_IOC_RESUME		0xbf08
#define CODE_READ_SIZE		360
#define CODE_STATE_RUNNING	2
#define CODE_OVERFLOW_LOG	0x10000

/* exec_image.S: its descriptor, and what it executes until STOP */
#define EXEC_FD			100
#define EXEC_TURNS		4000000
#define EXEC_FEW_TURNS		100

/* What each child of code_clones() does. */
#define CODE_CLONES_TURNS	10

#ifndef __ASSEMBLER__

#include <stdint.h>
#include <linux/ioctl.h>
#include <linux/vpmc.h>

_Static_assert(CODE_IOC_CONTROL == VPMC_IOC_CONTROL, "CODE_IOC_CONTROL");
_Static_assert(CODE_IOC_STOP == VPMC_IOC_STOP, "CODE_IOC_STOP");
_Static_assert(CODE_IOC_READ == VPMC_IOC_READ, "CODE_IOC_READ");
_Static_assert(CODE_IOC_RESUME == VPMC_IOC_RESUME, "CODE_IOC_RESUME");
_Static_assert(CODE_STATE_RUNNING == VPMC_STATE_RUNNING, "CODE_STATE_RUNNING");
_Static_assert(CODE_READ_SIZE == sizeof(struct vpmc_read), "CODE_READ_SIZE");

/* Instructions and branches that user mode executes. */
struct code_count {
	uint64_t insns;
	uint64_t branches;
};

typedef long (*code_fn)(long a, long b);

long code_measure(int fd, unsigned int start, unsigned int stop,
		  code_fn body, long a, long b);
extern const char code_measure_started[], code_measure_stopped[];
long code_control(int fd, const struct vpmc_control *control, long n);

long code_nothing(long a, long b);
long code_loop(long n, long unused);
long code_write_out(long fd, const void *from, long n);
long code_long_loop(long n, long unused);
long code_touch(long p, long pages);
long code_syscalls(long n, long unused);
long code_yield(long n, long turns);
long code_migrate(long masks, long n);
long code_sleep(long ts, long n);
long code_sleep_loop(long ts, long n);
long code_signals(long set, long n);
long code_fork(long n, long unused);
long code_clone(long flags, long n);
long code_clones(long flags, long n);
long code_serve(long fd, long turns);
long code_read(long fd, long read);
long code_map(long fd, long unused);
long code_exit(long n, long unused);
long code_exec(long path, long argv);
long code_wait(long fd, long n);
long code_write(long fd, long text);
long code_until(long state, long turns);

void code_handler(int sig);
void code_restorer(void);
extern volatile uint64_t code_signals_taken;

/* What a signal reported. The first signal is in element 0. */
struct code_overflow {
	uint64_t ip;
	uint32_t mask;
	int32_t code;
};

void code_overflow(int sig);
extern const char code_overflow_resumed[];
extern volatile uint64_t code_overflow_fd, code_overflow_error, code_overflows;
extern volatile struct code_overflow code_overflow_log[CODE_OVERFLOW_LOG];

struct code_armed {
	code_fn body;
	long a;
	long b;
	unsigned long skip;
	unsigned long action;
	unsigned long status[4];
};

long code_armed(long armed, long unused);

#define CODE_COUNT(i, b)	((struct code_count){ (i), (b) })

#define CODE_MEASURE		CODE_COUNT(10, 1)
/* Part of CODE_MEASURE that is executed before the body. */
#define CODE_MEASURE_HEAD	CODE_COUNT(4, 1)
#define CODE_CONTROL(n)		CODE_COUNT(2 * (n) + 5, (n))
/* Of the first instruction in the loop. */
#define CODE_DEC_LENGTH		3
#define CODE_NOTHING		CODE_COUNT(2, 1)
/* In bytes */
#define CODE_LOOP_LENGTH	8
#define CODE_LOOP(n)		CODE_COUNT(2 * (n) + 2, (n) + 1)
#define CODE_LONG_LOOP(n)	CODE_COUNT(16 * (n) + 2, (n) + 1)
#define CODE_TOUCH(n)		CODE_COUNT(205 * (n) + 2, 101 * (n) + 1)
#define CODE_SYSCALLS(n)	CODE_COUNT(4 * (n) + 2, (n) + 1)
#define CODE_YIELD(n, turns)	CODE_COUNT((2 * (turns) + 5) * (n) + 1, \
					   ((turns) + 1) * (n) + 1)
#define CODE_MIGRATE(n)		CODE_COUNT(2010 * (n) + 5, 1001 * (n) + 1)
#define CODE_SLEEP(n)		CODE_COUNT(7 * (n) + 5, (n) + 1)
#define CODE_SLEEP_LOOP(n)	CODE_COUNT(20008 * (n) + 5, 10001 * (n) + 1)
#define CODE_SIGNALS(n)		CODE_COUNT(2 * (n) + 15, (n) + 1)
#define CODE_ONE_SIGNAL		CODE_COUNT(4, 1)
/*
 * A set with REARM counts all of the handler. A set that is resumed counts the
 * rest after RESUME.
 */
#define CODE_OVERFLOW		CODE_COUNT(20, 0)
#define CODE_OVERFLOW_RESUMED	CODE_COUNT(4, 0)
#define CODE_FORK		CODE_COUNT(4016, 2002)
/* For the parent, for the child, and for the parent up to the system call. */
#define CODE_CLONE		CODE_COUNT(9, 2)
#define CODE_CLONE_CHILD(n)	CODE_COUNT(2 * (n) + 6, (n) + 1)
#define CODE_CLONE_HEAD		CODE_COUNT(6, 0)
#define CODE_CLONES(n)		CODE_COUNT(16 * (n) + 10, 2 * (n) + 1)
#define CODE_FORK_CHILD(n)	CODE_COUNT(2 * (n) + 6, (n) + 1)
#define CODE_WAIT(n)		CODE_COUNT(2 * (n) + 6, (n) + 1)
#define CODE_WRITE		CODE_COUNT(5, 1)
#define CODE_UNTIL(n)		CODE_COUNT(3 * (n) + 2, (n) + 1)
/* For each byte, and once at the end. */
#define CODE_SERVE(turns)	CODE_COUNT(2 * (turns) + 9, (turns) + 2)
#define CODE_SERVE_END		CODE_COUNT(10, 2)
#define CODE_READ		CODE_COUNT(5, 1)
#define CODE_MAP		CODE_COUNT(14, 1)
/* In addition to the body, and the part before the body. */
#define CODE_ARMED		CODE_COUNT(27, 2)
#define CODE_ARMED_HEAD		CODE_COUNT(12, 1)
/* Up to the system call. */
#define CODE_WAIT_HEAD(n)	CODE_COUNT(2 * (n) + 4, (n))
#define CODE_WRITE_HEAD		CODE_COUNT(3, 0)
#define CODE_EXIT(n)		CODE_COUNT(2 * (n) + 2, (n))
#define CODE_EXEC		CODE_COUNT(3, 0)
#define CODE_EXEC_IMAGE		CODE_COUNT(2 * EXEC_TURNS + 8, EXEC_TURNS + 1)
#define CODE_EXEC_FEW		CODE_COUNT(2 * EXEC_FEW_TURNS + 11, \
					   EXEC_FEW_TURNS + 3)

static inline struct code_count code_add(struct code_count a,
					 struct code_count b)
{
	return CODE_COUNT(a.insns + b.insns, a.branches + b.branches);
}

static inline struct code_count code_times(struct code_count a, uint64_t n)
{
	return CODE_COUNT(a.insns * n, a.branches * n);
}

/* A loop between START and STOP. */
static inline struct code_count measured(uint64_t turns)
{
	return code_add(CODE_MEASURE, CODE_LOOP(turns));
}

#endif /* __ASSEMBLER__ */
#endif /* CODE_H */
