//! Which of the policies that are true of a node has the say about it.

use super::{
    supersedes::{cordons, frees},
    *,
};
use crate::api::policy::{DrainStep, ReapStep, TaintStep};

/// Whether its steps free pods, and its mode.
type Kind = (bool, Mode);

/// Which of them has the say, by its place.
fn which(kinds: &[Kind], is_dead: bool) -> usize {
    let of_kind = |(number, (is_freeing, mode)): (usize, &Kind)| {
        let name = format!("p{number}");
        Policy { mode: *mode, ..if *is_freeing { frees(&name) } else { cordons(&name) } }
    };
    let policies: Vec<Policy> = kinds.iter().enumerate().map(of_kind).collect();
    let chosen = has_the_say(policies.iter(), is_dead).unwrap();
    policies.iter().position(|policy| policy.name == chosen.name).unwrap()
}

#[test]
fn of_a_dead_node_an_enforced_policy_that_frees_no_pods_steps_aside() {
    use Mode::{Enforce, Observe, Paused};
    let (isolates, frees) = ((false, Enforce), (true, Enforce));
    for (kinds, of_dead) in [
        (&[isolates, frees][..], 1),
        (&[isolates, isolates, frees], 2),
        (&[isolates, frees, isolates, frees], 1),
        (&[frees, isolates], 0),
        (&[frees, frees], 0),
        (&[isolates], 0),
        (&[isolates, isolates], 0),
        // What only observes, or is paused, shields, and takes nothing over.
        (&[isolates, (true, Observe)], 0),
        (&[isolates, (true, Paused)], 0),
        (&[isolates, (true, Observe), frees], 0),
        (&[isolates, (true, Paused), frees], 0),
        (&[isolates, (false, Observe), frees], 0),
        (&[isolates, (false, Paused), frees], 0),
        (&[(false, Observe), frees], 0),
        (&[(false, Paused), frees], 0),
        (&[(true, Observe), frees], 0),
    ] {
        assert_eq!(which(kinds, true), of_dead, "{kinds:?}");
        assert_eq!(which(kinds, false), 0, "it lives: {kinds:?}");
    }
    assert!(has_the_say(std::iter::empty::<&Policy>(), true).is_none());
}

/// A reboot turns it on again, and releases none of them.
#[test]
fn pods_are_freed_by_a_power_cycle_or_a_reap_alone() {
    let step = StepSpec::default;
    for (step, is_freeing) in [
        (power_cycle(), true),
        (StepSpec { reap: Some(ReapStep::default()), ..step() }, true),
        (StepSpec { reboot: Some(PowerStep::default()), ..step() }, false),
        (StepSpec { drain: Some(DrainStep::default()), ..step() }, false),
        (StepSpec { taint: Some(TaintStep::default()), ..step() }, false),
        (cordon(), false),
    ] {
        let policies = [cordons("a"), policy("z", vec![cordon(), step.clone()])];
        let chosen = has_the_say(policies.iter(), true).unwrap();
        assert_eq!(chosen.name, if is_freeing { "z" } else { "a" }, "{step:?}");
    }
}
