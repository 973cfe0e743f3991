/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The hooks that compilers call, and longjmp(), which leaves functions without one.
 * Up to graph_event() both hooks take the same number of instructions and branches.
 *
 * Copyright (C) 2026 vpmc developers
 */
	.text

	.macro	function name
	.globl	\name
	.type	\name, @function
\name:
	.endm

	.macro	hook name, kind
	function \name
	mov	$\kind, %edx
	lea	8(%rsp), %rcx
	jmp	graph_event
	.size	\name, . - \name
	.endm

	hook	__cyg_profile_func_enter, 0
	hook	__cyg_profile_func_exit, 1

	/* the arguments are kept for the real one */
	.macro	jump name, number
	function \name
	push	%rdi
	push	%rsi
	sub	$8, %rsp
	call	graph_jump
	add	$8, %rsp
	pop	%rsi
	pop	%rdi
	jmp	*graph_real_jump+8*\number(%rip)
	.size	\name, . - \name
	.endm

	jump	longjmp, 0
	jump	_longjmp, 1
	jump	siglongjmp, 2
	jump	__longjmp_chk, 3

	/* a hook that does nothing, as the C library's */
	.hidden	graph_stub
	function graph_stub
	ret
	.size	graph_stub, . - graph_stub

	/* what graph_probe() may call: no instruction more than the call of a hook */
	.globl	graph_try_enter, graph_try_jump
	.hidden	graph_try_enter, graph_try_jump
	.set	graph_try_enter, __cyg_profile_func_enter
	.set	graph_try_jump, longjmp

	/* into %eax and %edx: counter %ecx, or the TSC */
	.macro	read_counter
	cmp	$-1, %ecx
	je	1f
	rdpmc
	jmp	2f
1:	rdtsc
2:
	.endm

	/* from the first read to the call; executed twice, it has the same effect */
	.macro	between
	mov	%eax, %r14d
	mov	%edx, %r15d
	lea	64(%rsp), %rdi
	xor	%esi, %esi
	.endm

	/* behind the call, in front of the second read: the same for all kinds */
	.macro	behind
	mov	%ebx, %ecx
	jmp	5f
	.endm

	.hidden	graph_probe
	function graph_probe
	push	%rbx
	push	%rbp
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	sub	$328, %rsp		/* has room for a jmp_buf */
	mov	%edi, %ebx
	mov	%rdx, %r12
	mov	%rcx, %r13
	mov	%esi, %ebp
	/* a jmp_buf, whose stack pointer is 0 once it is unmangled */
	mov	%fs:0x30, %rax
	rol	$17, %rax
	mov	%rax, 64+48(%rsp)
	mov	%ebx, %ecx
	cmp	$1, %ebp
	ja	3f
	je	4f
	read_counter
	between
	behind
4:	read_counter
	between
	between
	behind
3:	read_counter
	between
	call	*%r12
	behind
5:	read_counter
	shl	$32, %r15
	or	%r15, %r14
	mov	%r14, (%r13)
	shl	$32, %rdx
	or	%rdx, %rax
	mov	%rax, 8(%r13)
	add	$328, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbp
	pop	%rbx
	ret
	.size	graph_probe, . - graph_probe

	.section .note.GNU-stack, "", @progbits
