//! Which disks of a window are slow against their siblings. Pure.
//!
//! A queue makes requests wait, but no disk is busy for longer with each of them because of it: so what is compared is
//! how long a request takes *and* how long the disk is busy for one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    SlowDisksSettings,
    load::{Direction, Load, median},
    reading::Model,
};

/// Two others besides the disk: of two disks it is not known which one is as it should be.
pub(super) const SIBLINGS: usize = 2;
/// Siblings' requests are at most so many times as large, or as small, on average.
const SIZE_FACTOR: u128 = 2;
/// The shares of reads differ by at most so much.
const READS_PERCENT: u64 = 20;
/// Those of flushes and of discards: one of them may take as long as a hundred requests, and the others wait for it.
const FLUSHES_PERCENT: u64 = 5;
/// A disk with so many requests and more, of the siblings' number, is slow because of them; so is one that passes so
/// much more data, which rebuilds, fills or is read from end to end.
const MORE_LOAD_PERCENT: u64 = 150;
/// One with fewer than this is not shown to be well by them.
const LESS_LOAD_PERCENT: u64 = 50;
/// One that is busy for less of the time is not slow but was asleep.
const BUSY_PERCENT: u64 = 25;
/// A slow disk is busy for so many times as long with each request: twice may come from a port or a link of half the
/// speed, from the inner tracks of a disk, or from a firmware of another year.
const BUSY_FACTOR: u64 = 3;
/// If more than one disk, and more than one of so many, is slow, the cause is theirs together: a controller, a shelf,
/// or what is done with them.
const MINORITY: usize = 8;
/// The longest seek of a slow disk, and a turn and a half at 5,400 a minute.
const SEEK_MICROS: u64 = 25_000;
/// What a sector takes on innermost tracks, where 50 MB pass in a second.
const SECTOR_MICROS: u64 = 10;

/// From where on a disk is slow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limits {
    factor: u64,
    solid_state_micros: u64,
    rotational_micros: u64,
}

/// What a window shows of a disk that could be compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Slow(Figures),
    Well,
    /// Neither: between the limits, or with a load that explains it.
    Unclear,
}

/// For the message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Figures {
    pub(super) is_read: bool,
    pub(super) await_micros: u64,
    pub(super) siblings_micros: u64,
    pub(super) siblings: usize,
}

impl From<&SlowDisksSettings> for Limits {
    fn from(settings: &SlowDisksSettings) -> Self {
        let micros = |duration: std::time::Duration| u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        Self {
            factor: settings.factor.into(),
            solid_state_micros: micros(settings.solid_state_floor),
            rotational_micros: micros(settings.rotational_floor),
        }
    }
}

impl Limits {
    fn floor_micros(&self, model: &Model) -> u64 {
        if model.is_rotational { self.rotational_micros } else { self.solid_state_micros }
    }
}

/// Each disk that had enough siblings with a like load.
pub(super) fn compared(loads: &[Load], limits: Limits) -> Vec<(&Load, Outcome)> {
    let mut groups: BTreeMap<&Model, Vec<&Load>> = BTreeMap::new();
    for load in loads {
        groups.entry(&load.model).or_default().push(load);
    }
    groups.into_values().flat_map(|group| of_group(&group, limits)).collect()
}

fn of_group<'a>(group: &[&'a Load], limits: Limits) -> Vec<(&'a Load, Outcome)> {
    let outcomes = group.iter().filter_map(|load| Some((*load, outcome(load, group, limits)?)));
    let mut outcomes: Vec<(&Load, Outcome)> = outcomes.collect();
    let is_slow = |outcome: &Outcome| matches!(outcome, Outcome::Slow(_));
    let slow = outcomes.iter().filter(|(_, outcome)| is_slow(outcome)).count();
    if slow > 1 && slow.saturating_mul(MINORITY) > outcomes.len() {
        for (_, outcome) in outcomes.iter_mut().filter(|(_, outcome)| is_slow(outcome)) {
            *outcome = Outcome::Unclear;
        }
    }
    outcomes
}

fn outcome(load: &Load, group: &[&Load], limits: Limits) -> Option<Outcome> {
    let both = [true, false].into_iter();
    let compared: Vec<Comparison> = both.filter_map(|is_read| Comparison::of(load, group, is_read)).collect();
    let slow = compared.iter().find(|one| one.is_slow(load, limits));
    match slow {
        Some(slow) => Some(Outcome::Slow(slow.figures.clone())),
        None if compared.is_empty() => None,
        None if compared.iter().all(|one| one.is_well(load, limits)) => Some(Outcome::Well),
        None => Some(Outcome::Unclear),
    }
}

/// A disk beside its siblings, in one direction.
struct Comparison {
    figures: Figures,
    /// In the middle of the siblings: how many requests and sectors each had, and how long it was busy for a request at
    /// most.
    operations: u64,
    sectors: u64,
    busy_each_micros: u64,
}

