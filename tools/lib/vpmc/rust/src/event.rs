// SPDX-License-Identifier: MIT
//! Parses lists of events. Names of libpfm4's tables are left to libvpmc.
//!
//! Copyright (C) 2026 vpmc developers

use crate::error::Error;

const USR: u64 = 1 << 16;
const OS: u64 = 1 << 17;
/// INT and EN belong to the kernel.
const OWNED: u64 = 1 << 20 | 1 << 22;

/// Name, and event and unit mask for Intel and for AMD; 0: there is none.
const PORTABLE: [(&str, u64, u64); 9] = [
    ("instructions", 0x00c0, 0x00c0),
    ("cycles", 0x003c, 0x0076),
    ("cpu-cycles", 0x003c, 0x0076),
    ("ref-cycles", 0x013c, 0),
    ("branches", 0x00c4, 0x00c2),
    ("branch-instructions", 0x00c4, 0x00c2),
    ("branch-misses", 0x00c5, 0x00c3),
    ("cache-references", 0x4f2e, 0),
    ("cache-misses", 0x412e, 0),
];

/// An event of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// As written, with its modes: `:u` if none are written.
    pub name: String,
    /// The event select, for `struct vpmc_counter`.
    pub select: u64,
}

/// Do two selects count the same?
pub fn same_select(a: u64, b: u64) -> bool {
    (a ^ b) & !OWNED == 0
}

fn wrong(text: &str, why: &str, help: &str) -> Error {
    Error::new(22, text, why, help)
}

fn modes_of(modes: &str) -> Option<u64> {
    match modes {
        "u" => Some(USR),
        "k" => Some(OS),
        "uk" | "ku" | "u:k" | "k:u" => Some(USR | OS),
        _ => None,
    }
}

fn number(digits: &str) -> Option<u64> {
    // from_str_radix() takes a sign
    if !digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        return None;
    }
    u64::from_str_radix(digits, 16).ok()
}

/// Returns the select without modes, or with those that a whole select has.
fn code_of(text: &str, name: &str, amd: bool) -> Result<u64, Error> {
    if let Some(&(_, intel_code, amd_code)) = PORTABLE.iter().find(|it| it.0 == name) {
        let code = if amd { amd_code } else { intel_code };

        if code == 0 {
            return Err(wrong(text, "AMD processors have no such portable event", "leave it out"));
        }
        return Ok(code);
    }
    let lower = name.to_ascii_lowercase();
    if let Some(digits) = lower.strip_prefix("0x") {
        return number(digits)
            .ok_or_else(|| wrong(text, "after 0x come up to 16 hexadecimal digits", ""));
    }
    if let Some(code) = name.strip_prefix('r').and_then(number) {
        if code & (USR | OS | OWNED) != 0 {
            return Err(wrong(text, "'r' takes event and unit mask without modes", ""));
        }
        return Ok(code);
    }
    let names = PORTABLE.map(|it| it.0).join(", ");
    Err(wrong(text, "no event has that name", &format!("write {names}, rUUEE or 0xSELECT")))
}

fn parse_one(text: &str, amd: bool) -> Result<Event, Error> {
    let (name, modes) = match text.split_once(':') {
        Some((name, modes)) => (name, Some(modes)),
        None => (text, None),
    };

    if name.is_empty() {
        return Err(wrong("the list of events", "an event is empty", "name one, for instance 'instructions'"));
    }
    let code = code_of(text, name, amd)?;
    let select = match modes {
        _ if code & (USR | OS) != 0 && modes.is_none() => code,
        None => code | USR,
        Some(modes) if code & (USR | OS) == 0 => {
            code | modes_of(modes)
                .ok_or_else(|| wrong(text, "only ':u', ':k' or ':uk' can follow here", ""))?
        }
        Some(_) => {
            return Err(wrong(text, "the event select has its modes in bits 16 and 17 already", ""));
        }
    };
    let shown = if modes.is_none() && code & (USR | OS) == 0 { ":u" } else { "" };

    Ok(Event { name: format!("{text}{shown}"), select })
}

/// Parses a list of events, separated by commas.
pub fn parse(list: &str, amd: bool) -> Result<Vec<Event>, Error> {
    let mut events: Vec<Event> = Vec::new();

    for text in list.split(',') {
        let event = parse_one(text.trim(), amd)?;

        if events.iter().any(|it| same_select(it.select, event.select)) {
            return Err(wrong(text.trim(), "the list has this event twice", "name it once"));
        }
        events.push(event);
    }
    Ok(events)
}
