// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

import (
	"strconv"
	"strings"
	"syscall"
)

const (
	selectUsr   = 1 << 16
	selectOS    = 1 << 17
	selectModes = selectUsr | selectOS
	selectOwned = 1<<20 | 1<<22 // INT and EN, which belong to the kernel
)

// Name, and event and unit mask for Intel and for AMD; 0: there is none.
var portable = []struct {
	name       string
	intel, amd uint64
}{
	{"instructions", 0x00c0, 0x00c0},
	{"cycles", 0x003c, 0x0076},
	{"cpu-cycles", 0x003c, 0x0076},
	{"ref-cycles", 0x013c, 0},
	{"branches", 0x00c4, 0x00c2},
	{"branch-instructions", 0x00c4, 0x00c2},
	{"branch-misses", 0x00c5, 0x00c3},
	{"cache-references", 0x4f2e, 0},
	{"cache-misses", 0x412e, 0},
}

// Event is an event of a list.
type Event struct {
	Name   string // as written, with its modes: ":u" if none are written
	Select uint64 // for struct vpmc_counter
}

func sameSelect(a, b uint64) bool { return (a^b)&^selectOwned == 0 }

func wrong(text, why, help string) error { return newError(syscall.EINVAL, text, why, help) }

func modesOf(modes string) uint64 {
	switch modes {
	case "u":
		return selectUsr
	case "k":
		return selectOS
	case "uk", "ku", "u:k", "k:u":
		return selectModes
	}
	return 0
}

func number(digits string) (uint64, bool) {
	value, err := strconv.ParseUint(digits, 16, 64)
	return value, err == nil
}

// codeOf returns the select without modes, or with those that a whole select has.
func codeOf(text, name string, amd bool) (uint64, error) {
	names := make([]string, 0, len(portable))
	for _, it := range portable {
		code := it.intel
		if amd {
			code = it.amd
		}
		if it.name == name && code == 0 {
			return 0, wrong(text, "AMD processors have no such portable event", "leave it out")
		}
		if it.name == name {
			return code, nil
		}
		names = append(names, it.name)
	}
	if strings.HasPrefix(name, "0x") || strings.HasPrefix(name, "0X") {
		if code, ok := number(name[2:]); ok {
			return code, nil
		}
		return 0, wrong(text, "after 0x come up to 16 hexadecimal digits", "")
	}
	if code, ok := number(strings.TrimPrefix(name, "r")); ok && name[0] == 'r' {
		if code&(selectModes|selectOwned) != 0 {
			return 0, wrong(text, "'r' takes event and unit mask without modes", "")
		}
		return code, nil
	}
	return 0, wrong(text, "no event has that name", "write "+strings.Join(names, ", ")+", rUUEE or 0xSELECT")
}

func parseOne(text string, amd bool) (Event, error) {
	name, modes, written := strings.Cut(text, ":")
	if name == "" {
		return Event{}, wrong("the list of events", "an event is empty", "name one, for instance 'instructions'")
	}
	code, err := codeOf(text, name, amd)
	if err != nil {
		return Event{}, err
	}
	whole := code&selectModes != 0
	switch {
	case whole && written:
		return Event{}, wrong(text, "the event select has its modes in bits 16 and 17 already", "")
	case whole:
		return Event{text, code}, nil
	case !written:
		return Event{text + ":u", code | selectUsr}, nil
	case modesOf(modes) == 0:
		return Event{}, wrong(text, "only ':u', ':k' or ':uk' can follow here", "")
	}
	return Event{text, code | modesOf(modes)}, nil
}

// Parse parses a list of events, separated by commas, for a processor of Intel or of AMD.
func Parse(list string, amd bool) ([]Event, error) {
	var events []Event

	for _, text := range strings.Split(list, ",") {
		event, err := parseOne(strings.TrimSpace(text), amd)
		if err != nil {
			return nil, err
		}
		for _, other := range events {
			if sameSelect(other.Select, event.Select) {
				return nil, wrong(strings.TrimSpace(text), "the list has this event twice", "name it once")
			}
		}
		events = append(events, event)
	}
	return events, nil
}
