//! What disks did between two looks, and in a window of several.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    time::Duration,
};

use super::reading::{Counters, Device, Model, SlowDisksReading, Transfers};

/// A window has so many samples, so that its middle one is not moved by a pause of a disk (a few requests that took
/// seconds) in one or two of them.
pub(super) const SAMPLES: usize = 5;
/// So many of them have to show a disk at work.
const LEAST_SAMPLES: usize = 3;
/// Fewer requests of a direction make no sample of it, and fewer in all no window: counters are whole milliseconds, and
/// a disk that wakes up, or unparks its heads, does so for few requests.
const SAMPLE_OPERATIONS: u64 = 5;
const WINDOW_OPERATIONS: u64 = 50;

/// All disks between two looks, by what people know them by.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sample {
    elapsed: Duration,
    disks: BTreeMap<String, Growth>,
}

/// One disk between two looks.
#[derive(Debug, Clone, PartialEq)]
struct Growth {
    model: Model,
    counters: Counters,
}

/// One disk in one window.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Load {
    pub(super) disk: String,
    pub(super) model: Model,
    pub(super) reads: Direction,
    pub(super) writes: Direction,
    pub(super) elapsed_micros: u64,
    /// Time in which it had something to do, by the kernel's count.
    pub(super) busy_micros: u64,
    pub(super) discards: u64,
    pub(super) flushes: u64,
}

/// One direction of a disk in one window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Direction {
    pub(super) operations: u64,
    pub(super) sectors: u64,
    pub(super) millis: u64,
    /// What a request took, in the middle one of the samples; nothing if there were too few.
    pub(super) await_micros: Option<u64>,
}

impl Sample {
    /// What was done between two readings. All paths to a disk and all its namespaces count as one; if one of them
    /// cannot be counted, the disk cannot.
    pub(super) fn between(before: &SlowDisksReading, now: &SlowDisksReading) -> Self {
        let known: BTreeMap<&str, &Device> = before.devices.iter().map(|one| (one.name.as_str(), one)).collect();
        let mut disks: BTreeMap<String, Option<Growth>> = BTreeMap::new();
        for device in &now.devices {
            let counters = known.get(device.name.as_str()).and_then(|before| device.since(before));
            let grown = counters.map(|counters| Growth { model: device.model.clone(), counters });
            match disks.entry(device.disk()) {
                Entry::Vacant(first) => {
                    first.insert(grown);
                }
                Entry::Occupied(mut others) => {
                    let both = others.get_mut().take().zip(grown);
                    *others.get_mut() = both.map(|(one, other)| one.plus(&other));
                }
            }
        }
        let counted = disks.into_iter().filter_map(|(disk, growth)| Some((disk, growth?)));
        Self { elapsed: now.at.saturating_sub(before.at), disks: counted.collect() }
    }
}

impl Growth {
    fn plus(self, other: &Self) -> Self {
        Self { counters: self.counters.plus(&other.counters), ..self }
    }
}

/// Every disk that was seen in enough of the samples.
pub(super) fn loads(samples: &[Sample]) -> Vec<Load> {
    let mut of_disks: BTreeMap<&str, Vec<(&Growth, Duration)>> = BTreeMap::new();
    for sample in samples {
        for (disk, growth) in &sample.disks {
            of_disks.entry(disk).or_default().push((growth, sample.elapsed));
        }
    }
    of_disks.into_iter().filter_map(|(disk, grown)| load(disk, &grown)).collect()
}

fn load(disk: &str, grown: &[(&Growth, Duration)]) -> Option<Load> {
    let (first, _) = grown.first()?;
    if grown.len() < LEAST_SAMPLES || grown.iter().any(|(growth, _)| growth.model != first.model) {
        return None;
    }
    let total = grown.iter().fold(Counters::default(), |sum, (growth, _)| sum.plus(&growth.counters));
    let elapsed: Duration = grown.iter().map(|(_, elapsed)| *elapsed).sum();
    let elapsed_micros = u64::try_from(elapsed.as_micros()).unwrap_or(u64::MAX);
    Some(Load {
        disk: disk.to_owned(),
        model: first.model.clone(),
        reads: direction(grown, total.reads, |counters| counters.reads),
        writes: direction(grown, total.writes, |counters| counters.writes),
        elapsed_micros,
        // Of several paths or namespaces it is a sum.
        busy_micros: total.busy_millis.saturating_mul(1000).min(elapsed_micros),
        discards: total.discards,
        flushes: total.flushes,
    })
}

fn direction(grown: &[(&Growth, Duration)], total: Transfers, of: fn(&Counters) -> Transfers) -> Direction {
    let samples = grown.iter().map(|(growth, _)| of(&growth.counters));
    let counted = samples.filter(|sample| sample.operations >= SAMPLE_OPERATIONS);
    let mut awaits: Vec<u64> = counted.map(|sample| sample.millis.saturating_mul(1000) / sample.operations).collect();
    let is_enough = awaits.len() >= LEAST_SAMPLES && total.operations >= WINDOW_OPERATIONS;
    let await_micros = is_enough.then(|| median(&mut awaits)).flatten();
    let Transfers { operations, sectors, millis } = total;
    Direction { operations, sectors, millis, await_micros }
}

/// The middle one; of two middle ones the larger.
pub(super) fn median(values: &mut [u64]) -> Option<u64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable(middle).1)
}

impl Load {
    pub(super) fn direction(&self, is_read: bool) -> Direction {
        if is_read { self.reads } else { self.writes }
    }

    pub(super) fn operations(&self) -> u64 {
        self.reads.operations.saturating_add(self.writes.operations)
    }

    pub(super) fn sectors(&self) -> u64 {
        self.reads.sectors.saturating_add(self.writes.sectors)
    }

    /// How long the disk is busy for one request, at least: by the kernel's count, which takes a whole jiffy for each
    /// start after a pause, but not for longer than requests took.
    pub(super) fn busy_each_micros(&self) -> u64 {
        self.busy_micros.min(self.waited_micros()) / self.operations().max(1)
    }

    /// The same, at most: it is not busy for longer than time passes, nor for longer than its requests took. Not by the
    /// kernel's count, in which time may be missing.
    pub(super) fn busy_each_at_most_micros(&self) -> u64 {
        self.elapsed_micros.min(self.waited_micros()) / self.operations().max(1)
    }

    fn waited_micros(&self) -> u64 {
        self.reads.millis.saturating_add(self.writes.millis).saturating_mul(1000)
    }
}
