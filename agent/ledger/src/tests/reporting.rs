//! What holds for every history of reports: a model that looks at everything, and what no client may do.

pub(super) mod histories;
mod model;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{ProblemKey, Status, view::HardwareView};
use proptest::prelude::*;

use super::{steps::CONDITIONS, *};
use crate::{ClearRequest, Limits, OnStale, claim::Claimant};
use histories::{Deed, histories};
use model::Model;

fn name(status: &Status, principal: &str) -> String {
    format!("{}@{principal}", status.source)
}

fn apply(ledger: &mut Ledger, now: &mut Now, deed: &Deed) {
    match deed {
        Deed::Report(status, principal, on_stale) => {
            ledger.report(vec![status.clone()], &sender(principal, *on_stale), *now).unwrap();
        }
        Deed::Wait(secs) => {
            now.wall += jiff::SignedDuration::from_secs(i64::from(*secs));
            now.boottime += Duration::from_secs(u64::from(*secs));
            ledger.advance(*now);
        }
        Deed::ByHand(condition) => {
            let condition = Name::fixed(condition);
            let all = ClearRequest {
                condition,
                reason: None,
                subject: None,
                id: None,
                evidence: None,
                if_unchanged_since: None,
                peer: None,
            };
            ledger.clear(&all, *now);
        }
    }
}

fn class(view: HardwareView) -> (String, (u32, u32, u32, bool)) {
    let lost = view.states.get("lost").copied().unwrap_or_default();
    (view.class, (view.total, view.healthy, lost, view.unconfirmed_since.is_some()))
}

/// Claims of every daemon but `name`.
fn of_others(ledger: &Ledger, name: &str) -> Vec<(ProblemKey, Claimant)> {
    ledger.claims_where(|claimant, _| *claimant.source != *name)
}

/// Daemon and problem, for each claim of the conditions.
fn claimed(ledger: &Ledger) -> BTreeSet<(String, ProblemKey)> {
    let claims = ledger.claims_where(|_, _| true);
    claims.into_iter().map(|(key, claimant)| (claimant.source.to_string(), key)).collect()
}

