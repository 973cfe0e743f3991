// SPDX-License-Identifier: MIT
//! What went wrong, with the kernel's reason in words.
//!
//! Copyright (C) 2026 vpmc developers

use std::fmt;
use std::io;

use crate::reason::REASONS;

/// Why something cannot be counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// The error number; 0 if no system call has failed.
    pub errno: i32,
    /// `enum vpmc_reason` of `<linux/vpmc.h>`; 0 if the kernel gave none.
    pub reason: u32,
    /// The sentence: what, why, and what helps.
    pub text: String,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

impl Error {
    pub(crate) fn new(errno: i32, what: &str, why: &str, help: &str) -> Error {
        let gap = if help.is_empty() { "" } else { "; " };

        Error { errno, reason: 0, text: format!("{what}: {why}{gap}{help}") }
    }

    pub(crate) fn system(errno: i32, what: &str) -> Error {
        Error::new(errno, what, &io::Error::from_raw_os_error(errno).to_string(), "")
    }

    pub(crate) fn refused(errno: i32, reason: u32, what: &str) -> Error {
        let (_, why, help) = REASONS.get(reason as usize).copied().unwrap_or((
            "unknown",
            "the kernel gives a reason that this crate does not know",
            "a newer one knows it",
        ));

        Error { reason, ..Error::new(errno, what, why, help) }
    }
}

/// The name of a reason, for instance `"pmu-watchdog"`; `"unknown"` for a number without one.
pub fn reason_name(reason: u32) -> &'static str {
    REASONS.get(reason as usize).map_or("unknown", |it| it.0)
}
