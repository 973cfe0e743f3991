/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Code of known length. code.h says how many instructions and how many
 * branches each function executes, "ret" included and its caller's "call" not.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <asm/unistd_64.h>
#include <pmu-test-msr.h>
#include "code.h"

#define FUNC(name)	.globl name; .type name, @function; .balign 64; name

/*
 * Ends one of %r9 iterations, each of which makes a system call. ORs the
 * results together.
 */
	.macro	next_turn
	or	%rax, %r10
	dec	%r9
	jnz	1b
	mov	%r10, %rax
	ret
	.endm

	.text

/*
 * long code_measure(int fd, unsigned int start, unsigned int stop,
 *		     code_fn body, long a, long b)
 *
 * ioctl(fd, start, 0); body(a, b); ioctl(fd, stop, 0). Between the two system
 * calls it executes CODE_MEASURE besides the body. Returns the three results
 * or'ed together.
 */
FUNC(code_measure):
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	mov	%edi, %ebx
	mov	%edx, %ebp
	mov	%rcx, %r12
	mov	%r8, %r13
	mov	%r9, %r14
	xor	%edx, %edx
	mov	$__NR_ioctl, %eax
	syscall
	.globl	code_measure_started
code_measure_started:
	mov	%rax, %r15		/* 1: the first that is counted */
	mov	%r13, %rdi		/* 2 */
	mov	%r14, %rsi		/* 3 */
	call	*%r12			/* 4, a branch */
	or	%rax, %r15		/* 5 */
	mov	%ebx, %edi		/* 6 */
	mov	%ebp, %esi		/* 7 */
	xor	%edx, %edx		/* 8 */
	mov	$__NR_ioctl, %eax	/* 9 */
	syscall				/* 10: the last */
	.globl	code_measure_stopped
code_measure_stopped:
	or	%r15, %rax
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret

/*
 * long code_control(int fd, struct vpmc_control *control, long n)
 *
 * ioctl(fd, VPMC_IOC_CONTROL, control), a loop, ioctl(fd, VPMC_IOC_STOP, 0).
 */
FUNC(code_control):
	mov	%rdx, %r8
	mov	%rsi, %rdx
	mov	$CODE_IOC_CONTROL, %esi
	mov	$__NR_ioctl, %eax
	syscall
	mov	%rax, %r9
1:	dec	%r8
	jnz	1b
	mov	$CODE_IOC_STOP, %esi
	xor	%edx, %edx
	mov	$__NR_ioctl, %eax
	syscall
	or	%r9, %rax
	ret

/* long code_write_out(long fd, const void *from, long n): a system call, at any address */
FUNC(code_write_out):
	mov	$__NR_write, %eax
	syscall
	ret

/* long code_nothing(void) */
FUNC(code_nothing):
	xor	%eax, %eax
	ret

/* long code_loop(long n) */
FUNC(code_loop):
1:	dec	%rdi
	jnz	1b
	xor	%eax, %eax
	ret

/* long code_long_loop(long n): 16 instructions each turn */
FUNC(code_long_loop):
	xor	%eax, %eax
1:	.rept	7
	lea	1(%rax), %rdx
	mov	%rdx, %rcx
	.endr
	dec	%rdi
	jnz	1b
	ret

/*
 * long code_touch(char *p, long pages): writes to the first byte of each. A loop
 * follows. It is longer than the tolerance of a fault.
 */
FUNC(code_touch):
1:	movb	$1, (%rdi)
	add	$4096, %rdi
	mov	$100, %ecx
2:	dec	%ecx
	jnz	2b
	dec	%rsi
	jnz	1b
	xor	%eax, %eax
	ret

/* long code_syscalls(long n): getppid(), n times */
FUNC(code_syscalls):
1:	mov	$__NR_getppid, %eax
	syscall
	dec	%rdi
	jnz	1b
	xor	%eax, %eax
	ret

/* long code_yield(long n, long turns): a loop, then sched_yield(), n times */
FUNC(code_yield):
1:	mov	%rsi, %rdx
2:	dec	%rdx
	jnz	2b
	mov	$__NR_sched_yield, %eax
	syscall
	dec	%rdi
	jnz	1b
	ret

/*
 * long code_migrate(const long mask[2], long n): sched_setaffinity() of the
 * caller to mask[1], mask[0], ..., n times; the array is aligned to 16 bytes. A loop
 * follows each call. It is longer than the tolerance of 100 migrations.
 */
FUNC(code_migrate):
	mov	%rdi, %r8
	mov	%rsi, %r9
	xor	%r10d, %r10d
1:	xor	$8, %r8
	xor	%edi, %edi
	mov	$8, %esi
	mov	%r8, %rdx
	mov	$__NR_sched_setaffinity, %eax
	syscall
	mov	$1000, %ecx
