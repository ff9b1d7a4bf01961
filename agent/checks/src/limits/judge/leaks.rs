//! What grows over a day and does not stop: the kernel's own memory, open files, the node's daemons. A level proves
//! nothing here: a large node has much of everything.

use std::{collections::BTreeMap, time::Duration};

use crate::probe::{Fault, State, Verdict};
use serde::{Deserialize, Serialize};

use super::{
    gauge::subject_key,
    trend::{Day, Trend},
};
use crate::limits::reading::{Daemon, KernelReading, MemoryUsage, TaskId};

const CONDITION: &str = "ResourceLeak";
/// Of all pairs of hours; chance gives half of them, a day's ups and downs up to three quarters.
const RISING: f64 = 0.85;
/// It is over when the day rises no more than by chance.
const RISES_NO_MORE: f64 = 0.6;
/// Of what there was at the start of the day; a node that fills up in its first hours has ended before the day has.
const SHARE: f64 = 0.2;
const MIB_IN_KIB: f64 = 1024.0;

/// All that is followed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(super) struct Leaks {
    series: BTreeMap<String, Series>,
}

/// One thing that must not grow.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Series {
    /// The process that it belongs to, if any: another process starts a new series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<TaskId>,
    day: Day,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    leak: Option<Leak>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Leak {
    kind: LeakKind,
    growth: Growth,
}

/// Arguments of a leak's message, in the unit that it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Growth {
    grown: String,
    now: String,
    limit: String,
}

/// What it is, and from how much a day on it counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum LeakKind {
    Slab,
    FileHandles,
    Inodes,
    DaemonMemory,
    DaemonDescriptors,
}

/// One reading of one series.
struct Figure {
    subject: String,
    kind: LeakKind,
    owner: Option<TaskId>,
    value: u64,
    /// The least growth in a day that counts.
    floor: f64,
}

impl Leaks {
    pub(super) fn take_kernel(&mut self, reading: &KernelReading, now: Duration) {
        let memory = reading.memory.unwrap_or_default();
        let slab = reading.memory.map(|memory| (LeakKind::Slab, memory.slab_unreclaimable));
        let handles = reading.file_handles.map(|level| (LeakKind::FileHandles, level.used));
        let inodes = reading.inodes.map(|count| (LeakKind::Inodes, if is_short(memory) { count } else { 0 }));
        for (kind, value) in [slab, handles, inodes].into_iter().flatten() {
            let subject = kind.subject().to_owned();
            self.take(Figure { subject, kind, owner: None, value, floor: kind.floor(memory) }, now);
        }
    }

    /// Those that are gone are forgotten.
    pub(super) fn take_daemons(&mut self, daemons: &[Daemon], now: Duration) {
        self.series
            .retain(|_, series| series.owner.is_none_or(|owner| daemons.iter().any(|daemon| daemon.id == owner)));
        for daemon in daemons {
            let memory = daemon.memory.map(|value| (LeakKind::DaemonMemory, value));
            let descriptors = daemon.descriptors.map(|value| (LeakKind::DaemonDescriptors, value));
            for (kind, value) in [memory, descriptors].into_iter().flatten() {
                let subject = format!("{} of {}", kind.subject(), daemon.name);
                let floor = kind.floor(MemoryUsage::default());
                self.take(Figure { subject, kind, owner: Some(daemon.id), value, floor }, now);
            }
        }
    }

    fn take(&mut self, figure: Figure, now: Duration) {
        let hour = i64::try_from(now.as_secs() / 3600).unwrap_or_default();
        let series = self.series.entry(figure.subject.clone()).or_default();
        if series.owner != figure.owner {
            *series = Series { owner: figure.owner, ..Series::default() };
        }
        if series.day.take(hour, figure.value) {
            series.judge(&figure);
        }
    }

    /// A new boot starts new series.
    pub(super) fn clear(&mut self) {
        self.series.clear();
    }

