//! Small files of the kernel's: the load, the uptime, what its memory management counts.

use procfs::{FromRead, LoadAverage, Uptime};

use super::{count, lines};

/// `/proc/loadavg`: tasks that run or wait for a disk, averaged over minutes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load {
    pub one: f64,
    pub five: f64,
    pub fifteen: f64,
}

/// `/proc/vmstat`: what is worth a rate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct VmEvents {
    pub oom_kills: Option<u64>,
    pub major_faults: Option<u64>,
    pub pages_swapped_in: Option<u64>,
    pub pages_swapped_out: Option<u64>,
}

pub(super) fn load(bytes: &[u8]) -> Option<Load> {
    let LoadAverage { one, five, fifteen, .. } = LoadAverage::from_read(bytes).ok()?;
    Some(Load { one: exact(one)?, five: exact(five)?, fifteen: exact(fifteen)? })
}

/// The decimal number that the file had: 0.24 as a float of 32 bits is 0.23999999 in one of 64.
fn exact(value: f32) -> Option<f64> {
    value.to_string().parse().ok().filter(|value: &f64| value.is_finite() && *value >= 0.0)
}

pub(super) fn uptime_secs(bytes: &[u8]) -> Option<f64> {
    let Uptime { uptime, .. } = Uptime::from_read(bytes).ok()?;
    Some(uptime).filter(|uptime| uptime.is_finite() && *uptime >= 0.0)
}

pub(super) fn vm_events(bytes: &[u8]) -> VmEvents {
    let mut events = VmEvents::default();
    for (key, value) in lines(bytes).filter_map(|line| line.split_once(' ')) {
        match key {
            "oom_kill" => events.oom_kills = count(value),
            "pgmajfault" => events.major_faults = count(value),
            "pswpin" => events.pages_swapped_in = count(value),
            "pswpout" => events.pages_swapped_out = count(value),
            _ => {}
        }
    }
    events
}
