//! A disk of a worker's own that can be broken: an ext4 on a loop device.

use std::{
    fs::File,
    path::Path,
    process::Command,
    sync::atomic::{AtomicU32, Ordering},
};

use nodewell_model::{
    ConditionStatus,
    view::{ConditionView, ProblemView},
};
use nodewell_tests::disk::LoopDevice;

use super::Worker;

/// Enough for ext4 with a journal.
const SIZE_BYTES: u64 = 16 * 1024 * 1024;
/// The kernel cuts it off at the first fault.
pub const OPTIONS: &str = "errors=remount-ro";

/// What an agent that answered reports of a disk under one condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report {
    /// The condition is True, for this disk.
    Fault,
    /// The condition is False, or True for others alone.
    NoFault,
    /// The agent has no such condition yet, or is blind.
    Unknown,
}

/// Gone once it is mounted nowhere and dropped.
#[derive(Debug)]
pub struct Ext4<'a> {
    device: LoopDevice,
    worker: &'a Worker,
}

impl<'a> Ext4<'a> {
    /// A fresh one, whose image is in `folder`; the machine has its device node in `/dev`.
    pub(super) fn make(folder: &Path, worker: &'a Worker) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        // A second one is another one, and not the first cut to nothing.
        let image = folder.join(format!("ext4-{}", COUNT.fetch_add(1, Ordering::Relaxed)));
        File::create(&image).unwrap().set_len(SIZE_BYTES).unwrap();
        let made = Command::new("mkfs.ext4").args(["-q", "-F"]).arg(&image).status();
        assert!(made.unwrap().success(), "mkfs.ext4");
        let device = LoopDevice::of(&image);
        let (name, numbers) = (device.name(), device.numbers().replace(':', " "));
        // The machine has device nodes of its own, and no udev to make them.
        worker.inside().sh(&format!("rm -f /dev/{name} && mknod /dev/{name} b {numbers}"));
        Self { device, worker }
    }

    /// Mounts it where the machine's own disks are.
    pub fn mount(&self, at: &str) {
        self.worker.inside().sh(&format!("mkdir -p {at} && mount -o {OPTIONS} /dev/{} {at}", self.device()));
    }

    /// Unmounts it from there, as an administrator who takes the disk out.
    pub fn unmount(&self, at: &str) {
        self.worker.inside().sh(&format!("umount {at}"));
    }

    /// The device as the kernel calls it, such as `loop0`.
    #[must_use]
    pub fn device(&self) -> &str {
        self.device.name()
    }

    /// What the machine's agent reports of it under `condition`; `None` if no agent answers, which is no report of either.
    #[must_use]
    pub fn report(&self, condition: &str) -> Option<Report> {
        let conditions = self.worker.inside().conditions()?;
        let condition = conditions.into_iter().find(|one| one.condition.as_str() == condition);
        Some(condition.map_or(Report::Unknown, |condition| self.of(&condition)))
    }

    fn of(&self, condition: &ConditionView) -> Report {
        // The condition's own message has room for some disks only, and one kernel's log has those of all machines.
        let is_it = |problem: &ProblemView| {
            problem.subject.as_deref().is_some_and(|subject| self.is_named_in(subject))
                || self.is_named_in(&problem.message)
        };
        match condition.status {
            ConditionStatus::True if condition.problems.iter().any(is_it) => Report::Fault,
            ConditionStatus::True | ConditionStatus::False => Report::NoFault,
            ConditionStatus::Unknown => Report::Unknown,
        }
    }

    /// Whether `text` names the device as a word: `loop1` is not named by `loop10`.
    #[must_use]
    pub fn is_named_in(&self, text: &str) -> bool {
        text.split(|letter: char| !letter.is_ascii_alphanumeric()).any(|word| word == self.device())
    }

    /// The kernel finds a fault on it: it takes no more writes, and the kernel's log says so.
    pub fn fail(&self) {
        self.device.break_filesystem();
    }
}
