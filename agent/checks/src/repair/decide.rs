//! The decision. Whatever is not known holds.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_model::Name;

use super::{History, RepairSettings, UnitRepair};

/// One moment, by the clocks that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub wall: Timestamp,
    /// Since the boot, suspends included.
    pub boottime: Duration,
    pub boot_id: String,
}

/// A problem that a unit may be repaired for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitProblem {
    pub reason: Name,
    /// For how long it has been seen without a break, by us.
    pub lasted: Duration,
    pub message: String,
}

/// What systemd reports of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitNow {
    pub activity: Activity,
    /// For how long it has been so; `None` if systemd does not report it.
    pub lasted: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activity {
    Active,
    Failed,
    /// Ended without a fault: it was stopped, or it was never started.
    Stopped,
    /// Between two states, or with a job of its own waiting.
    Changing,
    /// There is no such unit.
    Missing,
    /// Its state is not known.
    Unknown,
}

/// A unit as it was observed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedUnit {
    /// What it may be repaired for, if anything.
    pub problem: Option<UnitProblem>,
    pub state: UnitNow,
}

/// What is to be done about one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is wrong with it.
    Nothing,
    Hold(Hold),
    /// Now; at most one unit at a time.
    Repair,
    /// The limit is reached, and it is still broken.
    GiveUp,
}

/// Why nothing is done yet, or at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Hold {
    #[error("given up: it was repaired as often as it may be")]
    GivenUp,
    #[error("the boot is too recent: for {} s more nothing is repaired", .0.as_secs())]
    Grace(Duration),
    #[error("the problem must last {} s longer", .0.as_secs())]
    NotForLong(Duration),
    #[error("there is no such unit")]
    Missing,
    #[error("systemd does not say how the unit is")]
    Unknown,
    #[error("the unit is between two states")]
    Changing,
    #[error("the unit was stopped on purpose")]
    Stopped,
    #[error("the unit was started just now: it has {} s more", .0.as_secs())]
    JustStarted(Duration),
    #[error("it was repaired just now: not again for {} s", .0.as_secs())]
    BackOff(Duration),
    #[error("another unit was repaired just now: not for {} s", .0.as_secs())]
    MinInterval(Duration),
    #[error("another unit comes first")]
    AnotherFirst,
}

/// One decision for each unit of the settings, in their order.
#[must_use]
pub fn decide_all(
    settings: &RepairSettings,
    observed: &[ObservedUnit],
    history: &History,
    now: &Moment,
) -> Vec<Decision> {
    let mut is_taken = false;
    let decisions = settings.units.iter().zip(observed).map(|(unit, observed)| {
        let Some(problem) = &observed.problem else { return Decision::Nothing };
        let broken = BrokenUnit { unit, problem, state: observed.state };
        match hold(settings, &broken, history, now) {
            Err(hold) => Decision::Hold(hold),
            Ok(()) if history.count(&unit.unit, unit.window, now) >= unit.max_attempts as usize => Decision::GiveUp,
            Ok(()) if std::mem::replace(&mut is_taken, true) => Decision::Hold(Hold::AnotherFirst),
            Ok(()) => Decision::Repair,
        }
    });
    decisions.collect()
}

/// A unit with a problem.
struct BrokenUnit<'a> {
    unit: &'a UnitRepair,
    problem: &'a UnitProblem,
    state: UnitNow,
}

fn hold(settings: &RepairSettings, broken: &BrokenUnit<'_>, history: &History, now: &Moment) -> Result<(), Hold> {
    let BrokenUnit { unit, problem, state } = broken;
    if history.has_given_up(&unit.unit) {
        return Err(Hold::GivenUp);
    }
    passed(Some(now.boottime), settings.grace_after_boot).map_err(Hold::Grace)?;
    passed(Some(problem.lasted), unit.for_duration).map_err(Hold::NotForLong)?;
    match state.activity {
        Activity::Missing => return Err(Hold::Missing),
        Activity::Unknown => return Err(Hold::Unknown),
        Activity::Changing => return Err(Hold::Changing),
        Activity::Stopped => return Err(Hold::Stopped),
        // An operator or another program may have started it meanwhile.
        Activity::Active => passed(state.lasted, unit.cooldown).map_err(Hold::JustStarted)?,
        Activity::Failed => {}
    }
    let back_off = back_off(unit, history.count(&unit.unit, unit.window, now));
    passed(history.last(Some(&unit.unit), now), back_off).map_err(Hold::BackOff)?;
    passed(history.last(None, now), settings.min_interval).map_err(Hold::MinInterval)
}

/// Whether so much time has passed, else what is missing. What never happened is long past.
fn passed(since: Option<Duration>, needed: Duration) -> Result<(), Duration> {
    match since.map_or(Duration::ZERO, |since| needed.saturating_sub(since)) {
        Duration::ZERO => Ok(()),
        missing => Err(missing),
    }
}

/// The cooldown, doubled with each repair after the first; never more than the window in which they count.
fn back_off(unit: &UnitRepair, count: usize) -> Duration {
    let doublings = u32::try_from(count.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    unit.cooldown.saturating_mul(1 << doublings).min(unit.window)
}

#[cfg(test)]
mod tests;
