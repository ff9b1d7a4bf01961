//! When kubelets count as heard again, and for how long.

use jiff::Timestamp;

use super::*;

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(secs))
}

fn lease(renewed: u64) -> LeaseView {
    LeaseView {
        resource_version: String::new(),
        holder: "a".into(),
        renewed: Timestamp::new(i64::try_from(renewed).unwrap_or_default(), 0).ok(),
        duration: Duration::from_secs(40),
        change_seen_at: Moment::default(),
    }
}

impl Renewals {
    fn move_at(&mut self, secs: u64) {
        self.apply(Some(&lease(secs - 1)), &lease(secs), at(secs));
    }

    fn again(&self, secs: u64) -> Option<u64> {
        self.absence(at(secs)).map(|absence| absence.until.0.as_secs())
    }
}

#[test]
fn a_watch_that_was_broken_is_noticed_when_it_is_complete() {
    for (listed, again) in [(105, None), (106, Some(106))] {
        let mut renewals = Renewals::default();
        renewals.miss(at(100));
        renewals.miss(at(104));
        assert_eq!(renewals.again(listed), None);
        renewals.listed(at(listed));
        assert_eq!(renewals.again(listed), again);
        renewals.listed(at(200));
        assert_eq!(renewals.again(200), None, "it was complete all the time");
    }
}

#[test]
fn a_lease_that_moves_after_none_did_is_noticed() {
    let mut renewals = Renewals::default();
    renewals.apply(None, &lease(1), at(50));
    renewals.move_at(100);
    renewals.move_at(120);
    assert_eq!(renewals.again(120), None, "two rounds");
    renewals.apply(Some(&lease(120)), &lease(120), at(141));
    assert_eq!(renewals.again(141), None, "it did not move");
    renewals.move_at(142);
    assert_eq!(renewals.again(142), Some(142));
    assert_eq!(renewals.again(231), Some(142));
    assert_eq!(renewals.again(232), None);
}

#[test]
fn where_no_kubelet_renews_nothing_is_waited_for() {
    let mut renewals = Renewals::default();
    renewals.move_at(100);
    for minute in 2..20 {
        renewals.listed(at(60 * minute));
        assert_eq!(renewals.again(60 * minute), None);
    }
}

#[test]
fn another_way_that_is_back_later_begins_it_again_once() {
    let mut renewals = Renewals::default();
    renewals.move_at(80);
    renewals.miss(at(90));
    renewals.listed(at(100));
    renewals.move_at(115);
    assert_eq!(renewals.again(115), Some(115), "35 s after the last renewal");
    renewals.miss(at(116));
    renewals.listed(at(129));
    assert_eq!(renewals.again(129), Some(129));
    renewals.miss(at(130));
    renewals.listed(at(140));
    assert_eq!(renewals.again(140), Some(129), "counted from the first time, it was postponed for long enough");
}

/// With a Lease that is renewed every 30 s, as with `nodeLeaseDurationSeconds: 120`, and with a watch that breaks.
#[test]
fn what_is_silent_again_and_again_leaves_a_dead_node_its_turn() {
    let moves: fn(&mut Renewals, u64) = |renewals, secs| {
        if secs % 30 == 0 {
            renewals.move_at(secs);
        }
    };
    let breaks: fn(&mut Renewals, u64) = |renewals, secs| match secs % 10 {
        0 => renewals.miss(at(secs)),
        6 => renewals.listed(at(secs)),
        _ => {}
    };
    for happens in [moves, breaks] {
        let mut renewals = Renewals::default();
        let waits = |renewals: &Renewals, secs| renewals.again(secs).is_some_and(|until| secs - until < 30);
        let waited = (1_000..10_000).filter(|secs| {
            happens(&mut renewals, *secs);
            waits(&renewals, *secs)
        });
        let waited = waited.count();
        assert!((1_500..5_000).contains(&waited), "{waited} of 9,000 s");
    }
}

#[test]
fn one_that_was_long_counts_however_soon_it_comes() {
    for (lasts, again) in [(19, 106), (20, 182)] {
        let mut renewals = Renewals::default();
        renewals.miss(at(100));
        renewals.listed(at(106));
        renewals.miss(at(182 - lasts));
        renewals.listed(at(182));
        assert_eq!(renewals.again(182), Some(again), "{lasts} s");
    }
    for (lasts, again) in [(59, 106), (60, 182)] {
        let mut renewals = Renewals::default();
        renewals.miss(at(100));
        renewals.listed(at(106));
        renewals.move_at(182 - lasts);
        renewals.move_at(182);
        assert_eq!(renewals.again(182), Some(again), "{lasts} s");
    }
}

/// Of two that are one it began with the first.
#[test]
fn it_began_when_the_first_sign_did() {
    let mut renewals = Renewals::default();
    renewals.move_at(80);
    renewals.miss(at(90));
    renewals.listed(at(100));
    renewals.move_at(115);
    assert_eq!(renewals.absence(at(115)), Some(Absence { since: at(80), until: at(115) }));
}
