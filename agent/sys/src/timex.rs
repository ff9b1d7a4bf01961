//! What the kernel knows of its clock's error: `adjtimex(2)`, which changes nothing when it is asked with no mode.
#![allow(unsafe_code)]

use std::{io, mem};

/// The clock is not synchronised (`STA_UNSYNC` in include/uapi/linux/timex.h).
pub const UNSYNCHRONISED: i32 = libc::STA_UNSYNC;
/// `offset` is in nanoseconds, not in microseconds.
pub const NANOSECONDS: i32 = libc::STA_NANO;

/// The parts that show how good the clock is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timex {
    /// `STA_*`
    pub status: i32,
    /// What the kernel still has to slew; in the unit that `status` selects.
    pub offset: i64,
    /// Grows by 500 µs in a second until a program sets it (`MAXFREQ` in kernel/time/ntp.c); 16 s is its end.
    pub max_error_micros: i64,
    pub estimated_error_micros: i64,
    /// Seconds between TAI and UTC; 0 until a program has set it in the kernel. A leap second changes it.
    pub tai_secs: i32,
}

/// Asks the kernel. A sandbox that forbids all calls of the clock answers EPERM.
pub fn read() -> io::Result<Timex> {
    // SAFETY: a structure of plain numbers, for which zero is a value; no mode is set, so nothing is changed.
    let mut timex: libc::timex = unsafe { mem::zeroed() };
    // SAFETY: the kernel fills in the structure, which is ours alone.
    if unsafe { libc::adjtimex(&raw mut timex) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(Timex {
        status: timex.status,
        offset: timex.offset,
        max_error_micros: timex.maxerror,
        estimated_error_micros: timex.esterror,
        tai_secs: timex.tai,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_reports_how_far_its_clock_may_be_off() {
        let timex = read().unwrap();
        assert!((0..=16_000_000).contains(&timex.max_error_micros), "{timex:?}");
        assert!(timex.estimated_error_micros >= 0, "{timex:?}");
    }
}
