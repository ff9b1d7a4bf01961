//! Whether a broken filesystem has recovered: a pure judgement over readings of the host.

use std::time::Duration;

use nodewell_faults::message;
use nodewell_rules::rule::RecoveryCheck;

use crate::{
    check_process::filesystem::{probe::ProbeResult, reading::FilesystemReading},
    detectors::mounts::MountedAnywhere,
};

/// A filesystem that has just failed may still take a write: so long after the first look a write proves something.
pub(super) const PROOF_AFTER: Duration = Duration::from_secs(5);
/// A disk may be pulled and its mount be gone before the first look. What has had no device, no mount and no superblock
/// for so long is gone: no kernel names it any more. (A btrfs that was moved to another disk keeps the first one's name.)
const ABSENT_AFTER: Duration = Duration::from_mins(1);

/// What was seen of a device since its problem began.
#[derive(Debug)]
pub(super) struct FilesystemHistory {
    first: Option<FilesystemReading>,
    first_at: Duration,
    /// The errors that the filesystem had counted when it was last seen broken, or when that could first be read.
    errors: Option<u64>,
    seen_mounted: bool,
    /// The problem is from before the first look: what it refers to may be long gone.
    is_old: bool,
}

/// What becomes of the problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilesystemVerdict {
    Stays,
    /// It is over; the evidence, for people.
    Over(String),
}

impl FilesystemHistory {
    #[must_use]
    pub(super) fn new(is_old: bool) -> Self {
        Self { first: None, first_at: Duration::ZERO, errors: None, seen_mounted: false, is_old }
    }

    /// Whether no look has shown anything yet.
    #[cfg(test)]
    pub(super) fn is_new(&self) -> bool {
        self.first.is_none()
    }

    /// The problem was raised again: an early write proves nothing for as long as after its first failure.
    pub(super) fn failed_again(&mut self, at: Duration) {
        (self.first_at, self.is_old) = (at, false);
    }

    /// Judges a reading of boot time `at` against those before it.
    pub(super) fn judge(&mut self, reading: FilesystemReading, at: Duration) -> FilesystemVerdict {
        let first_look = self.first.is_none();
        let fails = reading.read_only || reading.probe == ProbeResult::Failed;
        // Only a mounted filesystem shows its count.
        if first_look || fails || self.errors.is_none() {
            self.errors = reading.errors;
        }
        let Some(first) = self.first.clone() else {
            let verdict = self.judge_first(&reading);
            self.seen_mounted = !reading.mount_ids.is_empty();
            (self.first, self.first_at) = (Some(reading), at);
            return verdict;
        };
        self.seen_mounted |= !reading.mount_ids.is_empty();
        if reading.check != RecoveryCheck::FilesystemWritable {
            return self.judge_device(first.exists, reading.exists, at);
        }
        if reading.mount_ids.is_empty() {
            return self.judge_unseen(&first, &reading, at);
        }
        // A clean new mount keeps the old count (seen on 6.18): only growth speaks against it.
        let is_broken = reading.read_only || reading.errors > self.errors;
        let is_early = !self.is_old && at < self.first_at + PROOF_AFTER;
        if is_broken || is_early { FilesystemVerdict::Stays } else { judge_mounted(&first, &reading) }
    }

    /// One whose problem is not to be there.
    fn judge_device(&self, was_there: bool, is_there: bool, at: Duration) -> FilesystemVerdict {
        match (was_there, is_there) {
            (true, false) => over("ProblemEnded/ended-device-gone"),
            (false, false) if at >= self.first_at + ABSENT_AFTER => over("ProblemEnded/ended-absent"),
            _ => FilesystemVerdict::Stays,
        }
    }

