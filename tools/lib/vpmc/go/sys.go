// SPDX-License-Identifier: MIT
// Copyright (C) 2026 vpmc developers

//go:build linux && amd64

package vpmc

import (
	"encoding/binary"
	"os"
	"syscall"
	"unsafe"
)

const (
	ownFile = "/proc/thread-self/perfctr"
	what    = "counting"
	whatOwn = "this thread's counters"

	atHWCap2       = 26
	hwcap2FSGSBASE = 1 << 1
)

// handle is a descriptor of the thread's counters, and their page.
type handle struct {
	fd     int
	mapped []byte
	page   *page
}

// openHandle attaches counters to the calling thread if it has none. The caller is locked to it.
func openHandle() (*handle, *info, error) {
	fd, err := syscall.Open(ownFile, syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC, 0666)
	if err != nil {
		return nil, nil, openError(err.(syscall.Errno))
	}
	h := &handle{fd: fd}
	in := &info{size: uint32(unsafe.Sizeof(info{}))}
	errno := h.request(iocInfo, unsafe.Pointer(in))
	if errno == 0 {
		h.mapped, err = syscall.Mmap(fd, 0, int(in.mapSize), syscall.PROT_READ, syscall.MAP_SHARED)
		if err != nil {
			errno = err.(syscall.Errno)
		}
	}
	if errno != 0 {
		h.close()
		return nil, nil, systemError(errno, whatOwn)
	}
	h.page = (*page)(unsafe.Pointer(&h.mapped[0]))
	if uintptr(h.page.size) < unsafe.Sizeof(page{}) {
		h.close()
		return nil, nil, newError(syscall.EINVAL, whatOwn,
			"the kernel's page is shorter than this package's", "use another kernel")
	}
	return h, in, nil
}

func (h *handle) close() {
	if h.mapped != nil {
		syscall.Munmap(h.mapped)
	}
	syscall.Close(h.fd)
	h.mapped, h.page, h.fd = nil, nil, -1
}

// request calls ioctl() with a structure of <linux/vpmc.h>.
func (h *handle) request(request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(h.fd), request, uintptr(argument))
	return errno
}

func (h *handle) sums() (*sums, syscall.Errno) {
	s := &sums{size: uint32(unsafe.Sizeof(sums{}))}
	return s, h.request(iocRead, unsafe.Pointer(s))
}

func openError(errno syscall.Errno) error {
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		return newError(errno, whatOwn,
			"this kernel has no vpmc, or /proc is not mounted", "boot a kernel with CONFIG_VPMC=y")
	case syscall.ENODEV:
		return newError(errno, whatOwn, "vpmc is switched off", "boot without vpmc=off")
	case syscall.EACCES, syscall.EPERM:
		return refused(errno, reasonParanoid, whatOwn)
	}
	return systemError(errno, whatOwn)
}

// threadBase returns the thread's FS base, or 0 if the kernel does not let user code read it.
func threadBase() uint64 {
	const pair = 16

	auxv, err := os.ReadFile("/proc/self/auxv")
	if err != nil {
		return 0
	}
	for ; len(auxv) >= pair; auxv = auxv[pair:] {
		if binary.LittleEndian.Uint64(auxv) == atHWCap2 {
			if binary.LittleEndian.Uint64(auxv[8:])&hwcap2FSGSBASE != 0 {
				return fsBase()
			}
			return 0
		}
	}
	return 0
}
