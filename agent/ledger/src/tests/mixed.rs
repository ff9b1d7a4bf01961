//! What holds for every history of one ledger, with rules' findings, daemons' reports and people's words in it.

mod histories;

use std::collections::{BTreeMap, BTreeSet};

use nodewell_model::{Condition, ProblemKey, Status};
use proptest::prelude::*;

use super::{
    steps::{self, SOURCES},
    *,
};
use crate::{
    Limits,
    claim::{Claim, Claimant},
};
use histories::{Deed, histories};

type Claims = BTreeMap<(ProblemKey, Claimant), Claim>;

fn claims(ledger: &Ledger) -> Claims {
    let problems = ledger.states.values().flat_map(|state| &state.problems);
    let claims = problems.flat_map(|(key, problem)| problem.claims.iter().map(move |(who, claim)| (key, who, claim)));
    claims.map(|(key, who, claim)| ((key.clone(), who.clone()), claim.clone())).collect()
}

/// Claims of every source but `source`.
fn of_others(mut claims: Claims, source: &str) -> Claims {
    claims.retain(|(_, who), _| *who.source != *source);
    claims
}

/// What a report names as wrong, and the claim that it is.
fn faults(status: &Status, source: &str) -> Vec<((ProblemKey, Claimant), Condition)> {
    let wrong = status.conditions.iter().filter(|one| one.status == ConditionStatus::True);
    let claim = |one: &Condition| {
        let claimant = Claimant { source: Arc::from(source), test: false };
        ((one.subject_key().problem(one.reason.clone()), claimant), one.clone())
    };
    wrong.map(claim).collect()
}

/// Ids of reports that were taken, by daemon.
#[derive(Debug, Default)]
struct Ids(BTreeSet<(String, String)>);

impl Ids {
    /// Whether what was taken is no report that was taken before.
    fn is_new(&mut self, deed: &Deed) -> bool {
        let Deed::Report(Status { id: Some(id), .. }, ..) = deed else { return true };
        self.0.insert((deed.source().unwrap(), id.clone()))
    }
}

/// How many records were reported of each reason, by what was claimed before and is reported now.
fn plant(planted: &mut BTreeMap<Name, u64>, deed: &Deed, before: &Claims) {
    match deed {
        Deed::Rules(steps::Deed::Finding(finding)) => {
            *planted.entry(finding.reason.clone()).or_default() += finding.count;
        }
        Deed::Report(status, ..) => {
            let happened = status.events.iter().map(|event| event.reason.clone());
            let is_again = |(claim, fault): &((ProblemKey, Claimant), Condition)| {
                before.get(claim).is_none_or(|claim| claim.transition != Some(fault.transition))
            };
            let faults = faults(status, &deed.source().unwrap()).into_iter().filter(is_again);
            let claimed = faults.map(|(_, fault)| fault.reason);
            happened.chain(claimed).for_each(|reason| *planted.entry(reason).or_default() += 1);
        }
        Deed::Rules(_) | Deed::Word(_) => {}
    }
}

/// Small enough to be reached.
fn small() -> Limits {
    Limits { subjects: 2, problems: 5, reasons: 2, claims: 2, reported_subjects: 4, ..Limits::default() }
}

fn is_within(ledger: &Ledger, limits: Limits) -> bool {
    let problems = || ledger.states.values().flat_map(|state| &state.problems);
    let tallies = || ledger.states.values().map(|state| &state.tallies);
    problems().filter(|(key, _)| key.subject.is_some()).count() <= limits.problems
        && problems().all(|(_, problem)| problem.claims.len() <= limits.claims)
        && tallies().all(|tallies| tallies.len() <= limits.reasons)
        && tallies().all(|tallies| tallies.values().all(|tally| tally.subjects <= limits.subjects))
}

/// All that is shown of conditions but when they turned: that depends on which record came first.
fn shown(ledger: &mut Ledger) -> Vec<ConditionView> {
    ledger.conditions().into_iter().map(|view| ConditionView { transition: wall(0), ..view }).collect()
}

