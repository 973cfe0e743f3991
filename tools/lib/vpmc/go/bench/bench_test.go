// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package bench

import (
	"flag"
	"math"
	"testing"

	"vpmc/internal/known"
)

func BenchmarkKnown(b *testing.B) {
	c := Open(b, "instructions,branches")
	defer c.Close()
	for i := 0; i < b.N; i++ {
		known.Code(50)
	}
}

func BenchmarkPrepared(b *testing.B) {
	c := Open(b, "branches")
	defer c.Close()
	known.Code(500)
	c.ResetTimer()
	for i := 0; i < b.N; i++ {
		c.StopTimer()
		known.Code(500)
		c.StartTimer()
		known.Code(50)
	}
}

// As with testing.B, it does not matter if the timer is stopped or started twice.
func startedTwice(b *testing.B) {
	c := Open(b, "branches")
	defer c.Close()
	c.StopTimer()
	known.Code(50000)
	c.ResetTimer()
	known.Code(50000)
	c.StartTimer()
	for i := 0; i < b.N; i++ {
		known.Code(50)
		c.StartTimer()
	}
	c.StopTimer()
	known.Code(50000)
	c.StopTimer()
}

// total returns what n iterations have counted.
func total(t *testing.T, benchmark func(*testing.B), n string, event string) uint64 {
	t.Helper()
	if err := flag.Set("test.benchtime", n+"x"); err != nil {
		t.Fatal(err)
	}
	result := testing.Benchmark(benchmark)
	return uint64(math.Round(result.Extra[event+"/op"] * float64(result.N)))
}

func TestExact(t *testing.T) {
	once, twice := total(t, BenchmarkKnown, "1000", "branches:u"), total(t, BenchmarkKnown, "2000", "branches:u")
	// of the code, its call and its return, and of the loop
	if twice-once != 1000*(50+3) || once-(twice-once) > 16 {
		t.Errorf("branches: %d and %d", once, twice)
	}
	once, twice = total(t, BenchmarkKnown, "1000", "instructions:u"), total(t, BenchmarkKnown, "2000", "instructions:u")
	if (twice-once)%1000 != 0 || twice-once < 1000*(2*50+3) || twice-once > 1000*(2*50+16) || once-(twice-once) > 64 {
		t.Errorf("instructions: %d and %d", once, twice)
	}
}

func TestPrepared(t *testing.T) {
	once, twice := total(t, BenchmarkPrepared, "1000", "branches:u"), total(t, BenchmarkPrepared, "2000", "branches:u")
	if twice-once < 1000*(50+3) || twice-once > 1000*(50+16) {
		t.Errorf("branches: %d and %d", once, twice)
	}
}

func TestTwice(t *testing.T) {
	once, twice := total(t, startedTwice, "1000", "branches:u"), total(t, startedTwice, "2000", "branches:u")
	if twice-once < 1000*(50+3) || twice-once > 1000*(50+16) || once-(twice-once) > 64 {
		t.Errorf("branches: %d and %d", once, twice)
	}
}
