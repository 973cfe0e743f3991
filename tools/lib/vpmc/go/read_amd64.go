// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

// What readPage returns as status.
const (
	readDone      = 0
	readDisturbed = 1 // in each of its tries, as by a debugger
	readOther     = 2 // the caller is not on the thread that has the counters
)

// readPage reads all counters and the run time as one snapshot, as the description of struct
// vpmc_page says. The thread is known by its FS base, or by its number if base is 0.
//
//go:noescape
func readPage(page *page, base uint64, tid uint64, count *[maxCounters]uint64) (ticks uint64, setNumber uint64, state uint32, status int32)

// fsBase returns the FS base, which each thread of a process has for itself. It needs
// hwcap2FSGSBASE.
func fsBase() uint64
