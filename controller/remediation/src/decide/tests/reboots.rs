//! Reboots that were announced have their time, and no more.

use super::*;
use crate::{
    api::fence::{NodeFenceSpec, NodeFenceStatus},
    shutdown::Shutdowns,
};

/// What is opened at each of these seconds after `n0` announced its shutdown, or did not, and fell silent.
fn opened_at(announced: bool, seconds: [u64; 3]) -> [bool; 3] {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let mut shutdowns = Shutdowns::default();
    let mut announcing = node("n0");
    set_condition(&mut announcing, "Ready", ConditionStatus::False, "KubeletNotReady", at(1000));
    announcing.conditions[0].message = "node is shutting down".into();
    announcing.conditions[0].is_own_report = announced;
    shutdowns.see(&announcing, at(1000));
    seconds.map(|second| {
        snapshot.shutdowns = shutdowns.of(&snapshot.nodes);
        let decision = run(&snapshot, Memory::default(), 1000 + second);
        !opened(&decision).is_empty()
    })
}

#[test]
fn reboots_of_two_and_eight_minutes_are_left_alone_and_the_third_is_fenced() {
    assert_eq!(opened_at(true, [120, 480, 600]), [false, false, true]);
    assert_eq!(opened_at(false, [120, 480, 900]), [true, true, true], "a panic announces nothing");
}

#[test]
fn the_policy_says_how_long() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon()])]);
    snapshot.shutdowns = [("n0".to_owned(), at(1000))].into();
    assert_eq!(reasons(&run(&snapshot, Memory::default(), 1100), "n0"), ["ShutdownAnnounced"]);
    snapshot.policies[0].reboot_grace_period = Duration::from_secs(60);
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1100)), ["n0"]);
    snapshot.policies[0].reboot_grace_period = Duration::ZERO;
    assert_eq!(opened(&run(&snapshot, Memory::default(), 1000)), ["n0"], "none at all");
}

/// A node that was cordoned for another cause goes down in an orderly way: its power is left alone meanwhile.
#[test]
fn a_record_begins_no_power_act_while_its_node_reboots_and_ends_what_it_began() {
    let mut snapshot = snapshot_of(1, vec![policy("p", vec![cordon(), power_cycle()])]);
    let spec = NodeFenceSpec {
        node_name: "n0".into(),
        node_uid: "uid-n0".into(),
        policy: "p".into(),
        steps: vec![cordon(), power_cycle()],
        ..NodeFenceSpec::default()
    };
    let status = NodeFenceStatus { phase: Phase::AwaitGuards, policy_step: 1, ..NodeFenceStatus::default() };
    snapshot.fences.insert("n0".into(), NodeFence { metadata: Default::default(), spec, status });
    snapshot.gathered.entry("n0".into()).or_default().pods = Some((at(1099), Vec::new()));
    snapshot.shutdowns = [("n0".to_owned(), at(1000))].into();
    let held = run(&snapshot, Memory::default(), 1100);
    assert_eq!((held.actions.len(), reasons(&held, "n0")), (0, vec!["ShutdownAnnounced"]));
    assert_eq!(run(&snapshot, Memory::default(), 1600).actions.len(), 1, "its time is over");
    snapshot.fences.get_mut("n0").unwrap().status.phase = Phase::PoweringOff;
    assert_eq!(run(&snapshot, Memory::default(), 1100).actions.len(), 1, "begun before");
}
