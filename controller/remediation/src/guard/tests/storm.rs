//! I9: in a storm nothing is begun, nor until it has been calm for the cooldown.

use std::collections::BTreeSet;

use super::*;
use crate::{guard::storm::StormState, policy::Storm, snapshot::HostView};

fn storm() -> Storm {
    Policy::default().storm
}

/// What is reported at each second of this many unhealthy nodes of 100.
fn observe(state: &mut StormState, storm: &Storm, names: &[&str], second: u64) -> Vec<String> {
    let unhealthy: BTreeSet<&str> = names.iter().copied().collect();
    let blockers = state.observe(storm, unhealthy, 100, &HostView::default(), at(second));
    blockers.into_iter().map(|blocker| blocker.reason).collect()
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("n{number}")).collect()
}

#[test]
fn too_many_at_once_are_a_storm_and_it_has_to_calm_down() {
    let mut state = StormState::default();
    let storm = Storm { rate: Rate { count: 1000, window: Duration::from_secs(60) }, ..storm() };
    let all = names(31);
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    assert_eq!(observe(&mut state, &storm, &all[..30], 0), [""; 0]);
    assert_eq!(observe(&mut state, &storm, &all, 10), ["Storm"]);
    assert_eq!(observe(&mut state, &storm, &all[..1], 20), ["StormCooldown"]);
    assert_eq!(observe(&mut state, &storm, &all[..1], 609), ["StormCooldown"]);
    assert_eq!(observe(&mut state, &storm, &all[..1], 610), [""; 0]);
}

#[test]
fn too_many_in_a_while_are_a_storm() {
    let mut state = StormState::default();
    let all = names(9);
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    for (count, second, said) in [
        (2, 0, ""),
        (4, 30, ""),
        (5, 59, "Storm"),
        (5, 100, "StormCooldown"),
        (5, 60 + 659, ""),
        // Those are known; four more are no five.
        (9, 800, ""),
    ] {
        assert_eq!(observe(&mut state, &storm(), &all[..count], second).join(""), said, "{count} at {second}");
    }
}

#[test]
fn a_node_that_flaps_counts_once() {
    let mut state = StormState::default();
    for second in 0..40 {
        let unhealthy: &[&str] = if second % 2 == 0 { &["n1"] } else { &[] };
        assert_eq!(observe(&mut state, &storm(), unhealthy, second), [""; 0]);
    }
}

#[test]
fn one_node_of_three_is_no_storm_unless_none_is_allowed() {
    let nodes = || BTreeSet::from(["n1"]);
    let say = |unhealthy| {
        let storm = Storm { unhealthy, ..storm() };
        StormState::default().observe(&storm, nodes(), 3, &HostView::default(), at(0)).len()
    };
    assert_eq!(
        (say(CountOrPercent::Percent(30)), say(CountOrPercent::Count(0)), say(CountOrPercent::Percent(0))),
        (0, 1, 1)
    );
}

#[test]
fn a_judge_that_is_cut_off_suspects_itself() {
    for (unreachable, reachable, said) in [
        (vec![], None, vec![]),
        (vec!["10.0.0.1"], None, vec!["ControllerIsolated"]),
        (vec![], Some((49, 100)), vec!["ControllerIsolated"]),
        (vec![], Some((50, 100)), vec![]),
        (vec![], Some((0, 0)), vec![]),
    ] {
        let unreachable = unreachable.into_iter().map(str::to_owned).collect();
        let host = HostView { unreachable, reachable_nodes: reachable, ..HostView::default() };
        let mut state = StormState::default();
        let blockers = state.observe(&storm(), BTreeSet::new(), 100, &host, at(0));
        assert_eq!(reasons(&blockers), said);
        let after = state.observe(&storm(), BTreeSet::new(), 100, &HostView::default(), at(1));
        assert_eq!(after.is_empty(), said.is_empty(), "it calms down like a storm");
        let mut next = StormState::inherited(&state.handover(at(2)), at(2));
        let blockers = next.observe(&storm(), BTreeSet::new(), 100, &HostView::default(), at(2));
        assert!(blockers.is_empty(), "another host's controller is not cut off by that: {blockers:?}");
    }
}

