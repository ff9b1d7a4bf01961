//! A step that waits for a drain which left pods has the drain begun again, and what is not repeated for it.

use std::time::Duration;

use super::{course::run, fixture::Fixture, parts::steps};
use crate::{
    action::{Action, Op, ReversibleOp},
    api::{
        CORDONED_BY,
        fence::{Blocker, DrainReport, IntendedOp, Intent, Phase},
        policy::ReapStep,
        request::REQUESTED_BY,
    },
    facts::ConditionStatus,
    fence::{Next, PredicateState},
    guard::reason::{NODE_READY, POWER_CYCLE_LIMIT},
    time::Moment,
};

/// Before its last step, in the so manieth round; the drain before it has left pods.
fn before_power(kinds: &[&str], rounds: u32) -> Fixture {
    let mut fixture = Fixture::new(steps(kinds));
    let status = &mut fixture.fence.status;
    (status.phase, status.policy_step, status.drain_rounds) = (Phase::AwaitGuards, kinds.len() - 1, rounds);
    status.drain = Some(DrainReport { done: false, refused_evictions: vec!["shop/a: a budget".into()], left: 0 });
    status.own_changes.cordon = true;
    fixture.node.as_mut().unwrap().unschedulable = true;
    fixture.look();
    fixture
}

fn later(fixture: &mut Fixture, seconds: u64) {
    fixture.pass(Duration::from_secs(seconds));
}

/// `kubectl uncordon` leaves our annotation.
fn opened_by_a_person(fixture: &mut Fixture) {
    let node = fixture.node.as_mut().unwrap();
    node.unschedulable = false;
    node.annotations.insert(CORDONED_BY.into(), "dead".into());
}

/// What it is blocked by as it waits.
fn blocked(fixture: &Fixture) -> Vec<String> {
    let blockers = match fixture.next() {
        Next::Act(Action::Save { fence, .. }) if fence.status.phase == fixture.phase() => fence.status.blocked_by,
        Next::Wait { blockers, .. } => blockers,
        other => panic!("{other:?}"),
    };
    blockers.into_iter().map(|blocker| blocker.reason).collect()
}

fn begins_again(fixture: &Fixture) -> bool {
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { return false };
    let status = &fence.status;
    let is_fresh = (status.policy_step, &status.drain, status.drain_begun_at) == (0, &None, None);
    status.phase == Phase::Pending && is_fresh && status.drain_rounds > fixture.fence.status.drain_rounds
}

#[test]
fn a_step_that_waits_for_a_drain_has_it_begun_again_after_longer_and_longer_pauses() {
    for kinds in [&["cordon", "drain", "reboot"], &["cordon", "drain", "reap"], &["cordon", "drain", "power"]] {
        for (rounds, pause) in [(0, 300), (1, 600), (4, 3600), (u32::MAX - 1, 3600)] {
            let mut fixture = before_power(kinds, rounds);
            later(&mut fixture, pause - 1);
            assert!(blocked(&fixture).contains(&"DrainIncomplete".to_owned()), "{kinds:?} {rounds}");
            later(&mut fixture, 1);
            assert!(begins_again(&fixture), "{kinds:?} {rounds}: {:?}", fixture.next());
        }
    }
}

/// The whole way round: the budget allows it by then, and the node is rebooted.
#[test]
fn a_drain_that_gets_through_in_its_second_round_is_followed_by_the_power_step() {
    let mut fixture = before_power(&["cordon", "drain", "reboot"], 0);
    let phases = run(&mut fixture, 400, |fixture| fixture.phase() == Phase::PoweringOff);
    let expected = [Phase::AwaitGuards, Phase::Pending, Phase::Isolating, Phase::Draining, Phase::AwaitGuards];
    assert_eq!(phases, [&expected[..], &[Phase::PoweringOff]].concat());
}

