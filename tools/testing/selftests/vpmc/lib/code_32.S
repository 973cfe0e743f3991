/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The functions of code.S that every program needs, for 32 bits. They execute the
 * same numbers of instructions and branches.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include <asm/unistd_32.h>

#define FUNC(name)	.globl name; .type name, @function; .balign 64; name

	.text

/*
 * long code_measure(int fd, unsigned int start, unsigned int stop,
 *		     code_fn body, long a, long b)
 */
FUNC(code_measure):
	push	%ebx
	push	%esi
	push	%edi
	push	%ebp
	mov	20(%esp), %ebx		/* fd */
	mov	24(%esp), %ecx		/* start */
	mov	28(%esp), %edi		/* stop */
	mov	32(%esp), %ebp		/* body */
	xor	%edx, %edx
	mov	$__NR_ioctl, %eax
	int	$0x80
	.globl	code_measure_started
code_measure_started:
	mov	%eax, %esi		/* 1: the first that is counted */
	push	40(%esp)		/* 2: b */
	push	40(%esp)		/* 3: a */
	call	*%ebp			/* 4, a branch */
	or	%eax, %esi		/* 5 */
	mov	%edi, %ecx		/* 6 */
	xor	%edx, %edx		/* 7 */
	add	$8, %esp		/* 8 */
	mov	$__NR_ioctl, %eax	/* 9 */
	int	$0x80			/* 10: the last */
	.globl	code_measure_stopped
code_measure_stopped:
	or	%esi, %eax
	pop	%ebp
	pop	%edi
	pop	%esi
	pop	%ebx
	ret

/* long code_loop(long n) */
FUNC(code_loop):
1:	decl	4(%esp)
	jnz	1b
	xor	%eax, %eax
	ret

	.section .note.GNU-stack, "", @progbits
