//! What methods, nodes and time have in common: a BMC counts by address and user, and not by who asks it.

use super::*;

/// Another method of a node, and of other options, at the address of `of`.
fn beside<'a>(node: &'a Node, method: &'a str, of: &Asked<'_>, login: u64) -> Asked<'a> {
    let current = Account { login, shared: login + 1000, counter: of.current.counter };
    Asked { node, method, address: of.address, current, ..asked(node, login, None) }
}

#[test]
fn two_methods_at_one_address_share_what_its_bmc_counts() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let ipmi = asked(&node, 1, None);
    let redfish = beside(&node, "redfish", &ipmi, 2);
    assert_eq!((logins.next(&ipmi, now(0)), logins.next(&redfish, now(0))), (Ok(Role::Current), Ok(Role::Current)));
    logins.refused(&ipmi, Role::Current, now(0), "401");
    assert_eq!(logins.next(&redfish, now(1)), Ok(Role::Current));
    logins.refused(&redfish, Role::Current, now(1), "401");
    let third = beside(&node, "third", &ipmi, 3);
    let why = logins.next(&third, now(2)).unwrap_err();
    assert!(why.starts_with("2 logins were refused within 330 s"), "{why}");
    let other_user = Asked { current: Account { counter: 99, ..third.current }, ..third };
    assert_eq!(logins.next(&other_user, now(2)), Ok(Role::Current), "another user has a count of its own");
    assert!(logins.next(&third, now(329)).is_err());
    assert_eq!(logins.next(&third, now(330)), Ok(Role::Current));
}

#[test]
fn what_one_method_had_no_answer_to_counts_for_the_other() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let ipmi = asked(&node, 1, None);
    let redfish = beside(&node, "redfish", &ipmi, 2);
    logins.unanswered(&ipmi, Role::Current, now(0));
    assert!(logins.next(&redfish, now(29)).is_err());
    assert_eq!(logins.next(&redfish, now(30)), Ok(Role::Current));
    logins.unanswered(&redfish, Role::Current, now(30));
    assert!(logins.next(&beside(&node, "third", &ipmi, 3), now(100)).is_err());
}

#[test]
fn blades_of_one_chassis_share_what_it_counts() {
    let (mut logins, nodes) = (Logins::default(), ["n1", "n2", "n3"].map(|name| node(name, "")));
    let first = asked(&nodes[0], 1, None);
    let made = nodes.iter().zip(1..).flat_map(|(node, login)| {
        let blade = beside(node, "bmc", &first, login);
        refused(&mut logins, &blade, 0, 300)
    });
    assert_eq!(made.count(), 2);
}

/// By its Node's condition, which has it of the method beside.
#[test]
fn the_next_leader_knows_what_another_method_of_the_node_was_refused() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    let ipmi = asked(&well, 1, None);
    for secs in [0, 1] {
        logins.refused(&ipmi, Role::Current, now(secs), "401");
    }
    let written = node("n1", &logins.stamps("n1", now(2)));
    let redfish = beside(&written, "redfish", &ipmi, 2);
    let why = Logins::default().next(&redfish, now(10)).unwrap_err();
    assert!(why.starts_with("2 logins were refused"), "{why}");
    assert_eq!(Logins::default().next(&redfish, now(331)), Ok(Role::Current));
    let mut next = Logins::default();
    assert!(next.next(&redfish, now(10)).is_err());
    assert_eq!(next.stamps("n1", now(10)), "", "it is the other method's, and stands once");
    let elsewhere = Asked { address: 1 << 40, ..redfish };
    assert_eq!(Logins::default().next(&elsewhere, now(10)), Ok(Role::Current), "another BMC");
}

#[test]
fn the_last_two_count_in_whichever_order_they_stand() {
    let message = "logins: ipmi refused current 2026-11-25T19:01:40Z [00000001 00006e31]; redfish refused current \
                   2026-11-25T19:00:00Z, refused current 2026-11-25T19:00:50Z [00000001 00006e31]. ";
    let node = node("n1", message);
    let third = asked(&node, 3, None);
    let why = Logins::default().next(&third, now(340)).unwrap_err();
    assert!(why.ends_with("asks again at 2026-11-25T19:06:20Z"), "{why}");
    assert_eq!(Logins::default().next(&third, now(380)), Ok(Role::Current));
}

/// A kubelet writes the stamps of its own node: they are not counted for another one at the same address.
#[test]
fn a_stamp_delays_no_other_node() {
    let (mut logins, message) = (
        Logins::default(),
        "logins: bmc refused current 2026-11-25T19:00:00Z, refused current \
                                                      2026-11-25T19:00:00Z [00000001 00006e31]. ",
    );
    let (hostile, other) = (node("n1", message), node("n2", ""));
    let first = asked(&hostile, 1, None);
    assert!(logins.next(&first, now(0)).is_err());
    assert_eq!(logins.next(&beside(&other, "bmc", &first, 2), now(0)), Ok(Role::Current));
}

