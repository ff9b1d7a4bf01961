//! `nodewell-controller retry`: a person asks for another try of what was given up.

use super::{
    course::{at, dead, run},
    fixture::Fixture,
    parts::steps,
};
use crate::{
    action::{Failed, IrreversibleOp, Op},
    api::{
        RETRY,
        fence::{Blocker, Phase},
    },
    fence::apply_outcome,
};

#[test]
fn a_person_may_ask_for_another_try_once_with_each_value() {
    let mut fixture = Fixture::new(steps(&["cordon", "drain", "reboot"]));
    run(&mut fixture, 400, at(Phase::AwaitGuards));
    fixture.guard_blockers.power = vec![Blocker::new("PowerCycleLimit", "2 in 24h")];
    run(&mut fixture, 2, |_| false);
    assert_eq!(fixture.phase(), Phase::Quarantined);
    fixture.fence.metadata.annotations.insert(RETRY.into(), "replaced the board".into());
    let phases = run(&mut fixture, 20, |_| false);
    assert_eq!(phases[1], Phase::InDoubt);
    assert_eq!(fixture.phase(), Phase::Quarantined);
}

/// The record is all that remembers it: the next of this name would order without a question.
#[test]
fn a_retry_does_not_end_the_doubt_about_a_node_that_is_gone() {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.phase() == Phase::PoweringOff);
    (fixture.node, fixture.epoch) = (None, fixture.epoch + 1);
    run(&mut fixture, 5, at(Phase::Quarantined));
    fixture.fence.metadata.annotations.insert(RETRY.into(), "is it off?".into());
    let phases = run(&mut fixture, 20, |_| false);
    assert_eq!(phases[1], Phase::InDoubt);
    assert_eq!((fixture.phase(), fixture.fence.status.blocked_by[0].reason.as_str()), (Phase::Quarantined, "NodeGone"));
}

/// Whichever it reads once the person has seen to it: all tries are there again.
#[test]
fn a_bmc_that_did_not_obey_and_was_repaired_is_ordered_again() {
    for powered in [true, false] {
        let mut fixture = dead();
        while fixture.phase() != Phase::Quarantined {
            run(&mut fixture, 400, |fixture| [Phase::PoweringOff, Phase::Quarantined].contains(&fixture.phase()));
            if fixture.phase() == Phase::PoweringOff {
                let off = Op::Irreversible(IrreversibleOp::PowerOff);
                let refused = Err(Failed::Refused("busy".into()));
                let (fence, _) = apply_outcome(&fixture.fence, &off, &refused, fixture.epoch, fixture.now);
                fixture.store(fence);
            }
        }
        let blocked = &fixture.fence.status.blocked_by;
        assert_eq!((fixture.phase(), blocked[0].reason.as_str()), (Phase::Quarantined, "Attempts"));
        fixture.turn(powered);
        fixture.fence.metadata.annotations.insert(RETRY.into(), "its BMC was reset".into());
        let phases = run(&mut fixture, 400, at(Phase::PodsReleased));
        assert_eq!(fixture.phase(), Phase::PodsReleased, "{powered}: {phases:?}");
        assert_eq!(phases.contains(&Phase::PoweringOff), powered, "{phases:?}");
    }
}
