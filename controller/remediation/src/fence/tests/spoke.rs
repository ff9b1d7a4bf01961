//! A kubelet that has renewed its Lease since the power was cut, or was reported as cut.

use super::course::{at, dead, run};
use crate::{
    action::Action,
    api::fence::{DrainReport, Phase},
    fence::Next,
};

/// Its BMC lies, or was late to be seen: either way its silence is not what it was.
#[test]
fn a_kubelet_that_has_spoken_since_the_power_was_cut_is_not_dead() {
    for drained in [false, true] {
        let mut fixture = dead();
        run(&mut fixture, 400, at(Phase::OffConfirmed));
        if drained {
            fixture.fence.status.drain = Some(DrainReport { done: true, refused_evictions: Vec::new(), left: 0 });
        }
        let kubelet = fixture.kubelet.as_mut().unwrap();
        (kubelet.renewed, kubelet.change_seen_at) = (Some(fixture.now.wall), fixture.now.moment);
        let Next::Act(action) = fixture.next() else { panic!("{:?}", fixture.next()) };
        let is_void = matches!(&action, Action::Save { fence, .. } if fence.status.phase == Phase::AwaitGuards);
        assert_eq!(is_void, !drained, "{action:?}");
        if let Action::Save { fence, .. } = action {
            fixture.store(*fence);
        }
        // It is off, and the renewal was of before: that shows again, and no second order is given.
        run(&mut fixture, 400, |fixture| fixture.fence.status.released > 0);
        assert_eq!(fixture.fence.status.released, 1);
        assert_eq!(fixture.fence.status.cycles.len(), 1, "{:?}", fixture.fence.status);
    }
}
