//! What holds of every request, whatever record meets it.

use proptest::prelude::*;

use super::*;
use crate::external::{progress::of_record, request_uid};

const BLOCKERS: [&str; 5] = ["LeftOff", "PowerCycleLimit", "StepsExhausted", "Storm", "ClaimedByPeer"];

fn any_record() -> impl Strategy<Value = Option<NodeFence>> {
    let parts =
        (prop::sample::select(&PHASES[..]), any::<[bool; 4]>(), prop::option::of(prop::sample::select(&BLOCKERS[..])));
    let record = parts.prop_map(|(phase, [was_released, aborted, own, releases], blocker)| {
        let mut record = if was_released { released(phase) } else { record(phase) };
        record.spec.abort = aborted;
        if !own {
            record.metadata.annotations.clear();
            record.spec.policy = "p".into();
        }
        if releases {
            record = releasing(record);
        }
        blocker.map_or(record.clone(), |reason| blocked(record, reason))
    });
    prop::option::of(record)
}

fn any_fixture() -> impl Strategy<Value = Fixture> {
    (any_record(), any_record(), any::<[bool; 7]>()).prop_map(
        |(record, ended, [held, deleting, late, ready, gone, heir, stopped])| {
            let mut fixture = Fixture { record, ended, heir: heir.then_some("cluster/ops/n0-x/u-2"), ..Fixture::new() };
            if !held {
                fixture.request["metadata"]["finalizers"] = json!([]);
            }
            if deleting {
                fixture.delete();
            }
            if late {
                fixture.time_out();
            }
            if ready {
                fixture.node = Some(node("n0"));
            }
            if gone {
                fixture.node = None;
            }
            if stopped {
                fixture.general = vec![Blocker::plain("CacheNotSynced")];
            }
            fixture
        },
    )
}

proptest! {
    /// Nothing of another's record is written, and none is opened beside it.
    #[test]
    fn no_act_touches_a_record_that_is_not_its_own(mut fixture in any_fixture(), rounds in 1_usize..6) {
        for _ in 0..rounds {
            let before = fixture.record.clone();
            let is_own = before.as_ref().and_then(request_uid) == Some("u-1");
            match fixture.step() {
                Some(Act::Abort(_) | Act::Close(_) | Act::HandOver(..)) => prop_assert!(is_own),
                Some(Act::Open(_)) => prop_assert!(before.is_none()),
                Some(Act::AddFinalizer | Act::RemoveFinalizer) | None => {}
            }
        }
    }

    /// No record is begun for a request that is over, nor while anything is not known or stopped.
    #[test]
    fn nothing_is_begun_for_a_request_that_is_not_wanted(mut fixture in any_fixture()) {
        let request = read(&fixture.request);
        let may_open = !request.deleting && !request.timed_out && fixture.general.is_empty() && fixture.node.as_ref().is_some_and(|node| !node.is_ready());
        for _ in 0..5 {
            if let Some(Act::Open(_)) = fixture.step() {
                prop_assert!(may_open && read(&fixture.request).is_held());
            }
        }
    }

    /// The finalizer goes only when nothing of this request is under way any more.
    #[test]
    fn a_finalizer_goes_after_the_record(mut fixture in any_fixture()) {
        for _ in 0..5 {
            let own = fixture.record.clone().filter(|record| request_uid(record) == Some("u-1"));
            if fixture.step() == Some(Act::RemoveFinalizer) {
                let over = own.is_none_or(|own| match own.status.phase {
                    Phase::Quarantined => true,
                    Phase::PodsReleased => own.status.is_blocked_by("LeftOff") || own.status.is_blocked_by("PowerCycleLimit"),
                    _ => false,
                });
                prop_assert!(over);
            }
        }
    }

    /// Succeeded is True of a release alone.
    #[test]
    fn success_is_a_release_and_nothing_else(fixture in any_fixture()) {
        let status = fixture.next().status;
        let served = [&fixture.record, &fixture.ended].into_iter().flatten().any(|record| of_record(record).is_success() || record.status.released_at.is_some());
        if status.conditions.iter().any(|one| one.kind == "Succeeded" && one.status == TRUE) {
            prop_assert!(served);
        }
    }
}
