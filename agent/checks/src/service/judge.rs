//! Judges what looks at services showed: thresholds, what belongs to this node, what is reported. Pure: time is an
//! argument.

mod streak;
mod watched;

use std::{collections::BTreeMap, time::Duration};

use crate::probe::Findings;
use jiff::Timestamp;
use serde_json::Value;

use super::{observation::Observation, service_probe::ServiceProbe, target::Target};
use watched::{ServiceHistory, WatchedService};

/// An unseen service is looked for so many times less often.
const UNSEEN_FACTOR: u32 = 3;
/// A service whose report may soon change is asked so many times more often.
const OPEN_FACTOR: u32 = 4;

/// One moment, by the clocks that matter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    pub wall: Timestamp,
    /// `CLOCK_MONOTONIC`, which systemd's timestamps are of.
    pub monotonic: Duration,
    /// Empty if unknown.
    pub boot_id: String,
}

/// Judges every service that is watched.
pub struct ServicesJudge {
    services: Vec<WatchedService>,
}

impl ServicesJudge {
    #[must_use]
    pub fn new(checks: Vec<ServiceProbe>) -> Self {
        Self { services: checks.into_iter().map(WatchedService::new).collect() }
    }

    /// How many there are; each has its number.
    #[must_use]
    pub fn count(&self) -> usize {
        self.services.len()
    }

    #[must_use]
    pub fn check(&self, n: usize) -> &ServiceProbe {
        &self.services[n].check
    }

    /// Where the `n`th was found last, if it had to be found.
    #[must_use]
    pub fn last_target(&self, n: usize) -> Option<Target> {
        self.services[n].last_target()
    }

    /// Adds an observation of the `n`th.
    pub fn observe(&mut self, n: usize, observation: &Observation, now: &Moment) {
        self.services[n].observe(observation, now);
    }

    /// After what pause the `n`th should be looked at again.
    #[must_use]
    pub fn pause(&self, n: usize) -> Duration {
        let service = &self.services[n];
        let interval = service.check.timing.interval;
        match () {
            () if service.is_open() => interval / OPEN_FACTOR,
            () if !service.is_seen() => interval * UNSEEN_FACTOR,
            () => interval,
        }
    }

    /// The whole account, and what happened since the last one.
    pub fn findings(&mut self) -> Findings {
        let events = self.services.iter_mut().flat_map(WatchedService::events).collect();
        let verdicts = self.services.iter().flat_map(WatchedService::verdicts).collect();
        Findings { verdicts, events, ..Findings::default() }
    }

    /// Whether nothing of what an earlier run reported can be left.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.services.iter().all(WatchedService::is_decided)
    }

    /// What has to outlive a restart.
    #[must_use]
    pub fn save(&self) -> Value {
        let known = self.services.iter().filter(|service| service.is_worth_saving());
        let histories: BTreeMap<&str, ServiceHistory> =
            known.map(|service| (service.check.name.as_str(), service.history())).collect();
        serde_json::to_value(histories).unwrap_or_default()
    }

    /// What an earlier run saved; what is not understood, or of no check any more, is forgotten.
    pub fn load(&mut self, saved: Value) {
        let Ok(mut histories) = serde_json::from_value::<BTreeMap<String, Value>>(saved) else { return };
        for service in &mut self.services {
            let history =
                histories.remove(&service.check.name).and_then(|history| serde_json::from_value(history).ok());
            if let Some(history) = history {
                service.load(history);
            }
        }
    }

    /// For `systemctl status`: `kubelet 2 ms, container-runtime 4 ms`.
    #[must_use]
    pub fn summary(&self) -> String {
        let answered =
            |service: &WatchedService| Some(format!("{} {} ms", service.check.name, service.latency()?.as_millis()));
        self.services.iter().filter_map(answered).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