    /// Nothing of the hours that are not over.
    pub(super) fn saved(&self) -> Self {
        let is_worth = |(_, series): &(&String, &Series)| !series.day.is_empty() || series.leak.is_some();
        let series = self.series.iter().filter(is_worth).map(|(name, series)| (name.clone(), series.clone()));
        Self { series: series.collect() }
    }

    pub(super) fn verdicts(&self) -> Vec<Verdict> {
        let whole = Verdict::new(subject_key(CONDITION, ""), State::healthy("ResourceLeak/healthy", &[]));
        let leaks = self.series.iter().filter_map(|(subject, series)| {
            let leak = series.leak.as_ref()?;
            let fault = leak.fault();
            Some(Verdict::new(subject_key(CONDITION, subject.clone()), State::Faulty(vec![fault])))
        });
        std::iter::once(whole).chain(leaks).collect()
    }
}

/// Less than a tenth is free: there the kernel gives back what it only remembers, and what stays is in use.
fn is_short(memory: MemoryUsage) -> bool {
    memory.free.saturating_mul(10) < memory.total
}

impl Series {
    fn judge(&mut self, figure: &Figure) {
        let Some(trend) = self.day.trend() else { return };
        let is_leak = match self.leak {
            None => trend.is_leak(figure.floor),
            Some(_) => trend.rising > RISES_NO_MORE && trend.per_day > 0.0,
        };
        self.leak = is_leak.then(|| Leak { kind: figure.kind, growth: figure.growth(&trend) });
    }
}

impl Trend {
    fn is_leak(&self, floor: f64) -> bool {
        self.goes_on && self.rising >= RISING && self.per_day >= self.limit(floor)
    }

    /// From this growth a day on it is a leak.
    fn limit(&self, floor: f64) -> f64 {
        floor.max(self.from * SHARE)
    }
}

impl Figure {
    #[expect(clippy::cast_precision_loss, reason = "an f64 has 52 bits")]
    fn growth(&self, trend: &Trend) -> Growth {
        let scale = match self.kind {
            LeakKind::Slab | LeakKind::DaemonMemory => MIB_IN_KIB,
            LeakKind::FileHandles | LeakKind::Inodes | LeakKind::DaemonDescriptors => 1.0,
        };
        let whole = |figure: f64| format!("{:.0}", figure / scale);
        Growth { grown: whole(trend.per_day), now: whole(self.value as f64), limit: whole(trend.limit(self.floor)) }
    }
}

impl Leak {
    fn fault(&self) -> Fault {
        let Growth { grown, now, limit } = &self.growth;
        Fault::of(self.kind.reason(), &[("grown", grown), ("now", now), ("limit", limit)])
    }
}

impl LeakKind {
    fn subject(self) -> &'static str {
        match self {
            Self::Slab => "slab",
            Self::FileHandles => "file-handles",
            Self::Inodes => "inodes",
            Self::DaemonMemory => "memory",
            Self::DaemonDescriptors => "descriptors",
        }
    }

    fn reason(self) -> &'static str {
        match self {
            Self::Slab => "SlabGrowing",
            Self::FileHandles => "FileHandlesGrowing",
            Self::Inodes => "InodesGrowing",
            Self::DaemonMemory => "DaemonMemoryGrowing",
            Self::DaemonDescriptors => "DaemonDescriptorsGrowing",
        }
    }

    /// Growth that would not matter within a month is none. In kibibytes, or in pieces.
    #[expect(clippy::cast_precision_loss, reason = "an f64 has 52 bits")]
    fn floor(self, memory: MemoryUsage) -> f64 {
        match self {
            // A node is full of it in less than two months.
            Self::Slab => (memory.total as f64 * 0.02).max(256.0 * MIB_IN_KIB),
            Self::FileHandles => 10_000.0,
            // An inode takes about 1 KiB.
            Self::Inodes => memory.total as f64 * 0.02,
            Self::DaemonMemory => 128.0 * MIB_IN_KIB,
            Self::DaemonDescriptors => 500.0,
        }
    }
}

#[cfg(test)]
mod tests;
