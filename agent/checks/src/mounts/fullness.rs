//! When a filesystem is as good as full: by percentage, but neither a huge one with plenty left nor a tiny one whose
//! content never grows.

use crate::probe::Fault;
use nodewell_message::MessageArgs;
use nodewell_model::Severity;

use super::{reading::Usage, rough_bytes::rough_bytes};
use crate::mounts::{MountsSettings, Threshold};

/// A filesystem of kernels or of a boot loader: made small, and filled on purpose.
const TINY_BYTES: u64 = 2 << 30;
const TINY: Threshold = Threshold::new(98, Some(95));
/// With so many left the rate at which they go is no hurry: a node writes some thousand files for a container.
const INODES_ENOUGH: u64 = 100_000;

/// What is short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Shortage {
    pub(super) space: bool,
    pub(super) inodes: bool,
}

/// One quantity.
struct Level {
    used: u64,
    left: u64,
    enough: u64,
}

impl Shortage {
    /// As it is by `usage`; `before` makes that it does not flap.
    pub(super) fn of(usage: &Usage, before: Self, settings: &MountsSettings) -> Self {
        let space = Level { used: usage.used_bytes, left: usage.left_bytes, enough: settings.space_enough_bytes };
        let used_inodes = usage.inodes.saturating_sub(usage.inodes_left);
        let inodes = Level { used: used_inodes, left: usage.inodes_left, enough: INODES_ENOUGH };
        let is_tiny = is_tiny(usage);
        Self {
            space: space.is_short(before.space, threshold(settings.space, is_tiny)),
            inodes: usage.inodes > 0 && inodes.is_short(before.inodes, threshold(settings.inodes, is_tiny)),
        }
    }

    pub(super) fn faults(self, usage: &Usage, settings: &MountsSettings) -> Vec<Fault> {
        let mut faults = Vec::new();
        if self.space {
            let percent = percent(usage.used_bytes, usage.left_bytes);
            let left = rough_bytes(usage.left_bytes);
            let limit = threshold(settings.space, is_tiny(usage)).percent;
            let args: MessageArgs<'_> = &[("used", &percent), ("limit", &limit), ("left", &left)];
            faults.push(graver(Fault::of("FilesystemSpaceLow", args), usage.left_bytes == 0));
        }
        if self.inodes {
            let percent = percent(usage.inodes.saturating_sub(usage.inodes_left), usage.inodes_left);
            let limit = threshold(settings.inodes, is_tiny(usage)).percent;
            let args: MessageArgs<'_> = &[("used", &percent), ("inodes", &usage.inodes), ("limit", &limit)];
            faults.push(graver(Fault::of("FilesystemInodesLow", args), usage.inodes_left == 0));
        }
        faults
    }
}

impl Level {
    fn is_short(&self, before: bool, threshold: Threshold) -> bool {
        if self.used == 0 && self.left == 0 {
            return false;
        }
        // A tenth more than enough, so that it does not flap there either.
        let enough = if before { self.enough.saturating_add(self.enough / 10) } else { self.enough };
        let limit = if before { threshold.clear_percent() } else { threshold.percent };
        self.left < enough && percent(self.used, self.left) >= u64::from(limit)
    }
}

fn is_tiny(usage: &Usage) -> bool {
    usage.used_bytes.saturating_add(usage.left_bytes) < TINY_BYTES
}

fn threshold(usual: Threshold, is_tiny: bool) -> Threshold {
    if is_tiny { tiny(usual) } else { usual }
}

/// An operator with a higher threshold gets a higher one here, too.
fn tiny(usual: Threshold) -> Threshold {
    let clear = usual.clear_percent().max(TINY.clear_percent());
    Threshold::new(usual.percent.max(TINY.percent), Some(clear))
}

fn graver(fault: Fault, nothing_is_left: bool) -> Fault {
    if nothing_is_left { Fault { severity: Severity::Error, ..fault } } else { fault }
}

/// Of what ordinary users can have, rounded up, as df(1) counts.
fn percent(used: u64, left: u64) -> u64 {
    let (used, all) = (u128::from(used), u128::from(used) + u128::from(left));
    u64::try_from((used * 100).div_ceil(all.max(1))).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const GIB: u64 = 1 << 30;

    fn usage(used_gib: u64, left_gib: u64) -> Usage {
        Usage { used_bytes: used_gib * GIB, left_bytes: left_gib * GIB, inodes: 0, inodes_left: 0 }
    }

    fn short(usage: Usage, before: bool) -> bool {
        Shortage::of(&usage, Shortage { space: before, inodes: before }, &MountsSettings::default()).space
    }

    #[test]
    fn percentage_and_what_is_left_both_count() {
        for (used, left, before, expected, case) in [
            (89, 11, false, false, "below"),
            (91, 9, false, true, "full"),
            (86, 9, true, true, "not well below yet"),
            (40, 9, true, false, "well below"),
            (9900, 100, false, false, "huge"),
            (91, 10, true, true, "hardly more than enough"),
            (0, 0, false, false, "a filesystem that says nothing"),
            (100, 0, false, true, "nothing left"),
        ] {
            assert_eq!(short(usage(used, left), before), expected, "{case}");
        }
    }

    #[test]
    fn a_tiny_one_is_full_later() {
        let boot = |left: u64| Usage { used_bytes: 1000 << 20, left_bytes: left << 20, inodes: 0, inodes_left: 0 };
        assert!(!short(boot(60), false), "94 %");
        assert!(short(boot(10), false), "99 %");
        assert!(!short(boot(100), true), "91 %");
    }

    #[test]
    fn inodes_count_where_they_are_limited() {
        let of = |inodes, inodes_left| {
            let usage = Usage { inodes, inodes_left, ..usage(1, 99) };
            Shortage::of(&usage, Shortage::default(), &MountsSettings::default()).inodes
        };
        assert!(of(1_000_000, 50_000));
        assert!(!of(1_000_000, 150_000), "85 %");
        assert!(!of(100_000_000, 5_000_000), "millions are left");
        assert!(!of(0, 0), "made as they are needed");
    }

    #[test]
    fn what_is_reserved_for_root_is_not_left() {
        // df: 95 used, 5 of 105 reserved, nothing left.
        let full = Usage { used_bytes: 95 * GIB, left_bytes: 0, inodes: 0, inodes_left: 0 };
        let fault = Shortage { space: true, inodes: false }.faults(&full, &MountsSettings::default()).remove(0);
        assert_eq!(
            (fault.severity, fault.message.as_str()),
            (
                Severity::Error,
                "100 % of the space is used (limit 90 %), nothing left; free space, or grow the filesystem"
            )
        );
    }

    proptest! {
        #[test]
        fn no_reading_is_too_bad(used: u64, left: u64, inodes: u64, inodes_left: u64, before: bool) {
            let usage = Usage { used_bytes: used, left_bytes: left, inodes, inodes_left };
            let short = Shortage::of(&usage, Shortage { space: before, inodes: before }, &MountsSettings::default());
            prop_assert_eq!(short.faults(&usage, &MountsSettings::default()).len(), usize::from(short.space) + usize::from(short.inodes));
            prop_assert!(percent(used, left) <= 100);
        }
    }
}
