// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

// Package known has code for tests whose instructions are known.
package known

// Code executes two instructions and one branch for each turn, and a few around them.
func Code(turns uint64)
