// SPDX-License-Identifier: MIT
//! Reads a thread's page in user mode, as the description of `struct vpmc_page` says.
//!
//! Copyright (C) 2026 vpmc developers

use std::arch::asm;
use std::ptr::{addr_of, read_volatile};
use std::sync::atomic::{compiler_fence, Ordering};

use crate::abi;

/// A debugger that steps through the loop disturbs each try, so their number is limited.
const TRIES: u32 = 16;

/// What a try has read.
pub struct Snapshot {
    pub state: u32,
    pub set_number: u64,
    pub ticks: u64,
}

macro_rules! field {
    ($page:expr, $($path:tt)+) => {
        read_volatile(addr_of!((*$page).$($path)+))
    };
}

#[inline(always)]
unsafe fn rdpmc(index: u32) -> u64 {
    let (low, high): (u32, u32);

    asm!("rdpmc", in("ecx") index, out("eax") low, out("edx") high,
         options(nostack, preserves_flags));
    u64::from(high) << 32 | u64::from(low)
}

#[inline(always)]
unsafe fn rdtsc() -> u64 {
    let (low, high): (u32, u32);

    asm!("rdtsc", out("eax") low, out("edx") high, options(nostack, preserves_flags));
    u64::from(high) << 32 | u64::from(low)
}

/// Reads all counters and the run time as one snapshot, or nothing if each try was disturbed.
///
/// # Safety
///
/// The page must be mapped, of the calling thread, and permit RDPMC.
#[inline(always)]
pub unsafe fn read(page: *const abi::Page, count: &mut [u64; abi::MAX_COUNTERS]) -> Option<Snapshot> {
    for _ in 0..TRIES {
        let generation = field!(page, generation);
        compiler_fence(Ordering::SeqCst);
        let nr = (field!(page, nr_counters) as usize).min(abi::MAX_COUNTERS);
        let state = field!(page, state);
        let mut ticks = field!(page, tsc_base);
        if state == abi::STATE_RUNNING {
            let sign = field!(page, sign);
            ticks = ticks.wrapping_add(rdtsc());
            for (i, value) in count.iter_mut().enumerate().take(nr) {
                let raw = rdpmc(field!(page, slot[i].index));
                *value = field!(page, slot[i].base).wrapping_add(raw ^ sign);
            }
        } else {
            for (i, value) in count.iter_mut().enumerate().take(nr) {
                *value = field!(page, slot[i].base);
            }
        }
        let set_number = field!(page, set_number);
        compiler_fence(Ordering::SeqCst);
        if field!(page, generation) == generation {
            return Some(Snapshot { state, set_number, ticks });
        }
    }
    None
}
