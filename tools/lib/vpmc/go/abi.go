// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

// The part of <linux/vpmc.h> that this package uses. That header is the specification.

const (
	maxCounters = 32
	anyCounter  = 0xffffffff

	stateRunning = 2
	stateExited  = 4
	stateRevoked = 5

	capRDPMC = 1 << 0
	capTSC   = 1 << 1

	kindAMD = 2
	kindP6  = 3
	kindP4  = 4

	controlNew           = 1 << 0
	controlUnlinkOnClose = 1 << 8
	controlAdd           = 1 << 10

	iocInfo        = 0xbf00
	iocControl     = 0xbf01
	iocReadControl = 0xbf02
	iocStart       = 0xbf03
	iocRead        = 0xbf06
)

type slot struct {
	index, width uint32
	base         uint64
}

// read_amd64.s has the offsets of the fields that it reads.
type page struct {
	version, size, tid, caps uint32
	timeMult, timeShift      uint32
	timeOffset               uint64
	setNumber                uint64
	reserved0                [3]uint64

	generation         uint64
	state, nrCounters  uint32
	sign               uint64
	tscBase            uint64
	switches           uint64
	migrations         uint64
	overflowed, merged uint32
	overflows          uint64

	slot [maxCounters]slot
}

// info goes up to map_size. The kernel fills as much as this has room for.
type info struct {
	size, flags, version, kind, features, holder uint32
	pmuVersion, width, nrGP, nrFixed             uint32
	gpMask, fixedMask                            uint64
	tscKHz, mapSize                              uint32
}

type counter struct {
	evtsel           uint64
	index, flags     uint32
	period, reserved uint64
}

type control struct {
	size, flags, nrCounters, badCounter, reason, signal uint32
	ringRecords, ringWatermark                          uint16
	members                                             uint32
	counter                                             [maxCounters]counter
}

type sums struct {
	size, flags, state, nrCounters, tid, living uint32
	finished, lost, ticks, ns                   uint64
	switches, migrations                        uint64
	sum                                         [maxCounters]uint64
	leftControl, leftUnlink, leftExec           uint64
	setNumber                                   uint64
}
