//! What readings of the power make of a record: Off by two readings and nothing else, On by one, and all else is unknown.

use jiff::Timestamp;

use super::{
    course::{at, dead, run},
    fixture::Fixture,
};
use crate::{
    action::{Action, Done, Failed, IrreversibleOp, Op, Outcome, ReversibleOp},
    api::fence::{Confirmation, IntendedOp, Intent, NodeFence, Phase},
    fence::{Next, apply_outcome},
    snapshot::PowerState::{self, Off, On, Unknown},
};

/// What is changed, and how.
type NamedChange = (&'static str, fn(&mut Fixture));

fn ended(fixture: &Fixture, op: impl Into<Op>, outcome: &Outcome) -> NodeFence {
    apply_outcome(&fixture.fence, &op.into(), outcome, fixture.epoch, fixture.now).0
}

fn read(fixture: &Fixture, states: &[PowerState]) -> NodeFence {
    ended(fixture, ReversibleOp::ReadPower { times: 2 }, &Ok(Done::Power(states.to_vec())))
}

/// What was intended is in doubt; `off` was confirmed before, or was not.
fn in_doubt(op: Option<IntendedOp>, off: bool) -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    let (epoch, now) = (fixture.epoch, fixture.now.wall);
    let status = &mut fixture.fence.status;
    status.phase = Phase::InDoubt;
    status.intent = op.map(|op| Intent { op, epoch, at: now, pods: 1 });
    if !off {
        status.off = None;
    }
    fixture
}

const NEITHER: [&[PowerState]; 7] =
    [&[], &[Off], &[Unknown], &[Off, Unknown], &[Unknown, Off], &[Unknown, Unknown], &[Off, Off, Unknown]];
const MIXED: [&[PowerState]; 5] = [&[On], &[On, On], &[Off, On], &[Unknown, On], &[Off, Off, On]];

#[test]
fn a_power_off_in_doubt_is_off_by_two_readings_and_nothing_else() {
    let fixture = in_doubt(Some(IntendedOp::PowerOff), false);
    for states in NEITHER {
        let fence = read(&fixture, states);
        assert_eq!((fence.status.phase, fence.status.off), (Phase::InDoubt, None), "{states:?}");
    }
    for states in MIXED {
        let fence = read(&fixture, states);
        assert_eq!((fence.status.phase, fence.status.off), (Phase::Failed, None), "{states:?}");
    }
    let fence = read(&fixture, &[Off, Off]);
    let off = fence.status.off.expect("it is off");
    assert_eq!((fence.status.phase, off.reads, off.boot_id.as_str()), (Phase::OffConfirmed, 2, "boot-1"));
    assert_eq!((off.at, off.epoch), (fixture.now.wall, fixture.epoch));
    for failed in [Failed::Timeout(std::time::Duration::from_secs(1)), Failed::InDoubt("?".into())] {
        let fence = ended(&fixture, ReversibleOp::ReadPower { times: 2 }, &Err(failed));
        assert_eq!((fence.status.phase, fence.status.off), (Phase::InDoubt, None));
    }
}

#[test]
fn what_is_confirmed_stays_so_by_two_readings_and_is_void_by_one_of_on() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    let known = fixture.fence.status.off.clone().expect("it is off");
    for states in NEITHER {
        let fence = read(&fixture, states);
        assert_eq!((fence.status.phase, fence.status.off.as_ref()), (Phase::OffConfirmed, Some(&known)), "{states:?}");
        assert_eq!(fence.status.failures, 1, "{states:?}");
    }
    for states in MIXED {
        let fence = read(&fixture, states);
        assert_eq!((fence.status.phase, fence.status.off), (Phase::AwaitGuards, None), "{states:?}");
    }
    fixture.epoch += 1;
    let off = read(&fixture, &[Off, Off]).status.off.expect("it is off");
    assert_eq!((off.reads, off.epoch), (4, fixture.epoch), "by this leader's own readings");
}

