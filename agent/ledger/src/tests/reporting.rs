//! What holds for every history of reports: a model that looks at everything, and what nobody may do.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{Condition, Event, ProblemKey, Status};
use proptest::prelude::*;

use super::{steps::CONDITIONS, *};
use crate::{Limits, OnStale, claim::Claimant};

type Spot = (Name, Option<String>);

/// One thing that happens.
#[derive(Debug, Clone)]
enum Deed {
    Report(Status, &'static str, OnStale),
    Wait(u8),
}

const SOURCES: [&str; 2] = ["raid", "smart"];
const PRINCIPALS: [&str; 2] = ["root", "uid:7"];
const REASONS: [&str; 2] = ["IOError", "TaskHung"];

fn histories() -> impl Strategy<Value = Vec<Deed>> {
    prop::collection::vec(prop_oneof![5 => reported(), 1 => (0_u8..40).prop_map(Deed::Wait)], 1..40)
}

fn reported() -> impl Strategy<Value = Deed> {
    let flags = (prop::bool::weighted(0.2), prop::bool::weighted(0.1), any::<bool>(), 0_usize..2);
    let conditions = prop::collection::btree_map((0_usize..2, prop::option::of(0_u8..3)), said(), 0..4);
    let id = prop::option::of(0_u8..12);
    (0_usize..2, conditions, 1_u64..50, id, 0_usize..2, flags).prop_map(
        |(source, conditions, ttl, id, events, (full, last, clears, principal))| {
            let status = Status {
                source: SOURCES[source].to_owned(),
                events: vec![event(); events],
                conditions: conditions.into_iter().map(condition).collect(),
                ttl_secs: Some(ttl),
                id: id.map(|id| id.to_string()),
                full,
                last,
            };
            let on_stale = if clears { OnStale::Clear } else { OnStale::Keep };
            Deed::Report(status, PRINCIPALS[principal], on_stale)
        },
    )
}

type Said = (u8, usize, i64);

fn said() -> impl Strategy<Value = Said> {
    (0_u8..4, 0_usize..2, 0_i64..3)
}

fn condition(((condition, subject), (status, reason, transition)): ((usize, Option<u8>), Said)) -> Condition {
    Condition {
        condition: Name::fixed(CONDITIONS[condition]),
        status: match status {
            0 => ConditionStatus::False,
            1 => ConditionStatus::Unknown,
            _ => ConditionStatus::True,
        },
        transition: wall(transition * 100 - 50),
        reason: Name::fixed(REASONS[reason]),
        message: "m".to_owned(),
        subject: subject.map(|n| format!("md{n}")),
        severity: None,
        action: None,
    }
}

fn event() -> Event {
    Event {
        severity: Severity::Info,
        timestamp: wall(3),
        reason: Name::fixed("Seen"),
        message: "m".to_owned(),
        subject: None,
    }
}

fn spot(condition: &Condition) -> Spot {
    (condition.condition.clone(), condition.subject.clone())
}

/// A daemon as one would write it down: for each spot the last word.
#[derive(Debug, Default)]
struct Known {
    /// Reason, transition, count.
    claims: BTreeMap<Spot, (Name, Timestamp, u64)>,
    doubts: BTreeSet<Spot>,
    watches: BTreeSet<Name>,
    silent: bool,
    forgotten: bool,
    ends: u64,
    clears: bool,
    ids: BTreeSet<String>,
}

#[derive(Debug, Default)]
struct Model {
    daemons: BTreeMap<String, Known>,
    departed: BTreeMap<String, BTreeSet<String>>,
    events: u64,
}

impl Model {
    fn report(&mut self, status: &Status, name: String, clears: bool, second: u64) {
        let seen = self.daemons.get(&name).map(|known| &known.ids).or(self.departed.get(&name));
        if status.id.as_ref().is_some_and(|id| seen.is_some_and(|seen| seen.contains(id))) {
            return;
        }
        let ids = self.departed.remove(&name);
        let known = self.daemons.entry(name.clone()).or_default();
        known.ids.extend(ids.into_iter().flatten().chain(status.id.clone()));
        (known.silent, known.clears, known.ends) = (false, clears, second + status.ttl_secs.unwrap());
        self.events += status.events.len() as u64;
        known.speak(status);
        if status.last {
            let gone = self.daemons.remove(&name).unwrap();
            self.departed.insert(name, gone.ids);
        }
    }

    fn second(&mut self, second: u64) {
        for known in self.daemons.values_mut().filter(|known| !known.silent && known.ends <= second) {
            known.silent = true;
            if known.clears {
                known.claims.clear();
            }
        }
        self.daemons.retain(|_, known| !known.forgotten);
    }

