//! Which reports are of one and the same fault.
//!
//! One uncorrected error can be reported four times: by EDAC with the module's name, by a machine check on a CPU, by a
//! page that the kernel takes out of use, and by the kernel's log for each of them. It is the module's problem, if it
//! has a name: what stands beside it without one is ended, with the evidence.

use std::{
    collections::{BTreeSet, VecDeque},
    time::Duration,
};

use nodewell_faults::message;
use nodewell_model::Name;

use super::ras::MachineCheck;
use crate::probe::{Now, RecoveryEvidence};

/// Reports this far apart may be of one fault: each is seen a round after it happened, and a page may wait for its lock.
const WINDOW: Duration = Duration::from_secs(10 * 60);
/// Reports of one kind that wait to be explained; a storm explains itself.
const WAITING_LIMIT: usize = 256;

/// What may belong together. Times are those since boot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Recent {
    /// Pages that no module answers for yet.
    pages: VecDeque<(Duration, u64)>,
    last_page: Option<Duration>,
    /// When a module last lost data, and its name.
    loss: Option<(Duration, String)>,
    /// Frames that page failures and EDAC reported.
    frames: VecDeque<(Duration, u64)>,
    checks: VecDeque<Check>,
    /// CPUs with an uncorrected error in this boot that nothing explains.
    guilty: BTreeSet<u32>,
}

/// An uncorrected machine check.
#[derive(Debug, Clone, PartialEq)]
struct Check {
    at: Duration,
    check: MachineCheck,
    /// Others answer for it.
    is_explained: bool,
}

impl Recent {
    pub(super) fn add_loss(&mut self, at: Duration, label: &str) {
        self.loss = Some((at, label.to_owned()));
    }

    pub(super) fn add_pages(&mut self, at: Duration, pages: u64) {
        if pages == 0 {
            return;
        }
        self.last_page = Some(at);
        let is_full = self.pages.len() >= WAITING_LIMIT;
        match self.pages.back_mut().filter(|_| is_full) {
            // Not one of them may be forgotten.
            Some((_, last)) => *last = last.saturating_add(pages),
            None => self.pages.push_back((at, pages)),
        }
    }

    /// The kernel took the page of this frame out of use.
    pub(super) fn add_failed_page(&mut self, at: Duration, frame: u64) {
        self.last_page = Some(at);
        self.add_frame(at, frame);
    }

    pub(super) fn add_frame(&mut self, at: Duration, frame: u64) {
        if self.frames.len() >= WAITING_LIMIT {
            self.frames.pop_front();
        }
        self.frames.push_back((at, frame));
    }

    pub(super) fn add_check(&mut self, at: Duration, check: &MachineCheck) {
        if self.checks.len() >= WAITING_LIMIT {
            let oldest = self.checks.pop_front();
            self.guilty.extend(oldest.filter(|oldest| !oldest.is_explained).map(|oldest| oldest.check.cpu));
        }
        self.checks.push_back(Check { at, check: check.clone(), is_explained: false });
    }

    /// Pages that no module answers for.
    pub(super) fn unexplained(&self) -> u64 {
        self.pages.iter().fold(0, |sum, (_, pages)| sum.saturating_add(*pages))
    }

    /// A module that lost data answers for the pages that were lost at about the same time, and both for machine checks.
    pub(super) fn explain(&mut self, at: Duration) {
        if self.joined_module(at).is_some() {
            self.pages.clear();
        }
        let mut checks = std::mem::take(&mut self.checks);
        checks.iter_mut().for_each(|check| check.is_explained |= self.answers_for(check));
        self.checks = checks;
    }

    /// The same page failed, or a memory controller reported when memory was lost.
    fn answers_for(&self, Check { at, check, .. }: &Check) -> bool {
        let same_page = check.frame().is_some_and(|frame| self.frames.iter().any(|(_, known)| *known == frame));
        let losses = self.loss.as_ref().map(|(lost_at, _)| *lost_at).into_iter().chain(self.last_page);
        same_page || check.is_of_memory() && losses.into_iter().any(|lost_at| is_near(lost_at, *at))
    }

    /// The module that lost data when pages were lost, if that was just now.
    pub(super) fn joined_module(&self, at: Duration) -> Option<&str> {
        let (lost_at, label) = self.loss.as_ref()?;
        let page_at = self.last_page?;
        let fresh = is_near(*lost_at, at) && is_near(page_at, at) && is_near(page_at, *lost_at);
        fresh.then_some(label.as_str())
    }

    /// CPUs all of whose uncorrected machine checks were of memory that others answer for.
    pub(super) fn messengers(&self) -> BTreeSet<u32> {
        let of = |is_explained| {
            let checks = self.checks.iter().filter(move |check| check.is_explained == is_explained);
            checks.map(|check| check.check.cpu).collect::<BTreeSet<_>>()
        };
        let doubtful = of(false);
        of(true).into_iter().filter(|cpu| !doubtful.contains(cpu) && !self.guilty.contains(cpu)).collect()
    }

    /// Forgets what is too old to be joined; returns the pages that stay unexplained.
    pub(super) fn age(&mut self, at: Duration) -> u64 {
        let before = self.unexplained();
        let old = self.checks.iter().filter(|check| !is_near(check.at, at) && !check.is_explained);
        self.guilty.extend(old.map(|check| check.check.cpu));
        self.checks.retain(|check| is_near(check.at, at));
        self.frames.retain(|(then, _)| is_near(*then, at));
        self.pages.retain(|(then, _)| is_near(*then, at));
        before - self.unexplained()
    }
}

fn is_near(one: Duration, other: Duration) -> bool {
    one.abs_diff(other) <= WINDOW
}

/// What the kernel's log may have reported of the CPU: `CPU 3` (print_mce) as memory's or, where the line does not name
/// memory, as its own fault; `CPU:3` (amd_decode_mce) as its own.
pub(super) fn exonerated(cpu: u32, now: &Now) -> [RecoveryEvidence; 3] {
    let own = ("CpuUnhealthy", "MachineCheckUncorrected");
    let memorys = ("MemoryUnhealthy", "MemoryUncorrectedError");
    let (intel, amd) = (format!("CPU {cpu}"), format!("CPU:{cpu}"));
    [(own, intel.clone()), (memorys, intel), (own, amd)].map(|((condition, reason), subject)| RecoveryEvidence {
        condition: Name::fixed(condition),
        reason: Some(Name::fixed(reason)),
        subject,
        seen_before: now.wall,
        evidence: message("CpuUnhealthy/ended-memory", &[]),
    })
}
