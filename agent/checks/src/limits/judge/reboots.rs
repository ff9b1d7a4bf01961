//! A reboot that is due: an Event at once and then daily, and a line of `nodewell status`. It is no condition:
//! nothing is broken, and tools that reboot nodes look at the file themselves.

use std::time::Duration;

use crate::probe::DeviceEvent;
use jiff::Timestamp;
use nodewell_message::MessageArgs;
use nodewell_model::Hardware;
use serde::{Deserialize, Serialize};

use crate::limits::reading::Reboot;

const AGAIN: Duration = Duration::from_secs(24 * 3600);

/// Whether one is due.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reboots {
    reported: Option<Timestamp>,
}

impl Reboots {
    pub(super) fn take(&mut self, reboot: Option<&Reboot>, now: Timestamp) -> Option<DeviceEvent> {
        let Some(reboot) = reboot else {
            self.reported = None;
            return None;
        };
        // A wall clock that went back by a day causes one more report.
        let is_young = |reported: &Timestamp| now.duration_since(*reported).unsigned_abs() < AGAIN;
        if self.reported.as_ref().is_some_and(is_young) {
            return None;
        }
        self.reported = Some(now);
        Some(event(reboot, now))
    }

    /// Only while one is due.
    pub(super) fn hardware(&self) -> Option<Hardware> {
        let states = [("due".to_owned(), 1)].into();
        self.reported.map(|_| Hardware {
            class: "reboots".to_owned(),
            total: 1,
            states,
            informational: true,
            ..Hardware::default()
        })
    }
}

fn event(reboot: &Reboot, now: Timestamp) -> DeviceEvent {
    let packages = reboot.packages.join(", ");
    let due = |key, args: MessageArgs<'_>| DeviceEvent::of(key, "node", args, now);
    match (&reboot.kernel, packages.is_empty()) {
        (Some(kernel), true) => due("RebootRequired/kernel", &[("kernel", kernel)]),
        (Some(kernel), false) => {
            due("RebootRequired/kernel-and-packages", &[("kernel", kernel), ("packages", &packages)])
        }
        (None, false) => due("RebootRequired/packages", &[("packages", &packages)]),
        // The file without a list.
        (None, true) => due("RebootRequired/file", &[]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
    }

    #[test]
    fn it_is_reported_at_once_daily_and_again_after_the_reboot() {
        let reboot = Reboot { packages: vec!["libc6".to_owned()], kernel: Some("6.12.9".to_owned()) };
        let mut reboots = Reboots::default();
        let mut is_reported = |due: bool, hours| reboots.take(due.then_some(&reboot), at(hours)).is_some();
        let looks = [(true, 0), (true, 1), (true, 23), (true, 24), (true, 25), (false, 26), (true, 27)];
        let reported: Vec<bool> = looks.into_iter().map(|(due, hours)| is_reported(due, hours)).collect();
        assert_eq!(reported, [true, false, false, true, false, false, true]);
        let hardware = reboots.hardware().unwrap();
        assert_eq!((hardware.states["due"], hardware.informational), (1, true));
        reboots.take(None, at(28));
        assert_eq!(reboots.hardware(), None);
    }

    #[test]
    fn it_reports_who_asks() {
        let message = |packages: &[&str], kernel: Option<&str>| {
            let packages = packages.iter().map(|name| (*name).to_owned()).collect();
            let message = event(&Reboot { packages, kernel: kernel.map(str::to_owned) }, at(0)).message;
            message.strip_suffix("; drain the node and reboot it").unwrap().to_owned()
        };
        let newer = "kernel 6.12.9 is installed and an older one runs";
        assert_eq!(message(&[], None), "/run/reboot-required exists, a package requires a reboot");
        assert_eq!(message(&["a", "b"], None), "packages require a reboot: a, b");
        assert_eq!(message(&[], Some("6.12.9")), newer);
        assert_eq!(message(&["a"], Some("6.12.9")), format!("{newer}, packages require a reboot: a"));
    }
}
