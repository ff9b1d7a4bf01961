//! Reads the clocks, in a worker.

use crate::probe::{RawReading, ReadError, Reader, Roots};
use nix::time::{ClockId, clock_gettime};
use nodewell_sys::timex;

use super::{
    daemon::TimeDaemon,
    reading::{CLOCK, ClockError, ClockReading, SyncStatus},
    source::Source,
};
use crate::clock::ClockSettings;

/// Reads; in a worker.
#[derive(Debug)]
pub struct ClockReader {
    roots: Roots,
}

/// Of two looks at one clock with another in between the pair that lies closest counts: the worker may lose the CPU.
const TRIES: usize = 3;

impl ClockReader {
    #[must_use]
    pub fn new(roots: Roots, _settings: &ClockSettings) -> Self {
        Self { roots }
    }

    fn reading(&self) -> Result<ClockReading, ReadError> {
        Ok(ClockReading {
            wall_less_boot_millis: wall_less_boot()?,
            sync: sync(),
            daemon: TimeDaemon::find(&self.roots),
            source: Source::read(&self.roots),
        })
    }
}

impl Reader for ClockReader {
    fn list(&mut self) -> Result<Vec<String>, ReadError> {
        Ok(vec![CLOCK.to_owned()])
    }

    fn is_list_fixed(&self) -> bool {
        true
    }

    fn read(&mut self, device: &str) -> Result<RawReading, ReadError> {
        if device != CLOCK {
            return Err(ReadError::Gone { what: device.to_owned() });
        }
        RawReading::of(&self.reading()?)
    }
}

fn wall_less_boot() -> Result<i64, ReadError> {
    let closest = (0..TRIES).map(|_| pair()).min_by_key(|pair| pair.map_or(i128::MAX, |(apart, _)| apart));
    let failed = || ReadError::Failed { message: "the clocks cannot be read".to_owned() };
    let (_, difference) = closest.flatten().ok_or_else(failed)?;
    i64::try_from(difference / 1_000_000).map_err(|_| failed())
}

/// How far the looks at the boot clock are apart, and by how much the wall clock is ahead of their middle; in nanoseconds.
fn pair() -> Option<(i128, i128)> {
    let before = nanos(ClockId::CLOCK_BOOTTIME)?;
    let wall = nanos(ClockId::CLOCK_REALTIME)?;
    let after = nanos(ClockId::CLOCK_BOOTTIME)?;
    Some((after - before, wall - (before + after) / 2))
}

fn nanos(clock: ClockId) -> Option<i128> {
    let now = clock_gettime(clock).ok()?;
    Some(i128::from(now.tv_sec()) * 1_000_000_000 + i128::from(now.tv_nsec()))
}

fn sync() -> SyncStatus {
    match timex::read() {
        Ok(timex) => {
            let unit = if timex.status & timex::NANOSECONDS == 0 { 1000 } else { 1 };
            SyncStatus::Known(ClockError {
                offset_nanos: timex.offset.saturating_mul(unit),
                max_micros: timex.max_error_micros,
                estimated_micros: timex.estimated_error_micros,
                tai_secs: timex.tai_secs,
            })
        }
        Err(error) => SyncStatus::Denied(format!("adjtimex: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clocks_of_this_machine_are_read() {
        let mut reader = ClockReader::new(Roots::default(), &ClockSettings::default());
        assert_eq!(reader.list().unwrap(), [CLOCK]);
        let first: ClockReading = reader.read(CLOCK).unwrap().parse().unwrap();
        assert!(matches!(first.sync, SyncStatus::Known(_)), "{first:?}");
        assert!(first.wall_less_boot_millis > 0, "the machine was started after 1970: {first:?}");
        assert!(matches!(reader.read("watch"), Err(ReadError::Gone { .. })));
    }
}
