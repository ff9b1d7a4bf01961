//! Which figures of a reading are judged by which levels.

use std::time::Duration;

use crate::probe::{
    Fault, State,
    growth::{Growth, Start, Window},
};
use nodewell_message::MessageArgs;

use super::gauge::{Measure, subject_key};
use crate::{
    duration_text::duration,
    limits::{
        Levels, LimitsSettings,
        reading::{CgroupsReading, ConntrackCounts, KernelReading, Level, Pressure, Swap},
    },
};

const EXHAUSTED: &str = "ResourceExhausted";
/// For packets thrown away by connection tracking: long enough for a burst, short enough to be over soon.
const DROPS: Window = Window { length: Duration::from_secs(600), start: Start::Unknown };
/// Tasks that run or wait, for each CPU. A node whose CPUs are all in use is a good node; it is one with long queues
/// that is too small.
const LONG_QUEUE: f64 = 8.0;

/// Counters from reading to reading.
#[derive(Debug, Default)]
pub(super) struct Rates {
    drops: Growth,
    races: Growth,
    swap: Option<(Duration, Swap)>,
}

/// The kernel's figures.
pub(super) fn of_kernel(
    reading: &KernelReading,
    now: Duration,
    rates: &mut Rates,
    settings: &LimitsSettings,
) -> Vec<Measure> {
    let share =
        |level: &Option<Level>, subject, reason, levels| level.map(|level| share(level, subject, reason, levels));
    let measures = [
        share(&reading.conntrack, "conntrack", "ConntrackFull", settings.conntrack_percent),
        reading.conntrack_counts.map(|counts| rates.drops(counts, now, settings.conntrack_drops)),
        share(&reading.file_handles, "file-handles", "FileHandlesExhausted", settings.file_handles_percent),
        share(&reading.pids, "pids", "PidsExhausted", settings.tasks_percent),
        share(&reading.threads, "threads", "ThreadsExhausted", settings.tasks_percent),
        reading.memory_pressure.map(|pressure| memory(pressure, settings.memory_pressure_percent)),
        reading.swap.map(|swap| rates.swapping(swap, now, settings.swap_pages_per_second)),
        reading.cpu_pressure.map(|pressure| cpu(pressure, reading, settings.cpu_pressure_percent)),
        reading.io_pressure.map(|pressure| io(pressure, settings.io_pressure_percent)),
    ];
    measures.into_iter().flatten().collect()
}

/// Tasks of the cgroups that have a limit.
pub(super) fn of_cgroups(reading: &CgroupsReading, settings: &LimitsSettings) -> Vec<Measure> {
    let measure = |(name, level): (&String, &Level)| {
        share(*level, &format!("pids of {name}"), "CgroupPidsExhausted", settings.tasks_percent)
    };
    reading.tasks.iter().map(measure).collect()
}

fn share(level: Level, subject: &str, reason: &'static str, levels: Levels) -> Measure {
    let value = percent(level);
    let percent = format!("{value:.0}");
    let args: MessageArgs<'_> =
        &[("used", &level.used), ("max", &level.max), ("percent", &percent), ("limit", &levels.high)];
    let healthy = State::healthy("ResourceExhausted/healthy", &[("limit", &levels.high), ("max", &level.max)]);
    Measure { key: subject_key(EXHAUSTED, subject), value, levels, fault: Fault::of(reason, args), healthy }
}

/// Exact enough for a percentage.
#[expect(clippy::cast_precision_loss, reason = "an f64 has 52 bits")]
fn percent(level: Level) -> f64 {
    level.used as f64 * 100.0 / level.max.max(1) as f64
}

fn memory(pressure: Pressure, levels: Levels) -> Measure {
    let value = f64::from(pressure.full) / 100.0;
    let args: MessageArgs<'_> = &[("percent", &format!("{value:.0}")), ("limit", &levels.high)];
    Measure {
        key: subject_key("MemoryPressureHigh", ""),
        value,
        levels,
        fault: Fault::of("TasksWaitForMemory", args),
        healthy: State::healthy("MemoryPressureHigh/healthy", &[("limit", &levels.high)]),
    }
}

