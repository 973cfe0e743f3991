// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

#include "textflag.h"

// func Code(turns uint64)
TEXT ·Code(SB), NOSPLIT, $0-8
	MOVQ turns+0(FP), CX
next:
	DECQ CX
	JNZ next
	RET
