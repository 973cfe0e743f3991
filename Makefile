# SPDX-License-Identifier: GPL-2.0
# Every target runs a command of scripts/.

.DEFAULT_GOAL := help
.PHONY: help deps build tools deb demo check test test-debug test-mutants test-all bench papi bisect tree shell prune dist kernel-deb

# options of an outer make must not reach the make of these targets
unexport MAKEFLAGS MAKELEVEL

help:
	@sed -n 's/^#: //p' Makefile

#: make demo        install what is missing, build, boot, run the example program
#: make check       static checks and some guests: two minutes
#: make test        the same set-up, then the tests (TESTS='NAME...' for some suites)
#: make test-debug  the selftests on kernels with lockdep, KASAN, PREEMPT_RT
#: make test-mutants  known faults in the kernel; a test must notice each one
#:                  (MUTANTS='NAME...' for some of them)
#: make bench       measure what vpmc costs, exactly, in comparison with perf_event
#: make papi        PAPI's test programs, on libperfctr and libvpmc
#: make bisect      build and boot the kernel with each prefix of the series
#: make test-all    make test and all of these, 32-bit kernel
#: make build       kernel and emulator only
#: make tools       libvpmc and the vpmc command, for guests and in build/tools
#: make deb         Debian packages of them, in build/deb
#: make kernel-deb  Debian packages of a kernel with vpmc for your machine, in build/deb
#:                  (CONFIG=FILE; FLAVOUR=local: with the drivers in use only,
#:                  or FLAVOUR=vm for virtual machines)
#: make shell       an interactive guest
#: make tree        make a kernel tree in build/linux, to edit the patches with quilt
#: make deps        list and install the packages that are missing (as root)
#: make dist        make a self-contained tarball in build/
#: make prune       remove from the cache what was not used for a week
#:
#: KBASE=7 takes Linux 7.3, which is downloaded, instead of 6.12 (a directory of bases/).
#: KSRC=DIR|TARBALL and QEMU_SRC=DIR|TARBALL take other sources.
#: scripts/vm --help describes how to run your own programs in the guest.

deps:
	@scripts/deps

build:
	@scripts/setup

tools:
	@scripts/deps --for tools
	@scripts/build-tools

deb:
	@scripts/deps --for deb
	@scripts/build-deb

kernel-deb:
	@scripts/deps --for kernel-deb
	@scripts/build-kernel-deb $(if $(CONFIG),--config '$(CONFIG)') $(if $(FLAVOUR),--flavour '$(FLAVOUR)') \
		$(if $(LSMOD),--lsmod '$(LSMOD)')

demo:
	@scripts/setup --estimate demo
	@examples/demo/run
	@scripts/setup --took demo

check:
	@scripts/setup --estimate check
	@scripts/run-tests static selftests-quick
	@scripts/setup --took check

test:
	@scripts/setup --estimate test
	@scripts/run-tests $(TESTS)
	@$(if $(TESTS),:,scripts/setup --took test)

test-debug:
	@scripts/setup --estimate test-debug
	@scripts/run-tests selftests-debug selftests-kasan selftests-rt
	@scripts/setup --took test-debug

test-mutants:
	@scripts/setup --estimate test-mutants
	@scripts/test-mutants $(MUTANTS)
	@$(if $(MUTANTS),:,scripts/setup --took test-mutants)

test-all:
	@scripts/setup --estimate test-all
	@scripts/run-tests --all
	@scripts/setup --took test-all

bench:
	@scripts/setup --estimate bench
	@scripts/bench
	@scripts/setup --took bench

papi:
	@scripts/setup --estimate papi
	@scripts/papi
	@scripts/setup --took papi

bisect:
	@scripts/setup --estimate bisect
	@scripts/bisect
	@scripts/setup --took bisect

tree:
	@scripts/edit-tree

shell:
	@scripts/setup
	@scripts/vm --tty -- sh || :

prune:
	@scripts/prune

dist:
	@scripts/dist
