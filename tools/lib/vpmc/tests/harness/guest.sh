#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Runs in the guest of scripts/suites/harnesses. For each NAME it leaves /out/NAME, which is
# the standard output, /out/NAME.err and /out/NAME.status.

# run NAME COMMAND...
run() {
	_name=$1
	shift
	"$@" >"/out/$_name" 2>"/out/$_name.err"
	echo $? >"/out/$_name.status"
}
json=--benchmark_format=json
own=PERF_COUNT_HW_INSTRUCTIONS,PERF_COUNT_HW_BRANCH_INSTRUCTIONS
many=instructions,cycles,branches,r09f0,r0af0,r0bf0,r0cf0,r0df0,r0ef0,r0ff0,r08f0,r07f0

cd /tmp || exit
# Google Benchmark's own counters come first. vpmc keeps counters for up to a second after their
# use, and Google Benchmark prints anything if perf has none left.
run cost-own benchmark_cost $json --benchmark_perf_counters=$own,PERF_COUNT_HW_CPU_CYCLES --benchmark_filter=state
run benchmark-own benchmark_own $json --benchmark_perf_counters=$own
run c c_test
run benchmark benchmark_test $json
run benchmark-stat vpmc stat -o /out/stat -e instructions,cycles -- benchmark_test $json
run cost benchmark_cost
run benchmark-unknown env TEST_EVENTS=instructionz benchmark_test $json --benchmark_filter=plain
run benchmark-many env TEST_EVENTS=$many benchmark_test $json --benchmark_filter=plain
run example-benchmark example-benchmark

run catch2 catch2_test --benchmark-samples 3 --benchmark-resamples 10 --benchmark-warmup-time 1
run catch2-unknown catch2_test "an event that the list has not"
run example-catch2 example-catch2

run rust rust_test instructions,branches
run rust-stat vpmc stat -o /out/stat-rust -e branches,cycles -- rust_test instructions,branches
run rust-compete taskset 1 rust_test compete
run rust-unknown rust_test instructionz
run rust-many rust_test $many
run example-rust example-rust
run criterion criterion_test --bench
cp target/criterion/50/new/sample.json /out/50.json
cp target/criterion/100/new/sample.json /out/100.json
run example-criterion example-criterion --bench

run go go_test -test.v
run go-bench go_bench -test.v
run go-stat vpmc stat -o /out/stat-go -e branches,cycles -- go_test -test.v -test.run Exact
run go-benchmark go_bench -test.run none -test.bench Known -test.benchtime 1000x
run example-go example-go

# nobody may count
sysctl -qw kernel.vpmc_paranoid=2
chmod 1777 /tmp
run benchmark-nobody confined -u benchmark_test $json --benchmark_filter=plain
run catch2-nobody confined -u example-catch2
run rust-nobody confined -u rust_test instructions
run criterion-nobody confined -u criterion_test --bench
run go-nobody confined -u go_bench -test.run none -test.bench . -test.benchtime 1000x
sysctl -qw kernel.vpmc_paranoid=0

# no file "perfctr", as on a kernel without vpmc
mount -t tmpfs none /proc
run benchmark-without benchmark_test $json --benchmark_filter=plain
run catch2-without example-catch2
run rust-without rust_test instructions
run criterion-without criterion_test --bench
run go-without go_bench -test.run none -test.bench . -test.benchtime 1000x
echo end >/out/end
