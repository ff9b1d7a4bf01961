//! A node with more pods than the rate is drained in portions, and has the time for them.

use std::time::Duration;

use super::{
    course::run,
    fixture::Fixture,
    parts::{pod, steps},
};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::fence::Phase,
    drain::DrainRules,
    facts::{Owner, Pod},
    fence::Next,
    policy::Rate,
};

/// A living node with so many pods, about to be drained; 100 pods may go within two minutes.
fn living(pods: usize) -> Fixture {
    let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
    let owner = |kind: &str| Some(Owner { kind: kind.into(), name: "web".into(), uid: "set".into(), gone: false });
    let one = |number: usize| Pod { owner: owner("ReplicaSet"), ..pod(&format!("web-{number}")) };
    let of_the_node = Pod { owner: owner("DaemonSet"), ..pod("agent") };
    fixture.listed = Some((0..pods).map(one).chain([of_the_node]).collect());
    fixture.policy.as_mut().unwrap().pods = Rate { count: 100, window: Duration::from_secs(120) };
    fixture
}

/// The drain that is performed next, after what is written before it.
fn drained(fixture: &mut Fixture) -> DrainRules {
    for _ in 0..30 {
        if let Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) = fixture.next() {
            return rules;
        }
        run(fixture, 1, |_| false);
    }
    panic!("no drain: {:?}", fixture.next());
}

#[test]
fn a_drain_in_portions_has_a_window_more_for_each_after_the_first() {
    for (pods, windows) in [(0, 0), (100, 0), (101, 1), (300, 2), (301, 3)] {
        let mut fixture = living(pods);
        assert_eq!(drained(&mut fixture).timeout, Duration::from_secs(600 + windows * 120), "{pods} pods");
        assert_eq!(fixture.fence.status.drain_portions, u32::try_from(windows + 1).unwrap() * u32::from(windows > 0));
    }
}

/// Of what is left the time would be that of one portion, of which most is over.
#[test]
fn what_is_left_after_a_change_of_the_leader_has_the_time_of_all() {
    let mut fixture = living(300);
    let whole = drained(&mut fixture).timeout;
    fixture.pass(Duration::from_secs(660));
    fixture.epoch += 1;
    fixture.listed.as_mut().unwrap().truncate(50);
    fixture.gathered.pods = Some((fixture.now.moment, fixture.listed.clone().unwrap()));
    let Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Drain(rules)), .. }) = fixture.next() else {
        panic!("{:?}", fixture.next())
    };
    assert_eq!(rules.timeout, whole.checked_sub(Duration::from_secs(660)).unwrap());
}

#[test]
fn the_next_round_counts_its_pods_anew() {
    let mut fixture = living(300);
    drained(&mut fixture);
    fixture.listed.as_mut().unwrap().truncate(10);
    run(&mut fixture, 3, |fixture| fixture.phase() != Phase::Draining);
    fixture.fence.status.phase = Phase::Isolating;
    fixture.fence.status.policy_step = 0;
    assert_eq!(drained(&mut fixture).timeout, Duration::from_secs(600));
}
