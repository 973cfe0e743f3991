/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page.html as a text of the program.
 *
 * Copyright (C) 2026 vpmc developers
 */
	.section .rodata
	.globl	page_html
page_html:
	.incbin	"page.html"
	.byte	0
	.section .note.GNU-stack, "", @progbits
