/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Entry, interrupt stubs and the code whose instructions are counted.
 *
 * Copyright (C) 2026 vpmc developers
 */
#include "bare.h"

#define EOI_REGISTER	0xfee000b0

	.section .multiboot, "a"
	.balign	4
	.long	0x1badb002, 0, -0x1badb002

	.text
	.globl	_start
_start:
	mov	$stack_top, %esp
	lgdt	gdtr
	ljmp	$8, $1f
1:	mov	$16, %eax
	mov	%eax, %ds
	mov	%eax, %es
	mov	%eax, %ss
	push	%ebx			/* multiboot information */
	call	bare_main
1:	mov	$0xfe, %al		/* reset; QEMU ends with -no-reboot */
	out	%al, $0x64
	hlt
	jmp	1b

/*
 * A performance monitoring interrupt. pmi_handler() has stopped the counters
 * and may have set them up again. If it has, PMI_TAIL_INSNS instructions count
 * after the WRMSR that starts them: popa and iret.
 */
	.macro	pmi_stub name, vector
	.globl	\name
\name:
	pusha
	push	%esp
	push	$\vector
	call	pmi_handler
	add	$8, %esp
	mov	switch_msr, %ecx
	mov	pmi_restart, %eax
	mov	pmi_restart + 4, %edx
	wrmsr
	popa
	iret
	.endm

	pmi_stub pmi_nmi, 2
	pmi_stub pmi_vector, 0x40

/* The timer interrupt: TICK_INSNS instructions */
	.globl	tick
tick:
	incl	ticks
	movl	$0, EOI_REGISTER
	iret

/* #GP in an instruction of two bytes, such as RDMSR, WRMSR and RDPMC */
	.globl	gp_fault
gp_fault:
	incl	gp_count
	addl	$2, 4(%esp)
	add	$4, %esp
	iret

/* Arguments as for spin(). The counters count from here. */
	.macro	spin_start
	push	%ebx
	mov	switch_msr, %ecx
	mov	8(%esp), %eax
	mov	12(%esp), %edx
	mov	16(%esp), %ebx
	wrmsr
	.endm

/*
 * u32 spin(u64 start, u32 n): run the loop n times with start in switch_msr,
 * which lets the counters count.  Counted: SPIN_INSNS(n), the last of which is
 * the WRMSR that stops the counters.  Interrupts may come if they could before.
 */
	.globl	spin, spin_loop, spin_stopped
spin:
	spin_start
spin_loop:
	nop
	nop
	dec	%ebx
	jnz	spin_loop
	xor	%eax, %eax
	xor	%edx, %edx
	wrmsr
spin_stopped:
	pop	%ebx
	ret

/*
 * The same with interrupts enabled only within the counted part: 2 instructions
 * more
 */
	.globl	spin_sti
spin_sti:
	spin_start
	sti
1:	nop
	nop
	dec	%ebx
	jnz	1b
	xor	%eax, %eax
	xor	%edx, %edx
	cli
	wrmsr
	pop	%ebx
	ret

/*
 * u32 walk(u64 start, u32 n): as spin(), with a load of another line in each
 * iteration, from WALK_START. walk_block(start): FXSAVE there.
 */
	.globl	walk, walk_loaded, walk_block, walk_saved
walk:
	spin_start
	mov	$WALK_START, %edx
1:	cmpb	$0, (%edx)
walk_loaded:
	add	$WALK_STEP, %edx
	dec	%ebx
	jnz	1b
2:	xor	%eax, %eax
	xor	%edx, %edx
	wrmsr
	pop	%ebx
	ret
walk_block:
	spin_start
	mov	$WALK_START, %edx
	fxsave	(%edx)
walk_saved:
	jmp	2b

/* void rep_stos(u64 start, void *p, u32 n): REP_INSNS instructions count */
	.globl	rep_stos, rep_stos_insn, rep_stos_done
rep_stos:
	push	%edi
	push	%ebx
	mov	20(%esp), %edi
	mov	24(%esp), %ebx
	mov	switch_msr, %ecx
	mov	12(%esp), %eax
	mov	16(%esp), %edx
	wrmsr
	mov	%ebx, %ecx
rep_stos_insn:
	rep stosb
rep_stos_done:
	mov	switch_msr, %ecx
	xor	%eax, %eax
	xor	%edx, %edx
	wrmsr
	pop	%ebx
	pop	%edi
	ret

