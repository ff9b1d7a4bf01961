//! Volumes that stay attached after a release.

use jiff::SignedDuration;

use super::{
    course::{at, dead, run},
    fixture::{Fixture, NODE},
    parts::pod,
};
use crate::{
    api::{OUT_OF_SERVICE, fence::Phase},
    facts::{Attachment, Owner, Pod, Toleration, Volume, VolumeClaim},
    fence::PredicateState,
};

fn attachment(name: &str) -> Attachment {
    Attachment { name: format!("csi-{name}"), node: NODE.into(), volume: format!("pv-{name}"), attached: true }
}

/// A DaemonSet's pod that tolerates everything and has a volume of its own, as far as its claim was looked up.
fn staying(volume: Option<&str>) -> Pod {
    let claim = VolumeClaim { name: "cache".into(), volume: volume.map(str::to_owned), ..VolumeClaim::default() };
    let all = Toleration { key: String::new(), value: String::new(), exists: true, effect: None, seconds: None };
    Pod {
        owner: Some(Owner { kind: "DaemonSet".into(), name: "cache".into(), uid: "set".into(), gone: false }),
        tolerations: vec![all],
        volumes: vec![Volume::Claim(claim)],
        ..pod("cache-x")
    }
}

/// Goes on second by second with these attachments, until a record has the blocker; how many seconds that took.
fn until_stuck(fixture: &mut Fixture, attached: &[Attachment], most: u32) -> Option<u32> {
    (1..=most).find(|_| {
        fixture.attached = attached.to_vec();
        run(fixture, 1, |_| false);
        fixture.fence.status.is_blocked_by("AttachmentsStuck")
    })
}

/// Its pods were released and it is turned on again, which takes long.
fn released() -> Fixture {
    let mut fixture = dead();
    run(&mut fixture, 400, |fixture| fixture.fence.status.released > 0);
    fixture.alive = false;
    fixture
}

#[test]
fn a_volume_that_stays_attached_is_said_after_two_minutes_with_its_name() {
    let mut fixture = released();
    assert_eq!(until_stuck(&mut fixture, &[], 300), None);
    let mut fixture = released();
    let seconds = until_stuck(&mut fixture, &[attachment("db")], 300).unwrap();
    assert!((115..=125).contains(&seconds), "{seconds}");
    let message = fixture.fence.status.blocked_by[0].message.clone();
    assert!(message.contains("csi-db (volume pv-db)") && message.contains("kubectl"), "{message}");
    let other = Attachment { node: "worker-2".into(), ..attachment("db") };
    assert_eq!(until_stuck(&mut released(), &[other], 300), None, "another node's");
}

#[test]
fn a_pod_that_tolerates_everything_and_keeps_its_volume_is_named() {
    let mut fixture = released();
    fixture.listed = Some(vec![staying(None)]);
    until_stuck(&mut fixture, &[attachment("cache")], 300).unwrap();
    let message = &fixture.fence.status.blocked_by[0].message;
    assert!(message.contains("default/cache-x"), "{message}");
}

/// The node is back: the taint would stay for as long as the DaemonSet has a volume there.
fn brought_back(attached: &[Attachment], pods: Vec<Pod>) -> Fixture {
    let mut fixture = released();
    fixture.alive = true;
    fixture.predicate = PredicateState::No { since: fixture.now.moment };
    (fixture.attached, fixture.listed) = (attached.to_vec(), Some(pods));
    run(&mut fixture, 400, at(Phase::Closed));
    fixture
}

#[test]
fn a_volume_of_a_pod_that_was_not_released_keeps_no_taint() {
    let fixture = brought_back(&[attachment("cache")], vec![staying(Some("pv-cache"))]);
    assert_eq!(fixture.phase(), Phase::Closed);
    assert!(fixture.node.unwrap().taint(OUT_OF_SERVICE).is_none());
}

#[test]
fn a_volume_of_a_pod_that_was_released_or_that_is_not_known_keeps_it() {
    let owned = Owner { kind: "StatefulSet".into(), name: "db".into(), uid: "set".into(), gone: false };
    let released = Pod { owner: Some(owned), tolerations: Vec::new(), ..staying(Some("pv-cache")) };
    for pods in [vec![staying(None)], vec![staying(Some("pv-other"))], vec![released], Vec::new()] {
        let fixture = brought_back(&[attachment("cache")], pods);
        assert_eq!(fixture.phase(), Phase::Recovering);
        assert!(fixture.fence.status.is_blocked_by("AttachmentsStuck"), "{:?}", fixture.fence.status.blocked_by);
        assert!(fixture.node.unwrap().taint(OUT_OF_SERVICE).is_some());
    }
}

/// The wall clock is set back by an hour between the release and the report.
#[test]
fn a_clock_that_is_set_back_puts_the_report_off_by_no_more_than_this_phase() {
    let mut fixture = released();
    fixture.alive = true;
    (fixture.attached, fixture.listed) = (vec![attachment("db")], Some(Vec::new()));
    run(&mut fixture, 400, at(Phase::Recovering));
    fixture.now.wall = fixture.now.wall.checked_sub(SignedDuration::from_hours(1)).unwrap();
    let seconds = until_stuck(&mut fixture, &[attachment("db")], 300).unwrap();
    assert!((60..=125).contains(&seconds), "{seconds}");
}

/// The record that released the pods was deleted: what takes its taint back knows of no release.
#[test]
fn volumes_that_a_deleted_record_left_attached_are_reported_too() {
    let mut fixture = brought_back(&[attachment("db")], Vec::new());
    assert_eq!(fixture.phase(), Phase::Recovering);
    (fixture.fence.status.released_at, fixture.fence.status.out_of_service) = (None, false);
    (fixture.fence.status.blocked_by, fixture.entered) = (Vec::new(), fixture.now.moment);
    let seconds = until_stuck(&mut fixture, &[attachment("db")], 300).unwrap();
    assert!((115..=125).contains(&seconds), "{seconds}");
}

#[test]
fn nothing_is_said_before_two_minutes_nor_of_a_release_that_is_over() {
    let mut fixture = released();
    assert_eq!(until_stuck(&mut fixture, &[attachment("db")], 100), None);
    fixture.fence.status.released_at = None;
    assert_eq!(until_stuck(&mut fixture, &[attachment("db")], 300), None);
}

#[test]
fn three_volumes_that_stay_attached_are_named_and_the_others_counted() {
    let message = |names: &[&str]| {
        let mut fixture = released();
        let attached: Vec<Attachment> = names.iter().map(|name| attachment(name)).collect();
        until_stuck(&mut fixture, &attached, 300).unwrap();
        fixture.fence.status.blocked_by[0].message.clone()
    };
    let (one, three) = ("csi-a (volume pv-a)", "csi-a (volume pv-a), csi-b (volume pv-b), csi-c (volume pv-c)");
    for (names, expected) in [
        (
            &["a"][..],
            format!("1 VolumeAttachments are still on the node 2 min after its pods were released: {one}; see"),
        ),
        (
            &["a", "b", "c"],
            format!("3 VolumeAttachments are still on the node 2 min after its pods were released: {three}; see"),
        ),
        (
            &["a", "b", "c", "d", "e"],
            format!(
                "5 VolumeAttachments are still on the node 2 min after its pods were released: {three} and 2 more; see"
            ),
        ),
    ] {
        let message = message(names);
        assert!(message.starts_with(&expected), "{message}");
    }
}
