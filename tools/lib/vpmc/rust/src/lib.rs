// SPDX-License-Identifier: MIT
//! Exact 64-bit hardware counters of the calling thread, on a Linux kernel with vpmc.
//!
//! ```no_run
//! let mut counters = vpmc::Counters::open("instructions,branches")?;
//! let counts = counters.measure(|| (1..1000u64).product::<u64>())?;
//! println!("{} instructions", counts[0]);
//! # Ok::<(), vpmc::Error>(())
//! ```
//!
//! The counters belong to the thread that opens them, so [`Counters`] cannot be sent to
//! another thread:
//!
//! ```compile_fail
//! let counters = vpmc::Counters::open("instructions").unwrap();
//! std::thread::spawn(move || drop(counters));
//! ```
//!
//! Do not use it in a child of fork(): the kernel does not map the page there.
//!
//! Copyright (C) 2026 vpmc developers

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("vpmc: only Linux on x86-64 has these counters");

#[doc(hidden)]
pub mod abi;
mod counters;
mod error;
mod event;
mod page;
mod reason;
mod sys;

pub use counters::Counters;
pub use error::{reason_name, Error};
pub use event::{parse, Event};
