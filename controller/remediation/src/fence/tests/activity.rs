//! Signs of life of a boot that was confirmed to have ended: what proves that it lives on, and what does not.

use std::time::Duration;

use jiff::SignedDuration;

use super::{fixture::Fixture, parts::steps};
use crate::{
    api::fence::Confirmation,
    facts::{ConditionStatus, LeaseView, kubelet},
    fence::post_off_activity::{PostOffActivity, is_suspected},
    time::Moment,
};

/// Off was confirmed of its boot, and seen by this leader at 1000 s.
fn confirmed() -> Fixture {
    let mut fixture = Fixture::new(steps(&["power"]));
    fixture.fence.status.lease_renewed = fixture.kubelet.as_ref().unwrap().renewed;
    fixture.fence.status.off = Some(Confirmation {
        at: fixture.now.wall,
        reads: 2,
        by: Vec::new(),
        boot_id: "boot-1".into(),
        already_off: false,
        epoch: 7,
    });
    fixture
}

fn at(millis: u64) -> Moment {
    Moment(Duration::from_millis(1_000_000 + millis))
}

/// The kubelet's Lease is seen to move.
fn renew(fixture: &mut Fixture, millis: u64) {
    let lease = fixture.kubelet.as_mut().unwrap();
    lease.change_seen_at = at(millis);
    lease.renewed = lease.renewed.map(|renewed| renewed + SignedDuration::from_secs(10));
}

fn observe(fixture: &Fixture, before: Option<&PostOffActivity>, millis: u64) -> Option<PostOffActivity> {
    PostOffActivity::observe(before, &fixture.fence, fixture.node.as_ref(), fixture.kubelet.as_ref(), at(millis))
}

/// The kubelet writes its Node's status.
fn write(fixture: &mut Fixture) {
    let ready = &mut fixture.node.as_mut().unwrap().conditions[0];
    ready.heartbeat = Some(fixture.now.wall);
}

/// Whether it is proven to live on so long after, with its Lease seen to move at these times.
fn is_proven(edit: impl FnOnce(&mut Fixture), renewals: &[u64], millis: u64) -> bool {
    let mut fixture = confirmed();
    let mut activity = observe(&fixture, None, 0).unwrap();
    for renewal in renewals {
        renew(&mut fixture, *renewal);
        activity = observe(&fixture, Some(&activity), *renewal).unwrap();
    }
    edit(&mut fixture);
    fixture.now.moment = at(millis);
    activity = observe(&fixture, Some(&activity), millis).unwrap();
    activity.is_proven(&fixture.input(), fixture.node.as_ref().unwrap())
}

#[test]
fn a_renewal_and_the_nodes_status_prove_it_unless_the_renewal_may_be_a_late_one() {
    for (renewals, expected) in [
        (&[15_000][..], true),
        (&[14_999], false),
        (&[], false),
        (&[0], false),
        (&[1, 14_999], true),
        (&[9_000, 10_000], false),
    ] {
        let millis = renewals.last().copied().unwrap_or_default() + 100;
        assert_eq!(is_proven(write, renewals, millis), expected, "{renewals:?}");
    }
    let gap = u64::try_from(kubelet::LEAST_RENEWAL_GAP.as_millis()).unwrap();
    for (second, expected) in [(gap, false), (gap + 1, true)] {
        assert_eq!(is_proven(write, &[1, second], second + 100), expected, "renewed again after {second} ms");
    }
}

#[test]
fn renewals_that_go_on_prove_it_once_another_boot_would_have_reported_its_id() {
    let nothing = |_: &mut Fixture| {};
    for (millis, expected) in [(29_999, false), (30_000, true)] {
        assert_eq!(is_proven(nothing, &[15_000, 25_000], millis), expected, "{millis}");
    }
}

