// SPDX-License-Identifier: LGPL-2.1-or-later
//! usage: rust_test LIST
//!        rust_test compete
//!
//! Prints what the crate counts of known code, for the suite harnesses. With "compete" it prints the
//! least and the greatest count between two reads in a row, while another thread wants the CPU.
//!
//! Copyright (C) 2026 vpmc developers

use std::arch::asm;
use std::fs::OpenOptions;
use std::os::raw::{c_int, c_ulong};
use std::os::unix::io::AsRawFd;
use std::process::exit;

use vpmc::abi;

extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
}

/// 2 * turns instructions, one more that sets ecx, and as many branches as turns
#[inline(always)]
fn known(turns: u32) {
    unsafe {
        asm!("2:", "dec ecx", "jnz 2b", inout("ecx") turns => _, options(nomem, nostack));
    }
}

fn print(what: &str, counts: Result<Vec<u64>, vpmc::Error>) {
    match counts {
        Ok(counts) => println!("{what} {}", counts.iter().map(u64::to_string).collect::<Vec<_>>().join(" ")),
        Err(error) => println!("{what} {}: {error}", vpmc::reason_name(error.reason)),
    }
}

fn reads(counters: &vpmc::Counters, turns: u32) -> Result<Vec<u64>, vpmc::Error> {
    let nr = counters.events().len();
    let mut begin = [0; 32];
    let mut end = [0; 32];

    counters.read(&mut begin)?;
    known(turns);
    counters.read(&mut end)?;
    Ok((0..nr).map(|i| end[i] - begin[i]).collect())
}

/// Asks for the thread's set as it is, by a descriptor of its own, or programs another one.
fn control(request: u64, control: &mut abi::Control) {
    let file = OpenOptions::new().read(true).write(true).open("/proc/thread-self/perfctr").unwrap();

    control.size = std::mem::size_of::<abi::Control>() as u32;
    // SAFETY: the structure has this size.
    assert_eq!(unsafe { ioctl(file.as_raw_fd(), request as c_ulong, control as *mut abi::Control) }, 0);
}

/// Sets the sums of the thread's set to zero.
fn clear() {
    const CLEAR: c_ulong = 0xbf05;
    let file = OpenOptions::new().read(true).write(true).open("/proc/thread-self/perfctr").unwrap();

    // SAFETY: this request takes a number.
    assert_eq!(unsafe { ioctl(file.as_raw_fd(), CLEAR, 0 as c_ulong) }, 0);
}

fn compete() {
    let mut before = [0];
    let mut now = [0];
    let (mut least, mut greatest) = (u64::MAX, 0);
    let mut counters = vpmc::Counters::open("instructions").unwrap();

    std::thread::spawn(|| loop {
        known(1000);
    });
    counters.clear();
    for turn in 0..300_000 {
        counters.read(&mut now).unwrap();
        if turn > 0 {
            let difference = now[0].wrapping_sub(before[0]);

            least = least.min(difference);
            greatest = greatest.max(difference);
        }
        before = now;
    }
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let switches = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:")).unwrap();
    println!("{least} {greatest} {}", switches.trim());
}

fn main() {
    let list = std::env::args().nth(1).unwrap_or_default();
    if list == "compete" {
        return compete();
    }
    let mut counters = vpmc::Counters::open(&list).unwrap_or_else(|error| {
        println!("open {}: {error}", vpmc::reason_name(error.reason));
        exit(1)
    });

    for event in counters.events() {
        println!("event {} {:#x}", event.name, event.select);
    }
    // the sums of a new set begin with zero
    let mut count = [u64::MAX];
    println!("small {}", counters.read(&mut count).is_ok() && count[0] < 1 << 32);
    print("measure 0", counters.measure(|| ()));
    for turns in [1000, 2000] {
        print(&format!("measure {turns}"), counters.measure(|| known(turns)));
        print(&format!("reads {turns}"), reads(&counters, turns));
    }
    // several times, with something between that is not counted
    counters.clear();
    for _ in 0..10 {
        counters.start();
        known(100);
        counters.stop();
        known(77);
    }
    print("sums", counters.sums());
    // each thread has its own
    std::thread::spawn(|| {
        let counts = vpmc::Counters::open("branches").and_then(|mut it| it.measure(|| known(1000)));

        print("thread", counts);
    })
    .join()
    .unwrap();
    // a second handle adds to the set, until it is dropped
    match vpmc::Counters::open("instructions,cycles") {
        Ok(mut two) => print("two", two.measure(|| known(1000))),
        Err(error) => print("two", Err(error)),
    }
    print("again", counters.measure(|| known(1000)));
    counters.clear();
    counters.start();
    clear();
    counters.stop();
    print("cleared", counters.sums());
    std::fs::write("/proc/sys/kernel/vpmc_revoke", "1").unwrap_or_default();
    print("revoked", reads(&counters, 1000));
    std::fs::write("/proc/sys/kernel/vpmc_revoke", "0").unwrap_or_default();
    // A dropped value leaves nothing: the next one has a set of its own.
    drop(counters);
    drop(vpmc::Counters::open("branches"));
    let counters = vpmc::Counters::open("instructions").unwrap();
    let mut set = abi::Control { nr_counters: 32, ..Default::default() };
    control(abi::IOC_READ_CONTROL, &mut set);
    println!("own {}", set.nr_counters);
    set.flags = 0;
    control(abi::IOC_CONTROL, &mut set);
    print("replaced", reads(&counters, 1000));
}
