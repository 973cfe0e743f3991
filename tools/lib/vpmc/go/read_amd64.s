// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

#include "textflag.h"

// Offsets in struct vpmc_page
#define SET_NUMBER	32
#define GENERATION	64
#define STATE		72
#define NR_COUNTERS	76
#define SIGN		80
#define TSC_BASE	88
#define SLOT		128

#define RUNNING		2
#define MAX_COUNTERS	32
#define TRIES		16
#define SYS_gettid	186

// func readPage(page *page, base uint64, tid uint64, count *[maxCounters]uint64) (ticks uint64, setNumber uint64, state uint32, status int32)
//
// Go moves no goroutine to another thread while it is in assembly. So what the check of the
// thread finds holds until the return.
TEXT ·readPage(SB), NOSPLIT, $0-56
	MOVQ page+0(FP), R8
	MOVQ base+8(FP), R9
	TESTQ R9, R9
	JZ by_tid
	RDFSBASEQ R10
	CMPQ R10, R9
	JNE other_thread
	JMP read
by_tid:
	MOVQ $SYS_gettid, AX
	SYSCALL
	CMPQ AX, tid+16(FP)
	JNE other_thread
read:
	MOVQ $TRIES, R11
again:
	MOVQ GENERATION(R8), R12
	MOVL NR_COUNTERS(R8), R13
	CMPL R13, $MAX_COUNTERS
	JHI disturbed
	MOVL STATE(R8), R10
	MOVQ TSC_BASE(R8), R9
	MOVQ count+24(FP), DI
	LEAQ SLOT(R8), SI
	CMPL R10, $RUNNING
	JNE stopped
	RDTSC
	SHLQ $32, DX
	ORQ AX, DX
	ADDQ DX, R9
	MOVQ SIGN(R8), BX
	TESTQ R13, R13
	JZ compare
next:
	MOVL 0(SI), CX
	RDPMC
	SHLQ $32, DX
	ORQ AX, DX
	XORQ BX, DX
	ADDQ 8(SI), DX
	MOVQ DX, 0(DI)
	ADDQ $16, SI
	ADDQ $8, DI
	DECQ R13
	JNZ next
compare:
	MOVQ SET_NUMBER(R8), CX
	CMPQ R12, GENERATION(R8)
	JNE disturbed
	MOVQ R9, ticks+32(FP)
	MOVQ CX, setNumber+40(FP)
	MOVL R10, state+48(FP)
	MOVL $0, status+52(FP)
	RET
stopped:
	TESTQ R13, R13
	JZ compare
next_sum:
	MOVQ 8(SI), DX
	MOVQ DX, 0(DI)
	ADDQ $16, SI
	ADDQ $8, DI
	DECQ R13
	JNZ next_sum
	JMP compare
disturbed:
	DECQ R11
	JNZ again
	MOVL $1, status+52(FP)
	RET
other_thread:
	MOVL $2, status+52(FP)
	RET

// func fsBase() uint64
TEXT ·fsBase(SB), NOSPLIT, $0-8
	RDFSBASEQ AX
	MOVQ AX, ret+0(FP)
	RET
