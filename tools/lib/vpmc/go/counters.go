// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

// Package vpmc reads exact 64-bit hardware counters of the calling thread, on a Linux kernel
// with vpmc. It needs neither cgo nor another package.
//
//	counters, err := vpmc.Open("instructions,branches")
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer counters.Close()
//	counters.Start()
//	work()
//	counters.Stop()
//	sums, err := counters.Sums()
//
// Counters belong to a thread. Open locks the goroutine to its thread, and Close unlocks it. No
// other goroutine may use them: each call finds that out, and returns ErrThread. What Go's
// runtime executes on the thread is counted, too: the growth of a stack, help for the garbage
// collector, the handler of the signal that preempts a goroutine after 10 ms.
package vpmc

import (
	"runtime"
	"syscall"
	"unsafe"
)

var errCleared = newError(syscall.ENODATA, what, "somebody has cleared the sums meanwhile", "")

// rounds is how often Clear measures an empty Start and Stop.
const rounds = 16

// Counters are the counters of the thread that has opened them.
type Counters struct {
	handle    *handle
	events    []Event
	element   []int
	setNumber uint64
	rdpmc     bool
	base      uint64 // FS base of the thread, or 0
	tid       uint64
	failed    error
	begun     [maxCounters]uint64
	sums      [maxCounters]uint64
	own       [maxCounters]uint64
	scratch   sums // here and not on the heap, so that each read executes the same
}

// Open locks the goroutine to its thread, and counts a list of events there. If the thread has a
// set already, for instance from vpmc stat, that set is used, and gets what it lacks. Otherwise
// the counters are a set of their own.
func Open(list string) (*Counters, error) {
	runtime.LockOSThread()
	c, err := open(list)
	if err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return c, nil
}

// hasOtherEvents tells whether the events are neither AMD's nor Intel's architectural ones.
func (in info) hasOtherEvents() bool {
	return in.kind == kindP4 || (in.kind == kindP6 && in.pmuVersion == 0)
}

func open(list string) (*Counters, error) {
	h, in, err := openHandle()
	if err != nil {
		return nil, err
	}
	if in.hasOtherEvents() {
		h.close()
		return nil, newError(syscall.EOPNOTSUPP, list, "this package does not know the events of a P6 or NetBurst", "use libvpmc")
	}
	c := &Counters{handle: h, base: threadBase(), tid: uint64(syscall.Gettid())}
	c.events, err = Parse(list, in.kind == kindAMD)
	if err == nil {
		c.element, err = h.program(c.events)
	}
	if err != nil {
		h.close()
		return nil, err
	}
	c.setNumber = h.page.setNumber
	c.rdpmc = h.page.caps&capRDPMC != 0 && h.page.caps&capTSC != 0
	c.Clear()
	return c, nil
}

// Close ends the counters and unlocks the goroutine. Another goroutine can close them only after
// their thread has ended.
func (c *Counters) Close() error {
	if c.handle == nil {
		return newError(syscall.EBADF, what, "the counters are closed", "")
	}
	own := uint64(syscall.Gettid()) == c.tid
	if !own {
		if s, errno := c.handle.sums(); errno != 0 || s.state != stateExited {
			return ErrThread
		}
	}
	c.handle.close()
	c.handle = nil
	if own {
		runtime.UnlockOSThread()
	}
	return nil
}

// Events returns the events, in the order of the list.
func (c *Counters) Events() []Event { return c.events }

// Read reads the counts of all events, in the order of the list, and the thread's run time in TSC
// ticks. All values are of the same moment. It is an error if the set does not run any more.
func (c *Counters) Read(counts []uint64) (ticks uint64, err error) {
	var values [maxCounters]uint64

	ticks, err = c.snapshot(&values)
	if err != nil {
		return 0, err
	}
	for i, e := range c.element {
		if i < len(counts) {
			counts[i] = values[e]
		}
	}
	return ticks, nil
}

// Clear sets the sums to zero, and measures what Start and Stop count themselves.
func (c *Counters) Clear() {
	least := [maxCounters]uint64{}

	c.failed = nil
	c.own = least
	for round := 0; round < rounds; round++ {
		c.sums = [maxCounters]uint64{}
		c.Start()
		c.Stop()
		for i, sum := range c.sums {
			if round == 0 || sum < least[i] {
				least[i] = sum
			}
		}
	}
	c.sums = [maxCounters]uint64{}
	c.own = least
}

// Start begins to add to the sums what the thread executes, until Stop.
//
//go:noinline
func (c *Counters) Start() {
	if _, err := c.snapshot(&c.begun); err != nil {
		c.failed = err
	}
}

// Stop ends what Start has begun.
//
//go:noinline
func (c *Counters) Stop() {
	var values [maxCounters]uint64

	if _, err := c.snapshot(&values); err != nil {
		c.failed = err
		return
	}
	for _, e := range c.element {
		if values[e] < c.begun[e] {
			c.failed = errCleared
			return
		}
		counted := values[e] - c.begun[e]
		if counted > c.own[e] {
			c.sums[e] += counted - c.own[e]
		}
	}
}

// Sums returns the sums since Clear, in the order of the list, or why they are not right.
func (c *Counters) Sums() ([]uint64, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	result := make([]uint64, len(c.element))
	for i, e := range c.element {
		result[i] = c.sums[e]
	}
	return result, nil
}

func (c *Counters) snapshot(values *[maxCounters]uint64) (uint64, error) {
	if c.handle == nil {
		return 0, newError(syscall.EBADF, what, "the counters are closed", "")
	}
	if !c.rdpmc {
		return c.byCall(values)
	}
	ticks, setNumber, state, status := readPage(c.handle.page, c.base, c.tid, values)
	switch status {
	case readOther:
		return 0, ErrThread
	case readDisturbed:
		return c.byCall(values)
	}
	if state == stateRunning && setNumber == c.setNumber {
		return ticks, nil
	}
	return 0, c.lost(state, setNumber)
}

// byCall reads by a system call, which a debugger does not disturb.
func (c *Counters) byCall(values *[maxCounters]uint64) (uint64, error) {
	// RawSyscall does not tell Go's runtime, which would execute more at some calls.
	if tid, _, _ := syscall.RawSyscall(syscall.SYS_GETTID, 0, 0, 0); uint64(tid) != c.tid {
		return 0, ErrThread
	}
	s := &c.scratch
	s.size = uint32(unsafe.Sizeof(*s))
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(c.handle.fd), iocRead, uintptr(unsafe.Pointer(s)))
	if errno != 0 {
		return 0, systemError(errno, what)
	}
	*values = s.sum
	if s.state == stateRunning && s.setNumber == c.setNumber {
		return s.ticks, nil
	}
	return 0, c.lost(s.state, s.setNumber)
}

func (c *Counters) lost(state uint32, setNumber uint64) error {
	if setNumber != c.setNumber {
		return newError(syscall.EBUSY, what, "somebody has programmed another set meanwhile", "")
	}
	if state == stateRevoked {
		return refused(syscall.ENODATA, reasonRevoked, what)
	}
	return newError(syscall.ENODATA, what, "the set was stopped or detached", "")
}

// These fail to compile if a structure has not the size of <linux/vpmc.h>.
var (
	_ [unsafe.Sizeof(page{})]byte    = [128 + 16*maxCounters]byte{}
	_ [unsafe.Sizeof(info{})]byte    = [64]byte{}
	_ [unsafe.Sizeof(control{})]byte = [32 + 32*maxCounters]byte{}
	_ [unsafe.Sizeof(sums{})]byte    = [72 + 8*maxCounters + 32]byte{}
)
