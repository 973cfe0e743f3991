// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

import (
	"errors"
	"syscall"
)

// ErrThread says that a goroutine has used counters that another thread has.
var ErrThread = errors.New("counting: these counters are of another thread; " +
	"Open locks the goroutine to its thread, and only that goroutine may use them")

// Error says why something cannot be counted.
type Error struct {
	Errno  syscall.Errno // 0 if no system call has failed
	Reason uint32        // enum vpmc_reason of <linux/vpmc.h>; 0 if the kernel gave none
	Text   string        // what, why, and what helps
}

func (e *Error) Error() string { return e.Text }

// Unwrap lets errors.Is find the error number.
func (e *Error) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

func newError(errno syscall.Errno, what, why, help string) *Error {
	text := what + ": " + why
	if help != "" {
		text += "; " + help
	}
	return &Error{Errno: errno, Text: text}
}

func systemError(errno syscall.Errno, what string) *Error {
	return newError(errno, what, errno.Error(), "")
}

func refused(errno syscall.Errno, reason uint32, what string) *Error {
	why, help := "the kernel gives a reason that this package does not know", "a newer one knows it"
	if int(reason) < len(reasons) {
		why, help = reasons[reason][1], reasons[reason][2]
	}
	e := newError(errno, what, why, help)
	e.Reason = reason
	return e
}

// ReasonName returns the name of a reason, for instance "pmu-watchdog", and "unknown" for a
// number without one.
func ReasonName(reason uint32) string {
	if int(reason) < len(reasons) {
		return reasons[reason][0]
	}
	return "unknown"
}
