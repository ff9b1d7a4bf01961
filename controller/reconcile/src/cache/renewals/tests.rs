//! When kubelets count as heard again, and for how long.

use jiff::Timestamp;

use super::*;

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(secs))
}

/// Renewals, and the Leases that show them.
struct Cluster {
    renewals: Renewals,
    leases: BTreeMap<String, LeaseView>,
    /// Of each Lease; nothing: as usual.
    duration: Option<Duration>,
}

/// Leases were listed long ago.
impl Default for Cluster {
    fn default() -> Self {
        let renewals = Renewals { has_begun: true, ..Renewals::default() };
        Self { renewals, leases: BTreeMap::new(), duration: None }
    }
}

impl Cluster {
    fn move_at(&mut self, secs: u64) {
        self.moves("a", secs);
    }

    fn moves(&mut self, node: &str, secs: u64) {
        self.stores(node, secs, secs);
    }

    fn stores(&mut self, node: &str, renewed: u64, secs: u64) {
        let lease = LeaseView {
            resource_version: String::new(),
            holder: node.into(),
            renewed: Timestamp::new(i64::try_from(renewed).unwrap_or_default(), 0).ok(),
            duration: self.duration.unwrap_or(kubelet::LEASE_DURATION),
            change_seen_at: at(secs),
        };
        if let Some(before) = self.leases.insert(node.to_owned(), lease) {
            self.renewals.apply(node, &before, &self.leases, at(secs));
        }
    }

    fn miss(&mut self, secs: u64) {
        self.renewals.miss(at(secs));
    }

    fn listed(&mut self, secs: u64) {
        self.renewals.listed(at(secs));
    }

    fn again(&self, secs: u64) -> Option<u64> {
        self.renewals.absence(at(secs)).map(|absence| absence.until.0.as_secs())
    }
}

#[test]
fn a_watch_that_was_broken_is_noticed_when_it_is_complete() {
    for (listed, again) in [(105, None), (106, Some(106))] {
        let mut cluster = Cluster::default();
        cluster.miss(100);
        cluster.miss(104);
        assert_eq!(cluster.again(listed), None);
        cluster.listed(listed);
        assert_eq!(cluster.again(listed), again);
        cluster.listed(200);
        assert_eq!(cluster.again(200), None, "it was complete all the time");
    }
}

#[test]
fn a_lease_that_moves_after_none_did_is_noticed() {
    let mut cluster = Cluster::default();
    cluster.move_at(100);
    cluster.move_at(120);
    assert_eq!(cluster.again(120), None, "two rounds");
    let before = cluster.leases["a"].clone();
    cluster.renewals.apply("a", &before, &cluster.leases, at(141));
    assert_eq!(cluster.again(141), None, "it did not move");
    cluster.move_at(142);
    assert_eq!(cluster.again(142), Some(142));
    assert_eq!(cluster.again(231), Some(142));
    assert_eq!(cluster.again(232), None);
}

/// The kubelet beside the API server is heard all the time, while the way to all others is cut.
#[test]
fn most_kubelets_out_of_hearing_are_noticed_although_one_is_heard() {
    for (deaf, heard, again) in [(2, 1, Some(131)), (2, 2, None), (3, 2, Some(131)), (1, 1, None), (1, 0, Some(131))] {
        let mut cluster = Cluster::default();
        for secs in [90, 100] {
            (0..deaf).for_each(|node| cluster.moves(&format!("deaf-{node}"), secs + node));
        }
        for secs in [101, 110, 120, 130] {
            (0..heard).for_each(|node| cluster.moves(&format!("heard-{node}"), secs));
        }
        cluster.moves("deaf-0", 131);
        assert_eq!(cluster.again(131), again, "{deaf} and {heard}");
        let since = cluster.renewals.absence(at(131)).map(|absence| absence.since);
        assert_eq!(since, again.map(|_| at(99 + deaf)), "when the last of them was heard");
    }
}

#[test]
fn what_was_dead_before_is_no_witness() {
    let mut cluster = Cluster::default();
    (0..9).for_each(|node| cluster.moves(&format!("dead-{node}"), 79));
    for secs in [90, 100] {
        cluster.moves("a", secs);
    }
    for secs in [101, 110, 120] {
        cluster.moves("b", secs);
    }
    cluster.moves("a", 121);
    assert_eq!(cluster.again(121), None, "one of two lost some renewals");
    (0..9).for_each(|node| cluster.moves(&format!("dying-{node}"), 121));
    cluster.moves("b", 130);
    cluster.moves("b", 140);
    cluster.moves("a", 142);
    assert_eq!(cluster.again(142), Some(142), "those that died with its silence are");
}

#[test]
fn where_no_kubelet_renews_nothing_is_waited_for() {
    let mut cluster = Cluster::default();
    cluster.move_at(100);
    for minute in 2..20 {
        cluster.listed(60 * minute);
        assert_eq!(cluster.again(60 * minute), None);
    }
}

