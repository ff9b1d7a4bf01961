//! What the checks of a software RAID array found: each result is news once.

use serde::{Deserialize, Serialize};

use super::Baseline;
use crate::disk::reading::ArrayReading;

/// The array at the look before. The kernel counts from zero with each check, and with each boot
/// (drivers/md/md.c md_sync_max_sectors, md_clean).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Mismatches {
    boot_id: String,
    sectors: u64,
    is_checking: bool,
}

impl Baseline {
    /// In how many sectors data and parity differ by a check that has come to its end since the look before. A resync
    /// and a repair count too, what they have just made right; and what stood there at first sight is no news.
    pub(in crate::disk) fn found_mismatches(&mut self, array: &ArrayReading) -> Option<u64> {
        let sectors = array.mismatched_sectors?;
        let is_checking = array.action == "check";
        let now = Mismatches { boot_id: self.boot_id.clone(), sectors, is_checking };
        let before = self.mismatches.replace(now)?;
        let before = if before.boot_id == self.boot_id { before } else { Mismatches::default() };
        let is_news = before.is_checking || before.sectors != sectors;
        (sectors > 0 && is_news && !is_checking && array.last_action == "check").then_some(sectors)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(baseline: &mut Baseline, action: &str, last: &str, sectors: u64) -> Option<u64> {
        let (action, last_action) = (action.to_owned(), last.to_owned());
        let array = ArrayReading { action, last_action, mismatched_sectors: Some(sectors), ..ArrayReading::default() };
        baseline.found_mismatches(&array)
    }

    #[test]
    fn each_result_of_a_check_is_news_once() {
        let mut baseline = Baseline::default();
        let mut look = |action, last, sectors| look(&mut baseline, action, last, sectors);
        assert_eq!(look("idle", "none", 0), None);
        // What a check has counted so far is not all of it.
        assert_eq!(look("check", "check", 8), None);
        assert_eq!(look("check", "check", 16), None);
        assert_eq!(look("idle", "check", 16), Some(16));
        assert_eq!(look("idle", "check", 16), None);
        // The next month's finds the same; and one between two looks another number.
        assert_eq!(look("check", "check", 0), None);
        assert_eq!(look("idle", "check", 16), Some(16));
        assert_eq!(look("idle", "check", 24), Some(24));
    }

    #[test]
    fn what_a_repair_or_a_resync_has_made_right_is_no_news_nor_what_is_old() {
        let mut baseline = Baseline::default();
        let mut look = |action, last, sectors| look(&mut baseline, action, last, sectors);
        assert_eq!(look("idle", "check", 128), None, "from before the first look");
        assert_eq!(look("repair", "repair", 64), None);
        assert_eq!(look("idle", "repair", 128), None);
        assert_eq!(look("resync", "resync", 8), None);
        assert_eq!(look("idle", "resync", 8), None);
        assert_eq!(look("recover", "recover", 8), None);
        assert_eq!(look("idle", "recover", 8), None);
        assert_eq!(look("check", "check", 0), None);
        assert_eq!(look("idle", "check", 0), None, "nothing differs");
    }

    #[test]
    fn a_new_boot_counts_from_zero() {
        let mut baseline = Baseline { boot_id: "one".to_owned(), ..Baseline::default() };
        look(&mut baseline, "idle", "check", 16);
        baseline.boot_id = "two".to_owned();
        assert_eq!(look(&mut baseline, "idle", "none", 0), None);
        baseline.boot_id = "three".to_owned();
        assert_eq!(look(&mut baseline, "idle", "check", 16), Some(16));
        assert_eq!(baseline.found_mismatches(&ArrayReading::default()), None, "a level without redundancy");
    }
}
