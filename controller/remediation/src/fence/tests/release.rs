//! Between Off and the release of the pods.

use super::course::{at, dead, run};
use crate::{action::Action, api::fence::Phase, fence::Next};

#[test]
fn a_machine_that_is_off_when_its_policy_is_gone_is_turned_on_and_nothing_is_released() {
    let mut fixture = dead();
    run(&mut fixture, 400, at(Phase::OffConfirmed));
    fixture.policy = None;
    let Next::Act(Action::Save { fence, .. }) = fixture.next() else { panic!("{:?}", fixture.next()) };
    assert_eq!(fence.status.phase, Phase::PoweringOn);
    run(&mut fixture, 400, at(Phase::AwaitReady));
    assert!(fixture.powered && fixture.fence.status.released == 0, "{:?}", fixture.fence.status);
}
