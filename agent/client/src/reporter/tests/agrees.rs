//! Whatever the daemon reports, and whatever becomes of its reports: in the end the agent's ledger holds the latest.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use nodewell_ledger::{ClearRequest, Ledger, Now};
use nodewell_model::{ConditionSpec, Hardware, Status, SubjectKey, api::AcceptedView};
use proptest::prelude::*;
use tokio::time::Instant;

use super::{
    super::outbox::{Next, Outbox},
    decides::refusal,
    *,
};
use crate::{ClientError, ReporterSettings};

const TYPES: [&str; 2] = ["FanProblem", "RaidProblem"];
const REASONS: [&str; 3] = ["RaidDegraded", "RaidSlow", "RaidWorn"];

/// One thing that the daemon reports, or that becomes of its next report.
#[derive(Debug, Clone)]
enum Step {
    Faults(usize, Option<u8>, BTreeSet<usize>),
    Entry(usize, Option<u8>, bool),
    Forget(usize, Option<u8>),
    Count(u32),
    /// It is silent for so long that a person waits for it no longer.
    GiveUp,
    HeartbeatNow,
    Send(Fate),
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    Taken,
    /// It arrived; the answer did not.
    Unanswered,
    NotArrived,
    Refused,
    /// The agent was restarted before it, and remembers nothing.
    TakenByAnother,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let key = || (0_usize..2, prop::option::weighted(0.8, 0_u8..3));
    let fates = [Fate::Taken, Fate::Unanswered, Fate::NotArrived, Fate::Refused, Fate::TakenByAnother];
    let step = prop_oneof![
        4 => (key(), prop::collection::btree_set(0_usize..3, 1..4)).prop_map(|((t, s), set)| Step::Faults(t, s, set)),
        3 => (key(), prop::bool::weighted(0.3)).prop_map(|((t, s), unknown)| Step::Entry(t, s, unknown)),
        2 => key().prop_map(|(t, s)| Step::Forget(t, s)),
        1 => (0_u32..3).prop_map(Step::Count),
        1 => Just(Step::GiveUp),
        1 => Just(Step::HeartbeatNow),
        5 => prop::sample::select(fates.to_vec()).prop_map(Step::Send),
    ];
    prop::collection::vec(step, 1..40)
}

fn key(condition: usize, subject: Option<u8>) -> SubjectKey {
    SubjectKey::new(Name::fixed(TYPES[condition]), subject.map(|n| format!("md{n}")))
}

fn entry(key: &SubjectKey, status: ConditionStatus, reason: &'static str) -> Condition {
    let SubjectKey { condition, subject } = key.clone();
    Condition { condition, reason: Name::fixed(reason), subject, ..super::condition(None, status) }
}

fn disks(total: u32) -> Vec<Hardware> {
    vec![Hardware { class: "disks".to_owned(), total, states: BTreeMap::new(), ..Hardware::default() }]
}

/// The daemon's last reports: reasons of what is wrong; none where it is well, or unknown.
#[derive(Debug, Default)]
struct LastReports {
    faults: BTreeMap<SubjectKey, BTreeSet<&'static str>>,
    unknown: BTreeSet<SubjectKey>,
    healthy: BTreeSet<SubjectKey>,
    disks: Option<u32>,
}

impl LastReports {
    fn take(&mut self, step: &Step) {
        match step {
            Step::Faults(condition, subject, reasons) => {
                let key = self.clear(*condition, *subject, false);
                self.faults.insert(key, reasons.iter().map(|n| REASONS[*n]).collect());
            }
            Step::Entry(condition, subject, true) => {
                let key = self.clear(*condition, *subject, false);
                self.unknown.insert(key);
            }
            Step::Entry(condition, subject, false) => {
                let key = self.clear(*condition, *subject, true);
                self.healthy.insert(key);
            }
            Step::Forget(condition, subject) => drop(self.clear(*condition, *subject, true)),
            Step::Count(total) => self.disks = Some(*total),
            Step::GiveUp | Step::HeartbeatNow | Step::Send(_) => {}
        }
    }

    /// Nothing is known of the subject; with `whole`, one without a subject stands for its type.
    fn clear(&mut self, condition: usize, subject: Option<u8>, whole: bool) -> SubjectKey {
        let key = key(condition, subject);
        let over = |other: &SubjectKey| *other == key || (whole && key.is_whole() && other.condition == key.condition);
        self.faults.retain(|other, _| !over(other));
        self.unknown.retain(|other| !over(other));
        self.healthy.retain(|other| !over(other));
        key
    }

    fn types(&self) -> BTreeSet<Name> {
        let keys = self.faults.keys().chain(&self.unknown).chain(&self.healthy);
        keys.map(|key| key.condition.clone()).collect()
    }
}

fn report_step(outbox: &mut Outbox, step: &Step, now: Instant) {
    match step {
        Step::Faults(condition, subject, reasons) => {
            let key = key(*condition, *subject);
            let faults = reasons.iter().map(|n| entry(&key, ConditionStatus::True, REASONS[*n])).collect();
            outbox.set_all(key, faults, now);
        }
        Step::Entry(condition, subject, unknown) => {
            let key = key(*condition, *subject);
            let status = if *unknown { ConditionStatus::Unknown } else { ConditionStatus::False };
            outbox.set_all(key.clone(), vec![entry(&key, status, "RaidSeen")], now);
        }
        Step::Forget(condition, subject) => _ = outbox.forget(&key(*condition, *subject), wall(), now),
        Step::Count(total) => _ = outbox.hardware(disks(*total), now),
        Step::HeartbeatNow => outbox.send_heartbeat_now(),
        Step::GiveUp | Step::Send(_) => {}
    }
}

