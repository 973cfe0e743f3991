// SPDX-License-Identifier: MIT
//! The descriptor and the page of the calling thread's counters.
//!
//! Copyright (C) 2026 vpmc developers

use std::fs::{File, OpenOptions};
use std::os::raw::{c_int, c_ulong, c_void};
use std::os::unix::io::AsRawFd;
use std::{io, ptr};

use crate::abi;
use crate::error::Error;

const OWN_FILE: &str = "/proc/thread-self/perfctr";
const WHAT: &str = "this thread's counters";
const PROT_READ: c_int = 1;
const MAP_SHARED: c_int = 1;

// The standard library links the C library, so that no crate is needed for these.
extern "C" {
    fn ioctl(fd: c_int, request: c_ulong, ...) -> c_int;
    fn mmap(at: *mut c_void, size: usize, protection: c_int, flags: c_int, fd: c_int, offset: i64) -> *mut c_void;
    fn munmap(at: *mut c_void, size: usize) -> c_int;
}

fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}

pub struct Handle {
    file: File,
    page: *const abi::Page,
    size: usize,
}

impl Handle {
    /// Opens the calling thread's counters, attaches some if there are none, and maps the page.
    pub fn open() -> Result<(Handle, abi::Info), Error> {
        let file = OpenOptions::new().read(true).write(true).create(true).open(OWN_FILE).map_err(open_error)?;
        let mut handle = Handle { file, page: ptr::null(), size: 0 };
        let mut info = abi::Info { size: std::mem::size_of::<abi::Info>() as u32, ..Default::default() };

        handle.request(abi::IOC_INFO, &mut info).map_err(|e| Error::system(e, WHAT))?;
        handle.map(info.map_size as usize)?;
        Ok((handle, info))
    }

    fn map(&mut self, size: usize) -> Result<(), Error> {
        // SAFETY: the kernel chooses the place.
        let page = unsafe { mmap(ptr::null_mut(), size, PROT_READ, MAP_SHARED, self.file.as_raw_fd(), 0) };

        if page as isize == -1 {
            return Err(Error::system(last_errno(), WHAT));
        }
        self.page = page as *const abi::Page;
        self.size = size;
        // SAFETY: it is mapped.
        let valid = unsafe { (*self.page).size } as usize;
        if valid < std::mem::size_of::<abi::Page>() {
            return Err(Error::new(22, WHAT, "the kernel's page is shorter than this crate's", "use another kernel"));
        }
        Ok(())
    }

    pub fn page(&self) -> *const abi::Page {
        self.page
    }

    /// Calls ioctl() with a structure of `<linux/vpmc.h>`.
    pub fn request<T>(&self, request: u64, argument: &mut T) -> Result<(), i32> {
        // SAFETY: the structure has the size that it says it has.
        let result = unsafe { ioctl(self.file.as_raw_fd(), request as c_ulong, argument as *mut T) };

        if result < 0 { Err(last_errno()) } else { Ok(()) }
    }

    pub fn start(&self) -> Result<(), i32> {
        // SAFETY: this request takes no argument.
        let result = unsafe { ioctl(self.file.as_raw_fd(), abi::IOC_START as c_ulong, 0 as c_ulong) };

        if result < 0 { Err(last_errno()) } else { Ok(()) }
    }

    pub fn sums(&self) -> Result<abi::Read, i32> {
        let mut sums = abi::Read { size: std::mem::size_of::<abi::Read>() as u32, ..Default::default() };

        self.request(abi::IOC_READ, &mut sums)?;
        Ok(sums)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.page.is_null() {
            // SAFETY: it is mapped, and nobody else has the address.
            unsafe { munmap(self.page as *mut c_void, self.size) };
        }
    }
}

fn open_error(error: io::Error) -> Error {
    let errno = error.raw_os_error().unwrap_or(0);

    match errno {
        // ENOENT, ENOTDIR
        2 | 20 => {
            let why = "this kernel has no vpmc, or /proc is not mounted";

            Error::new(errno, WHAT, why, "boot a kernel with CONFIG_VPMC=y")
        }
        // ENODEV
        19 => Error::new(errno, WHAT, "vpmc is switched off", "boot without vpmc=off"),
        // EPERM, EACCES
        1 | 13 => Error::refused(errno, crate::reason::PARANOID, WHAT),
        _ => Error::system(errno, WHAT),
    }
}