    /// It has no mount here. Another mount namespace may have it, and a pod then still gets errors of it: where its superblock
    /// is there, or that is not known, not to be here proves something only of what was here.
    fn judge_unseen(&self, first: &FilesystemReading, reading: &FilesystemReading, at: Duration) -> FilesystemVerdict {
        let is_gone = !reading.exists && reading.mounted_anywhere != MountedAnywhere::Yes;
        if first.exists && is_gone {
            return over("ProblemEnded/ended-device-gone");
        }
        let is_unmounted = match reading.mounted_anywhere {
            MountedAnywhere::Yes | MountedAnywhere::NotShown => self.seen_mounted,
            MountedAnywhere::No => true,
            // Without udev, and of nbd devices, nothing says what it has; most filesystems would show a mount.
            MountedAnywhere::Unknown => self.seen_mounted || reading.exists,
        };
        if !is_unmounted && is_gone && at >= self.first_at + ABSENT_AFTER {
            return over("ProblemEnded/ended-absent");
        }
        if is_unmounted { over("ProblemEnded/ended-unmounted") } else { FilesystemVerdict::Stays }
    }

    /// Only what is long gone ends at the first look: a filesystem that has just failed may still take a write.
    fn judge_first(&self, reading: &FilesystemReading) -> FilesystemVerdict {
        let gone = match reading.check {
            RecoveryCheck::FilesystemWritable => {
                reading.mount_ids.is_empty() && reading.mounted_anywhere != MountedAnywhere::Yes
            }
            RecoveryCheck::DevicePresent | RecoveryCheck::DeviceRecovered => !reading.exists,
        };
        match (self.is_old && gone, reading.exists) {
            (true, true) => over("ProblemEnded/ended-unmounted"),
            (true, false) => over("ProblemEnded/ended-absent"),
            (false, _) => FilesystemVerdict::Stays,
        }
    }
}

/// For a filesystem that itself shows no fault.
fn judge_mounted(first: &FilesystemReading, reading: &FilesystemReading) -> FilesystemVerdict {
    let mounted_again = reading.mount_ids.iter().any(|id| !first.mount_ids.contains(id));
    let turned_writable = first.read_only;
    match reading.probe {
        ProbeResult::Writable => over("ProblemEnded/ended-writable"),
        // Without the right to write there, the kernel's own flags of a new mount are the best evidence.
        ProbeResult::Denied if mounted_again || turned_writable => over("ProblemEnded/ended-remounted"),
        ProbeResult::Denied | ProbeResult::Pending | ProbeResult::Failed => FilesystemVerdict::Stays,
    }
}

