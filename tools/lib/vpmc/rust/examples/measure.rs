// SPDX-License-Identifier: MIT
//! Counts a function, and then the same thread from one read to the next.
use std::hint::black_box;

fn sum(n: u64) -> u64 {
    (0..n).map(black_box).sum()
}

fn main() -> Result<(), vpmc::Error> {
    let mut counters = vpmc::Counters::open("instructions,branches")?;
    let counts = counters.measure(|| sum(1000))?;

    for (event, count) in counters.events().iter().zip(&counts) {
        println!("{}: {}", event.name, count);
    }

    let mut begin = [0; 2];
    let mut end = [0; 2];
    counters.read(&mut begin)?;
    black_box(sum(1000));
    counters.read(&mut end)?;
    println!("from one read to the next: {} instructions", end[0] - begin[0]);
    Ok(())
}
