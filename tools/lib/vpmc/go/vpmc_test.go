// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

import (
	"errors"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"vpmc/internal/known"
)

// maxHandler is more than the handler of the signal that preempts a goroutine executes.
const maxHandler = 20000

// The main thread does not end with a goroutine that is locked to it, so no test runs there.
func init() { runtime.LockOSThread() }

func must(t *testing.T, list string) *Counters {
	t.Helper()
	c, err := Open(list)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// counted returns what a call of the known code counts, with the calls around it.
func counted(t *testing.T, c *Counters, turns uint64) []uint64 {
	t.Helper()
	c.Clear()
	c.Start()
	known.Code(turns)
	c.Stop()
	sums, err := c.Sums()
	if err != nil {
		t.Fatal(err)
	}
	return sums
}

func equal(t *testing.T, what string, want, is uint64) {
	t.Helper()
	if want != is {
		t.Errorf("%s: %d, and not %d", what, is, want)
	}
}

func exact(t *testing.T, c *Counters) {
	t.Helper()
	once, twice := counted(t, c, 1000), counted(t, c, 2000)
	equal(t, "1000 more turns, instructions", 2000, twice[0]-once[0])
	equal(t, "1000 more turns, branches", 1000, twice[1]-once[1])
	if once[0] < 2000 || once[0] > 2016 || once[1] < 1000 || once[1] > 1008 {
		t.Errorf("1000 turns: %d", once)
	}
}

func TestExact(t *testing.T) {
	c := must(t, "instructions,branches")
	defer c.Close()
	if c.base == 0 {
		t.Error("the FS base is not used")
	}
	exact(t, c)
}

// On a processor without FSGSBASE the thread is known by its number.
func TestExactByNumber(t *testing.T) {
	c := must(t, "instructions,branches")
	defer c.Close()
	c.base = 0
	exact(t, c)
}

// Without RDPMC they are read by a system call.
func TestExactByCall(t *testing.T) {
	c := must(t, "instructions,branches")
	defer c.Close()
	c.rdpmc = false
	exact(t, c)
}

// reads returns what is counted from one read to the next.
//
//go:noinline
func reads(t *testing.T, c *Counters, turns uint64) (counts [2]uint64) {
	var begin, end [2]uint64

	from, err := c.Read(begin[:])
	known.Code(turns)
	to, endErr := c.Read(end[:])
	if err != nil || endErr != nil {
		t.Fatal(err, endErr)
	}
	// in the emulator a tick is an instruction
	if to-from < 2*turns {
		t.Errorf("%d ticks for %d turns", to-from, turns)
	}
	return [2]uint64{end[0] - begin[0], end[1] - begin[1]}
}

func TestReads(t *testing.T) {
	var count [1]uint64

	c := must(t, "branches,instructions")
	defer c.Close()
	// the sums of a new set begin with zero
	if _, err := c.Read(count[:]); err != nil || count[0] > 1<<32 {
		t.Errorf("a new set: %d, %v", count[0], err)
	}
	once, twice := reads(t, c, 1000), reads(t, c, 2000)
	equal(t, "1000 more turns, branches", 1000, twice[0]-once[0])
	equal(t, "1000 more turns, instructions", 2000, twice[1]-once[1])
}

// A read is repeated if the thread loses the CPU meanwhile. The test is alone on its CPU with
// another thread.
func TestCompete(t *testing.T) {
	var before, now [3]uint64
	var mask [16]uint64

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	// threads inherit it from the one that makes them
	affinity := func(number uintptr) {
		_, _, errno := syscall.RawSyscall(number, 0, unsafe.Sizeof(mask), uintptr(unsafe.Pointer(&mask)))
		if errno != 0 {
			t.Fatal(errno)
		}
	}
	affinity(syscall.SYS_SCHED_GETAFFINITY)
	all := mask
	mask = [16]uint64{1}
	var stop atomic.Bool
	ready := make(chan bool)
	go func() {
		runtime.LockOSThread()
		affinity(syscall.SYS_SCHED_SETAFFINITY)
		ready <- true
		for !stop.Load() {
			known.Code(1000)
		}
		ready <- true
	}()
	<-ready
	affinity(syscall.SYS_SCHED_SETAFFINITY)
	c := must(t, "instructions,branches,cycles")
	defer c.Close()
	least, greatest := ^uint64(0), uint64(0)
	switches := c.handle.page.switches
	for i := 0; i < 2000000; i++ {
		if _, err := c.Read(now[:]); err != nil {
			t.Fatal(err)
		}
		for k := range now {
			difference := now[k] - before[k]
			if i > 0 && difference < least {
				least = difference
			}
			if i > 0 && difference > greatest {
				greatest = difference
			}
		}
		before = now
	}
	switches = c.handle.page.switches - switches
	stop.Store(true)
	<-ready
	mask = all
	affinity(syscall.SYS_SCHED_SETAFFINITY)
	// Go's handler of the signal for preemption is counted, and may run a few thousand instructions
	t.Logf("%d to %d events, %d switches", least, greatest, switches)
	if switches < 10 || greatest > least+maxHandler {
		t.Errorf("%d to %d events, %d switches", least, greatest, switches)
	}
}

// isOther runs a function in a goroutine on a thread of its own.
func isOther(t *testing.T, what string, function func() error) {
	t.Helper()
	result := make(chan error)
	go func() {
		runtime.LockOSThread()
		result <- function()
	}()
	if err := <-result; err != ErrThread {
		t.Errorf("%s: %v", what, err)
	}
}

func TestOtherThread(t *testing.T) {
	c := must(t, "instructions")
	defer c.Close()
	read := func() error {
		_, err := c.Read(make([]uint64, 1))
		return err
	}
	base := c.base
	isOther(t, "by the FS base", read)
	c.base = 0
	isOther(t, "by the number", read)
	c.rdpmc = false
	isOther(t, "by a call", read)
	c.base, c.rdpmc = base, true
	isOther(t, "closing", c.Close)
	if err := read(); err != nil {
		t.Errorf("the owner: %v", err)
	}
	isOther(t, "sums", func() error {
		c.Start()
		_, err := c.Sums()
		return err
	})
}

// A goroutine stays on its thread, whatever others do.
func TestStays(t *testing.T) {
	done := make(chan bool)

	c := must(t, "instructions,branches")
	defer c.Close()
	for i := 0; i < 8; i++ {
		go func() {
			for k := 0; k < 1000; k++ {
				runtime.Gosched()
			}
			done <- true
		}()
	}
	for i := 0; i < 8; i++ {
		exact(t, c)
		<-done
	}
	equal(t, "the thread", c.tid, uint64(syscall.Gettid()))
}

// A locked goroutine that ends ends its thread. Then others may close what it had.
func TestEnded(t *testing.T) {
	opened := make(chan *Counters)
	go func() {
		c, err := Open("instructions")
		if err != nil {
			t.Error(err)
		}
		opened <- c
	}()
	c := <-opened
	if c == nil {
		return
	}
	// its sums say when the thread has ended
	for {
		s, errno := c.handle.sums()
		if errno != 0 || s.state == stateExited {
			break
		}
		runtime.Gosched()
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Read(nil); !errors.Is(err, syscall.EBADF) {
		t.Errorf("reading what is closed: %v", err)
	}
}

func TestShared(t *testing.T) {
	first := must(t, "instructions,branches")
	second := must(t, "instructions,cycles")
	equal(t, "the same element", uint64(first.element[0]), uint64(second.element[0]))
	exact(t, first)
	if err := second.Close(); err != nil {
		t.Error(err)
	}
	exact(t, first)
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	// The set has ended with its descriptor, so there is room for another one.
	third := must(t, "ref-cycles")
	equal(t, "elements of a new set", 1, uint64(third.handle.page.nrCounters))
	third.Close()
}

func says(t *testing.T, list string, reason uint32, words string) {
	t.Helper()
	c, err := Open(list)
	if err == nil {
		c.Close()
		t.Errorf("%s: it counts", list)
		return
	}
	var e *Error
	if !errors.As(err, &e) || e.Reason != reason || !strings.Contains(err.Error(), words) {
		t.Errorf("%s: %v", list, err)
	}
}

func TestErrors(t *testing.T) {
	says(t, "instructionz", 0, "instructionz: no event has that name; write instructions, cycles")
	says(t, "instructions,", 0, "the list of events: an event is empty")
	says(t, "branches,branches:u", 0, "branches:u: the list has this event twice")
	says(t, "instructions:x", 0, "only ':u', ':k' or ':uk' can follow here")
	says(t, "0x300c0:u", 0, "the event select has its modes in bits 16 and 17 already")
	says(t, "0xg", 0, "after 0x come up to 16 hexadecimal digits")
	says(t, "r100c0", 0, "'r' takes event and unit mask without modes")
	says(t, "0x8000000000", 1, "0x8000000000:u: the event select has a bit that must be zero")
	says(t, "cycles,instructions,branches,r09f0,r0af0,r0bf0,r0cf0,r0df0,r0ef0,r0ff0,r08f0,r07f0", reasonTooMany,
		"counting: there are more events than counters; leave some events out")
}

func TestReplaced(t *testing.T) {
	c := must(t, "instructions")
	defer c.Close()
	other, _, err := openHandle()
	if err != nil {
		t.Fatal(err)
	}
	defer other.close()
	if err := other.control(c.events, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(make([]uint64, 1)); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("a set that was replaced: %v", err)
	}
	// the new set ends, so that other tests on this thread have one of their own
	if err := other.control(nil, controlUnlinkOnClose); err != nil {
		t.Fatal(err)
	}
}

// The sums of a set that is cleared between Start and Stop are not right.
func TestCleared(t *testing.T) {
	const iocClear = 0xbf05

	c := must(t, "instructions")
	defer c.Close()
	c.Start()
	if errno := c.handle.request(iocClear, nil); errno != 0 {
		t.Fatal(errno)
	}
	c.Stop()
	if sums, err := c.Sums(); err == nil || !strings.Contains(err.Error(), "somebody has cleared the sums meanwhile") {
		t.Errorf("a set that was cleared: %d, %v", sums, err)
	}
	c.Clear()
	if _, err := c.Sums(); err != nil {
		t.Errorf("after Clear: %v", err)
	}
}

func TestRevoked(t *testing.T) {
	const file = "/proc/sys/kernel/vpmc_revoke"

	c := must(t, "instructions")
	defer c.Close()
	if err := os.WriteFile(file, []byte("1"), 0); err != nil {
		t.Fatal(err)
	}
	_, err := c.Read(make([]uint64, 1))
	if err == nil || !strings.Contains(err.Error(), "the administrator keeps the PMU; sysctl kernel.vpmc_revoke=0") {
		t.Errorf("a revoked set: %v", err)
	}
	if err := os.WriteFile(file, []byte("0"), 0); err != nil {
		t.Fatal(err)
	}
}