fn wall() -> jiff::Timestamp {
    "2026-11-21T03:00:00Z".parse().unwrap()
}

/// The agent, and the moment.
struct World {
    ledger: Ledger,
    instance: u32,
    start: Instant,
    now: Instant,
}

impl World {
    fn new() -> Self {
        let now = Instant::now();
        Self { ledger: empty(), instance: 0, start: now, now }
    }

    fn ledger_time(&self) -> Now {
        Now { wall: wall(), boottime: Duration::from_secs(60) + (self.now - self.start) }
    }

    fn give_up(&mut self, ttl: Duration) {
        self.now += ttl + Duration::from_secs(1);
        let now = self.ledger_time();
        self.ledger.advance(now);
        for name in TYPES.map(Name::fixed) {
            let condition = name.clone();
            let (reason, subject, id, evidence) = (None, None, None, None);
            let all = ClearRequest { condition, reason, subject, id, evidence, if_unchanged_since: None, peer: None };
            self.ledger.clear(&all, now);
            self.ledger.give_up(&name, |_| false, now);
        }
    }

    fn send(&mut self, outbox: &mut Outbox, fate: Fate) {
        let report = loop {
            match outbox.next(self.now) {
                Next::Send(report) => break *report,
                Next::Wait(until) => self.now = until,
                Next::Done => unreachable!("no test sends a last report here"),
            }
        };
        report.check().unwrap();
        let answer = self.answer(report, fate);
        outbox.answered(answer, self.now);
    }

    fn answer(&mut self, report: Status, fate: Fate) -> Result<AcceptedView, ClientError> {
        let lost = || Err(ClientError::Broken { message: "gone".to_owned() });
        match fate {
            Fate::NotArrived => return lost(),
            Fate::Refused => return Err(refusal(409, None)),
            Fate::TakenByAnother => (self.ledger, self.instance) = (empty(), self.instance + 1),
            Fate::Taken | Fate::Unanswered => {}
        }
        let now = self.ledger_time();
        self.ledger.report(vec![report], &root(), now).unwrap();
        match fate {
            Fate::Unanswered => lost(),
            _ => {
                let (instance, principal) = (self.instance.to_string(), "root".to_owned());
                Ok(AcceptedView { durable: false, instance, principal, warning: String::new() })
            }
        }
    }

    /// What the ledger holds, but for what the daemon reports as unknown: there an older verdict may stand.
    fn faults(&mut self, unknown: &BTreeSet<SubjectKey>) -> BTreeMap<SubjectKey, BTreeSet<String>> {
        let mut faults: BTreeMap<SubjectKey, BTreeSet<String>> = BTreeMap::new();
        for view in self.ledger.conditions() {
            for problem in view.problems {
                let key = SubjectKey::new(view.condition.clone(), problem.subject);
                faults.entry(key).or_default().insert(problem.reason.to_string());
            }
        }
        faults.retain(|key, _| !unknown.contains(key));
        faults
    }
}

fn empty() -> Ledger {
    let spec = |name| ConditionSpec {
        condition: Name::fixed(name),
        healthy_reason: Name::fixed("AllIsWell"),
        healthy_message: String::new(),
    };
    Ledger::new(TYPES.map(spec).to_vec(), Now { wall: wall(), boottime: Duration::from_secs(60) })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1_000) })]

    #[test]
    fn in_the_end_the_ledger_holds_what_was_reported_last(steps in steps(), first_report_is_complete in any::<bool>()) {
        let settings = ReporterSettings { first_report_is_complete, ..ReporterSettings::new("raid") };
        let (ttl, mut world, mut last_reports) = (settings.ttl, World::new(), LastReports::default());
        let mut outbox = Outbox::new(settings, world.now);
        for step in &steps {
            last_reports.take(step);
            report_step(&mut outbox, step, world.now);
            match step {
                Step::Send(fate) => world.send(&mut outbox, *fate),
                Step::GiveUp => world.give_up(ttl),
                _ => {}
            }
        }
        outbox.all_reported(world.now);
        // What waits, a full report with the next heartbeat where one was refused, and one more.
        for _ in 0..6 {
            world.send(&mut outbox, Fate::Taken);
        }
        let expected: BTreeMap<SubjectKey, BTreeSet<String>> = last_reports.faults.iter()
            .map(|(key, reasons)| (key.clone(), reasons.iter().map(|reason| (*reason).to_owned()).collect()))
            .collect();
        prop_assert_eq!(world.faults(&last_reports.unknown), expected);
        let shown: BTreeSet<Name> = world.ledger.conditions().into_iter().map(|view| view.condition).collect();
        prop_assert_eq!(shown, last_reports.types());
        let total = world.ledger.hardware().first().map(|class| class.total);
        prop_assert_eq!(total, last_reports.disks);
    }
}
