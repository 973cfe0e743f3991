// SPDX-License-Identifier: MIT
//! Criterion measures instructions in place of time.
use criterion::{black_box, criterion_group, criterion_main, Criterion};
use std::time::Duration;
use vpmc_criterion::Counts;

fn sum(criterion: &mut Criterion<Counts>) {
    criterion.bench_function("sum", |b| b.iter(|| (0..black_box(100u64)).map(black_box).sum::<u64>()));
}

fn instructions() -> Criterion<Counts> {
    let counts = Counts::of("instructions").unwrap_or_else(|error| panic!("{error}"));

    // counts do not vary, so few samples are enough
    Criterion::default()
        .with_measurement(counts)
        .sample_size(10)
        .nresamples(1000)
        .warm_up_time(Duration::from_millis(1))
        .measurement_time(Duration::from_millis(1))
        .without_plots()
}

criterion_group! { name = benches; config = instructions(); targets = sum }
criterion_main!(benches);