/// That the node lives comes last: guards and evidence see it both, and no person would change it.
#[test]
fn what_a_person_may_do_about_left_pods_comes_first_and_nothing_is_there_twice() {
    let mut fixture = before_power(&["cordon", "drain", "power"], 0);
    fixture.guard_blockers.power = vec![Blocker::plain("NodeReady/undrained")];
    let first = |fixture: &Fixture| {
        let (_, blockers) = fixture.blocked();
        let reasons: Vec<&str> = blockers.iter().map(|blocker| blocker.reason.as_str()).collect();
        assert_eq!(reasons, ["DrainIncomplete", NODE_READY]);
        blockers[0].message.clone()
    };
    assert!(first(&fixture).ends_with("a looser budget"), "{}", first(&fixture));
    fixture.fence.spec.policy.clear();
    assert!(first(&fixture).ends_with("a looser budget"), "no flag helps against a budget");
    let report = fixture.fence.status.drain.as_mut().unwrap();
    report.refused_evictions.push("shop/b: stands in the way: it is bare; force: true would delete it".to_owned());
    let by_hand = first(&fixture);
    assert!(by_hand.starts_with("for --force or --delete-emptydir-data `nodewell-controller abort "), "{by_hand}");
    assert!(by_hand.ends_with("after its end: shop/a: a budget; and 1 more"), "{by_hand}");
    fixture.fence.metadata.annotations.insert(REQUESTED_BY.into(), "cluster/ops/n0/u-1".into());
    assert!(first(&fixture).ends_with("a looser budget"), "a remediator has no such flags");
}

/// It goes on by its silence, as ever.
#[test]
fn the_power_of_a_dead_node_is_cut_although_its_drain_left_pods() {
    let mut fixture = before_power(&["cordon", "drain", "power"], 0);
    fixture.alive = false;
    let phases = run(&mut fixture, 100, |fixture| fixture.phase() == Phase::PoweringOff);
    assert_eq!(phases, [Phase::AwaitGuards, Phase::PoweringOff]);
}

/// Its runtime or its network is broken, and a budget refused. A drain that gets through allows the power; so does its silence.
#[test]
fn a_node_that_is_not_ready_and_speaks_is_drained_again() {
    for (since, is_lease_there, is_drained) in [(49, true, true), (50, true, false), (0, false, false)] {
        let mut fixture = before_power(&["cordon", "drain", "power"], 0);
        later(&mut fixture, 3600);
        fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::False;
        let seen = Moment(fixture.now.moment.0 - Duration::from_secs(since));
        fixture.kubelet.as_mut().unwrap().change_seen_at = seen;
        fixture.kubelet = fixture.kubelet.take().filter(|_| is_lease_there);
        fixture.guard_blockers.power = vec![Blocker::new("BudgetZone", "")];
        assert_eq!(begins_again(&fixture), is_drained, "{since} {is_lease_there}: {:?}", fixture.next());
        let mut round = Fixture::new(steps(&["cordon", "drain", "power"]));
        (round.fence.status.phase, round.fence.status.policy_step) = (Phase::Draining, 1);
        round.fence.status.drain_rounds = 1;
        (round.now, round.entered, round.kubelet, round.node) =
            (fixture.now, fixture.entered, fixture.kubelet.clone(), fixture.node.clone());
        let Next::Act(Action::Save { fence, .. }) = round.next() else { panic!("{:?}", round.next()) };
        assert_eq!(fence.status.drain_begun_at.is_some(), is_drained, "{since} {is_lease_there}");
    }
}

/// Reported as gone from enough hosts its power is cut sooner, and no drain is begun for it.
#[test]
fn a_node_that_fast_fencing_takes_for_dead_is_not_drained_again() {
    for hosts in [1, 2] {
        let mut fixture = before_power(&["cordon", "drain", "power"], 0);
        later(&mut fixture, 3600);
        fixture.kubelet.as_mut().unwrap().change_seen_at = Moment(fixture.now.moment.0 - Duration::from_secs(20));
        let since = Some(Moment(fixture.now.moment.0 - Duration::from_secs(10)));
        fixture.gathered.reach = (0..hosts).map(|host| (format!("cp-{host}"), since)).collect();
        fixture.guard_blockers.power = vec![Blocker::new("BudgetZone", "")];
        assert_eq!(begins_again(&fixture), hosts == 1, "{hosts}: {:?}", fixture.next());
    }
}

