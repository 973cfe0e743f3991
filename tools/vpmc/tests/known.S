/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that executes a known number of instructions in user mode:
 *
 *	known			KNOWN_ALONE instructions
 *	known many		KNOWN_MANY: it creates 3 threads and 2 children
 *	known phase now		KNOWN_PHASE while its own counters run, which it
 *				starts and stops itself
 *
 * The numbers are symbols of the program. The Makefile writes them into a file.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <asm/unistd_64.h>

#define TURNS		1000000
#define NR_THREADS	3
#define NR_CHILDREN	2

#define IOC_START	0xbf03
#define IOC_STOP	0xbf04

/* CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM */
#define THREAD		0x50f00
#define CHILD		17	/* SIGCHLD */

/* Every thread executes this from work on, and ends. */
#define WORK		(1 + 2 * TURNS + 3)
#define START		3	/* up to the choice of what to do */
#define CREATE(n)	(1 + (n) * 11)	/* for all of them, in the creator */
#define CREATED		2	/* from clone() to work, in the new thread or child */
#define WAIT(n)		(1 + (n) * 8)

	.globl	KNOWN_ALONE, KNOWN_MANY, KNOWN_PHASE
	.set	KNOWN_ALONE, START + WORK
	.set	KNOWN_MANY, START + 2 + CREATE(NR_THREADS) + CREATE(NR_CHILDREN) + WAIT(NR_CHILDREN) + WORK + (NR_THREADS + NR_CHILDREN) * (CREATED + WORK)
	.set	KNOWN_PHASE, 1 + 2 * TURNS + 5

/* create FLAGS, NUMBER: the new threads need no stack */
	.macro	create flags, number
	mov	$\number, %r12d
1:	mov	$\flags, %edi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	xor	%r8d, %r8d
	mov	$__NR_clone, %eax
	syscall
	test	%eax, %eax
	jz	work
	dec	%r12d
	jnz	1b
	.endm

	.text
	.globl	_start
_start:
	mov	(%rsp), %eax		/* argc */
	cmp	$1, %eax
	je	work
	cmp	$2, %eax
	jne	phase
	create	THREAD, NR_THREADS
	create	CHILD, NR_CHILDREN
	mov	$NR_CHILDREN, %r12d
2:	mov	$-1, %edi
	xor	%esi, %esi
	xor	%edx, %edx
	xor	%r10d, %r10d
	mov	$__NR_wait4, %eax
	syscall
	dec	%r12d
	jnz	2b
work:
	mov	$TURNS, %ecx
3:	dec	%ecx
	jnz	3b
	xor	%edi, %edi
	mov	$__NR_exit, %eax
	syscall

phase:
	mov	$perfctr, %edi
	mov	$2, %esi		/* O_RDWR */
	mov	$__NR_open, %eax
	syscall
	mov	%eax, %ebx
	mov	%ebx, %edi
	mov	$IOC_START, %esi
	xor	%edx, %edx
	mov	$__NR_ioctl, %eax
	syscall
	mov	$TURNS, %ecx		/* the first counted instruction */
4:	dec	%ecx
	jnz	4b
	mov	%ebx, %edi
	mov	$IOC_STOP, %esi
	xor	%edx, %edx
	mov	$__NR_ioctl, %eax
	syscall				/* the last counted instruction */
	mov	%eax, %edi
	mov	$__NR_exit_group, %eax
	syscall

	.section .rodata
perfctr:
	.string	"/proc/self/perfctr"
	.section .note.GNU-stack, "", @progbits
