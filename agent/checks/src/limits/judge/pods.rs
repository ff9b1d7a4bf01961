//! Pods that run out of their own memory again and again: single kills are the workload's business, and each has an
//! Event of the kernel log's rule.

use std::{collections::BTreeMap, time::Duration};

use crate::probe::{
    DeviceEvent, Now,
    growth::{Growth, Start, Window},
};
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use super::reported::{Height, Reported};
use crate::{duration_text::duration, limits::reading::Pod, pod_names::PodNames};

const HOUR: Window = Window { length: Duration::from_secs(3600), start: Start::Unknown };

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
    #[serde(default, skip_serializing_if = "Reported::is_never")]
    reported: Reported,
}

impl Pods {
    pub(super) fn take(
        &mut self,
        pods: &BTreeMap<String, Pod>,
        threshold: u32,
        names: &PodNames,
        now: &Now,
    ) -> Vec<DeviceEvent> {
        let fresh = if self.was_looked { Growth::from_zero() } else { Growth::default() };
        self.was_looked = true;
        self.pods.retain(|uid, _| pods.contains_key(uid));
        let mut events = Vec::new();
        for (uid, pod) in pods {
            let new = || Kills { growth: fresh.clone(), reported: Reported::default() };
            let kills = self.pods.entry(uid.clone()).or_insert_with(new);
            if let Some(count) = kills.take(pod.oom_kills, threshold, now.boottime) {
                let subject = names.name_or_uid(uid);
                let args: MessageArgs<'_> = &[
                    ("pod", &subject),
                    ("uid", &uid),
                    ("count", &count),
                    ("window", &duration(HOUR.length)),
                    ("limit", &threshold),
                ];
                events.push(DeviceEvent::of("FrequentPodOOMKills", &subject, args, now.wall));
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
        let height = match within {
            within if within >= u64::from(threshold) => Height::High,
            within if within * 2 >= u64::from(threshold) => Height::Between,
            // Calm enough for another report.
            _ => Height::Low,
        };
        self.reported.is_due(height, now).then_some(within)
    }
}

#[cfg(test)]
mod tests;