    fn status(&self, condition: &Name) -> Option<ConditionStatus> {
        if self.daemons.values().any(|known| known.claims.keys().any(|(name, _)| name == condition)) {
            return Some(ConditionStatus::True);
        }
        let mut watching = self.daemons.values().filter(|known| known.watches.contains(condition)).peekable();
        watching.peek()?;
        let blind = watching.any(|known| known.silent || known.doubts.iter().any(|(name, _)| name == condition));
        Some(if blind { ConditionStatus::Unknown } else { ConditionStatus::False })
    }

    /// For each problem: how often, and whether nobody confirms it.
    fn problems(&self, condition: &Name) -> BTreeMap<(Name, Option<String>), (u64, bool)> {
        let mut problems = BTreeMap::new();
        for known in self.daemons.values() {
            for (spot, (reason, _, count)) in known.claims.iter().filter(|(spot, _)| spot.0 == *condition) {
                let (total, unconfirmed) = problems.entry((reason.clone(), spot.1.clone())).or_insert((0, true));
                *total += count;
                *unconfirmed &= known.silent || known.doubts.contains(spot);
            }
        }
        problems
    }
}

impl Known {
    fn speak(&mut self, status: &Status) {
        let named: BTreeSet<Spot> = status.conditions.iter().map(spot).collect();
        let all: BTreeSet<Spot> = self.claims.keys().chain(&self.doubts).cloned().collect();
        if status.full {
            self.watches.clear();
        }
        for condition in &status.conditions {
            self.watches.insert(condition.condition.clone());
            let own = spot(condition);
            let others = all.iter().filter(|other| other.0 == own.0 && own.1.is_none() && !named.contains(*other));
            let meant: Vec<Spot> = others.cloned().chain([own.clone()]).collect();
            match condition.status {
                ConditionStatus::True => self.claim(own, condition),
                ConditionStatus::False => meant.iter().for_each(|spot| {
                    self.claims.remove(spot);
                    self.doubts.remove(spot);
                }),
                ConditionStatus::Unknown => self.doubts.extend(meant),
            }
        }
        if status.full {
            let whole = |spot: &Spot| {
                status.conditions.iter().any(|one| {
                    one.status == ConditionStatus::Unknown && one.subject.is_none() && one.condition == spot.0
                })
            };
            self.claims.retain(|spot, _| named.contains(spot) || whole(spot));
            self.doubts.retain(|spot| named.contains(spot) || whole(spot));
        }
    }