/// One stuck pod that `skipWaitForDeleteTimeout` passed over may have gone a minute later.
#[test]
fn what_the_drains_own_options_left_is_looked_at_again_where_a_step_waits_for_it() {
    for (kinds, is_awaited) in [
        (&["cordon", "drain", "reboot"] as &[&str], true),
        (&["cordon", "drain", "reap"], true),
        (&["cordon", "drain"], false),
    ] {
        let mut fixture = before_power(kinds, 0);
        if !is_awaited {
            fixture.fence.status.phase = Phase::Waiting;
        }
        fixture.fence.status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left: 1 });
        later(&mut fixture, 299);
        let reasons = blocked(&fixture);
        assert_eq!(reasons.contains(&"DrainIncomplete".to_owned()), is_awaited, "{kinds:?}: {reasons:?}");
        later(&mut fixture, 1);
        assert_eq!(begins_again(&fixture), is_awaited, "{kinds:?}");
    }
}

/// For hours, perhaps, while its drain waits for a slot.
#[test]
fn a_node_that_a_person_opened_is_not_drained_while_it_lives() {
    for (ours, alive, begun, is_left) in
        [(true, true, false, true), (false, true, false, false), (true, false, false, false), (true, true, true, false)]
    {
        let mut fixture = Fixture::new(steps(&["cordon", "drain", "power"]));
        let status = &mut fixture.fence.status;
        (status.phase, status.policy_step, status.own_changes.cordon) = (Phase::Draining, 1, ours);
        status.drain_begun_at = begun.then_some(fixture.now.wall);
        fixture.alive = alive;
        if !alive {
            fixture.pass(Duration::from_secs(60));
        }
        let is_blocked = match fixture.next() {
            Next::Act(Action::Save { fence, .. }) => fence.status.is_blocked_by("NotCordoned"),
            _ => false,
        };
        assert_eq!(is_blocked, is_left, "{ours} {alive} {begun}: {:?}", fixture.next());
    }
}

/// A drain would only hold up its release.
#[test]
fn a_node_that_died_since_its_drain_is_not_drained_again() {
    for (kinds, rounds, is_drained) in
        [(&["drain", "power"], 1, false), (&["drain", "power"], 0, true), (&["drain", "reboot"], 1, true)]
    {
        let mut fixture = Fixture::new(steps(kinds));
        (fixture.fence.status.phase, fixture.fence.status.drain_rounds) = (Phase::Draining, rounds);
        fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
        fixture.now.moment = fixture.now.moment.plus(Duration::from_secs(50));
        let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
        let expected = if is_drained { Phase::Draining } else { Phase::AwaitGuards };
        assert_eq!(fence.status.phase, expected, "{kinds:?} {rounds}");
        assert_eq!(fence.status.drain_begun_at.is_some(), is_drained, "{kinds:?} {rounds}");
    }
}

#[test]
fn nothing_irreversible_is_begun_again_for_a_drain() {
    let changes: [fn(&mut Fixture); 8] = [
        |fixture| fixture.fence.spec.steps = steps(&["power", "drain", "reboot"]),
        |fixture| fixture.fence.spec.steps = steps(&["reap", "drain", "reboot"]),
        |fixture| fixture.fence.status.cycle_begun = true,
        |fixture| fixture.fence.status.ordered_off = true,
        |fixture| fixture.fence.status.drain = None,
        |fixture| fixture.guard_blockers.power = vec![Blocker::new(POWER_CYCLE_LIMIT, "")],
        |fixture| fixture.predicate = PredicateState::Unknown,
        |fixture| {
            fixture.fence.spec.steps[2].reboot = None;
            fixture.fence.spec.steps[2].reap = Some(ReapStep { even_if_drain_failed: true });
            fixture.guard_blockers.power = vec![Blocker::new(NODE_READY, "")];
        },
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut fixture = before_power(&["cordon", "drain", "reboot"], 0);
        change(&mut fixture);
        later(&mut fixture, 3600);
        assert!(!begins_again(&fixture), "{number}: {:?}", fixture.next());
        assert!(!blocked(&fixture).is_empty(), "{number}");
    }
    let mut fixture = before_power(&["cordon", "drain", "reboot"], 0);
    fixture.fence.status.intent = Some(Intent { op: IntendedOp::PowerOff, epoch: 1, at: fixture.now.wall, pods: 0 });
    later(&mut fixture, 3600);
    assert!(!begins_again(&fixture));
}

/// A second is not waited for less than what ends by itself.
#[test]
fn what_ends_by_itself_is_looked_at_in_a_second_also_while_a_pause_lasts() {
    let mut fixture = before_power(&["cordon", "drain", "power"], 0);
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    fixture.store(*fence);
    let Next::Wait { until: Some(until), .. } = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(until, fixture.now.moment.plus(Duration::from_secs(1)));
}