#[test]
fn a_boot_that_is_silent_or_another_or_neither_ready_nor_writing_proves_nothing() {
    let edits: [fn(&mut Fixture); 2] =
        [|fixture| fixture.node.as_mut().unwrap().boot_id = "boot-2".into(), |fixture| fixture.kubelet = None];
    for edit in edits {
        let edit = |fixture: &mut Fixture| {
            write(fixture);
            edit(fixture);
        };
        assert!(!is_proven(edit, &[15_000], 15_100));
    }
    let not_ready =
        |fixture: &mut Fixture| fixture.node.as_mut().unwrap().conditions[0].status = ConditionStatus::Unknown;
    assert!(!is_proven(not_ready, &[15_000, 25_000], 31_000), "only its Lease moves");
    let both = |fixture: &mut Fixture| {
        not_ready(fixture);
        write(fixture);
    };
    assert!(is_proven(both, &[15_000], 15_100), "it writes that it is not Ready");
    let alive = u64::try_from(kubelet::ALIVE_WITHIN.as_millis()).unwrap();
    for (millis, expected) in [(15_000 + alive - 1, true), (15_000 + alive, false)] {
        assert_eq!(is_proven(write, &[15_000], millis), expected, "silent for {} ms", millis - 15_000);
    }
}

#[test]
fn ready_that_turned_true_since_is_the_kubelets_own_word() {
    let turned = |moment: Moment, status: ConditionStatus| {
        move |fixture: &mut Fixture| {
            let ready = &mut fixture.node.as_mut().unwrap().conditions[0];
            (ready.change_seen_at, ready.status) = (moment, status);
        }
    };
    assert!(is_proven(turned(at(1), ConditionStatus::True), &[15_000], 15_100));
    assert!(!is_proven(turned(at(0), ConditionStatus::True), &[15_000], 15_100), "it was so before");
    assert!(!is_proven(turned(at(1), ConditionStatus::Unknown), &[15_000], 15_100), "the node lifecycle controller's");
}

#[test]
fn the_boot_that_ended_is_that_of_the_confirmation_or_of_the_release() {
    let mut fixture = confirmed();
    let first = observe(&fixture, None, 0);
    assert_eq!(observe(&fixture, first.as_ref(), 5000), first, "what was seen first stays");
    fixture.fence.status.off.as_mut().unwrap().boot_id = "boot-9".into();
    assert_ne!(observe(&fixture, first.as_ref(), 5000), first, "another boot begins again");
    fixture.fence.status.off.as_mut().unwrap().boot_id.clear();
    assert_eq!(observe(&fixture, None, 0), None, "no boot is known");
    fixture.fence.status.off = None;
    assert_eq!(observe(&fixture, None, 0), None);
    fixture.fence.status.released_boot = "boot-1".into();
    assert_eq!(observe(&fixture, None, 0), first);
    fixture.fence.status.storage_only = Some("csi.example".into());
    assert_eq!(observe(&fixture, None, 0), None, "a storage is no machine");
}

#[test]
fn a_renewal_since_the_order_is_suspect_while_it_is_not_overdue() {
    let mut fixture = confirmed();
    assert!(!is_suspected(&fixture.input()), "nothing moved");
    renew(&mut fixture, 0);
    let overdue = u64::try_from(kubelet::OVERDUE_AFTER.as_millis()).unwrap();
    for (millis, expected) in [(0, true), (overdue - 1, true), (overdue, false)] {
        fixture.now.moment = at(millis);
        assert_eq!(is_suspected(&fixture.input()), expected, "{millis}");
    }
    fixture.now.moment = at(0);
    fixture.fence.status.storage_only = Some("csi.example".into());
    assert!(!is_suspected(&fixture.input()));
    fixture.fence.status.storage_only = None;
    fixture.kubelet = None;
    assert!(!is_suspected(&fixture.input()));
}

/// What was seen in the very moment of the confirmation, and what the record knew before its power was cut, are of before it.
#[test]
fn a_renewal_counts_if_it_is_another_one_than_the_record_knew_and_was_seen_since() {
    let fixture = confirmed();
    let (since, known) = (fixture.now.moment, fixture.fence.status.lease_renewed);
    let another = known.map(|renewed| renewed + SignedDuration::from_secs(10));
    let observed = |lease: Option<&LeaseView>| {
        let before = PostOffActivity::observe(None, &fixture.fence, fixture.node.as_ref(), None, since);
        PostOffActivity::observe(before.as_ref(), &fixture.fence, fixture.node.as_ref(), lease, since)
    };
    let nothing = observed(None);
    assert!(nothing.is_some());
    for (renewed, seen, counts) in [(another, 1, true), (another, 0, false), (known, 1, false), (known, 0, false)] {
        let change_seen_at = since.plus(Duration::from_secs(seen));
        let lease = LeaseView { renewed, change_seen_at, ..fixture.kubelet.clone().unwrap() };
        assert_eq!(observed(Some(&lease)) != nothing, counts, "{renewed:?} {seen}");
    }
}