/// The rows without when and in which words the same was last reported, and by a report of which id.
fn without_heartbeats(disk: &Disk) -> BTreeMap<(Table, String), serde_json::Value> {
    let mut rows = BTreeMap::new();
    for (key, value) in &disk.0 {
        let mut value: serde_json::Value = serde_json::from_str(value).unwrap();
        for field in ["/message", "/last_seen", "/reporter/ids"] {
            value
                .pointer_mut(field)
                .filter(|_| [Table::Claims, Table::Daemons].contains(&key.0))
                .map(serde_json::Value::take);
        }
        rows.insert(key.clone(), value);
    }
    rows
}

/// The same deeds, between two of time or of a person source by source.
fn source_by_source(mut deeds: Vec<(Deed, Now)>) -> Vec<(Deed, Now)> {
    for run in deeds.chunk_by_mut(|(one, _), (next, _)| one.source().is_some() && next.source().is_some()) {
        run.sort_by_cached_key(|(deed, _)| deed.source());
    }
    deeds
}

fn perform(ledger: &mut Ledger, deeds: &[(Deed, Now)]) {
    deeds.iter().for_each(|(deed, now)| _ = deed.perform(ledger, *now));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn only_its_source_a_person_and_time_change_a_claim(deeds in histories()) {
        let mut ledger = ledger();
        for (deed, now) in &deeds {
            let before = claims(&ledger);
            deed.perform(&mut ledger, *now);
            if let Some(source) = deed.source() {
                prop_assert_eq!(of_others(claims(&ledger), &source), of_others(before, &source), "{:?}", deed);
            }
        }
    }

    #[test]
    fn what_was_taken_as_wrong_is_held(deeds in histories()) {
        let (mut ledger, mut ids) = (ledger(), Ids::default());
        for (deed, now) in &deeds {
            let taken = deed.perform(&mut ledger, *now) && ids.is_new(deed);
            let held = claims(&ledger);
            match deed {
                Deed::Rules(steps::Deed::Finding(finding)) if taken => {
                    prop_assert!(held.contains_key(&(finding.key().unwrap(), Claimant::of(finding))), "{:?}", finding);
                }
                Deed::Report(status, ..) if taken && !status.last => {
                    for (claim, fault) in faults(status, &deed.source().unwrap()) {
                        let shown = held.get(&claim).map(|claim| (claim.transition, claim.message.clone()));
                        prop_assert_eq!(shown, Some((Some(fault.transition), fault.message)));
                    }
                }
                _ => {}
            }
        }
    }

    /// The ledger owns since when, whichever times a record or a report names.
    #[test]
    fn what_is_claimed_on_never_began_later(deeds in histories()) {
        let (mut ledger, mut before) = (ledger(), Claims::new());
        for (deed, now) in &deeds {
            deed.perform(&mut ledger, *now);
            let after = claims(&ledger);
            for (held, claim) in &after {
                let is_later = |earlier: &Claim| {
                    claim.since > earlier.since || claim.count < earlier.count || claim.last_seen < earlier.last_seen
                };
                prop_assert!(!before.get(held).is_some_and(is_later), "{:?}", held);
            }
            for problem in ledger.conditions().into_iter().flat_map(|view| view.problems) {
                let is_shown = |((key, who), _): &(&(ProblemKey, Claimant), &Claim)| {
                    key.id().to_string() == problem.id && who.test == problem.test
                };
                let first = after.iter().filter(is_shown).map(|(_, claim)| claim.since).min();
                prop_assert_eq!(Some(problem.since), first);
            }
            before = after;
        }
    }

    #[test]
    fn counters_are_what_was_planted_within_all_limits(deeds in histories(), is_full in any::<bool>()) {
        let limits = if is_full { small() } else { Limits::default() };
        let (mut ledger, mut ids, mut planted) = (ledger().with_limits(limits), Ids::default(), BTreeMap::new());
        for (deed, now) in &deeds {
            let before = claims(&ledger);
            if deed.perform(&mut ledger, *now) && ids.is_new(deed) {
                plant(&mut planted, deed, &before);
            }
            prop_assert_eq!(&ledger.counters().raised, &planted);
            prop_assert!(is_within(&ledger, limits));
        }
    }

    #[test]
    fn a_condition_is_true_exactly_by_what_turns_it(deeds in histories()) {
        let mut ledger = ledger();
        for (deed, now) in &deeds {
            deed.perform(&mut ledger, *now);
            let (mutes, views) = (ledger.mutes(), ledger.conditions());
            for (name, state) in &ledger.states {
                let is_quiet = |key: &ProblemKey| {
                    mutes.iter().any(|mute| mute.key.covers(key)) || state.acks.contains_key(key)
                };
                let watchers: Vec<_> = ledger.daemons.values().filter(|daemon| daemon.watches(name)).collect();
                let expected = if !state.problems.keys().all(is_quiet) {
                    Some(ConditionStatus::True)
                } else if !watchers.iter().all(|daemon| daemon.sees(name)) {
                    Some(ConditionStatus::Unknown)
                } else {
                    let is_listed = !watchers.is_empty() || !state.problems.is_empty();
                    is_listed.then_some(ConditionStatus::False)
                };
                let shown = views.iter().find(|view| view.condition == *name).map(|view| view.status);
                prop_assert_eq!(shown, expected, "{}", name);
                prop_assert!(state.problems.values().all(|problem| !problem.claims.is_empty()));
            }
        }
    }

    /// But for what a heartbeat changes without a write.
    #[test]
    fn what_is_saved_bit_by_bit_is_what_would_be_saved_at_once(deeds in histories()) {
        let (mut ledger, mut disk) = (ledger(), Disk::default());
        disk.keep(&mut ledger);
        for (deed, now) in &deeds {
            deed.perform(&mut ledger, *now);
            disk.keep(&mut ledger);
            prop_assert_eq!(without_heartbeats(&disk), without_heartbeats(&Disk::of(&ledger)), "{:?}", deed);
        }
    }

    #[test]
    fn a_restart_at_any_point_shows_the_same(deeds in histories(), cut in any::<prop::sample::Index>()) {
        let (before, after) = deeds.split_at(cut.index(deeds.len() + 1));
        let (mut never, mut disk) = (ledger(), Disk::default());
        perform(&mut never, before);
        // Mutes are held against the clock once a minute, and when the ledger is loaded.
        let last = before.last().map_or(at(0), |(_, now)| *now);
        let minute = Duration::from_secs(61);
        let now = Now { wall: last.wall + minute, boottime: last.boottime + minute };
        never.advance(now);
        disk.keep(&mut never);
        prop_assert_eq!(&disk, &Disk::of(&never));
        let mut once = disk.restart(BOOT, now);
        for ledger in [&mut never, &mut once] {
            SOURCES.iter().for_each(|source| ledger.daemon(report(source, DaemonState::Running), now).unwrap());
        }
        prop_assert_eq!(shown(&mut never), shown(&mut once));
        // A restart gives every daemon its whole ttl once more: time would make the two differ.
        for (deed, _) in after.iter().filter(|(deed, _)| !matches!(deed, Deed::Rules(steps::Deed::Wait))) {
            prop_assert_eq!(deed.perform(&mut never, now), deed.perform(&mut once, now));
            prop_assert_eq!(shown(&mut never), shown(&mut once), "{:?}", deed);
        }
        prop_assert_eq!(never.daemons(), once.daemons());
        prop_assert_eq!(never.hardware(), once.hardware());
        let tables = [Table::Claims, Table::Daemons, Table::Totals];
        prop_assert_eq!(Disk::of(&never).part(&tables), Disk::of(&once).part(&tables));
    }

    /// But for what people say, which is about what was there when they said it.
    #[test]
    fn the_order_of_independent_sources_does_not_matter(mut deeds in histories()) {
        deeds.retain(|(deed, _)| !matches!(deed, Deed::Word(_)));
        let (mut mixed, mut sorted) = (ledger(), ledger());
        perform(&mut mixed, &deeds);
        perform(&mut sorted, &source_by_source(deeds));
        prop_assert_eq!(claims(&mixed), claims(&sorted));
        prop_assert_eq!(shown(&mut mixed), shown(&mut sorted));
        prop_assert_eq!(mixed.counters(), sorted.counters());
        prop_assert_eq!((mixed.daemons(), mixed.hardware()), (sorted.daemons(), sorted.hardware()));
    }

    #[test]
    fn what_is_shown_does_not_depend_on_who_looked_before(deeds in histories()) {
        let (mut looked, mut unseen) = (ledger(), ledger());
        for (deed, now) in &deeds {
            deed.perform(&mut looked, *now);
            looked.conditions();
        }
        perform(&mut unseen, &deeds);
        prop_assert_eq!(looked.conditions(), unseen.conditions());
    }
}
