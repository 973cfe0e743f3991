/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A loop and a string instruction with breakpoints, and what interrupts them, in
 * protected mode and in 64-bit mode. resume-flag.c describes it.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define EOI_REGISTER	0xfee000b0
#define MSR_EFER	0xc0000080
#define EFER_LME	0x100
#define CR0_PG		0x80000000
#define CR4_PAE		0x20
#define NO_SELECTOR	0xfff8

/*
 * The same code for each mode. word is the size of a word on the stack. Addresses are
 * loaded into registers first, because that is the same in both modes.
 */
	.macro	resume_code bits, word, ax, dx, si, sp, iret

/* #DB: RF_DB_INSNS instructions */
	.globl	rf_breakpoint_\bits
rf_breakpoint_\bits:
	push	\ax
	mov	$resume, %eax
	incl	RF_HITS(\ax)
	pop	\ax
	orl	$EFLAGS_RF, 2 * \word(\sp)
	\iret

/* The interrupt or NMI */
	.globl	rf_interrupt_\bits
rf_interrupt_\bits:
	push	\ax
	push	\dx
	mov	$resume, %eax
	incl	RF_INTERRUPTS(\ax)
	mov	%ebx, RF_EBX(\ax)
	mov	RF_HITS(\ax), %edx
	mov	%edx, RF_HITS_BEFORE(\ax)
	mov	2 * \word(\sp), %edx
	mov	%edx, RF_EIP(\ax)
	mov	4 * \word(\sp), %edx
	mov	%edx, RF_EFLAGS(\ax)
	mov	$EOI_REGISTER, %eax	/* changes nothing for an NMI */
	movl	$0, (\ax)
	pop	\dx
	pop	\ax
	\iret

/* #GP, which has an error code, and #UD, in an instruction of two bytes */
	.globl	rf_gp_\bits, rf_ud_\bits
rf_gp_\bits:
	add	$\word, \sp
rf_ud_\bits:
	push	\ax
	push	\dx
	mov	$resume, %eax
	mov	4 * \word(\sp), %edx
	shr	$16, %edx
	and	$1, %edx
	add	%edx, RF_FAULTS(\ax)
	addl	$2, 2 * \word(\sp)
	pop	\dx
	pop	\ax
	\iret

/* Two faults, then what is interrupted */
	.globl	rf_in_loop_\bits, rf_string_\bits
run_\bits:
	ud2
	mov	$NO_SELECTOR, %eax
	mov	%eax, %ds
	mov	$resume, %esi
	lea	RF_BUFFER(\si), %edi
	mov	$RF_TURNS, %ebx
	mov	RF_MSR(\si), %ecx
	mov	RF_START(\si), %eax
	mov	RF_START + 4(\si), %edx
	sti
	wrmsr
1:	nop
rf_in_loop_\bits:
	nop
	dec	%ebx
	jnz	1b
	mov	$RF_PASSES, %ecx
rf_string_\bits:
	rep stosb
	mov	RF_MSR(\si), %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	cli
	wrmsr
	ret
	.endm

	.text
	resume_code 32, 4, %eax, %edx, %esi, %esp, iret
	.code64
	resume_code 64, 8, %rax, %rdx, %rsi, %rsp, iretq
	.code32

	.globl	rf_run_32, rf_run_64
rf_run_32:
	pusha
	call	run_32
	popa
	ret

rf_run_64:
	pusha
	mov	%cr4, %eax
	or	$CR4_PAE, %eax
	mov	%eax, %cr4
	mov	$rf_page_tables, %eax
	mov	%eax, %cr3
	mov	$MSR_EFER, %ecx
	rdmsr
	or	$EFER_LME, %eax
	wrmsr
	mov	%cr0, %eax
	or	$CR0_PG, %eax
	mov	%eax, %cr0
	ljmp	$KERNEL_CODE_64, $1f
	.code64
1:	mov	%esp, %esp		/* clears the upper half */
	call	run_64
	pushq	$KERNEL_CODE
	mov	$1f, %eax
	push	%rax
	lretq
	.code32
1:	mov	%cr0, %eax
	and	$~CR0_PG, %eax
	mov	%eax, %cr0
	mov	$MSR_EFER, %ecx
	rdmsr
	and	$~EFER_LME, %eax
	wrmsr
	mov	%cr4, %eax
	and	$~CR4_PAE, %eax
	mov	%eax, %cr4
	popa
	ret
	.section .note.GNU-stack, "", @progbits
