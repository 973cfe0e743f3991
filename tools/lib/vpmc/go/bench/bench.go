// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

// Package bench reports exact counts of each operation of a benchmark, beside ns/op.
//
//	func BenchmarkWork(b *testing.B) {
//		c := bench.Open(b, "instructions,branches")
//		defer c.Close()
//		for i := 0; i < b.N; i++ {
//			work()
//		}
//	}
package bench

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"vpmc"
)

// Bench counts a benchmark.
type Bench struct {
	b        *testing.B
	counters *vpmc.Counters
	running  bool
}

var told sync.Map

// tell says once why there are no counts.
func tell(err error) {
	if _, before := told.LoadOrStore(err.Error(), true); !before {
		fmt.Fprintf(os.Stderr, "vpmc: %v; benchmarks run without these counts\n", err)
	}
}

// Open begins to count a list of events. If they cannot be counted the benchmark runs without
// counts, and one line on standard error says why. The goroutine is locked to its thread until
// Close. What other goroutines do is not counted.
func Open(b *testing.B, list string) *Bench {
	c := &Bench{b: b}
	counters, err := vpmc.Open(list)
	if err != nil {
		tell(err)
		return c
	}
	c.counters = counters
	c.running = true
	counters.Start()
	return c
}

// StopTimer is in place of that of testing.B. What is done until StartTimer is not counted. A timer
// that is stopped stays so.
func (c *Bench) StopTimer() {
	if c.running {
		c.counters.Stop()
		c.running = false
	}
	c.b.StopTimer()
}

// StartTimer continues after StopTimer. A timer that runs goes on.
func (c *Bench) StartTimer() {
	c.b.StartTimer()
	if c.counters != nil && !c.running {
		c.running = true
		c.counters.Start()
	}
}

// ResetTimer is in place of that of testing.B. What was counted before is dropped. A timer that is
// stopped stays so.
func (c *Bench) ResetTimer() {
	c.b.ResetTimer()
	if c.counters == nil {
		return
	}
	c.counters.Clear()
	if c.running {
		c.counters.Start()
	}
}

// Close ends the count and reports it, for instance as instructions:u/op.
func (c *Bench) Close() {
	if c.counters == nil {
		return
	}
	if c.running {
		c.counters.Stop()
		c.running = false
	}
	sums, err := c.counters.Sums()
	if err != nil {
		tell(err)
	}
	for i, sum := range sums {
		c.b.ReportMetric(float64(sum)/float64(c.b.N), c.counters.Events()[i].Name+"/op")
	}
	if err := c.counters.Close(); err != nil {
		tell(err)
	}
	c.counters = nil
}
