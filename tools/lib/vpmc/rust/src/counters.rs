// SPDX-License-Identifier: MIT
//! The calling thread's counters.
//!
//! Copyright (C) 2026 vpmc developers

use std::marker::PhantomData;
use std::ptr::{addr_of, read_volatile};

use crate::abi::{self, MAX_COUNTERS};
use crate::error::Error;
use crate::event::{self, Event};
use crate::page::{self, Snapshot};
use crate::sys::Handle;

const WHAT: &str = "counting";
/// How often open() looks for a set that another thread may program or end.
const LOOKS: u32 = 8;
/// How often clear() measures an empty start() and stop().
const ROUNDS: u32 = 16;

const REPLACED: &str = "somebody has programmed another set meanwhile";
const CLEARED: &str = "somebody has cleared the sums meanwhile";

const EBUSY: i32 = 16;
const EEXIST: i32 = 17;
const ENOSPC: i32 = 28;
const ENODATA: i32 = 61;

type Values = [u64; MAX_COUNTERS];

/// The counters of the thread that has opened them. They end with this value.
///
/// If the thread has a set already, for instance from `vpmc stat`, that set is used, and gets what
/// it lacks. Otherwise this is a set of its own.
pub struct Counters {
    handle: Handle,
    events: Vec<Event>,
    element: Vec<usize>,
    set_number: u64,
    rdpmc: bool,
    begun: Values,
    sums: Values,
    own: Values,
    failed: Option<Error>,
    // neither Send nor Sync: RDPMC reads the counters of the thread that executes it
    thread: PhantomData<*const ()>,
}

impl Counters {
    /// Opens the calling thread's counters and counts a list of events.
    pub fn open(list: &str) -> Result<Counters, Error> {
        let (handle, info) = Handle::open()?;

        if info.has_other_events() {
            return Err(Error::new(95, list, "this crate does not know the events of a P6 or NetBurst", "use libvpmc"));
        }
        let events = event::parse(list, info.kind == abi::KIND_AMD)?;
        let element = program(&handle, &events)?;
        // SAFETY: the handle has mapped it.
        let (set_number, caps) = unsafe {
            let page = handle.page();
            (read_volatile(addr_of!((*page).set_number)), read_volatile(addr_of!((*page).caps)))
        };
        let readable = abi::CAP_RDPMC | abi::CAP_TSC;
        let mut counters = Counters {
            handle,
            events,
            element,
            set_number,
            rdpmc: caps & readable == readable,
            begun: [0; MAX_COUNTERS],
            sums: [0; MAX_COUNTERS],
            own: [0; MAX_COUNTERS],
            failed: None,
            thread: PhantomData,
        };
        counters.clear();
        Ok(counters)
    }

    /// The events, in the order of the list.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// Reads the counts of all events, and returns the thread's run time in TSC ticks.
    ///
    /// All values are of the same moment. They are an error if the set does not run any more.
    #[inline]
    pub fn read(&self, counts: &mut [u64]) -> Result<u64, Error> {
        let mut values = [0; MAX_COUNTERS];
        let ticks = self.snapshot(&mut values)?;

        for (count, &element) in counts.iter_mut().zip(&self.element) {
            *count = values[element];
        }
        Ok(ticks)
    }

    /// Sets the sums to zero, and measures what start() and stop() count themselves.
    pub fn clear(&mut self) {
        let mut least = [u64::MAX; MAX_COUNTERS];

        self.failed = None;
        self.own = [0; MAX_COUNTERS];
        for _ in 0..ROUNDS {
            self.sums = [0; MAX_COUNTERS];
            self.start();
            self.stop();
            for (least, &sum) in least.iter_mut().zip(&self.sums) {
                *least = sum.min(*least);
            }
        }
        self.sums = [0; MAX_COUNTERS];
        self.own = least;
    }

    /// What the thread executes from here to the next stop() is added to the sums.
    #[inline(never)]
    pub fn start(&mut self) {
        let mut values = [0; MAX_COUNTERS];

        match self.snapshot(&mut values) {
            Ok(_) => self.begun = values,
            Err(error) => self.failed = Some(error),
        }
    }

    /// Ends what start() has begun.
    #[inline(never)]
    pub fn stop(&mut self) {
        let mut values = [0; MAX_COUNTERS];

        if let Err(error) = self.snapshot(&mut values) {
            self.failed = Some(error);
            return;
        }
        for &element in &self.element {
            match values[element].checked_sub(self.begun[element]) {
                Some(counted) => self.sums[element] += counted.saturating_sub(self.own[element]),
                None => self.failed = Some(cleared()),
            }
        }
    }

