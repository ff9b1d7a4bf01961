//! Pods whose processes do not reap their children: an Event that names the pod, because the workload has to be mended and the
//! node is well. Zombies take process numbers; the node is in danger when those run out, which `PidsExhausted` and
//! `ThreadsExhausted` report: the kernel counts a task until it is reaped (kernel/exit.c `__unhash_process`), whose it may be.

use std::collections::BTreeMap;

use crate::probe::{DeviceEvent, Now};
use nodewell_message::MessageArgs;
use serde::{Deserialize, Serialize};

use super::{
    reported::{Height, Reported},
    tasks::Parent,
};
use crate::{limits::Levels, pod_names::PodNames};

/// By the pod's uid: those that were reported.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PodZombies(BTreeMap<String, Reported>);

impl PodZombies {
    /// `worst`: of each pod the process with the most zombies.
    pub(super) fn take(
        &mut self,
        worst: &BTreeMap<&str, Parent<'_>>,
        levels: Levels,
        names: &PodNames,
        now: &Now,
    ) -> Vec<DeviceEvent> {
        // One whose pod is gone, or without any zombie, is calm.
        self.0.retain(|uid, _| worst.contains_key(uid.as_str()));
        let mut events = Vec::new();
        for (uid, parent) in worst {
            let reported = self.0.entry((*uid).to_owned()).or_default();
            if reported.is_due(height(parent.zombies, levels), now.boottime) {
                events.push(event(uid, parent, levels, names, now));
            }
        }
        self.0.retain(|_, reported| !reported.is_never());
        events
    }
}

fn height(zombies: u32, levels: Levels) -> Height {
    match zombies {
        zombies if zombies >= levels.high => Height::High,
        zombies if zombies >= levels.low => Height::Between,
        _ => Height::Low,
    }
}

fn event(uid: &str, parent: &Parent<'_>, levels: Levels, names: &PodNames, now: &Now) -> DeviceEvent {
    let pod = names.name_or_uid(uid);
    let args: MessageArgs<'_> = &[
        ("process", &parent.process.name),
        ("pid", &parent.process.pid),
        ("pod", &pod),
        ("uid", &uid),
        ("count", &parent.zombies),
        ("limit", &levels.high),
    ];
    DeviceEvent::of("PodZombieTasks", &pod, args, now.wall)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;

    use super::*;
    use crate::limits::reading::Process;

    const UID: &str = "0d6e7d1c-3c1b-4f2a-90b1-c2d3e4f5a6b7";
    const LEVELS: Levels = Levels::new(100, 50);

    fn now(hours: u64) -> Now {
        Now { wall: Timestamp::UNIX_EPOCH, boottime: Duration::from_secs(hours * 3600), boot_id: "a".to_owned() }
    }

    fn take(known: &mut PodZombies, zombies: u32, names: &PodNames, hours: u64) -> Vec<DeviceEvent> {
        let process = Process { pid: 4711, name: "java".to_owned(), owner: None };
        let worst = [(UID, Parent { process: &process, zombies })].into();
        known.take(&worst, LEVELS, names, &now(hours))
    }

    #[test]
    fn the_pod_the_process_and_the_figures_are_named() {
        let names = PodNames::default();
        let mut known = PodZombies::default();
        let by_uid = take(&mut known, 120, &names, 0);
        assert_eq!(by_uid[0].subject.as_deref(), Some(UID));
        assert!(by_uid[0].message.contains(&format!("pod {UID}")), "{}", by_uid[0].message);
        names.replace([(UID.to_owned(), "default/web-0".to_owned())].into());
        let event = &take(&mut PodZombies::default(), 120, &names, 0)[0];
        assert_eq!((event.reason.as_str(), event.subject.as_deref()), ("PodZombieTasks", Some("default/web-0")));
        for part in ["java (pid 4711)", "default/web-0", UID, "120", "limit 100"] {
            assert!(event.message.contains(part), "{part}: {}", event.message);
        }
    }

    #[test]
    fn a_pod_is_reported_once_daily_and_again_after_calm() {
        let (mut known, names) = (PodZombies::default(), PodNames::default());
        let counts = [(0, 99), (1, 100), (2, 60), (3, 120), (26, 120), (27, 49), (28, 99), (29, 100)];
        let reported = counts.map(|(hours, zombies)| !take(&mut known, zombies, &names, hours).is_empty());
        assert_eq!(reported, [false, true, false, false, true, false, false, true]);
    }

    #[test]
    fn what_is_saved_reports_nothing_twice_and_forgets_what_is_gone() {
        let (mut known, names) = (PodZombies::default(), PodNames::default());
        take(&mut known, 120, &names, 0);
        let mut loaded: PodZombies = serde_json::from_value(serde_json::to_value(&known).unwrap()).unwrap();
        assert!(take(&mut loaded, 120, &names, 1).is_empty());
        assert!(loaded.take(&BTreeMap::new(), LEVELS, &names, &now(2)).is_empty());
        assert_eq!(loaded, PodZombies::default());
    }
}