fn io(pressure: Pressure, levels: Levels) -> Measure {
    let value = f64::from(pressure.full) / 100.0;
    let args: MessageArgs<'_> = &[("percent", &format!("{value:.0}")), ("limit", &levels.high)];
    Measure {
        key: subject_key("IoPressureHigh", ""),
        value,
        levels,
        fault: Fault::of("TasksWaitForIo", args),
        healthy: State::healthy("IoPressureHigh/healthy", &[("limit", &levels.high)]),
    }
}

/// As high as the pressure shows, and no higher than the queues show.
fn cpu(pressure: Pressure, reading: &KernelReading, levels: Levels) -> Measure {
    let queue = reading.load / f64::from(reading.cpus.max(1));
    let some = f64::from(pressure.some) / 100.0;
    let args: MessageArgs<'_> = &[
        ("percent", &format!("{some:.0}")),
        ("limit", &levels.high),
        ("queue", &format!("{queue:.0}")),
        ("queue_limit", &LONG_QUEUE),
    ];
    let limits: MessageArgs<'_> = &[("limit", &levels.high), ("queue_limit", &LONG_QUEUE)];
    Measure {
        key: subject_key("CpuPressureHigh", ""),
        value: some.min(f64::from(levels.high) * queue / LONG_QUEUE),
        levels,
        fault: Fault::of("TasksWaitForCpu", args),
        healthy: State::healthy("CpuPressureHigh/healthy", limits),
    }
}

impl Rates {
    fn drops(&mut self, counts: ConntrackCounts, now: Duration, threshold: u32) -> Measure {
        self.drops.observe(counts.drop.saturating_add(counts.early_drop), now, DROPS);
        self.races.observe(counts.insert_failed, now, DROPS);
        let (drops, races, window) = (self.drops.within(), self.races.within(), duration(DROPS.length));
        let args: MessageArgs<'_> = &[("drops", &drops), ("window", &window), ("limit", &threshold), ("races", &races)];
        Measure {
            key: subject_key(EXHAUSTED, "conntrack"),
            value: f64::from(u32::try_from(drops).unwrap_or(u32::MAX)),
            levels: Levels::new(threshold, threshold.div_ceil(2)),
            fault: Fault::of("ConntrackDropping", args),
            healthy: State::healthy("ResourceExhausted/healthy-drops", &[("limit", &threshold), ("window", &window)]),
        }
    }

    /// Pages that go out once are room well used; those that come back at the same time are the storm.
    fn swapping(&mut self, swap: Swap, now: Duration, levels: Levels) -> Measure {
        let key = subject_key("MemoryPressureHigh", "swap");
        let healthy = State::healthy("MemoryPressureHigh/healthy-swap", &[("limit", &levels.high)]);
        let Some((then, before)) = self.swap.replace((now, swap)) else {
            // One reading is no rate: nothing begins by it, and nothing that an earlier run reported ends.
            let between = f64::from(levels.low).min(f64::from(levels.high) - 0.5);
            let fault = Fault::of("SwapStorm/before-restart", &[("limit", &levels.high)]);
            return Measure { key, value: between, levels, fault, healthy };
        };
        let elapsed = now.saturating_sub(then);
        let in_ = per_second(before.pages_in, swap.pages_in, elapsed);
        let out = per_second(before.pages_out, swap.pages_out, elapsed);
        let args: MessageArgs<'_> =
            &[("out", &format!("{out:.0}")), ("in", &format!("{in_:.0}")), ("limit", &levels.high)];
        Measure { key, value: in_.min(out), levels, fault: Fault::of("SwapStorm", args), healthy }
    }
}

/// A counter that went back has counted nothing.
fn per_second(before: u64, now: u64, elapsed: Duration) -> f64 {
    let grown = u32::try_from(now.saturating_sub(before)).unwrap_or(u32::MAX);
    if elapsed.is_zero() { 0.0 } else { f64::from(grown) / elapsed.as_secs_f64() }
}

#[cfg(test)]
mod tests;