    /// The sums since clear(), in the order of the list, or why they are not right.
    pub fn sums(&self) -> Result<Vec<u64>, Error> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None => Ok(self.element.iter().map(|&element| self.sums[element]).collect()),
        }
    }

    /// Counts a call of a function.
    pub fn measure<T>(&mut self, function: impl FnOnce() -> T) -> Result<Vec<u64>, Error> {
        self.clear();
        self.start();
        let result = function();
        self.stop();
        // the result is made before stop()
        drop(result);
        self.sums()
    }

    #[inline(always)]
    fn snapshot(&self, values: &mut Values) -> Result<u64, Error> {
        let read = if self.rdpmc {
            // SAFETY: it is mapped, permits RDPMC, and this type stays in its thread.
            unsafe { page::read(self.handle.page(), values) }
        } else {
            None
        };
        let read = match read {
            Some(read) => read,
            None => self.by_call(values)?,
        };

        if read.state == abi::STATE_RUNNING && read.set_number == self.set_number {
            return Ok(read.ticks);
        }
        Err(lost(&read, self.set_number))
    }

    #[cold]
    #[inline(never)]
    fn by_call(&self, values: &mut Values) -> Result<Snapshot, Error> {
        let sums = self.handle.sums().map_err(|errno| Error::system(errno, WHAT))?;

        *values = sums.sum;
        Ok(Snapshot {
            state: sums.state,
            set_number: sums.set_number,
            ticks: sums.ticks,
        })
    }
}

#[cold]
#[inline(never)]
fn cleared() -> Error {
    Error::new(ENODATA, WHAT, CLEARED, "")
}

#[cold]
#[inline(never)]
fn lost(read: &Snapshot, set_number: u64) -> Error {
    if read.set_number != set_number {
        return Error::new(EBUSY, WHAT, REPLACED, "");
    }
    if read.state == abi::STATE_REVOKED {
        return Error::refused(ENODATA, crate::reason::REVOKED, WHAT);
    }
    Error::new(ENODATA, WHAT, "the set was stopped or detached", "")
}

/// Counts with the set that is there, or programs one. Returns the element of each event.
fn program(handle: &Handle, events: &[Event]) -> Result<Vec<usize>, Error> {
    for _ in 0..LOOKS {
        let there = match control(handle, &[], abi::CONTROL_ADD) {
            Ok(()) => true,
            Err(error) if error.errno == ENODATA => false,
            Err(error) => return Err(error),
        };
        let added = if there {
            add_missing(handle, events)
        } else {
            control(handle, events, abi::CONTROL_NEW | abi::CONTROL_UNLINK_ON_CLOSE)
        };

        match added {
            // A set has gone or appeared since the look.
            Err(error) if error.errno == if there { ENODATA } else { EEXIST } => continue,
            result => result?,
        }
        return find(handle, events)?
            .into_iter()
            .map(|it| it.ok_or_else(|| Error::new(EBUSY, WHAT, REPLACED, "try again")))
            .collect();
    }
    Err(Error::new(EBUSY, WHAT, "somebody programs and ends sets all the time", "try again"))
}

/// Adds what the set lacks, and starts it if it is stopped. What others have added stays, too.
fn add_missing(handle: &Handle, events: &[Event]) -> Result<(), Error> {
    let found = find(handle, events)?;
    let missing: Vec<Event> =
        events.iter().zip(&found).filter(|it| it.1.is_none()).map(|it| it.0.clone()).collect();

    if !missing.is_empty() {
        control(handle, &missing, abi::CONTROL_ADD)?;
    }
    let sums = handle.sums().map_err(|errno| Error::system(errno, WHAT))?;
    if sums.state != abi::STATE_RUNNING {
        handle.start().map_err(|errno| Error::system(errno, WHAT))?;
    }
    Ok(())
}

fn control(handle: &Handle, events: &[Event], flags: u32) -> Result<(), Error> {
    let mut control = abi::Control {
        size: std::mem::size_of::<abi::Control>() as u32,
        flags,
        nr_counters: events.len() as u32,
        ..Default::default()
    };

    if events.len() > MAX_COUNTERS {
        return Err(Error::refused(ENOSPC, crate::reason::TOO_MANY, WHAT));
    }
    for (counter, event) in control.counter.iter_mut().zip(events) {
        counter.evtsel = event.select;
        counter.index = abi::ANY;
    }
    handle.request(abi::IOC_CONTROL, &mut control).map_err(|errno| {
        let what = events.get(control.bad_counter as usize).map_or(WHAT, |event| &event.name);

        match control.reason {
            0 => Error::system(errno, WHAT),
            reason => Error::refused(errno, reason, what),
        }
    })
}

/// Returns the element of each event that the set has.
fn find(handle: &Handle, events: &[Event]) -> Result<Vec<Option<usize>>, Error> {
    let mut control = abi::Control {
        size: std::mem::size_of::<abi::Control>() as u32,
        nr_counters: MAX_COUNTERS as u32,
        ..Default::default()
    };

    handle.request(abi::IOC_READ_CONTROL, &mut control).map_err(|errno| Error::system(errno, WHAT))?;
    let set = &control.counter[..(control.nr_counters as usize).min(MAX_COUNTERS)];
    Ok(events
        .iter()
        .map(|event| set.iter().position(|counter| event::same_select(counter.evtsel, event.select)))
        .collect())
}
