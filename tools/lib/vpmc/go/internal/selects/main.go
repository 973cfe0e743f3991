// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

// usage: selects intel|amd LIST
//
// Prints names and selects of events, for libvpmc's tests.
package main

import (
	"fmt"
	"os"

	"vpmc"
)

func main() {
	events, err := vpmc.Parse(os.Args[2], os.Args[1] == "amd")
	if err != nil {
		fmt.Println(err)
	}
	for _, event := range events {
		fmt.Printf("event %s %#x\n", event.Name, event.Select)
	}
}