#[test]
fn another_way_that_is_back_later_begins_it_again_once() {
    let mut cluster = Cluster::default();
    cluster.move_at(80);
    cluster.miss(90);
    cluster.listed(100);
    cluster.move_at(115);
    assert_eq!(cluster.again(115), Some(115), "35 s after the last renewal");
    cluster.miss(116);
    cluster.listed(129);
    assert_eq!(cluster.again(129), Some(129));
    cluster.miss(130);
    cluster.listed(140);
    assert_eq!(cluster.again(140), Some(129), "counted from the first time, it was postponed for long enough");
}

/// A kubelet that renews every 25 s, and a watch that breaks.
#[test]
fn what_is_silent_again_and_again_leaves_a_dead_node_its_turn() {
    let moves: fn(&mut Cluster, u64) = |cluster, secs| {
        if secs % 25 == 0 {
            cluster.move_at(secs);
        }
    };
    let breaks: fn(&mut Cluster, u64) = |cluster, secs| match secs % 10 {
        0 => cluster.miss(secs),
        6 => cluster.listed(secs),
        _ => {}
    };
    for happens in [moves, breaks] {
        let mut cluster = Cluster::default();
        let waits = |cluster: &Cluster, secs| cluster.again(secs).is_some_and(|until| secs - until < 30);
        let waited = (1_000..10_000).filter(|secs| {
            happens(&mut cluster, *secs);
            waits(&cluster, *secs)
        });
        let waited = waited.count();
        assert!((1_500..5_000).contains(&waited), "{waited} of 9,000 s");
    }
}

/// `nodeLeaseDurationSeconds: 120`: renewed every 30 s.
#[test]
fn a_lease_that_is_renewed_seldom_is_not_silent() {
    let mut cluster = Cluster { duration: Some(Duration::from_secs(120)), ..Cluster::default() };
    for secs in [100, 130, 160, 220] {
        cluster.move_at(secs);
        assert_eq!(cluster.again(secs), None, "{secs}");
    }
    cluster.move_at(281);
    assert_eq!(cluster.again(281), Some(281));
}

#[test]
fn one_that_was_long_counts_however_soon_it_comes() {
    for (lasts, again) in [(19, 106), (20, 182)] {
        let mut cluster = Cluster::default();
        cluster.miss(100);
        cluster.listed(106);
        cluster.miss(182 - lasts);
        cluster.listed(182);
        assert_eq!(cluster.again(182), Some(again), "{lasts} s");
    }
    for (duration, lasts, again) in [(40, 29, 106), (40, 30, 182), (10, 29, 106), (80, 59, 106), (80, 60, 182)] {
        let mut cluster = Cluster { duration: Some(Duration::from_secs(duration)), ..Cluster::default() };
        cluster.miss(100);
        cluster.listed(106);
        cluster.move_at(182 - lasts);
        cluster.move_at(182);
        assert_eq!(cluster.again(182), Some(again), "{lasts} s of Leases of {duration} s");
    }
}

/// Soon after the first it is the same one, which goes on; it counts again when its time is over, and not in between.
#[test]
fn the_next_one_is_the_same_for_half_a_minute_and_another_after_two() {
    let absence = |since, until| Absence { since: at(since), until: at(until) };
    let first = absence(90, 100);
    for (listed, expected) in [(129, absence(90, 129)), (130, first), (219, first), (220, absence(214, 220))] {
        let mut cluster = Cluster::default();
        cluster.miss(90);
        cluster.listed(100);
        assert_eq!(cluster.renewals.last, Some(first));
        cluster.miss(listed - 6);
        cluster.listed(listed);
        assert_eq!(cluster.renewals.last, Some(expected), "{listed}");
    }
}

/// Two intervals are what an orderly kubelet may take.
#[test]
fn one_that_is_silent_for_exactly_two_intervals_speaks() {
    for (heard, again) in [(111, None), (110, Some(131))] {
        let mut cluster = Cluster::default();
        cluster.moves("a", 100);
        cluster.moves("b", heard);
        cluster.moves("a", 131);
        assert_eq!(cluster.again(131), again, "b was heard at {heard}");
    }
}

/// Of two that are one it began with the first.
#[test]
fn it_began_when_the_first_sign_did() {
    let mut cluster = Cluster::default();
    cluster.move_at(80);
    cluster.miss(90);
    cluster.listed(100);
    cluster.move_at(115);
    assert_eq!(cluster.renewals.absence(at(115)), Some(Absence { since: at(80), until: at(115) }));
}

/// It has heard none, however soon they were listed, and what comes next counts however soon it comes.
#[test]
fn to_a_controller_that_begins_kubelets_were_out_of_hearing() {
    let mut cluster = Cluster { renewals: Renewals::default(), ..Cluster::default() };
    assert_eq!(cluster.again(1), None, "nothing is decided before the list is complete");
    cluster.miss(1);
    cluster.listed(2);
    let begun = Absence { since: at(2), until: at(2) };
    assert_eq!(cluster.renewals.absence(at(2)), Some(begun), "what was listed is no renewal");
    cluster.miss(20);
    cluster.listed(25);
    assert_eq!(cluster.again(25), Some(2), "a watch that is opened again");
    cluster.miss(40);
    cluster.listed(46);
    assert_eq!(cluster.renewals.last, Some(Absence { since: at(40), until: at(46) }));
    cluster.miss(100);
    cluster.listed(106);
    assert_eq!(cluster.again(106), Some(46), "the second is too soon after the first");
}