2:	dec	%ecx
	jnz	2b
	next_turn

/* long code_sleep(const struct timespec *ts, long n): nanosleep(), n times */
FUNC(code_sleep):
	mov	%rdi, %r8
	mov	%rsi, %r9
	xor	%r10d, %r10d
1:	mov	%r8, %rdi
	xor	%esi, %esi
	mov	$__NR_nanosleep, %eax
	syscall
	next_turn

/*
 * long code_sleep_loop(const struct timespec *ts, long n): code_sleep() with a loop
 * after each sleep. It is longer than the tolerance of 100 sleeps.
 */
FUNC(code_sleep_loop):
	mov	%rdi, %r8
	mov	%rsi, %r9
	xor	%r10d, %r10d
1:	mov	%r8, %rdi
	xor	%esi, %esi
	mov	$__NR_nanosleep, %eax
	syscall
	mov	$10000, %ecx
2:	dec	%ecx
	jnz	2b
	next_turn

/*
 * long code_signals(const sigset_t *set, long n): a loop with these signals
 * unblocked. The handler and its return are counted separately.
 */
FUNC(code_signals):
	mov	%rdi, %r8
	mov	%rsi, %r9
	mov	$1, %edi		/* SIG_UNBLOCK */
	mov	%r8, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$__NR_rt_sigprocmask, %eax
	syscall
1:	dec	%r9
	jnz	1b
	xor	%edi, %edi		/* SIG_BLOCK */
	mov	%r8, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$__NR_rt_sigprocmask, %eax
	syscall
	ret

FUNC(code_handler):
	incq	code_signals_taken(%rip)
	ret

FUNC(code_restorer):
	mov	$__NR_rt_sigreturn, %eax
	syscall

/*
 * void code_overflow(int sig, siginfo_t *info, void *context)
 *
 * A handler that logs the information of an overflow's signal, asks to resume and
 * returns on its own.
 */
FUNC(code_overflow):
	mov	code_overflows(%rip), %rax
	shl	$4, %rax
	lea	code_overflow_log(%rip), %rcx
	add	%rax, %rcx
	mov	16(%rsi), %rax		/* si_band */
	mov	%rax, (%rcx)
	mov	24(%rsi), %eax		/* si_fd */
	mov	%eax, 8(%rcx)
	mov	8(%rsi), %eax		/* si_code */
	mov	%eax, 12(%rcx)
	incq	code_overflows(%rip)
	mov	code_overflow_fd(%rip), %edi
	mov	$CODE_IOC_RESUME, %esi
	xor	%edx, %edx
	mov	$__NR_ioctl, %eax
	syscall
	.globl	code_overflow_resumed
code_overflow_resumed:
	or	%rax, code_overflow_error(%rip)	/* 17 */
	add	$8, %rsp
	mov	$__NR_rt_sigreturn, %eax
	syscall				/* 20 */

/*
 * long code_fork(long n): the child does a loop and ends, the parent waits. The parent
 * does a loop before that and after it.
 */
FUNC(code_fork):
	mov	%rdi, %r8
	mov	$1000, %ecx
1:	dec	%ecx
	jnz	1b
	mov	$__NR_fork, %eax
	syscall
	mov	%rax, %r9
	test	%rax, %rax
	jz	1f
	mov	%rax, %rdi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
	sub	%r9, %rax
	mov	$1000, %ecx
2:	dec	%ecx
	jnz	2b
	ret
1:	dec	%r8
	jnz	1b
	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

/*
 * long code_clone(long flags, long n): the child does a loop and ends; the
 * parent gets its id. The child has its parent's stack, and does not use it.
 */
FUNC(code_clone):
	mov	%rsi, %r9
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_clone, %eax
	syscall				/* 6 */
	test	%rax, %rax
	jz	code_clone_child
	ret				/* 9 */
code_clone_child:
	test	%rax, %rax		/* of the child: 3 */
1:	dec	%r9
	jnz	1b
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall				/* 6 */

/*
 * long code_clones(long flags, long n): code_clone() with a loop of
 * CODE_CLONES_TURNS, n times; waits for the child each time
 */
FUNC(code_clones):
	push	%rbx
	push	%rbp
	mov	%rdi, %r8
	mov	%rsi, %rbp
	xor	%ebx, %ebx		/* 5 */
1:	mov	%r8, %rdi		/* 1 of each turn */
	mov	$CODE_CLONES_TURNS, %r9d
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_clone, %eax
	syscall				/* 7 */
	test	%rax, %rax
	jz	code_clone_child	/* 9 */
	or	%rax, %rbx		/* an error stays */
	mov	$-1, %rdi
	mov	$__NR_wait4, %eax
	syscall				/* 13 */
	or	%rax, %rbx
	dec	%rbp
	jnz	1b			/* 16 */
	mov	%rbx, %rax
	sar	$63, %rax
	pop	%rbp
	pop	%rbx
	ret				/* 10 */

