// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

import (
	"errors"
	"syscall"
	"unsafe"
)

// looks is how often program looks for a set that another thread may program or end.
const looks = 8

// program counts with the set that is there, or programs one. It returns each event's element.
func (h *handle) program(events []Event) ([]int, error) {
	for i := 0; i < looks; i++ {
		err := h.control(nil, controlAdd)
		there := err == nil
		switch {
		case there:
			err = h.addMissing(events)
		case errors.Is(err, syscall.ENODATA):
			err = h.control(events, controlNew|controlUnlinkOnClose)
		}
		// A set has gone or appeared since the look.
		if there && errors.Is(err, syscall.ENODATA) || !there && errors.Is(err, syscall.EEXIST) {
			continue
		}
		if err != nil {
			return nil, err
		}
		element, err := h.find(events)
		if err != nil {
			return nil, err
		}
		for _, e := range element {
			if e < 0 {
				return nil, newError(syscall.EBUSY, what, "somebody has programmed another set meanwhile", "try again")
			}
		}
		return element, nil
	}
	return nil, newError(syscall.EBUSY, what, "somebody programs and ends sets all the time", "try again")
}

// addMissing adds what the set lacks, and starts it if it is stopped. What others have added
// stays, too.
func (h *handle) addMissing(events []Event) error {
	var missing []Event

	element, err := h.find(events)
	if err != nil {
		return err
	}
	for i, e := range element {
		if e < 0 {
			missing = append(missing, events[i])
		}
	}
	if missing != nil {
		if err := h.control(missing, controlAdd); err != nil {
			return err
		}
	}
	s, errno := h.sums()
	if errno == 0 && s.state != stateRunning {
		errno = h.request(iocStart, nil)
	}
	if errno != 0 {
		return systemError(errno, what)
	}
	return nil
}

func (h *handle) control(events []Event, flags uint32) error {
	c := &control{size: uint32(unsafe.Sizeof(control{})), flags: flags, nrCounters: uint32(len(events))}

	if len(events) > maxCounters {
		return refused(syscall.ENOSPC, reasonTooMany, what)
	}
	for i, event := range events {
		c.counter[i] = counter{evtsel: event.Select, index: anyCounter}
	}
	errno := h.request(iocControl, unsafe.Pointer(c))
	if errno == 0 {
		return nil
	}
	if c.reason == 0 {
		return systemError(errno, what)
	}
	if int(c.badCounter) < len(events) {
		return refused(errno, c.reason, events[c.badCounter].Name)
	}
	return refused(errno, c.reason, what)
}

// find returns the element of each event in the set, or -1.
func (h *handle) find(events []Event) ([]int, error) {
	c := &control{size: uint32(unsafe.Sizeof(control{})), nrCounters: maxCounters}
	element := make([]int, len(events))

	if errno := h.request(iocReadControl, unsafe.Pointer(c)); errno != 0 {
		return nil, systemError(errno, what)
	}
	for i, event := range events {
		element[i] = -1
		for k := int(c.nrCounters) - 1; k >= 0; k-- {
			if sameSelect(c.counter[k].evtsel, event.Select) {
				element[i] = k
			}
		}
	}
	return element, nil
}
