//! Pods that run out of their own memory again and again: single kills are the workload's business, and each has an
//! Event of the kernel log's rule.

use std::{collections::BTreeMap, time::Duration};

use nodewell_hardware::{
    DeviceEvent, Now,
    growth::{Growth, Start, Window},
};
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use crate::{duration_text::duration, limits::reading::Pod};

const HOUR: Window = Window { length: Duration::from_secs(3600), start: Start::Unknown };
/// Kills that go on for days are reported daily.
const AGAIN: Duration = Duration::from_secs(24 * 3600);

/// All pods.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Pods {
    /// By uid.
    pods: BTreeMap<String, Kills>,
    /// A pod that comes later began after the look before.
    #[serde(skip)]
    was_looked: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Kills {
    growth: Growth,
    /// Since boot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reported_secs: Option<u64>,
}

impl Pods {
    pub(super) fn take(&mut self, pods: &BTreeMap<String, Pod>, threshold: u32, now: &Now) -> Vec<DeviceEvent> {
        let fresh = if self.was_looked { Growth::from_zero() } else { Growth::default() };
        self.was_looked = true;
        self.pods.retain(|uid, _| pods.contains_key(uid));
        let mut events = Vec::new();
        for (uid, pod) in pods {
            let new = || Kills { growth: fresh.clone(), reported_secs: None };
            let kills = self.pods.entry(uid.clone()).or_insert_with(new);
            if let Some(count) = kills.take(pod.oom_kills, threshold, now.boottime) {
                // By its name where the kubelet's folders show it.
                let subject = pod.name.as_deref().unwrap_or(uid);
                let args: MessageArgs<'_> = &[
                    ("pod", &subject),
                    ("uid", &uid),
                    ("count", &count),
                    ("window", &duration(HOUR.length)),
                    ("limit", &threshold),
                ];
                events.push(DeviceEvent::of("FrequentPodOOMKills", subject, args, now.wall));
            }
        }
        events
    }

    /// A new boot creates every cgroup again.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Those that lost nothing need not be remembered.
    pub(super) fn saved(&self) -> Self {
        let lost = self.pods.iter().filter(|(_, kills)| !kills.growth.is_from_zero());
        Self { pods: lost.map(|(uid, kills)| (uid.clone(), kills.clone())).collect(), was_looked: false }
    }
}

impl Kills {
    /// How many, if that is to be reported now.
    fn take(&mut self, count: u64, threshold: u32, now: Duration) -> Option<u64> {
        self.growth.observe(count, now, HOUR);
        let within = self.growth.within();
        if within < u64::from(threshold) {
            // Half of it is calm enough for another report.
            self.reported_secs = self.reported_secs.filter(|_| within * 2 >= u64::from(threshold));
            return None;
        }
        let is_reported =
            self.reported_secs.is_some_and(|reported| now.as_secs().saturating_sub(reported) < AGAIN.as_secs());
        if is_reported {
            return None;
        }
        self.reported_secs = Some(now.as_secs());
        Some(within)
    }
}

#[cfg(test)]
mod tests;