/*
 * long code_serve(int fd, long turns): reads single bytes from a pipe up to its
 * end, and runs a loop after each
 */
FUNC(code_serve):
	mov	%rdi, %r8
	mov	%rsi, %r9
1:	mov	%r8, %rdi
	lea	served(%rip), %rsi
	mov	$1, %edx
	xor	%eax, %eax		/* __NR_read */
	syscall
	test	%rax, %rax
	jle	3f
	mov	%r9, %rdx
2:	dec	%rdx
	jnz	2b
	jmp	1b
3:	ret

/* long code_read(int fd, struct vpmc_read *read) */
FUNC(code_read):
	mov	%rsi, %rdx
	mov	$CODE_IOC_READ, %esi
	mov	$__NR_ioctl, %eax
	syscall
	ret

/* long code_map(int fd): maps the page, reads from it and unmaps it */
FUNC(code_map):
	mov	%rdi, %r8
	xor	%edi, %edi
	mov	$4096, %esi
	mov	$1, %edx		/* PROT_READ */
	mov	$1, %r10d		/* MAP_SHARED */
	xor	%r9d, %r9d
	mov	$__NR_mmap, %eax
	syscall
	mov	(%rax), %rdx
	mov	%rax, %rdi
	mov	$4096, %esi
	mov	$__NR_munmap, %eax
	syscall
	ret

/* long code_exit(long n): a loop, and the end of the thread */
FUNC(code_exit):
1:	dec	%rdi
	jnz	1b
	mov	$__NR_exit, %eax
	syscall

/*
 * long code_armed(struct code_armed *armed): body(a, b) with the emulator's
 * trigger armed for CPU 0. Stores the trigger's status in the structure.
 */
FUNC(code_armed):
	push	%rbx
	push	%rbp
	mov	%rdi, %rbp
	mov	$PMU_TEST_TRIGGER, %eax
	mov	$PMU_TRIGGER_ARM, %ecx
	xor	%ebx, %ebx
	mov	24(%rbp), %rdx
	mov	32(%rbp), %rsi
	cpuid
	mov	8(%rbp), %rdi
	mov	16(%rbp), %rsi
	call	*(%rbp)			/* 12, a branch */
	mov	%rax, %r8
	mov	$PMU_TEST_TRIGGER, %eax
	mov	$PMU_TRIGGER_STATUS, %ecx
	cpuid
	mov	%rax, 40(%rbp)
	mov	%rbx, 48(%rbp)
	mov	%rcx, 56(%rbp)
	mov	%rdx, 64(%rbp)
	mov	$PMU_TEST_TRIGGER, %eax
	mov	$PMU_TRIGGER_DISARM, %ecx
	cpuid				/* 23 */
	mov	%r8, %rax
	pop	%rbp
	pop	%rbx
	ret				/* 27 */

/* long code_exec(const char *path, char **argv): returns only on failure */
FUNC(code_exec):
	xor	%edx, %edx
	mov	$__NR_execve, %eax
	syscall
	ret

/* long code_wait(long fd, long n): a loop, then read() of one byte */
FUNC(code_wait):
1:	dec	%rsi
	jnz	1b
	lea	-8(%rsp), %rsi
	mov	$1, %edx
	mov	$__NR_read, %eax
	syscall
	dec	%rax
	ret

/* long code_write_out(long fd, const struct iovec *text): writev(), 0 or -1 */
FUNC(code_write):
	mov	$1, %edx
	mov	$__NR_writev, %eax
	syscall
	sar	$63, %rax
	ret

/*
 * long code_until(const uint32_t *state, uint64_t *turns): counts its turns
 * until *state is not VPMC_STATE_RUNNING
 */
FUNC(code_until):
1:	incq	(%rsi)
	cmpl	$CODE_STATE_RUNNING, (%rdi)
	je	1b
	xor	%eax, %eax
	ret

	.data
	.balign	8
	.globl	code_signals_taken
code_signals_taken:
	.quad	0
served:
	.quad	0
	.globl	code_overflow_fd
code_overflow_fd:
	.quad	0
	.globl	code_overflow_error
code_overflow_error:
	.quad	0
	.globl	code_overflows
code_overflows:
	.quad	0

	.bss
	.balign	16
	.globl	code_overflow_log
code_overflow_log:
	.skip	16 * CODE_OVERFLOW_LOG

	.section .note.GNU-stack, "", @progbits
