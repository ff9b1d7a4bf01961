//! How fast errors come on a SAS link, by the counters of one of its ends.

use std::{collections::BTreeMap, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Baseline, ReadTime};
use crate::{
    disk::reading::PhyReading,
    probe::growth::{Growth, Start, Window},
};

/// The counters may be older than this boot: what was in them is not judged.
const HOUR: Window = Window { length: Duration::from_secs(3_600), start: Start::Unknown };
/// A link that is made again (a disk is swapped, restarts, or is reset) counts hundreds of errors at once, and there is
/// nothing wrong with it: no look counts for more than its part of the limit, so that it takes so many of them.
const LOOKS: u64 = 3;

/// Within an hour, by file name. With one damaged bit in 10¹², which serial links are commonly allowed, a link at 12
/// Gbit/s has some forty damaged words in an hour: three times that is no sound link. One that is up and sound
/// neither loses its words' beginnings nor has to be reset.
const LIMITS: [(&str, u64); 4] = [
    ("invalid_dword_count", 120),
    ("running_disparity_error_count", 120),
    ("loss_of_dword_sync_count", 10),
    ("phy_reset_problem_count", 10),
];

/// One end of a link.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct PhyMemory {
    boot_id: String,
    /// Whose end it is and how fast: another link's errors are others.
    link: String,
    counters: BTreeMap<String, Watched>,
    is_raised: bool,
}

/// One counter.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Watched {
    last: u64,
    growth: Growth,
}

/// One counter that is at its limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::disk) struct LinkErrors {
    pub(in crate::disk) counter: &'static str,
    /// At least.
    pub(in crate::disk) count: u64,
    pub(in crate::disk) limit: u64,
}

impl Baseline {
    /// What there is too much of, when that begins. Half of the limit ends it, so that a rate at the border is not
    /// reported again and again.
    pub(in crate::disk) fn link_errors(&mut self, phy: &PhyReading, moment: ReadTime) -> Vec<LinkErrors> {
        let memory = self.phy.get_or_insert_default();
        memory.take(phy, &self.boot_id, moment.boottime);
        let errors = memory.at_limit();
        let was_raised = memory.is_raised;
        memory.is_raised = !errors.is_empty() || (was_raised && memory.is_above_half());
        if was_raised { Vec::new() } else { errors }
    }
}

impl PhyMemory {
    fn take(&mut self, phy: &PhyReading, boot_id: &str, now: Duration) {
        let link = phy.rate.as_ref().map(|rate| format!("{} at {rate}", phy.address)).unwrap_or_default();
        if self.boot_id != boot_id || self.link != link {
            *self = Self { boot_id: boot_id.to_owned(), link, ..Self::default() };
        }
        for (counter, limit) in &LIMITS {
            let Some(count) = phy.counters.get(*counter) else { continue };
            let first = || Watched { last: *count, growth: Growth::default() };
            let watched = self.counters.entry((*counter).to_owned()).or_insert_with(first);
            watched.observe(*count, limit.div_ceil(LOOKS), now);
        }
    }

    fn at_limit(&self) -> Vec<LinkErrors> {
        let of =
            |(counter, limit): &(&'static str, u64)| LinkErrors { counter, count: self.within(counter), limit: *limit };
        let errors = LIMITS.iter().map(of);
        errors.filter(|errors| errors.count >= errors.limit).collect()
    }

    fn is_above_half(&self) -> bool {
        LIMITS.iter().any(|(counter, limit)| self.within(counter) > limit / 2)
    }

    fn within(&self, counter: &str) -> u64 {
        self.counters.get(counter).map_or(0, |watched| watched.growth.within())
    }
}

impl Watched {
    /// One that went back was set to zero, or has wrapped.
    fn observe(&mut self, count: u64, most: u64, now: Duration) {
        let grown = count.saturating_sub(self.last);
        self.last = count;
        self.growth.add(grown.min(most), now.as_secs(), HOUR);
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;

    const INVALID: &str = "invalid_dword_count";

    /// A link, and the clock of its looks: five minutes apart.
    #[derive(Default)]
    struct Link {
        baseline: Baseline,
        looks: u32,
        phy: PhyReading,
    }

    impl Link {
        fn new() -> Self {
            let phy = PhyReading { rate: Some("12.0 Gbit".to_owned()), ..PhyReading::default() };
            Self { phy, ..Self::default() }
        }

        fn look(&mut self) -> usize {
            self.looks += 1;
            let boottime = self.looks * Duration::from_secs(300);
            let moment = ReadTime { wall: Timestamp::UNIX_EPOCH, boottime, passed: Duration::ZERO };
            self.baseline.link_errors(&self.phy, moment).len()
        }

        fn counts(&mut self, counts: &[u64]) -> Vec<usize> {
            let look = |count: &u64| {
                self.phy.counters = BTreeMap::from([(INVALID.to_owned(), *count)]);
                self.look()
            };
            counts.iter().map(look).collect()
        }
    }

    #[test]
    fn errors_that_come_in_three_looks_are_reported_once() {
        let mut link = Link::new();
        assert_eq!(link.counts(&[5000, 5050, 5100, 5150, 5200, 5250]), [0, 0, 0, 1, 0, 0]);
        // An hour of rest, and it begins again.
        let rest = [5250; 14];
        assert!(link.counts(&rest).iter().all(|found| *found == 0));
        assert_eq!(link.counts(&[5300, 5350, 5400]), [0, 0, 1]);
    }

    #[test]
    fn a_disk_that_is_swapped_or_restarts_is_no_fault() {
        let mut link = Link::new();
        assert_eq!(link.counts(&[0, 900, 904, 1800, 1805]), [0; 5], "twice within the hour");
        // Without a link what it counts is noise, and with the next link a new beginning.
        link.phy.rate = None;
        link.phy.counters.clear();
        assert_eq!(link.look(), 0);
        link.phy.rate = Some("6.0 Gbit".to_owned());
        assert_eq!(link.counts(&[9000, 9000, 9900]), [0; 3]);
    }

    #[test]
    fn the_specifications_own_error_rate_is_no_fault() {
        let mut link = Link::new();
        let counts: Vec<u64> = (0..40).map(|look| look * 4).collect();
        assert!(link.counts(&counts).iter().all(|found| *found == 0), "48 in an hour");
    }

    #[test]
    fn a_counter_that_wrapped_was_set_to_zero_or_is_garbage_once_is_no_growth() {
        let mut link = Link::new();
        let most = u64::from(u32::MAX);
        assert_eq!(link.counts(&[most - 10, most - 5, 3, 3, 0, 0, most, 0, 7]), [0; 9]);
    }

    #[test]
    fn a_new_boot_knows_nothing_of_the_errors_before() {
        let mut link = Link::new();
        assert_eq!(link.counts(&[0, 50, 100]), [0; 3]);
        link.baseline.boot_id = "another".to_owned();
        assert_eq!(link.counts(&[150, 200, 250]), [0; 3]);
        assert_eq!(link.counts(&[300]), [1]);
    }

    #[test]
    fn one_end_is_one_report_with_all_its_counters() {
        let mut link = Link::new();
        let mut found = Vec::new();
        for look in 0..4_u64 {
            link.phy.counters = LIMITS.iter().map(|(name, limit)| ((*name).to_owned(), look * limit)).collect();
            found.push(link.look());
        }
        assert_eq!(found, [0, 0, 0, 4]);
    }
}