/*
 * void branch_a(u32 taken), branch_b(u32 taken): conditional branches that are
 * 4096 bytes apart.
 */
	.globl	branch_a, branch_b
branch_a:
	testl	$1, 4(%esp)
	jnz	1f
1:	ret
	.skip	4096 - (. - branch_a)
branch_b:
	testl	$1, 4(%esp)
	jnz	1f
1:	ret

/*
 * void access_memory(void *p, u32 n): n turns of 8 loads and 8 stores, each of
 * them to another line than the one before.
 */
	.globl	access_memory
access_memory:
	push	%ebx
	mov	8(%esp), %eax
	mov	12(%esp), %ebx
1:
	.set	offset, 0
	.rept	8
	mov	offset(%eax), %ecx
	mov	%edx, offset + 128(%eax)
	.set	offset, offset + 256
	.endr
	dec	%ebx
	jnz	1b
	pop	%ebx
	ret

/*
 * Code of the second processor at each start, copied to AP_START: reports its start,
 * two of its PMU's registers and EBX of CPUID leaf 23H, then writes other values to the
 * registers.
 */
	.globl	ap_code, ap_code_end
	.code16
ap_code:
	xor	%ax, %ax
	mov	%ax, %ds
	incl	AP_REPORT + 12
	mov	AP_MSRS, %ecx
	rdmsr
	mov	%eax, AP_REPORT
	mov	AP_MSRS + 4, %ecx
	rdmsr
	mov	%eax, AP_REPORT + 4
	mov	$0x23, %eax
	xor	%ecx, %ecx
	cpuid
	mov	%ebx, AP_REPORT + 24
	mov	AP_MSRS + 4, %ecx
	mov	$AP_COUNTER, %eax
	xor	%edx, %edx
	wrmsr
	mov	AP_MSRS, %ecx
	mov	$AP_CONTROL, %eax
	wrmsr
	incl	AP_REPORT + 8
1:	hlt
	jmp	1b
ap_code_end:
	.code32

/*
 * u64 rdpmc_on(u32 cpl, u32 index): RDPMC at this CPL, for rdpmc_at(). Its last
 * instruction there is the INT. What causes #GP leaves EAX and EDX as they are.
 */
	.globl	rdpmc_on, user_done
rdpmc_on:
	push	%ebx
	mov	8(%esp), %ebx
	mov	12(%esp), %ecx
	mov	%esp, task_state + 4
	lea	USER_DATA(%ebx), %eax
	mov	%eax, %ds
	mov	%eax, %es
	push	%eax
	push	$stack_top		/* not used */
	pushf
	lea	USER_CODE(%ebx), %eax
	push	%eax
	push	$1f
	iret
1:	rdpmc
	int	$VECTOR_USER_DONE
user_done:
	mov	$KERNEL_DATA, %ecx
	mov	%ecx, %ds
	mov	%ecx, %es
	add	$20, %esp
	pop	%ebx
	ret

/*
 * void visit_1_and_3(void): IRET to CPL 1, and from there to CPL 3, which returns here.
 * rdpmc_at(3, ...) must have been called before.
 */
	.globl	visit_1_and_3
visit_1_and_3:
	push	%ebx
	mov	%esp, task_state + 4
	push	$CPL_1_DATA + 1
	push	$cpl_1_stack
	pushf
	push	$CPL_1_CODE + 1
	push	$1f
	iret
1:	push	$USER_DATA + 3
	push	$cpl_1_stack		/* not used */
	pushf
	push	$USER_CODE + 3
	push	$2f
	iret
2:	int	$VECTOR_USER_DONE

	.globl	gdt
	.balign	8
gdt:	.quad	0, 0x00cf9b000000ffff, 0x00cf93000000ffff
	.quad	0, 0, 0			/* rdpmc_at() fills them in */
	.quad	0x00af9b000000ffff	/* KERNEL_CODE_64 */
	.quad	0x00cfbb000000ffff	/* CPL_1_CODE */
	.quad	0x00cfb3000000ffff	/* CPL_1_DATA */
gdtr:	.word	. - gdt - 1
	.long	gdt

	.bss
	.globl	task_state
	.balign	16
task_state:
	.skip	104
	.skip	64
cpl_1_stack:
	.skip	16384
stack_top:
	.section .note.GNU-stack, "", @progbits