#[test]
fn each_act_in_doubt_ends_where_the_power_is() {
    use IntendedOp::{PowerOff, PowerOn, Reap, Release};
    let tables = [
        (Some(PowerOff), true, On, Phase::Failed, false),
        (Some(Release), true, Off, Phase::OffConfirmed, true),
        (Some(Release), false, Off, Phase::Failed, false),
        (Some(Release), true, On, Phase::Failed, false),
        (Some(PowerOn), true, Off, Phase::PoweringOn, true),
        (Some(PowerOn), false, Off, Phase::Failed, false),
        (None, true, Off, Phase::OffConfirmed, true),
        (None, true, On, Phase::Failed, false),
        (None, false, Off, Phase::Failed, false),
        (Some(Reap), false, Off, Phase::Failed, false),
    ];
    for (op, off, state, phase, stays) in tables {
        let status = read(&in_doubt(op, off), &[state, state]).status;
        assert_eq!((status.phase, status.off.is_some()), (phase, stays), "{op:?} {off} {state:?}");
        assert_eq!(status.intent, None, "{op:?} {off} {state:?}");
    }
    let on = read(&in_doubt(Some(PowerOn), true), &[On, On]).status;
    assert_eq!((on.phase, on.intent), (Phase::AwaitReady, None));
}

fn confirmation(reads: u32) -> Confirmation {
    Confirmation {
        at: Timestamp::UNIX_EPOCH,
        reads,
        by: vec!["ipmi".into()],
        boot_id: String::new(),
        already_off: false,
        epoch: 0,
    }
}

#[test]
fn a_power_off_that_was_not_read_twice_is_in_doubt() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOff));
    for done in [Done::Off(confirmation(0)), Done::Off(confirmation(1)), Done::Yes, Done::Power(vec![Off, Off])] {
        let fence = ended(&fixture, IrreversibleOp::PowerOff, &Ok(done.clone()));
        assert_eq!((fence.status.phase, fence.status.off), (Phase::InDoubt, None), "{done:?}");
    }
    let fence = ended(&fixture, IrreversibleOp::PowerOff, &Ok(Done::Off(confirmation(2))));
    assert_eq!(fence.status.phase, Phase::OffConfirmed);
    let off = fence.status.off.expect("it is off");
    assert_eq!((off.boot_id.as_str(), off.epoch), ("boot-1", fixture.epoch), "of the boot and the term that are known");
}

fn reads_again(fixture: &Fixture) -> bool {
    matches!(
        fixture.next(),
        Next::Act(Action::Perform { op: Op::Reversible(ReversibleOp::ReadPower { times: 2 }), .. })
    )
}

#[test]
fn a_release_is_intended_upon_two_young_readings_of_this_term() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.look();
    // On was reported before the order; when Off was read is changed below.
    fixture.gathered.power.retain(|reading| reading.state == Off);
    let is_intended = |fixture: &Fixture| {
        let Next::Act(Action::Save { fence, .. }) = fixture.next() else { return false };
        fence.status.intent.is_some_and(|intent| intent.op == IntendedOp::Release)
    };
    assert!(is_intended(&fixture), "{:?}", fixture.next());
    let changes: [NamedChange; 4] = [
        ("one reading", |fixture| fixture.fence.status.off.as_mut().unwrap().reads = 1),
        ("another term", |fixture| fixture.fence.status.off.as_mut().unwrap().epoch -= 1),
        ("six seconds old", |fixture| {
            fixture.fence.status.off.as_mut().unwrap().at -= std::time::Duration::from_secs(6);
        }),
        ("of the future", |fixture| {
            fixture.fence.status.off.as_mut().unwrap().at += std::time::Duration::from_secs(1);
        }),
    ];
    for (what, change) in changes {
        let mut fixture = fixture.clone();
        change(&mut fixture);
        assert!(reads_again(&fixture), "{what}: {:?}", fixture.next());
    }
}

/// Off was read and some boot renews its Lease: which one it is, and so whether its BMC lied, is known soon.
#[test]
fn no_power_on_is_intended_while_its_kubelet_speaks_and_the_boot_is_not_known() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::PoweringOn));
    fixture.fence.status.intent = None;
    let intends = |fixture: &Fixture| {
        let Next::Act(Action::Save { fence, .. }) = fixture.next() else { return false };
        fence.status.intent.is_some_and(|intent| intent.op == IntendedOp::PowerOn)
    };
    assert!(intends(&fixture), "{:?}", fixture.next());
    let now = fixture.now;
    let lease = fixture.kubelet.as_mut().unwrap();
    (lease.renewed, lease.change_seen_at) = (Some(now.wall), now.moment);
    assert!(!intends(&fixture), "{:?}", fixture.next());
    fixture.node.as_mut().unwrap().boot_id = "boot-2".into();
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!((fence.status.phase, fence.status.intent), (Phase::AwaitReady, None));
}
