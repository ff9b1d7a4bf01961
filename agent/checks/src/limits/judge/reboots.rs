//! A reboot that is due: an Event at once and then daily, and a line in the node's inventory. It is no condition: nothing is
//! broken, and tools that reboot nodes look at the file themselves.

use std::time::Duration;

use jiff::Timestamp;
use nodewell_hardware::Happening;
use nodewell_model::Inventory;
use serde::{Deserialize, Serialize};

use crate::limits::reading::Reboot;

const AGAIN: Duration = Duration::from_secs(24 * 3600);

/// Whether one is due.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Reboots {
    told: Option<Timestamp>,
}

impl Reboots {
    pub(super) fn take(&mut self, reboot: Option<&Reboot>, now: Timestamp) -> Option<Happening> {
        let Some(reboot) = reboot else {
            self.told = None;
            return None;
        };
        // A wall clock that went back by a day causes one more report.
        let is_young = |told: &Timestamp| now.duration_since(*told).unsigned_abs() < AGAIN;
        if self.told.as_ref().is_some_and(is_young) {
            return None;
        }
        self.told = Some(now);
        Some(Happening::new("RebootRequired", "node", words(reboot), now))
    }

    /// Only while one is due.
    pub(super) fn inventory(&self) -> Option<Inventory> {
        let states = [("due".to_owned(), 1)].into();
        self.told.map(|_| Inventory { class: "reboots".to_owned(), total: 1, states })
    }
}

fn words(reboot: &Reboot) -> String {
    let kernel = reboot.kernel.iter().map(|release| format!("kernel {release} is installed and an older one runs"));
    let packages = match reboot.packages.is_empty() {
        false => Some(format!("packages ask for it: {}", reboot.packages.join(", "))),
        // The file without a list.
        true => reboot.kernel.is_none().then(|| "a package asked for it".to_owned()),
    };
    kernel.chain(packages).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + hours * 3600).unwrap()
    }

    #[test]
    fn it_is_told_at_once_daily_and_again_after_the_reboot() {
        let reboot = Reboot { packages: vec!["libc6".to_owned()], kernel: Some("6.12.9".to_owned()) };
        let mut reboots = Reboots::default();
        let mut is_told = |due: bool, hours| reboots.take(due.then_some(&reboot), at(hours)).is_some();
        let looks = [(true, 0), (true, 1), (true, 23), (true, 24), (true, 25), (false, 26), (true, 27)];
        let told: Vec<bool> = looks.into_iter().map(|(due, hours)| is_told(due, hours)).collect();
        assert_eq!(told, [true, false, false, true, false, false, true]);
        assert_eq!(reboots.inventory().unwrap().states["due"], 1);
        reboots.take(None, at(28));
        assert_eq!(reboots.inventory(), None);
    }

    #[test]
    fn it_says_who_asks() {
        let words = |packages: &[&str], kernel: Option<&str>| {
            let packages = packages.iter().map(|name| (*name).to_owned()).collect();
            words(&Reboot { packages, kernel: kernel.map(str::to_owned) })
        };
        assert_eq!(words(&[], None), "a package asked for it");
        assert_eq!(words(&["a", "b"], None), "packages ask for it: a, b");
        assert_eq!(words(&[], Some("6.12.9")), "kernel 6.12.9 is installed and an older one runs");
    }
}
