/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program with a known number of instructions. Tests execute it with running
 * counters, whose descriptor is open as EXEC_FD. It writes struct vpmc_read
 * after STOP to standard output, then the page, which it maps again. With one
 * argument it only executes RDPMC. With two, its loop is shorter.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <asm/unistd_64.h>
#include "code.h"

	.text
	.globl	_start
_start:
	cmpl	$1, (%rsp)			/* 1: argc */
	jne	rdpmc				/* 2, a branch */
	mov	$EXEC_TURNS, %rbx		/* 3 */
1:	dec	%rbx				/* 2 each turn */
	jnz	1b
	mov	$EXEC_FD, %edi			/* 4 */
	mov	$CODE_IOC_STOP, %esi		/* 5 */
	xor	%edx, %edx			/* 6 */
	mov	$__NR_ioctl, %eax		/* 7 */
	syscall					/* 8: the last that is counted */
	mov	%rax, %r12

	mov	$EXEC_FD, %edi
	mov	$CODE_IOC_READ, %esi
	lea	result(%rip), %rdx
	mov	$__NR_ioctl, %eax
	syscall
	or	%rax, %r12

	mov	$1, %edi
	lea	result(%rip), %rsi
	mov	$CODE_READ_SIZE, %edx
	mov	$__NR_write, %eax
	syscall

	xor	%edi, %edi
	mov	$4096, %esi
	mov	$1, %edx			/* PROT_READ */
	mov	$1, %r10d			/* MAP_SHARED */
	mov	$EXEC_FD, %r8d
	xor	%r9d, %r9d
	mov	$__NR_mmap, %eax
	syscall

	mov	$1, %edi
	mov	%rax, %rsi
	mov	$4096, %edx
	mov	$__NR_write, %eax
	syscall

	mov	%r12, %rdi
	neg	%rdi
	mov	$__NR_exit_group, %eax
	syscall

rdpmc:
	cmpl	$3, (%rsp)
	je	few
	xor	%ecx, %ecx
	rdpmc
	xor	%edi, %edi
	mov	$__NR_exit_group, %eax
	syscall

few:	mov	$EXEC_FEW_TURNS, %rbx
	jmp	1b

	.data
	.balign	8
result:
	.long	CODE_READ_SIZE
	.zero	CODE_READ_SIZE - 4

	.section .note.GNU-stack, "", @progbits
