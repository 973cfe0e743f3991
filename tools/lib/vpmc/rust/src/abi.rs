// SPDX-License-Identifier: MIT
//! The part of `<linux/vpmc.h>` that this crate uses. That header is the specification.
//!
//! Copyright (C) 2026 vpmc developers

use std::mem::size_of;

pub const MAX_COUNTERS: usize = 32;
pub const ANY: u32 = 0xffff_ffff;

pub const STATE_RUNNING: u32 = 2;
pub const STATE_REVOKED: u32 = 5;

pub const CAP_RDPMC: u32 = 1 << 0;
pub const CAP_TSC: u32 = 1 << 1;

pub const KIND_AMD: u32 = 2;
pub const KIND_P6: u32 = 3;
pub const KIND_P4: u32 = 4;

pub const CONTROL_NEW: u32 = 1 << 0;
pub const CONTROL_UNLINK_ON_CLOSE: u32 = 1 << 8;
pub const CONTROL_ADD: u32 = 1 << 10;

pub const IOC_INFO: u64 = 0xbf00;
pub const IOC_CONTROL: u64 = 0xbf01;
pub const IOC_READ_CONTROL: u64 = 0xbf02;
pub const IOC_START: u64 = 0xbf03;
pub const IOC_READ: u64 = 0xbf06;

#[repr(C)]
pub struct Slot {
    pub index: u32,
    pub width: u32,
    pub base: u64,
}

#[repr(C)]
pub struct Page {
    pub version: u32,
    pub size: u32,
    pub tid: u32,
    pub caps: u32,
    pub time_mult: u32,
    pub time_shift: u32,
    pub time_offset: u64,
    pub set_number: u64,
    pub reserved0: [u64; 3],

    pub generation: u64,
    pub state: u32,
    pub nr_counters: u32,
    pub sign: u64,
    pub tsc_base: u64,
    pub switches: u64,
    pub migrations: u64,
    pub overflowed: u32,
    pub merged: u32,
    pub overflows: u64,

    pub slot: [Slot; MAX_COUNTERS],
}

/// Up to `map_size`. The kernel fills as much as this has room for.
#[repr(C)]
#[derive(Default)]
pub struct Info {
    pub size: u32,
    pub flags: u32,
    pub version: u32,
    pub kind: u32,
    pub features: u32,
    pub holder: u32,
    pub pmu_version: u32,
    pub width: u32,
    pub nr_gp: u32,
    pub nr_fixed: u32,
    pub gp_mask: u64,
    pub fixed_mask: u64,
    pub tsc_khz: u32,
    pub map_size: u32,
}

impl Info {
    /// Are the events neither AMD's nor Intel's architectural ones?
    pub fn has_other_events(&self) -> bool {
        self.kind == KIND_P4 || (self.kind == KIND_P6 && self.pmu_version == 0)
    }
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
pub struct Counter {
    pub evtsel: u64,
    pub index: u32,
    pub flags: u32,
    pub period: u64,
    pub reserved: u64,
}

#[repr(C)]
#[derive(Default)]
pub struct Control {
    pub size: u32,
    pub flags: u32,
    pub nr_counters: u32,
    pub bad_counter: u32,
    pub reason: u32,
    pub signal: u32,
    pub ring_records: u16,
    pub ring_watermark: u16,
    pub members: u32,
    pub counter: [Counter; MAX_COUNTERS],
}

#[repr(C)]
#[derive(Default)]
pub struct Read {
    pub size: u32,
    pub flags: u32,
    pub state: u32,
    pub nr_counters: u32,
    pub tid: u32,
    pub living: u32,
    pub finished: u64,
    pub lost: u64,
    pub ticks: u64,
    pub ns: u64,
    pub switches: u64,
    pub migrations: u64,
    pub sum: [u64; MAX_COUNTERS],
    pub left_control: u64,
    pub left_unlink: u64,
    pub left_exec: u64,
    pub set_number: u64,
}

const _: () = assert!(size_of::<Page>() == 128 + 16 * MAX_COUNTERS);
const _: () = assert!(size_of::<Info>() == 64);
const _: () = assert!(size_of::<Control>() == 32 + 32 * MAX_COUNTERS);
const _: () = assert!(size_of::<Read>() == 72 + 8 * MAX_COUNTERS + 32);
