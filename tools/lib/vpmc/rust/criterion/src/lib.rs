// SPDX-License-Identifier: MIT
//! Exact hardware counts as a measurement of criterion, on a Linux kernel with vpmc.
//!
//! ```no_run
//! use criterion::Criterion;
//!
//! let counts = vpmc_criterion::Counts::of("instructions").expect("counting");
//! let mut criterion = Criterion::default().with_measurement(counts);
//! criterion.bench_function("sum", |b| b.iter(|| (1..1000u64).sum::<u64>()));
//! ```
//!
//! Copyright (C) 2026 vpmc developers

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::Throughput;
use vpmc::{Counters, Error};

/// How often an empty measurement is measured.
const ROUNDS: u32 = 16;

const EINVAL: i32 = 22;

/// Counts one event of the thread that runs the benchmarks.
///
/// A measurement panics if the counters are lost, because criterion has no other way to fail.
pub struct Counts {
    counters: Counters,
    own: u64,
    formatter: Formatter,
}

impl Counts {
    /// Opens the calling thread's counters. The event is one that `vpmc::parse` takes.
    pub fn of(event: &str) -> Result<Counts, Error> {
        let counters = Counters::open(event)?;

        if counters.events().len() != 1 {
            let text = format!("{event}: a measurement counts one event; make one for each of these");

            return Err(Error { errno: EINVAL, reason: 0, text });
        }
        let name = counters.events()[0].name.clone();
        let mut counts = Counts { counters, own: 0, formatter: Formatter::new(&name) };

        let rounds = (0..ROUNDS).map(|_| {
            let begin = counts.start();
            counts.end(begin)
        });
        counts.own = rounds.min().unwrap_or(0);
        Ok(counts)
    }

    #[inline(never)]
    fn count(&self) -> u64 {
        let mut count = [0];

        if let Err(error) = self.counters.read(&mut count) {
            panic!("{error}");
        }
        count[0]
    }
}

impl Measurement for Counts {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        self.count()
    }

    fn end(&self, begin: u64) -> u64 {
        match self.count().checked_sub(begin) {
            Some(counted) => counted.saturating_sub(self.own),
            None => panic!("counting: somebody has cleared the sums meanwhile"),
        }
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &self.formatter
    }
}

/// Criterion wants names of units that live as long as the program.
struct Formatter {
    unit: &'static str,
    per_byte: &'static str,
    per_element: &'static str,
}

impl Formatter {
    fn new(name: &str) -> Formatter {
        let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };

        Formatter {
            unit: leak(name.to_string()),
            per_byte: leak(format!("{name}/byte")),
            per_element: leak(format!("{name}/element")),
        }
    }
}

impl ValueFormatter for Formatter {
    /// Counts are exact, so all digits before the point are shown.
    fn format_value(&self, value: f64) -> String {
        format!("{value:.4} {}", self.unit)
    }

    fn scale_values(&self, _: f64, _: &mut [f64]) -> &'static str {
        self.unit
    }

    fn scale_throughputs(&self, _: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        let (n, unit) = match *throughput {
            Throughput::Elements(n) => (n, self.per_element),
            Throughput::Bytes(n) => (n, self.per_byte),
            // later versions have more kinds of bytes
            #[allow(unreachable_patterns)]
            _ => (1, self.unit),
        };

        for value in values {
            *value /= n.max(1) as f64;
        }
        unit
    }

    fn scale_for_machines(&self, _: &mut [f64]) -> &'static str {
        self.unit
    }
}
