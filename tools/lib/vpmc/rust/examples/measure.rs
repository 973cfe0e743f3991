// SPDX-License-Identifier: MIT
//! Counts a piece of code, and then the same thread from one read to the next.
use std::arch::asm;

/// Two instructions and one branch for each turn.
fn turn(turns: u32) {
    // SAFETY: it changes a register.
    unsafe { asm!("2:", "dec ecx", "jnz 2b", inout("ecx") turns => _) };
}

fn main() -> Result<(), vpmc::Error> {
    let mut counters = vpmc::Counters::open("instructions,branches")?;
    let counts = counters.measure(|| turn(1000))?;

    for (event, count) in counters.events().iter().zip(&counts) {
        println!("{}: {}", event.name, count);
    }

    let mut begin = [0; 2];
    let mut end = [0; 2];
    counters.read(&mut begin)?;
    turn(1000);
    counters.read(&mut end)?;
    println!("from one read to the next: {} instructions", end[0] - begin[0]);
    Ok(())
}
