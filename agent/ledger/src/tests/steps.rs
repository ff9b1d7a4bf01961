//! Random histories: what can be reported to a ledger, small enough that everything meets everything.

use nodewell_model::ProblemKey;
use proptest::prelude::*;

use super::*;
use crate::ClearRequest;

pub(super) const SOURCES: [&str; 3] = ["kernel-monitor", "nvml", "smartd"];
pub(super) const CONDITIONS: [&str; 2] = ["DiskUnhealthy", "KernelDeadlock"];
pub(super) const REASONS: [&str; 2] = ["IOError", "TaskHung"];
const SEVERITIES: [Severity; 3] = [Severity::Info, Severity::Error, Severity::Critical];
const STATES: [DaemonState; 4] = [DaemonState::Starting, DaemonState::Running, DaemonState::Blind, DaemonState::Dead];

/// One call to a ledger, with ages and spans in whole seconds.
#[derive(Debug, Clone)]
pub(super) enum Step {
    Finding(FindingStep),
    ByHand { condition: usize, reason: Option<usize>, subject: Option<u8> },
    Daemon { source: usize, state: usize, ttl: Option<u64>, watches: u8 },
    Retire(usize),
    Wait(u8),
    Jump(i64),
}

/// A finding, before there is a time.
#[derive(Debug, Clone)]
pub(super) struct FindingStep {
    source: usize,
    clears: bool,
    key: (usize, usize, Option<u8>),
    severity: usize,
    age: i64,
    lasted: i64,
    count: u64,
    quiet: Option<u64>,
    other_boot: bool,
    ends_at_boot: bool,
    test: bool,
}

/// The same with its time and message.
#[derive(Debug, Clone)]
pub(super) enum Deed {
    Finding(Finding),
    ByHand(ClearRequest),
    Daemon(DaemonReport),
    Retire(&'static str),
    Wait,
}

pub(super) fn histories() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..50)
}

pub(super) fn step() -> impl Strategy<Value = Step> {
    let subject = prop::option::of(0_u8..3);
    let by_hand = (0_usize..2, prop::option::of(0_usize..2), subject);
    let daemon = (0_usize..3, 0_usize..4, prop::option::of(1_u64..60), 0_u8..4);
    prop_oneof![
        8 => finding_step().prop_map(Step::Finding),
        1 => by_hand.prop_map(|(condition, reason, subject)| Step::ByHand { condition, reason, subject }),
        3 => daemon.prop_map(|(source, state, ttl, watches)| Step::Daemon { source, state, ttl, watches }),
        1 => (0_usize..3).prop_map(Step::Retire),
        3 => (0_u8..60).prop_map(Step::Wait),
        1 => (-500_i64..500).prop_map(Step::Jump),
    ]
}

fn finding_step() -> impl Strategy<Value = FindingStep> {
    let key = (0_usize..2, 0_usize..2, prop::option::of(0_u8..3));
    let times = (-20_i64..60, 0_i64..20, prop::option::of(1_u64..60));
    let flags = (prop::bool::weighted(0.3), prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.2));
    (0_usize..3, key, 0_usize..3, 1_u64..5, times, flags).prop_map(|(source, key, severity, count, times, flags)| {
        let ((age, lasted, quiet), (clears, other_boot, ends_at_boot, test)) = (times, flags);
        FindingStep { source, clears, key, severity, age, lasted, count, quiet, other_boot, ends_at_boot, test }
    })
}

fn key(condition: usize, reason: usize, subject: Option<u8>) -> ProblemKey {
    ProblemKey {
        condition: Name::fixed(CONDITIONS[condition]),
        reason: Name::fixed(REASONS[reason]),
        subject: subject.map(|n| format!("sd{n}")),
    }
}

impl FindingStep {
    fn at(&self, now: Now) -> Finding {
        let (condition, reason, subject) = self.key;
        let key = key(condition, reason, subject);
        let secs = now.wall.as_second() - wall(0).as_second() - self.age;
        Finding {
            source: SOURCES[self.source].into(),
            kind: if self.clears { FindingKind::Clear } else { FindingKind::Raise },
            condition: Some(key.condition),
            reason: key.reason,
            subject: key.subject,
            severity: SEVERITIES[self.severity],
            message: format!("reported at {secs}"),
            time: wall(secs - self.lasted),
            last_time: wall(secs),
            count: self.count,
            boot_id: boot(if self.other_boot { OTHER_BOOT } else { BOOT }),
            ends_after_quiet: self.quiet.map(Duration::from_secs),
            ends_at_boot: self.ends_at_boot,
            test: self.test,
            ..raise("", secs)
        }
    }
}

impl Step {
    /// What is done at `now`, which a step may move; nothing where only the wall clock jumps.
    pub(super) fn deed(&self, now: &mut Now) -> Option<Deed> {
        Some(match self {
            Self::Finding(finding_step) => Deed::Finding(finding_step.at(*now)),
            Self::ByHand { condition, reason, subject } => {
                let key = key(*condition, reason.unwrap_or(0), *subject);
                let reason = reason.map(|_| key.reason);
                Deed::ByHand(ClearRequest {
                    condition: key.condition,
                    reason,
                    subject: key.subject,
                    id: None,
                    evidence: None,
                    if_unchanged_since: None,
                    peer: None,
                })
            }
            Self::Daemon { source, state, ttl, watches } => Deed::Daemon(DaemonReport {
                watches: (0..2).filter(|n| watches & (1 << n) != 0).map(|n| Name::fixed(CONDITIONS[n])).collect(),
                ttl: ttl.map(Duration::from_secs),
                ..report(SOURCES[*source], STATES[*state])
            }),
            Self::Retire(source) => Deed::Retire(SOURCES[*source]),
            Self::Jump(secs) => {
                now.wall += jiff::SignedDuration::from_secs(*secs);
                return None;
            }
            Self::Wait(secs) => {
                now.wall += jiff::SignedDuration::from_secs(i64::from(*secs));
                now.boottime += Duration::from_secs(u64::from(*secs));
                Deed::Wait
            }
        })
    }
}

/// Gives each step its time.
pub(super) fn timed(steps: &[Step]) -> Vec<(Deed, Now)> {
    let mut now = at(0);
    steps.iter().filter_map(|step| step.deed(&mut now).map(|deed| (deed, now))).collect()
}

pub(super) fn apply(ledger: &mut Ledger, deeds: &[(Deed, Now)]) {
    for (deed, now) in deeds.iter().cloned() {
        match deed {
            Deed::Finding(finding) => _ = ledger.apply(finding, now).unwrap(),
            Deed::ByHand(request) => _ = ledger.clear(&request, now),
            Deed::Daemon(report) => ledger.daemon(report, now).unwrap(),
            Deed::Retire(source) => _ = ledger.retire(source, now),
            Deed::Wait => ledger.advance(now),
        }
    }
}
