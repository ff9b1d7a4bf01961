//! What is planted next, where, and for how long: a seed decides.

use std::{collections::BTreeMap, time::Duration};

use super::fault::Fault;

/// A node is given time for three announced shutdowns within 24 hours (docs/reboots.md), and is fenced after them.
const ORDERLY_REBOOTS: u8 = 3;
/// The worker that reads the kernel's log. It is not rebooted: there is one kernel, and its agent would take what that
/// logged of a disk long ago for this boot's.
pub const READS_KERNEL_LOG: u8 = 1;

/// Where a fault is planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Where the pod that there may be only one of runs then, or this worker if that one is not rebooted.
    ShopsNode {
        or: u8,
    },
    Worker(u8),
    /// The control plane; of an API server that is away a worker's service reports.
    ControlPlane {
        reporter: u8,
    },
}

/// One fault to be planted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub fault: Fault,
    pub target: Target,
    /// From the one before, when that is over.
    pub pause: Duration,
    /// From when it was found until it is mended, or how long what was stopped is away.
    pub lasts: Duration,
}

/// Choices without end: each fault once, in another order each time.
#[derive(Debug)]
pub struct Choices {
    random: fastrand::Rng,
    workers: u8,
    round: Vec<Fault>,
    orderly: BTreeMap<u8, u8>,
}

impl Choices {
    /// For a cluster of `workers`.
    #[must_use]
    pub fn new(seed: u64, workers: u8) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        Self { random, workers, round: Vec::new(), orderly: BTreeMap::new() }
    }

    fn fault(&mut self) -> Fault {
        if self.round.is_empty() {
            self.round = Fault::ALL.to_vec();
            self.random.shuffle(&mut self.round);
        }
        self.round.pop().expect("it was filled")
    }

    fn target(&mut self, fault: Fault) -> Option<Target> {
        let any = self.random.u8(1..=self.workers);
        let rebooted = self.random.u8(READS_KERNEL_LOG + 1..=self.workers);
        match fault {
            Fault::DiskFailed => Some(Target::Worker(READS_KERNEL_LOG)),
            Fault::LeaderKilled | Fault::ApiServerAway => Some(Target::ControlPlane { reporter: any }),
            // Half of the fences show who writes.
            _ if fault.is_fenced() && self.random.bool() => Some(Target::ShopsNode { or: rebooted }),
            _ if fault.is_fenced() => Some(Target::Worker(rebooted)),
            Fault::OrderlyReboot => self.orderly(rebooted).map(Target::Worker),
            _ => Some(Target::Worker(any)),
        }
    }

    /// The next worker from `first` that may have one more.
    fn orderly(&mut self, first: u8) -> Option<u8> {
        let mut all = (first..=self.workers).chain(READS_KERNEL_LOG + 1..first);
        let worker = all.find(|worker| self.orderly.get(worker).is_none_or(|had| *had < ORDERLY_REBOOTS))?;
        *self.orderly.entry(worker).or_default() += 1;
        Some(worker)
    }

    fn seconds(&mut self, range: std::ops::RangeInclusive<u64>) -> Duration {
        Duration::from_secs(self.random.u64(range))
    }
}

impl Iterator for Choices {
    type Item = Choice;

    fn next(&mut self) -> Option<Choice> {
        loop {
            let fault = self.fault();
            let Some(target) = self.target(fault) else { continue };
            let pause = self.seconds(5..=30);
            let lasts = self.seconds(if fault == Fault::ApiServerAway { 10..=60 } else { 1..=20 });
            return Some(Choice { fault, target, pause, lasts });
        }
    }
}