proptest! {
    #[test]
    fn nothing_is_allowed_in_a_storm_nor_in_its_cooldown(
        counts in proptest::collection::vec((0_usize..60, 1_u64..200), 1..60),
        most in 0_u32..60, rate in 1_u32..20, cooldown in 0_u64..400,
    ) {
        let storm = Storm {
            unhealthy: CountOrPercent::Count(most),
            rate: Rate { count: rate, window: Duration::from_secs(60) },
            cooldown: Duration::from_secs(cooldown),
            reachable: CountOrPercent::Percent(50),
        };
        let all = names(60);
        let all: Vec<_> = all.iter().map(String::as_str).collect();
        let (mut state, mut second, mut last) = (StormState::default(), 0, None);
        let mut onsets: Vec<u64> = Vec::new();
        let mut before = 0;
        for (count, pause) in counts {
            second += pause;
            onsets.extend(std::iter::repeat_n(second, count.saturating_sub(before)));
            before = count;
            let recent = onsets.iter().filter(|at| second - **at < 60).count();
            let allowed = observe(&mut state, &storm, &all[..count], second).is_empty();
            // The same node's onsets count once, so `recent` may be more than the guard's.
            if count > most as usize {
                last = Some(second);
                prop_assert!(!allowed);
            } else if last.is_some_and(|last| second - last < cooldown) {
                prop_assert!(!allowed);
            } else if recent < rate as usize && last.is_none() && onsets.len() < rate as usize {
                prop_assert!(allowed);
            }
        }
    }
}

/// Ages, since no two hosts' clocks agree.
#[test]
fn the_next_leader_knows_of_a_storm_and_how_long_ago_it_was() {
    let spec = Storm { rate: Rate { count: 1000, window: Duration::from_secs(60) }, ..storm() };
    let all = names(31);
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let mut state = StormState::default();
    assert_eq!(observe(&mut state, &spec, &all, 10), ["Storm"]);
    let mut handover = state.handover(at(20));
    handover.age_by(300);
    for (second, reported) in [(5289, "StormCooldown"), (5290, "")] {
        let mut next = StormState::inherited(&handover, at(5000));
        assert_eq!(
            observe(&mut next, &spec, &all[..1], second).join(""),
            reported,
            "it was 310 s ago at 5000: {second}"
        );
    }
}

#[test]
fn a_storm_is_reconstructed_from_nodes_that_became_unhealthy_within_its_window() {
    for (last, reported) in [(59, "StormCooldown"), (60, "")] {
        let onsets = [("n0", at(0)), ("n1", at(10)), ("n2", at(20)), ("n3", at(30)), ("n4", at(last))].into();
        let mut state = StormState::reconstructed(&storm(), &onsets, at(130));
        assert_eq!(observe(&mut state, &storm(), &["n0", "n1", "n2", "n3", "n4"], 130).join(""), reported, "{last}");
    }
}

#[test]
fn a_storm_of_no_node_is_none_and_how_long_it_has_to_calm_down_is_named() {
    let none = Storm { rate: Rate { count: 0, window: Duration::from_secs(60) }, ..storm() };
    assert_eq!(observe(&mut StormState::default(), &none, &[], 10), [""; 0]);
    let mut state = StormState::default();
    assert_eq!(observe(&mut state, &none, &["n1"], 10), ["Storm"]);
    let calm = state.observe(&storm(), BTreeSet::new(), 100, &HostView::default(), at(110));
    assert!(calm[0].message.contains("8m20s"), "{}", calm[0].message);
}

/// Their names are left out, and all of them are new to the next leader; that there was a storm is not.
#[test]
fn a_storm_of_more_nodes_than_are_handed_over_by_name_is_known_to_the_next_leader() {
    let all = names(501);
    let all: Vec<_> = all.iter().map(String::as_str).collect();
    let mut state = StormState::default();
    assert_eq!(observe(&mut state, &storm(), &all, 10), ["Storm", "Storm"]);
    let mut next = StormState::inherited(&state.handover(at(20)), at(20));
    assert_eq!(observe(&mut next, &storm(), &[], 20), ["StormCooldown"]);
}
