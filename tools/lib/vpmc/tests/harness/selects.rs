// SPDX-License-Identifier: LGPL-2.1-or-later
//! usage: selects intel|amd LIST
//!
//! Prints names and selects of events, as c_test does.
//!
//! Copyright (C) 2026 vpmc developers

fn main() {
    let arguments: Vec<String> = std::env::args().collect();

    match vpmc::parse(&arguments[2], arguments[1] == "amd") {
        Ok(events) => events.iter().for_each(|it| println!("event {} {:#x}", it.name, it.select)),
        Err(error) => println!("{error}"),
    }
}
