// SPDX-License-Identifier: MIT

//go:build linux && amd64

// Counts a function, and then the same thread from one read to the next.
package main

import (
	"fmt"
	"log"

	"vpmc"
)

//go:noinline
func sum(n uint64) (s uint64) {
	for i := uint64(0); i < n; i++ {
		s += i
	}
	return s
}

func main() {
	counters, err := vpmc.Open("instructions,branches")
	if err != nil {
		log.Fatal(err)
	}
	defer counters.Close()
	counters.Start()
	sum(1000)
	counters.Stop()
	sums, err := counters.Sums()
	if err != nil {
		log.Fatal(err)
	}
	for i, event := range counters.Events() {
		fmt.Printf("%s: %d\n", event.Name, sums[i])
	}

	var begin, end [2]uint64
	_, err = counters.Read(begin[:])
	if err == nil {
		sum(1000)
		_, err = counters.Read(end[:])
	}
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("from one read to the next: %d instructions\n", end[0]-begin[0])
}
