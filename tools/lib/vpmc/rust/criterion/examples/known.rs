// SPDX-License-Identifier: MIT
//! Benchmarks of known code, which libvpmc's tests compare with each other.
use criterion::{criterion_group, criterion_main, Criterion};
use std::arch::asm;
use std::time::Duration;
use vpmc_criterion::Counts;

/// 2 * turns instructions, and a few around them
#[inline(never)]
fn code(turns: u32) {
    // SAFETY: it changes a register.
    unsafe {
        asm!("2:", "dec ecx", "jnz 2b", inout("ecx") turns => _, options(nomem, nostack));
    }
}

fn known(criterion: &mut Criterion<Counts>) {
    for turns in [50, 100] {
        criterion.bench_function(&turns.to_string(), |b| b.iter(|| code(turns)));
    }
}

fn instructions() -> Criterion<Counts> {
    let counts = Counts::of("instructions").unwrap_or_else(|error| panic!("{error}"));

    if let Err(error) = Counts::of("instructions,branches") {
        eprintln!("two events: {error}");
    }
    Criterion::default()
        .with_measurement(counts)
        .sample_size(10)
        .nresamples(1000)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .without_plots()
}

criterion_group! { name = benches; config = instructions(); targets = known }
criterion_main!(benches);