/// `key`: of the evidence.
fn over(key: &str) -> FilesystemVerdict {
    FilesystemVerdict::Over(message(key, &[]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(mount_ids: &[u64], read_only: bool, errors: u64, probe: ProbeResult) -> FilesystemReading {
        let mount_ids = mount_ids.to_vec();
        FilesystemReading {
            exists: true,
            mount_ids,
            mounted_anywhere: MountedAnywhere::Unknown,
            read_only,
            errors: Some(errors),
            probe,
            check: RecoveryCheck::FilesystemWritable,
        }
    }

    fn after(first: FilesystemReading, then: FilesystemReading) -> FilesystemVerdict {
        let mut history = FilesystemHistory::new(false);
        assert_eq!(history.judge(first, Duration::ZERO), FilesystemVerdict::Stays);
        history.judge(then, PROOF_AFTER)
    }

    #[test]
    fn a_write_just_after_the_failure_proves_nothing() {
        let (broken, healthy) =
            (|| reading(&[40], true, 1, ProbeResult::Pending), || reading(&[40], false, 1, ProbeResult::Writable));
        let mut history = FilesystemHistory::new(false);
        assert_eq!(history.judge(broken(), Duration::ZERO), FilesystemVerdict::Stays);
        assert_eq!(history.judge(healthy(), Duration::from_millis(100)), FilesystemVerdict::Stays);
        let mut old = FilesystemHistory::new(true);
        assert_eq!(old.judge(broken(), Duration::ZERO), FilesystemVerdict::Stays);
        assert!(
            matches!(old.judge(healthy(), Duration::from_millis(100)), FilesystemVerdict::Over(_)),
            "it failed long ago"
        );
    }

    #[test]
    fn a_problem_raised_again_needs_its_proof_again() {
        let healthy = || reading(&[41], false, 1, ProbeResult::Writable);
        let mut history = FilesystemHistory::new(true);
        history.judge(reading(&[40], true, 1, ProbeResult::Pending), Duration::ZERO);
        history.failed_again(PROOF_AFTER);
        assert_eq!(
            history.judge(healthy(), PROOF_AFTER),
            FilesystemVerdict::Stays,
            "the write may be from before the failure"
        );
        assert!(matches!(history.judge(healthy(), PROOF_AFTER * 2), FilesystemVerdict::Over(_)));
    }

    #[test]
    fn errors_counted_while_it_was_broken_do_not_speak_against_the_remount() {
        let mut history = FilesystemHistory::new(false);
        history.judge(reading(&[40], true, 1, ProbeResult::Pending), Duration::ZERO);
        history.judge(reading(&[40], true, 3, ProbeResult::Pending), PROOF_AFTER);
        let remounted = reading(&[40], false, 3, ProbeResult::Writable);
        assert!(matches!(history.judge(remounted, PROOF_AFTER * 2), FilesystemVerdict::Over(_)));
    }

    #[test]
    fn errors_counted_before_the_first_read_do_not_speak_against_the_mount() {
        let mut history = FilesystemHistory::new(false);
        history
            .judge(FilesystemReading { errors: None, ..reading(&[], false, 0, ProbeResult::Pending) }, Duration::ZERO);
        let early = reading(&[41], false, 1, ProbeResult::Writable);
        assert_eq!(history.judge(early.clone(), Duration::from_secs(1)), FilesystemVerdict::Stays);
        let grown = FilesystemReading { errors: Some(2), ..early.clone() };
        assert_eq!(history.judge(grown, PROOF_AFTER), FilesystemVerdict::Stays, "it counted another one since");
        assert!(matches!(history.judge(early, PROOF_AFTER), FilesystemVerdict::Over(_)));
    }

    #[test]
    fn a_filesystem_is_well_only_on_evidence() {
        use ProbeResult::{Denied, Failed, Pending, Writable};
        let broken = || reading(&[40], true, 1, Pending);
        let silent = || reading(&[40], false, 1, Failed);
        for (first, then, healthy, case) in [
            (broken(), reading(&[40], true, 1, Pending), false, "still read-only"),
            (broken(), reading(&[41], false, 1, Writable), true, "mounted again and writable"),
            (broken(), reading(&[41], false, 1, Failed), false, "mounted again, but a write fails"),
            (broken(), reading(&[41], false, 2, Writable), false, "mounted again, but it counted another error"),
            (broken(), reading(&[41], false, 1, Denied), true, "mounted again, and we may not write there"),
            (silent(), reading(&[40], false, 1, Denied), false, "6.1 says rw although writes fail: no evidence"),
            (silent(), reading(&[40], false, 1, Failed), false, "6.1 says rw, the probe knows better"),
            (broken(), reading(&[], false, 1, Pending), true, "unmounted"),
        ] {
            assert_eq!(matches!(after(first, then), FilesystemVerdict::Over(_)), healthy, "{case}");
        }
    }

    fn unseen(mounted_anywhere: MountedAnywhere) -> FilesystemReading {
        FilesystemReading { mounted_anywhere, ..reading(&[], false, 1, ProbeResult::Pending) }
    }

    /// A pod's mount namespace has it: the pod gets EROFS while nothing of it is seen here.
    #[test]
    fn what_only_a_pod_has_mounted_is_not_over_because_it_is_not_seen_here() {
        use MountedAnywhere::{No, NotShown, Unknown, Yes};
        let pulled = |mounted_anywhere| FilesystemReading { exists: false, ..unseen(mounted_anywhere) };
        let here = || reading(&[40], true, 1, ProbeResult::Pending);
        for (first, then, is_over, case) in [
            (unseen(Yes), unseen(Yes), false, "a pod has it"),
            (unseen(Yes), unseen(No), true, "the pod had it"),
            (unseen(Yes), pulled(Yes), false, "its disk was pulled, and the pod has it"),
            (unseen(Yes), pulled(Unknown), true, "its disk was pulled, and the pod let it go"),
            (unseen(NotShown), unseen(NotShown), false, "FAT and bcachefs: a pod may have it, which is not shown"),
            (unseen(NotShown), pulled(Unknown), true, "what a pod may have had has no device any more"),
            (unseen(Unknown), unseen(NotShown), false, "udev read late that it is one of those"),
            (unseen(Unknown), unseen(No), true, "udev read late what it is"),
            (unseen(Unknown), unseen(Unknown), true, "udev does not say what it is, and it is not shown as mounted"),
            (here(), unseen(Yes), true, "it was here"),
            (here(), unseen(NotShown), true, "it was here"),
            (here(), unseen(Unknown), true, "it was here"),
        ] {
            assert_eq!(matches!(after(first, then), FilesystemVerdict::Over(_)), is_over, "{case}");
        }
        let old = |mounted_anywhere| FilesystemHistory::new(true).judge(unseen(mounted_anywhere), Duration::ZERO);
        assert_eq!(old(Yes), FilesystemVerdict::Stays, "the agent was started again");
        assert!([NotShown, Unknown].into_iter().all(|state| matches!(old(state), FilesystemVerdict::Over(_))));
    }

    #[test]
    fn what_does_not_show_its_mounts_stays_as_long_as_there_is_its_device() {
        let mut history = FilesystemHistory::new(false);
        for secs in [0, 5, 65, 86_400] {
            let reading = unseen(MountedAnywhere::NotShown);
            assert_eq!(history.judge(reading, Duration::from_secs(secs)), FilesystemVerdict::Stays, "{secs}");
        }
        let gone = FilesystemReading { exists: false, ..unseen(MountedAnywhere::Unknown) };
        assert!(matches!(history.judge(gone, Duration::from_secs(86_405)), FilesystemVerdict::Over(_)));
    }

    #[test]
    fn an_unknown_device_proves_nothing_unless_its_problem_is_old() {
        let unknown = || FilesystemReading { exists: false, ..reading(&[], false, 0, ProbeResult::Pending) };
        assert_eq!(after(unknown(), unknown()), FilesystemVerdict::Stays);
        let late = |then| {
            let mut history = FilesystemHistory::new(false);
            history.judge(unknown(), Duration::from_secs(3));
            assert_eq!(history.judge(unknown(), Duration::from_secs(62)), FilesystemVerdict::Stays);
            history.judge(then, Duration::from_secs(63))
        };
        assert!(matches!(late(unknown()), FilesystemVerdict::Over(_)), "pulled and unmounted before the first look");
        let held = FilesystemReading { mounted_anywhere: MountedAnywhere::Yes, ..unknown() };
        assert_eq!(late(held), FilesystemVerdict::Stays, "a pod has it mounted still");
        assert!(matches!(FilesystemHistory::new(true).judge(unknown(), Duration::ZERO), FilesystemVerdict::Over(_)));
    }

    #[test]
    fn a_device_that_vanishes_ends_its_own_problem() {
        let device = |exists| FilesystemReading {
            exists,
            check: RecoveryCheck::DevicePresent,
            ..reading(&[], false, 0, ProbeResult::Pending)
        };
        assert!(matches!(after(device(true), device(false)), FilesystemVerdict::Over(_)));
        assert_eq!(after(device(true), device(true)), FilesystemVerdict::Stays);
        let mut pulled = FilesystemHistory::new(false);
        pulled.judge(device(false), Duration::ZERO);
        assert_eq!(pulled.judge(device(false), Duration::from_secs(59)), FilesystemVerdict::Stays);
        assert!(
            matches!(pulled.judge(device(false), ABSENT_AFTER), FilesystemVerdict::Over(_)),
            "before the first look"
        );
    }
}
