//! Recovery of filesystems and devices by looking: a read-only filesystem is well again when it is gone, or when it
//! takes writes and has counted no further error. A log line never says so.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{
    Finding, FindingKind, Guard, Name, Origin,
    view::{NodeView, ProblemView},
};
use nodewell_rules::{RuleSet, rule::Check};
use tokio::sync::watch;

use crate::{
    board::Board,
    detectors::proof::HostRoots,
    monitors::{
        filesystem::{
            probe::Probes,
            verdict::{Reading, Verdict, Watch},
        },
        outlet::{Outlet, Report},
    },
    runtime::clock,
};

pub mod probe;
pub mod verdict;

/// How often it looks while something is broken; it does not look at all while nothing is.
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// How soon it looks again while a write is under way; one that takes longer is looked at with the others.
const PROBE_WAIT: Duration = Duration::from_millis(100);

/// Looks after the problems whose rules say `check = …`.
pub struct FilesystemMonitor {
    rules: watch::Receiver<Arc<RuleSet>>,
    board: Board,
    outlet: Outlet,
    roots: HostRoots,
    probes: Probes,
    watches: BTreeMap<Watched, Watch>,
    started: Timestamp,
    sequence: u64,
}

/// A problem under watch.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Watched {
    condition: Name,
    reason: Name,
    subject: Option<String>,
    device: String,
    sources: String,
}

impl FilesystemMonitor {
    #[must_use]
    pub fn new(rules: watch::Receiver<Arc<RuleSet>>, board: Board, outlet: Outlet, roots: HostRoots) -> Self {
        Self {
            rules,
            board,
            outlet,
            roots,
            probes: Probes::default(),
            watches: BTreeMap::new(),
            started: Timestamp::now(),
            sequence: 0,
        }
    }

    /// Looks until the task is dropped.
    pub async fn run(mut self) {
        let mut view = self.board.watch();
        loop {
            let account = view.borrow_and_update().clone();
            self.look(&account).await;
            if self.watches.is_empty() {
                if view.changed().await.is_err() {
                    return;
                }
            } else {
                tokio::time::sleep(if self.probes.have_begun() { PROBE_WAIT } else { LOOK_EVERY }).await;
            }
        }
    }

    async fn look(&mut self, account: &NodeView) {
        let broken = self.broken(account);
        self.watches.retain(|watched, _| broken.contains_key(watched));
        // Problems of one device share one reading: a probe answers once.
        let mut readings: BTreeMap<(String, Check), Reading> = BTreeMap::new();
        for (watched, (check, since)) in broken {
            let reading = readings
                .entry((watched.device.clone(), check))
                .or_insert_with(|| Reading::take(&self.roots, &watched.device, check, &mut self.probes))
                .clone();
            let watch = self.watches.entry(watched.clone()).or_insert_with(|| Watch::new(since < self.started));
            if let Verdict::Over(evidence) = watch.judge(reading, clock::boottime()) {
                self.withdraw(&watched, &evidence).await;
            }
        }
    }

    /// The active problems that a check must end, with the check and their start.
    fn broken(&self, account: &NodeView) -> BTreeMap<Watched, (Check, Timestamp)> {
        let rules = self.rules.borrow();
        let check_of = |problem: &ProblemView| {
            let checked = rules.rules.iter().filter(|rule| rule.reason == problem.reason && rule.condition.is_some());
            checked.filter_map(|rule| rule.clears.check).next()
        };
        let problems = account.conditions.iter().flat_map(|c| c.problems.iter().map(move |p| (&c.condition, p)));
        problems
            .filter(|(_, problem)| !problem.test)
            .filter_map(|(condition, problem)| {
                let watched = Watched {
                    condition: condition.clone(),
                    reason: problem.reason.clone(),
                    subject: problem.subject.clone(),
                    device: problem.subject.clone().or_else(|| device_in(&problem.message))?,
                    sources: problem.source.clone(),
                };
                Some((watched, (check_of(problem)?, problem.since)))
            })
            .collect()
    }

    async fn withdraw(&mut self, watched: &Watched, evidence: &str) {
        for source in watched.sources.split(',').map(str::trim) {
            self.sequence += 1;
            let now = clock::now().wall;
            let origin = Origin::Agent {
                boot_id: clock::boot_id().unwrap_or_default(),
                started_ns: u64::try_from(self.started.as_nanosecond()).unwrap_or_default(),
                sequence: self.sequence,
            };
            let finding = Finding {
                source: Arc::from(source),
                kind: FindingKind::Clear,
                condition: Some(watched.condition.clone()),
                reason: watched.reason.clone(),
                subject: watched.subject.clone(),
                severity: nodewell_model::Severity::Info,
                message: evidence.to_owned(),
                time: now,
                last_time: now,
                count: 1,
                origin,
                boot_id: clock::boot_id(),
                quiet: None,
                ends_at_boot: false,
                action: None,
                guard: Guard::None,
                test: false,
            };
            self.outlet.tell(Report::Finding(Box::new(finding))).await;
        }
    }
}

/// The device in the kernel's own words, `EXT4-fs (sda1): …` or `BTRFS error (device sdb): …`: Node Problem Detector's
/// rules capture no subject.
fn device_in(message: &str) -> Option<String> {
    let (_, rest) = message.split_once('(')?;
    let (inside, _) = rest.split_once(')')?;
    let device = inside.strip_prefix("device ").unwrap_or(inside).split(' ').next()?;
    let plain = device.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    (plain && !device.is_empty()).then(|| device.trim_end_matches(':').to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_read_out_of_the_kernels_words() {
        for (message, device) in [
            ("EXT4-fs (sda1): Remounting filesystem read-only", Some("sda1")),
            ("BTRFS info (device sdb state E): forced readonly", Some("sdb")),
            ("XFS (dm-3): Log I/O Error Detected. Shutting down filesystem", Some("dm-3")),
            ("Remounting filesystem read-only", None),
            ("x (/etc/passwd): y", None),
            ("x (", None),
        ] {
            assert_eq!(device_in(message).as_deref(), device, "{message}");
        }
    }
}