/// In the first round a Node may be seen as it was before the cordon; later it was cordoned for minutes.
#[test]
fn a_persons_uncordon_is_left_so_in_a_later_round() {
    for (step_rounds, drain_rounds, ours, is_left) in
        [(0, 0, true, false), (0, 1, true, true), (1, 0, true, true), (0, 1, false, false), (1, 1, false, false)]
    {
        let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
        let status = &mut fixture.fence.status;
        (status.phase, status.step_rounds, status.drain_rounds) = (Phase::Isolating, step_rounds, drain_rounds);
        status.own_changes.cordon = ours;
        opened_by_a_person(&mut fixture);
        let cordons =
            matches!(fixture.next(), Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::Cordon), .. }));
        assert_eq!(cordons, !is_left, "{step_rounds} {drain_rounds} {ours}");
        if is_left {
            assert_eq!(blocked(&fixture), ["NotCordoned"]);
        }
    }
    // A person cordons it again, or the copy was old.
    let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
    let status = &mut fixture.fence.status;
    (status.phase, status.drain_rounds, status.own_changes.cordon) = (Phase::Isolating, 1, true);
    opened_by_a_person(&mut fixture);
    run(&mut fixture, 60, |_| false);
    assert_eq!(fixture.phase(), Phase::Isolating);
    let message = &fixture.fence.status.blocked_by[0].message;
    assert!(message.contains("nodewell.dev/skip-remediation"), "{message}");
    fixture.node.as_mut().unwrap().unschedulable = true;
    run(&mut fixture, 2, |_| false);
    assert_eq!((fixture.phase(), fixture.entered > Moment::default()), (Phase::Draining, true));
}

/// One that is not Ready may live, and without its Lease that is all that is known of it.
#[test]
fn a_persons_uncordon_is_not_overruled_without_a_lease() {
    for phase in [Phase::Isolating, Phase::Draining] {
        let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
        let status = &mut fixture.fence.status;
        (status.phase, status.drain_rounds, status.own_changes.cordon) = (phase, 1, true);
        status.policy_step = usize::from(phase == Phase::Draining);
        fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
        fixture.kubelet = None;
        if phase == Phase::Isolating {
            opened_by_a_person(&mut fixture);
        }
        assert_eq!(blocked(&fixture), ["NotCordoned"], "{phase:?}");
    }
}

/// Its answer was lost, or a recovery method did it, and the node is not well again: the open node is no other client's act.
#[test]
fn a_cordon_that_the_record_may_have_taken_back_is_set_again() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain"]));
    let status = &mut fixture.fence.status;
    (status.phase, status.drain_rounds, status.own_changes.cordon) = (Phase::Isolating, 1, true);
    opened_by_a_person(&mut fixture);
    assert_eq!(blocked(&fixture), ["NotCordoned"]);
    let _ = fixture.perform(&Op::Reversible(ReversibleOp::Uncordon));
    let Next::Act(Action::Perform { op, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(op, Op::Reversible(ReversibleOp::Cordon));
}

/// Uncordoned by any client in the pause; and then it dies.
#[test]
fn a_dead_node_that_was_uncordoned_between_rounds_waits_for_no_person() {
    for (kinds, drain_rounds, step_rounds) in
        [(&["cordon", "drain", "power"] as &[&str], 1, 0), (&["cordon", "power"], 0, 1)]
    {
        let mut fixture = Fixture::new(steps(kinds));
        let status = &mut fixture.fence.status;
        (status.phase, status.drain_rounds, status.step_rounds) = (Phase::Isolating, drain_rounds, step_rounds);
        status.own_changes.cordon = true;
        opened_by_a_person(&mut fixture);
        let waits = |fixture: &Fixture| blocked(fixture).contains(&"NotCordoned".to_owned());
        assert!(waits(&fixture), "{kinds:?}");
        fixture.alive = false;
        fixture.powered = false;
        run(&mut fixture, 900, |fixture| fixture.fence.status.off.is_some());
        assert!(fixture.fence.status.off.is_some(), "{kinds:?}: {:?}", fixture.fence.status.blocked_by);
    }
}