/// The same, by each daemon's own index.
fn indexed(ledger: &Ledger) -> BTreeSet<(String, ProblemKey)> {
    let of_one = |(name, daemon): (&Arc<str>, &crate::daemon::Daemon)| {
        let keys = daemon.reporter.as_ref().unwrap().all_keys();
        keys.into_iter().map(|key| (name.to_string(), key)).collect::<Vec<_>>()
    };
    ledger.daemons.iter().flat_map(of_one).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn reports_do_what_a_simple_model_of_them_does(deeds in histories()) {
        let (mut ledger, mut model, mut now) = (ledger(), Model::default(), at(0));
        for deed in &deeds {
            apply(&mut ledger, &mut now, deed);
            match deed {
                Deed::Report(status, principal, on_stale) => {
                    let clears = *on_stale == OnStale::Clear;
                    model.report(status, name(status, principal), clears, now.boottime.as_secs());
                }
                Deed::Wait(_) => model.second(now.boottime.as_secs()),
                Deed::ByHand(condition) => model.clear(&Name::fixed(condition)),
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
            let classes: BTreeMap<_, _> = ledger.hardware().into_iter().map(class).collect();
            prop_assert_eq!(classes, model.hardware());
            let reported = model.messages();
            for view in &views {
                for one in &view.problems {
                    let shown_message = (view.condition.clone(), one.reason.clone(), one.subject.clone(), one.message.clone());
                    prop_assert!(reported.contains(&shown_message), "no daemon says {:?}", shown_message);
                }
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
            apply(&mut ledger, &mut now, deed);
            if let Deed::Report(status, ..) = deed && status.id.is_some() {
                let (before, version) = (Disk::of(&ledger), ledger.version());
                apply(&mut ledger, &mut now, deed);
                prop_assert_eq!(Disk::of(&ledger), before);
                prop_assert_eq!(ledger.version(), version);
            }
        }
    }

    /// The ledger owns since when: a report may name an earlier time than is known, and a later one moves nothing.
    #[test]
    fn what_the_same_daemons_claim_on_began_no_later_than_it_did(deeds in histories()) {
        let (mut ledger, mut now) = (ledger(), at(0));
        let mut before: BTreeMap<_, Timestamp> = BTreeMap::new();
        for deed in &deeds {
            apply(&mut ledger, &mut now, deed);
            let views = ledger.conditions();
            let since = |one: &nodewell_model::view::ProblemView| ((one.id.clone(), one.source.clone()), one.since);
            let after: BTreeMap<_, _> = views.iter().flat_map(|view| view.problems.iter().map(since)).collect();
            for (problem, since) in &after {
                prop_assert!(before.get(problem).is_none_or(|before| since <= before), "{:?}", problem);
            }
            before = after;
        }
    }

    #[test]
    fn no_daemon_changes_the_claims_of_another(deeds in histories()) {
        let (mut ledger, mut now) = (ledger(), at(0));
        for deed in &deeds {
            let Deed::Report(status, principal, _) = deed else {
                apply(&mut ledger, &mut now, deed);
                continue;
            };
            let before = of_others(&ledger, &name(status, principal));
            apply(&mut ledger, &mut now, deed);
            prop_assert_eq!(of_others(&ledger, &name(status, principal)), before);
        }
    }

    #[test]
    fn nothing_is_shown_unless_the_account_version_grows(deeds in histories()) {
        let (mut ledger, mut now) = (ledger(), at(0));
        let mut before = (ledger.account_version(), ledger.conditions(), ledger.daemons(), ledger.hardware());
        for deed in &deeds {
            let version = ledger.version();
            apply(&mut ledger, &mut now, deed);
            let after = (ledger.account_version(), ledger.conditions(), ledger.daemons(), ledger.hardware());
            prop_assert!(after.0 > before.0 || after == before);
            prop_assert!(after.0 == before.0 || ledger.version() > version);
            before = after;
        }
    }

    #[test]
    fn a_restart_forgets_nothing_that_was_reported(deeds in histories(), cut in any::<prop::sample::Index>()) {
        let (before, after) = deeds.split_at(cut.index(deeds.len() + 1));
        let (mut never, mut now) = (ledger(), at(0));
        before.iter().for_each(|deed| apply(&mut never, &mut now, deed));
        let mut disk = Disk::default();
        disk.keep(&mut never);
        prop_assert_eq!(&disk, &Disk::of(&never));
        let mut once = disk.restart(BOOT, now);
        let mut again = now;
        // A restart gives every daemon its whole ttl once more: time would make the two differ.
        let after = || after.iter().filter(|deed| matches!(deed, Deed::Report(..)));
        after().for_each(|deed| apply(&mut never, &mut now, deed));
        after().for_each(|deed| apply(&mut once, &mut again, deed));
        prop_assert_eq!(Disk::of(&never), Disk::of(&once));
        prop_assert_eq!(never.conditions(), once.conditions());
        prop_assert_eq!(never.hardware(), once.hardware());
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
                Deed::Wait(_) | Deed::ByHand(_) => None,
            }).collect();
            let before = Disk::of(&ledger);
            match ledger.report(reports.clone(), &root(OnStale::Keep), now) {
                Err(_) => prop_assert_eq!(Disk::of(&ledger), before),
                Ok(()) => prop_assert!(ledger.daemons().len() <= 2),
            }
            let problems: usize = ledger.states.values().map(|state| state.problems.len()).sum();
            prop_assert!(problems <= 5);
            for daemon in ledger.daemons.values() {
                prop_assert!(daemon.reporter.as_ref().unwrap().reported_count() <= 3);
            }
            prop_assert_eq!(indexed(&ledger), claimed(&ledger));
            for deed in batch.iter().filter(|deed| !matches!(deed, Deed::Report(..))) {
                apply(&mut ledger, &mut now, deed);
            }
        }
    }
}