#[test]
fn a_node_that_is_registered_again_begins_with_what_its_bmc_refused() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let bmc = asked(&node, 1, None);
    assert_eq!(refused(&mut logins, &bmc, 0, 10), [0]);
    logins.forget(|_| false);
    assert_eq!(refused(&mut logins, &bmc, 20, 30), [20]);
    for at in 1..10 {
        logins.forget(|_| false);
        assert_eq!(refused(&mut logins, &bmc, at * 30, at * 30 + 10), [0; 0]);
    }
    assert_eq!(refused(&mut logins, &bmc, 330, 340), [330]);
}

/// As another process wrote them, `first` and `first` + 10 seconds from [`now`]'s start.
fn with_two_refused(name: &str, first: u64) -> Node {
    let at = |secs| now(secs).wall;
    let (first, second) = (at(first), at(first + 10));
    node(name, &format!("logins: bmc refused current {first}, refused current {second} [00000001 00006e31]. "))
}

/// Its host's clock is ahead, or a kubelet wrote it; a clock that is further ahead is not believed.
#[test]
fn a_stamp_from_the_next_minute_counts_once() {
    let mut logins = Logins::default();
    let (well, written) = (node("n1", ""), with_two_refused("n1", 30));
    let first = |node: &Node, logins: &mut Logins, secs| logins.next(&asked(node, 3, None), now(secs)).is_ok();
    assert!(first(&well, &mut logins, 0));
    assert!(!first(&written, &mut logins, 0));
    for secs in [20, 100, 200, 329] {
        assert!(!first(&written, &mut logins, secs), "{secs}");
    }
    assert!(first(&written, &mut logins, 330), "it is not taken for a new one again and again");
    for (ahead, is_believed) in [(49, true), (50, false)] {
        let (mut logins, written) = (Logins::default(), with_two_refused("n1", ahead));
        assert!(first(&well, &mut logins, 0));
        assert_eq!(!first(&written, &mut logins, 0), is_believed, "the second is {ahead} + 10 s ahead");
    }
}

/// Its configuration cannot be read, or its level is not asked: the leader after this one may ask it.
#[test]
fn what_is_not_asked_is_left_to_the_next_leader_as_it_was() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    for secs in [0, 1] {
        logins.refused(&asked(&well, 1, None), Role::Current, now(secs), "401");
    }
    let message = logins.stamps("n1", now(2));
    let written = node("n1", &message);
    let mut next = Logins::default();
    next.carry(&written, |_| true, now(10));
    assert_eq!(next.stamps("n1", now(10)), message);
    next.carry(&written, |method| method != "bmc", now(10));
    assert_eq!(next.stamps("n1", now(10)), "", "it is configured no more");
    next.carry(&written, |_| true, now(10));
    next.carry(&written, |_| true, now(700));
    assert_eq!(next.stamps("n1", now(700)), "", "it is over");
    next.carry(&written, |_| true, now(10));
    assert!(next.next(&asked(&written, 1, None), now(10)).is_err());
    next.carry(&written, |_| true, now(11));
    assert_eq!(next.stamps("n1", now(11)), message, "once it is asked it stands once");
    let many: String = (0..99).map(|at| format!("m{at} takes the previous password [00000001 00006e31]; ")).collect();
    let many = node("n1", &format!("logins: {}. ", many.trim_end_matches("; ")));
    let mut next = Logins::default();
    next.carry(&many, |_| true, now(10));
    assert_eq!(next.stamps("n1", now(10)).matches("takes").count(), MOST_CARRIED);
    next.forget(|_| false);
    assert_eq!(next.stamps("n1", now(10)), "");
}

/// It never refused the other account: the one that did is another BMC, or was not changed.
#[test]
fn what_one_method_takes_ends_no_refusal_of_another() {
    let (mut logins, nodes) = (Logins::default(), ["n1", "n2", "n3", "n4"].map(|name| node(name, "")));
    for node in &nodes[..3] {
        let redfish = Asked { method: "redfish", ..asked(node, 2, Some(1)) };
        logins.refused(&redfish, Role::Previous, now(0), "401");
    }
    let last = asked(&nodes[3], 1, None);
    assert!(logins.next(&last, now(1)).unwrap_err().starts_with("3 BMCs in a row"));
    logins.taken(&Asked { method: "ipmi", ..asked(&nodes[0], 2, Some(1)) }, Role::Current);
    assert!(logins.next(&last, now(2)).is_err());
    // That of the BMC that did refuse it is one less.
    logins.taken(&Asked { method: "redfish", ..asked(&nodes[0], 2, Some(1)) }, Role::Current);
    assert_eq!(logins.next(&last, now(3)), Ok(Role::Current));
}
