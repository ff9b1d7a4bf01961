//! A host of the control plane goes only where etcd keeps its quorum.

use super::*;

#[test]
fn a_quorum_that_survives_lets_one_go() {
    let mut fixture = Fixture::new();
    control_plane(&mut fixture, Quorum::Members { healthy: 3, total: 3 });
    assert_eq!(fixture.all_blockers(), GuardBlockers::default());
}

#[test]
fn a_dead_member_of_three_may_go_where_it_is_known_to_be_the_dead_one() {
    let two_of_three = |members: &[(&str, bool)], addresses: &[&str]| {
        let mut fixture = Fixture::new();
        control_plane(&mut fixture, Quorum::Members { healthy: 2, total: 3 });
        fixture.snapshot.etcd_members = members.iter().map(|(at, healthy)| ((*at).to_owned(), *healthy)).collect();
        fixture.node().addresses = addresses.iter().map(|at| (*at).to_owned()).collect();
        reasons(&fixture.all_blockers().power).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let members = [("10.0.0.1", true), ("10.0.0.2", true), ("10.0.0.3", false)];
    assert_eq!(two_of_three(&members, &["10.0.0.3", "cp-3"]), Vec::<String>::new());
    for (members, addresses, why) in [
        (&members[..], &["10.0.0.1"][..], "its own member is healthy"),
        (&members[..], &["10.0.0.9"][..], "no member is known to stand there"),
        (&members[..], &[][..], "it has no address"),
        (&members[..], &["10.0.0.3", "10.0.0.1"][..], "a healthy one stands there too"),
        (&[][..], &["10.0.0.3"][..], "where members stand is not known"),
    ] {
        assert_eq!(two_of_three(members, addresses), ["EtcdQuorum"], "{why}");
    }
}

/// More than half of all members have to be left.
#[test]
fn the_least_that_a_quorum_needs_is_counted_of_all_members() {
    for (healthy, total, may_go) in [
        (1, 1, false),
        (2, 2, false),
        (3, 3, true),
        (2, 3, false),
        (4, 4, true),
        (3, 4, false),
        (4, 5, true),
        (3, 5, false),
        (5, 7, true),
        (4, 7, false),
    ] {
        let mut fixture = Fixture::new();
        control_plane(&mut fixture, Quorum::Members { healthy, total });
        assert_eq!(fixture.all_blockers().power.is_empty(), may_go, "{healthy} of {total}");
    }
}
