/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A program that exits.
 *
 * Copyright (C) 2026 vpmc developers
 */
	.globl	_start
_start:
	xor	%edi, %edi
	mov	$231, %eax		/* exit_group */
	syscall
	.section .note.GNU-stack, "", @progbits
