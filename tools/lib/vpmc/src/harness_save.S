/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Variants of the harness's start and stop for code that cannot lose a
 * register. They preserve all integer and vector registers and the flags.
 *
 * Copyright (C) 2026 vpmc developers
 */
#ifdef __x86_64__
/*
 * XSAVE parts: x87, SSE, AVX and AVX-512's three parts. They end at byte 2688.
 */
#define PARTS	0xe7
#define AREA	2752
#define HEADER	512

	.text

.macro saving name, function
	.globl	\name
	.hidden	\name
	.type	\name, @function
	.balign	16
\name:
	.cfi_startproc
	endbr64
	push	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	pushfq
	push	%rax
	push	%rbx
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	cld
	mov	%rsp, %rbx
	sub	$AREA, %rsp
	and	$-64, %rsp
	cmpl	$0, vpmc_harness_xsave(%rip)
	je	1f
	xor	%eax, %eax
	lea	HEADER(%rsp), %rdi
	mov	$8, %ecx
	rep stosq
	xor	%edx, %edx
	mov	$PARTS, %eax
	xsave64	(%rsp)
	call	\function
	xor	%edx, %edx
	mov	$PARTS, %eax
	xrstor64 (%rsp)
	jmp	2f
1:	fxsave64 (%rsp)
	call	\function
	fxrstor64 (%rsp)
2:	mov	%rbx, %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rbx
	pop	%rax
	popfq
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_endproc
	.size	\name, . - \name
.endm

	saving	vpmc_harness_start_saving, vpmc_harness_start
	saving	vpmc_harness_stop_saving, vpmc_harness_stop
#endif

	.section .note.GNU-stack, "", @progbits