    fn claim(&mut self, spot: Spot, condition: &Condition) {
        self.doubts.remove(&spot);
        let before = self.claims.get(&spot).filter(|before| before.0 == condition.reason);
        let count = before.map_or(1, |before| before.2 + u64::from(before.1 != condition.transition));
        self.claims.insert(spot, (condition.reason.clone(), condition.transition, count));
    }
}

fn name(status: &Status, principal: &str) -> String {
    format!("{}@{principal}", status.source)
}

fn tell(ledger: &mut Ledger, now: &mut Now, deed: &Deed) {
    match deed {
        Deed::Report(status, principal, on_stale) => {
            ledger.report(vec![status.clone()], principal, *on_stale, *now).unwrap();
        }
        Deed::Wait(secs) => {
            now.wall += jiff::SignedDuration::from_secs(i64::from(*secs));
            now.boottime += Duration::from_secs(u64::from(*secs));
            ledger.advance(*now);
        }
    }
}

/// Claims of everyone but `name`.
fn of_others(ledger: &Ledger, name: &str) -> Vec<(ProblemKey, Claimant)> {
    ledger.claims_where(|claimant, _| *claimant.source != *name)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn reports_do_what_a_simple_account_of_them_says(deeds in histories()) {
        let (mut ledger, mut model, mut now) = (ledger(), Model::default(), at(0));
        for deed in &deeds {
            tell(&mut ledger, &mut now, deed);
            match deed {
                Deed::Report(status, principal, on_stale) => {
                    let clears = *on_stale == OnStale::Clear;
                    model.report(status, name(status, principal), clears, now.boottime.as_secs());
                }
                Deed::Wait(_) => model.second(now.boottime.as_secs()),
            }
            let views = ledger.conditions();
            for condition in CONDITIONS.map(Name::fixed) {
                let view = views.iter().find(|view| view.condition == condition);
                prop_assert_eq!(view.map(|view| view.status), model.status(&condition), "{}", condition);
                let shown = |one: &nodewell_model::view::ProblemView| {
                    ((one.reason.clone(), one.subject.clone()), (one.count, one.unconfirmed_since.is_some()))
                };
                let problems: BTreeMap<_, _> = view.map(|view| view.problems.iter().map(shown).collect()).unwrap_or_default();
                prop_assert_eq!(problems, model.problems(&condition));
            }
            let names: Vec<String> = ledger.daemons().into_iter().map(|daemon| daemon.name).collect();
            prop_assert_eq!(names, model.daemons.keys().cloned().collect::<Vec<_>>());
            prop_assert_eq!(&ledger.timers, &ledger.deadlines());
        }
        let seen = ledger.counters().raised.get("Seen").copied().unwrap_or_default();
        prop_assert_eq!(seen, model.events);
    }

    #[test]
    fn a_report_with_an_id_changes_nothing_the_second_time(deeds in histories()) {
        let (mut ledger, mut now) = (ledger(), at(0));
        for deed in &deeds {
            tell(&mut ledger, &mut now, deed);
            if let Deed::Report(status, ..) = deed && status.id.is_some() {
                let (before, version) = (Disk::of(&ledger), ledger.version());
                tell(&mut ledger, &mut now, deed);
                prop_assert_eq!(Disk::of(&ledger), before);
                prop_assert_eq!(ledger.version(), version);
            }
        }
    }

    #[test]
    fn nobody_changes_the_claims_of_another_daemon(deeds in histories()) {
        let (mut ledger, mut now) = (ledger(), at(0));
        for deed in &deeds {
            let Deed::Report(status, principal, _) = deed else {
                tell(&mut ledger, &mut now, deed);
                continue;
            };
            let before = of_others(&ledger, &name(status, principal));
            tell(&mut ledger, &mut now, deed);
            prop_assert_eq!(of_others(&ledger, &name(status, principal)), before);
        }
    }

    #[test]
    fn nothing_is_shown_unless_the_account_version_grows(deeds in histories()) {
        let (mut ledger, mut now) = (ledger(), at(0));
        let mut before = (ledger.account_version(), ledger.conditions(), ledger.daemons());
        for deed in &deeds {
            let version = ledger.version();
            tell(&mut ledger, &mut now, deed);
            let after = (ledger.account_version(), ledger.conditions(), ledger.daemons());
            prop_assert!(after.0 > before.0 || after == before);
            prop_assert!(after.0 == before.0 || ledger.version() > version);
            before = after;
        }
    }

    #[test]
    fn a_restart_forgets_nothing_that_was_reported(deeds in histories(), cut in any::<prop::sample::Index>()) {
        let (before, after) = deeds.split_at(cut.index(deeds.len() + 1));
        let (mut never, mut now) = (ledger(), at(0));
        before.iter().for_each(|deed| tell(&mut never, &mut now, deed));
        let mut disk = Disk::default();
        disk.keep(&mut never);
        prop_assert_eq!(&disk, &Disk::of(&never));
        let mut once = disk.restart(BOOT, now);
        let mut again = now;
        // A restart gives every daemon its whole ttl once more: time would tell the two apart.
        let after = || after.iter().filter(|deed| matches!(deed, Deed::Report(..)));
        after().for_each(|deed| tell(&mut never, &mut now, deed));
        after().for_each(|deed| tell(&mut once, &mut again, deed));
        prop_assert_eq!(Disk::of(&never), Disk::of(&once));
        prop_assert_eq!(never.conditions(), once.conditions());
    }

    #[test]
    fn a_batch_is_taken_whole_or_not_at_all(deeds in histories(), width in 1_usize..5) {
        let limits = Limits {
            reported_subjects: 3, problems: 5, subjects: 2, reasons: 1, claims: 2, external_daemons: 3, daemons_of_one: 2,
            ..Limits::default()
        };
        let (mut ledger, mut now) = (ledger().with_limits(limits), at(0));
        for batch in deeds.chunks(width) {
            let reports: Vec<Status> = batch.iter().filter_map(|deed| match deed {
                Deed::Report(status, ..) => Some(status.clone()),
                Deed::Wait(_) => None,
            }).collect();
            let before = Disk::of(&ledger);
            match ledger.report(reports.clone(), "root", OnStale::Keep, now) {
                Err(_) => prop_assert_eq!(Disk::of(&ledger), before),
                Ok(()) => prop_assert!(ledger.daemons().len() <= 2),
            }
            let problems: usize = ledger.pages.values().map(|page| page.problems.len()).sum();
            prop_assert!(problems <= 5);
            for daemon in ledger.daemons.values() {
                prop_assert!(daemon.reporter.as_ref().unwrap().spots().count() <= 3);
            }
            for (key, claimant) in ledger.claims_where(|_, _| true) {
                let held = ledger.daemons[&claimant.source].reporter.as_ref().unwrap().held.get(&(key.condition, key.subject));
                prop_assert_eq!(held, Some(&key.reason));
            }
            for deed in batch.iter().filter(|deed| matches!(deed, Deed::Wait(_))) {
                tell(&mut ledger, &mut now, deed);
            }
        }
    }
}