impl Comparison {
    fn of(load: &Load, group: &[&Load], is_read: bool) -> Option<Self> {
        let await_micros = load.direction(is_read).await_micros?;
        let is_sibling = |other: &&&Load| other.disk != load.disk && is_like(load, other, is_read);
        let siblings: Vec<&Load> = group.iter().filter(is_sibling).copied().collect();
        if siblings.len() < SIBLINGS {
            return None;
        }
        let awaits = siblings.iter().filter_map(|sibling| sibling.direction(is_read).await_micros);
        let mut awaits: Vec<u64> = awaits.collect();
        let mut operations: Vec<u64> = siblings.iter().map(|sibling| sibling.operations()).collect();
        let mut sectors: Vec<u64> = siblings.iter().map(|sibling| sibling.sectors()).collect();
        let mut busy: Vec<u64> = siblings.iter().map(|sibling| sibling.busy_each_at_most_micros()).collect();
        let figures =
            Figures { is_read, await_micros, siblings_micros: median(&mut awaits)?, siblings: siblings.len() };
        Some(Self {
            figures,
            operations: median(&mut operations)?,
            sectors: median(&mut sectors)?,
            busy_each_micros: median(&mut busy)?,
        })
    }

    fn is_slow(&self, load: &Load, limits: Limits) -> bool {
        let (own, floor) = (self.figures.await_micros, limits.floor_micros(&load.model));
        let is_late = own >= floor && own >= limits.factor.saturating_mul(self.figures.siblings_micros);
        is_late && !self.is_explained_by_load(load) && self.is_busy_for_long(load, limits)
    }

    fn is_explained_by_load(&self, load: &Load) -> bool {
        let is_more = is_percent(load.operations(), self.operations, MORE_LOAD_PERCENT);
        let passes_more = is_percent(load.sectors(), self.sectors, MORE_LOAD_PERCENT);
        is_more || passes_more || !is_percent(load.busy_micros, load.elapsed_micros, BUSY_PERCENT)
    }

    /// What a queue does not explain. A disk that turns is besides busy for longer than a seek and the transfer take:
    /// it takes many times as long where requests are scattered as where they follow each other, which no counter
    /// shows.
    fn is_busy_for_long(&self, load: &Load, limits: Limits) -> bool {
        let each = load.busy_each_micros();
        let transfer = (load.sectors() / load.operations().max(1)).saturating_mul(SECTOR_MICROS);
        let is_beyond_seeks = !load.model.is_rotational || each >= SEEK_MICROS.saturating_add(transfer);
        is_beyond_seeks && each >= self.busy_each_micros.saturating_mul(BUSY_FACTOR.min(limits.factor))
    }

    /// Half-way back to what the siblings take, or clearly below what is ever slow; under a load that shows it.
    fn is_well(&self, load: &Load, limits: Limits) -> bool {
        let (own, floor) = (self.figures.await_micros, limits.floor_micros(&load.model));
        let half_way = limits.factor.saturating_add(1).saturating_mul(self.figures.siblings_micros);
        let is_fast = own.saturating_mul(2) < half_way || own < floor / 10 * 8;
        is_fast && is_percent(load.operations(), self.operations, LESS_LOAD_PERCENT)
    }
}

/// Whether two disks did the like, in this direction and beside it.
fn is_like(one: &Load, other: &Load, is_read: bool) -> bool {
    let (own, theirs) = (one.direction(is_read), other.direction(is_read));
    let is_known = own.await_micros.is_some() && theirs.await_micros.is_some();
    let difference = |own: u64, theirs: u64| share(own, one).abs_diff(share(theirs, other));
    is_known
        && is_of_like_size(own, theirs)
        && difference(one.reads.operations, other.reads.operations) <= READS_PERCENT
        && difference(one.flushes, other.flushes) <= FLUSHES_PERCENT
        && difference(one.discards, other.discards) <= FLUSHES_PERCENT
}

/// By their means, without dividing.
fn is_of_like_size(one: Direction, other: Direction) -> bool {
    let one_mean = u128::from(one.sectors) * u128::from(other.operations);
    let other_mean = u128::from(other.sectors) * u128::from(one.operations);
    one_mean <= other_mean.saturating_mul(SIZE_FACTOR) && other_mean <= one_mean.saturating_mul(SIZE_FACTOR)
}

/// In percent of its requests.
fn share(count: u64, load: &Load) -> u64 {
    count.saturating_mul(100) / load.operations().max(1)
}

/// Whether `part` is at least so many percent of `whole`.
fn is_percent(part: u64, whole: u64, percent: u64) -> bool {
    u128::from(part) * 100 >= u128::from(whole) * u128::from(percent)
}
