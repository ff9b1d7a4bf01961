//! What holds for every history.

use std::collections::BTreeMap;

use nodewell_model::{EventRecord, ProblemKey};
use proptest::prelude::*;

use super::{
    oracle::{Seen, oracle},
    steps::{CONDITIONS, Deed, SOURCES, Step, apply, histories, timed},
    *,
};
use crate::Limits;

fn after(deeds: &[(Deed, Now)]) -> Ledger {
    let mut ledger = ledger();
    apply(&mut ledger, deeds);
    ledger
}

fn seen(view: &ConditionView) -> Vec<Seen> {
    let seen = |problem: &nodewell_model::view::ProblemView| Seen {
        key: ProblemKey {
            condition: view.condition.clone(),
            reason: problem.reason.clone(),
            subject: problem.subject.clone(),
        },
        severity: problem.severity,
        times: (problem.since, problem.last_seen),
        count: problem.count,
        unconfirmed_since: problem.unconfirmed_since,
        test: problem.test,
    };
    view.problems.iter().map(seen).collect()
}

/// Condition, reason and subject of the problem that an event starts or ends, and whether it ends it.
fn turn_of(event: &EventRecord) -> ((Name, String, Option<String>), bool) {
    let ends = ["AllIsWell", "ProblemEnded"].contains(&event.reason.as_str());
    let reason = if ends { event.message.split(' ').next().unwrap() } else { event.reason.as_str() };
    ((event.condition.clone().unwrap(), reason.to_owned(), event.subject.clone()), ends)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn a_condition_follows_from_the_whole_history(steps in histories()) {
        let deeds = timed(&steps);
        let (mut ledger, oracle) = (after(&deeds), oracle(&deeds));
        let views: BTreeMap<_, _> = ledger.conditions().into_iter().map(|view| (view.condition.clone(), view)).collect();
        for condition in CONDITIONS.map(Name::fixed) {
            let view = views.get(&condition);
            prop_assert_eq!(view.map(|view| (view.status, view.transition)), oracle.shown(&condition));
            prop_assert_eq!(view.map(seen).unwrap_or_default(), oracle.problems(&condition));
        }
        prop_assert_eq!(ledger.counters().raised, oracle.raised);
    }

    #[test]
    fn what_is_shown_does_not_depend_on_who_looked_before(steps in histories()) {
        let deeds = timed(&steps);
        let (mut looked, mut unseen) = (ledger(), after(&deeds));
        for deed in &deeds {
            apply(&mut looked, std::slice::from_ref(deed));
            looked.conditions();
        }
        prop_assert_eq!(looked.conditions(), unseen.conditions());
    }

    #[test]
    fn nothing_changes_unless_the_version_grows(steps in histories()) {
        let mut ledger = ledger();
        let mut before = (ledger.version(), ledger.conditions(), ledger.daemons(), ledger.counters());
        for deed in timed(&steps) {
            apply(&mut ledger, &[deed]);
            let after = (ledger.version(), ledger.conditions(), ledger.daemons(), ledger.counters());
            prop_assert!(after.0 > before.0 || after == before);
            before = after;
        }
    }

    #[test]
    fn events_report_each_start_and_each_end(steps in histories()) {
        let mut ledger = after(&timed(&steps));
        let mut active = BTreeMap::new();
        for (n, event) in (1..).zip(ledger.take_events()) {
            prop_assert_eq!(event.id, n);
            let (key, ends) = turn_of(&event);
            let before = active.insert(key, !ends).unwrap_or(false);
            prop_assert!(before || !ends, "an end without a start: {:?}", event);
            prop_assert!(!before || ends || event.test, "a second start: {:?}", event);
        }
        let after = active.into_iter().filter(|(_, active)| *active).map(|(key, _)| key);
        let held = ledger.states.values().flat_map(|state| state.problems.keys());
        let held = held.map(|key| (key.condition.clone(), key.reason.to_string(), key.subject.clone()));
        prop_assert_eq!(after.collect::<Vec<_>>(), held.collect::<Vec<_>>());
    }

    #[test]
    fn a_deadline_is_set_for_exactly_what_ends_by_itself(steps in histories()) {
        let ledger = after(&timed(&steps));
        prop_assert_eq!(&ledger.timers, &ledger.deadlines());
        for state in ledger.states.values() {
            let tallied: usize = state.tallies.values().map(|tally| tally.problems).sum();
            prop_assert_eq!(tallied, state.problems.len());
        }
    }

    #[test]
    fn a_restart_at_any_point_changes_nothing(steps in histories(), cut in any::<prop::sample::Index>()) {
        let deeds = timed(&steps);
        let (before, after) = deeds.split_at(cut.index(deeds.len() + 1));
        let (mut never, mut disk) = (ledger(), Disk::default());
        disk.keep(&mut never);
        for deed in before {
            apply(&mut never, std::slice::from_ref(deed));
            disk.keep(&mut never);
        }
        prop_assert_eq!(&disk, &Disk::of(&never));
        let mut now = before.last().map_or(at(0), |(_, now)| *now);
        let mut once = disk.restart(BOOT, now);
        never.take_events();
        for half in [&[], after] {
            apply(&mut never, half);
            apply(&mut once, half);
            now = half.last().map_or(now, |(_, now)| *now);
            // Monitors report their state again; only they know how long they have been silent.
            for ledger in [&mut never, &mut once] {
                SOURCES.iter().for_each(|source| ledger.daemon(report(source, DaemonState::Running), now).unwrap());
            }
            let tables = [Table::Claims, Table::Totals];
            prop_assert_eq!(Disk::of(&never).part(&tables), Disk::of(&once).part(&tables));
            prop_assert_eq!(never.take_events(), once.take_events());
            prop_assert_eq!(&never.timers, &once.timers);
            let status = |ledger: &mut Ledger| {
                ledger.conditions().into_iter().map(|shown| (shown.condition, shown.status, shown.problems)).collect::<Vec<_>>()
            };
            prop_assert_eq!(status(&mut never), status(&mut once));
        }
    }

    #[test]
    fn bounds_hold_and_counts_stay_exact(subjects in prop::collection::vec((0_u8..40, 1_u64..9), 1..80)) {
        let limits = Limits { subjects: 5, problems: 8, events: 20, ..Limits::default() };
        let mut ledger = watched().with_limits(limits);
        for (subject, count) in &subjects {
            ledger.apply(Finding { count: *count, ..raise(&format!("sd{subject}"), 1) }, at(1)).unwrap();
        }
        let problems = disk(&mut ledger).problems;
        prop_assert!(problems.len() <= 6 && ledger.take_events().len() <= 20);
        let all = subjects.iter().map(|(_, count)| count).sum::<u64>();
        prop_assert_eq!(problems.iter().map(|problem| problem.count).sum::<u64>(), all);
    }

    #[test]
    fn one_source_never_withdraws_what_another_claims(mut steps in histories(), secs in 0_i64..99) {
        steps.retain(|step| matches!(step, Step::Finding(_)));
        let claims = |ledger: &Ledger| ledger.claims_where(|claimant, _| &*claimant.source == "nvml");
        let mut ledger = after(&timed(&steps));
        let before = claims(&ledger);
        for (condition, test) in [(0, false), (0, true), (1, false), (1, true)] {
            for reason in ["IOError", "TaskHung"].map(Name::fixed) {
                let (condition, subject) = (Some(Name::fixed(CONDITIONS[condition])), None);
                ledger.apply(Finding { condition, subject, reason, test, ..clear("", secs) }, at(secs)).unwrap();
            }
        }
        prop_assert_eq!(claims(&ledger), before);
    }
}
