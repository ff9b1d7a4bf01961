//! Sequences of logins, by the clock: what no sequence may do is make a BMC refuse a third login within five minutes.

mod rotation;
mod shared;
mod unanswered;

use std::time::Duration;

use jiff::Timestamp;
use nodewell_remediation::{
    facts::{Condition, ConditionStatus},
    time::Moment,
};

use super::*;

const SECRET: &str = "secret-fence-method-bmc-rack7";

fn now(secs: u64) -> Now {
    let start: Timestamp = "2026-11-25T19:00:00Z".parse().unwrap();
    Now { moment: Moment(Duration::from_secs(100_000 + secs)), wall: start + Duration::from_secs(secs) }
}

fn node(name: &str, message: &str) -> Node {
    let condition = Condition {
        kind: FENCE_READY.to_owned(),
        status: ConditionStatus::False,
        message: message.to_owned(),
        ..Condition::default()
    };
    Node { name: name.to_owned(), conditions: vec![condition], ..Node::default() }
}

/// Of the node's own BMC.
fn account(node: &Node, number: u64) -> Account {
    Account { login: number, shared: number + 1000, counter: address(node) }
}

fn address(node: &Node) -> u64 {
    node.name.bytes().fold(0, |sum, byte| (sum << 8 | u64::from(byte)) << 32 >> 32) << 32
}

fn asked(node: &Node, current: u64, previous: Option<u64>) -> Asked<'_> {
    let fingerprint = u32::try_from(current).unwrap();
    Asked {
        node,
        method: "bmc",
        secret: SECRET,
        fingerprint,
        address: address(node),
        current: account(node, current),
        previous: previous.map(|previous| account(node, previous)),
    }
}

/// Asks every ten seconds from `from` to `to`; returns when logins were made, all of which are refused.
fn refused(logins: &mut Logins, asked: &Asked<'_>, from: u64, to: u64) -> Vec<u64> {
    let mut made = Vec::new();
    for secs in (from..to).step_by(10) {
        while let Ok(role) = logins.next(asked, now(secs)) {
            logins.refused(asked, role, now(secs), "401");
            made.push(secs);
        }
    }
    made
}

fn most_in_five_minutes(made: &[u64]) -> usize {
    made.iter().map(|end| made.iter().filter(|at| **at <= *end && end - **at <= 300).count()).max().unwrap_or_default()
}

#[test]
fn a_refused_account_is_tried_ever_more_seldom() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let made = refused(&mut logins, &asked(&node, 1, None), 0, 7200);
    assert_eq!(made, [0, 330, 2130, 5730]);
}

#[test]
fn no_edit_of_the_secret_makes_it_a_third_login() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    // A person types another wrong password every minute.
    let made: Vec<u64> =
        (0..60).flat_map(|at| refused(&mut logins, &asked(&node, at, None), at * 60, at * 60 + 60)).collect();
    assert!(most_in_five_minutes(&made) <= 2 && made.len() > 10, "{made:?}");
    let why = logins.next(&asked(&node, 99, None), now(3600)).unwrap_err();
    assert!(
        why.contains("2 logins were refused within 330 s") && why.contains("asks again at 2026-11-25T20:0"),
        "{why}"
    );
}

#[test]
fn another_secret_is_tried_at_once() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    assert_eq!(refused(&mut logins, &asked(&node, 1, None), 0, 60), [0]);
    assert_eq!(logins.next(&asked(&node, 2, None), now(61)), Ok(Role::Current));
}

#[test]
fn the_account_that_was_taken_last_comes_first_and_is_the_agents() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    logins.taken(&asked(&node, 1, None), Role::Current);
    let rotated = asked(&node, 2, Some(1));
    assert_eq!(logins.next(&rotated, now(0)), Ok(Role::Previous));
    assert_eq!(logins.role(&rotated), Role::Previous);
    logins.refused(&rotated, Role::Previous, now(600), "401");
    assert_eq!(logins.next(&rotated, now(600)).unwrap_err(), logins.next(&rotated, now(700)).unwrap_err());
    assert_eq!(logins.next(&rotated, now(765)), Ok(Role::Current), "no BMC has taken it yet");
    logins.taken(&rotated, Role::Current);
    assert_eq!(logins.role(&rotated), Role::Current);
    // On the next BMC it follows at once.
    let other = self::node("n2", "");
    let rotated = asked(&other, 2, Some(1));
    logins.taken(&asked(&other, 1, None), Role::Current);
    assert_eq!(logins.next(&rotated, now(800)), Ok(Role::Previous));
    logins.refused(&rotated, Role::Previous, now(800), "401");
    assert_eq!(logins.next(&rotated, now(800)), Ok(Role::Current));
}

#[test]
fn two_accounts_that_are_both_wrong_are_two_logins_in_five_minutes() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let made = refused(&mut logins, &asked(&node, 2, Some(1)), 0, 7200);
    assert!(most_in_five_minutes(&made) <= 2, "{made:?}");
    assert_eq!(made[..2], [0, 170]);
}

/// Each leader knows what the one before has written, and nothing else.
#[test]
fn no_change_of_leader_makes_it_a_third_login() {
    let (mut made, mut message) = (Vec::new(), String::new());
    for term in 0..60 {
        let (mut logins, node) = (Logins::default(), node("n1", &message));
        made.extend(refused(&mut logins, &asked(&node, 1, Some(2)), term * 60, term * 60 + 60));
        message = format!("{}the BMC is not proven", logins.stamps("n1", now(term * 60 + 59)));
    }
    assert!(most_in_five_minutes(&made) <= 2, "{made:?}");
    assert!(made.len() >= 5, "and it does go on: {made:?}");
}

/// Nor that and an edit of the Secret in each term.
#[test]
fn no_change_of_leader_and_secret_makes_it_a_third_login() {
    let (mut made, mut message) = (Vec::new(), String::new());
    for term in 0..60 {
        let (mut logins, node) = (Logins::default(), node("n1", &message));
        made.extend(refused(&mut logins, &asked(&node, term, None), term * 60, term * 60 + 60));
        message = logins.stamps("n1", now(term * 60 + 59));
    }
    assert!(most_in_five_minutes(&made) <= 2, "{made:?}");
}

#[test]
fn the_next_leader_knows_another_secret_and_which_account_is_taken() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    logins.refused(&asked(&node, 1, None), Role::Current, now(0), "401");
    let message = logins.stamps("n1", now(10));
    assert_eq!(message, "logins: bmc refused current 2026-11-25T19:00:00Z [00000001 00006e31]. ");
    let node = self::node("n1", &message);
    assert!(Logins::default().next(&asked(&node, 1, None), now(320)).is_err());
    assert_eq!(Logins::default().next(&asked(&node, 1, None), now(331)), Ok(Role::Current));
    assert_eq!(Logins::default().next(&asked(&node, 2, None), now(20)), Ok(Role::Current), "it was changed");
    let mut logins = Logins::default();
    logins.taken(&asked(&node, 3, Some(1)), Role::Previous);
    let node = self::node("n1", &logins.stamps("n1", now(10)));
    assert_eq!(Logins::default().next(&asked(&node, 3, Some(1)), now(20)), Ok(Role::Previous));
}

/// Terms that are shorter than every wait: each leader would begin with the account that the BMC took last, and be refused.
#[test]
fn a_changed_bmc_is_found_under_leaders_of_a_minute() {
    let (mut message, mut made) = (String::new(), Vec::new());
    let mut taken_at = None;
    for secs in (0..900).step_by(20) {
        let (mut logins, node) = (Logins::default(), node("n1", &message));
        let asked = asked(&node, 2, Some(1));
        if secs == 0 {
            logins.taken(&asked, Role::Previous);
        }
        while let Ok(role) = logins.next(&asked, now(secs)) {
            if role == Role::Current {
                taken_at = taken_at.or(Some(secs));
                break;
            }
            logins.refused(&asked, role, now(secs), "401");
            made.push(secs);
        }
        message = logins.stamps("n1", now(secs));
    }
    assert_eq!((made, taken_at), (vec![0], Some(180)));
}

/// The password was changed between the proof and the act: the agent fails, and is not believed to have been away.
#[test]
fn a_failed_agent_counts_when_the_next_login_is_refused() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let (asked, other) = (asked(&node, 2, Some(1)), self::node("n2", ""));
    logins.taken(&self::asked(&other, 1, None), Role::Current);
    logins.taken(&asked, Role::Current);
    logins.agent_failed("n1", "bmc", now(0));
    assert_eq!(logins.next(&asked, now(5)), Ok(Role::Current), "it may have been away");
    logins.refused(&asked, Role::Current, now(5), "401");
    assert!(
        logins.next(&asked, now(6)).unwrap_err().contains("2 logins were refused"),
        "though n2 takes the other one"
    );
    assert_eq!(logins.next(&asked, now(330)), Ok(Role::Previous));
}

/// A command runs beside the controller: neither knows of the other but by the Node.
#[test]
fn what_a_command_had_refused_counts_for_the_controller() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    logins.refused(&asked(&well, 1, None), Role::Current, now(0), "401");
    let written = node("n1", &logins.stamps("n1", now(1)));
    let why = Logins::of_a_command().next(&asked(&written, 2, None), now(10)).unwrap_err();
    assert!(why.starts_with("1 login was refused within 330 s"), "it leaves what is left to the controller: {why}");
    let mut command = Logins::of_a_command();
    assert!(!command.is_refused_here("n1"), "it has nothing to write");
    assert_eq!(command.next(&asked(&well, 2, None), now(10)), Ok(Role::Current), "the Node is not written yet");
    command.refused(&asked(&well, 2, None), Role::Current, now(10), "401");
    assert!(command.is_refused_here("n1"));
    let written = node("n1", &command.stamps("n1", now(11)));
    assert!(
        logins.next(&asked(&written, 3, None), now(20)).unwrap_err().contains("2 logins were refused within 330 s")
    );
    assert!(logins.next(&asked(&written, 3, None), now(329)).is_err(), "learnt once");
    assert_eq!(logins.next(&asked(&written, 3, None), now(331)), Ok(Role::Current));
}

#[test]
fn what_it_wrote_itself_is_counted_once() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    logins.refused(&asked(&well, 1, None), Role::Current, now(0), "401");
    let written = node("n1", &logins.stamps("n1", now(1)));
    assert_eq!(logins.next(&asked(&written, 2, None), now(10)), Ok(Role::Current));
}

/// A person's command on a workstation whose clock is ahead.
#[test]
fn one_refused_login_by_a_clock_that_is_ahead_counts_once() {
    let (mut other, well) = (Logins::default(), node("n1", ""));
    other.refused(&asked(&well, 1, None), Role::Current, now(45), "401");
    let written = node("n1", &other.stamps("n1", now(45)));
    for asked_before in [false, true] {
        let mut logins = Logins::default();
        if asked_before {
            assert_eq!(logins.next(&asked(&well, 3, None), now(0)), Ok(Role::Current));
        }
        for second in (1..100).step_by(7) {
            let next = logins.next(&asked(&written, 3, None), now(second));
            assert_eq!(next, Ok(Role::Current), "{asked_before} {second}");
        }
        // It does count, and so does another one.
        logins.refused(&asked(&written, 3, None), Role::Current, now(100), "401");
        assert!(logins.next(&asked(&written, 4, None), now(101)).is_err(), "{asked_before}");
    }
}

/// A kubelet may write its Node's conditions.
#[test]
fn a_stamp_delays_by_one_window_whatever_it_says() {
    let node = node(
        "n1",
        "logins: bmc refused current 2999-01-01T00:00:00Z, refused previous 2999-01-01T00:00:00Z [00000001 00006e31]. ",
    );
    let mut logins = Logins::default();
    assert!(logins.next(&asked(&node, 1, None), now(0)).is_err());
    assert_eq!(logins.next(&asked(&node, 1, None), now(330)), Ok(Role::Current));
}

/// What is refused while the Node is written is not in what it has.
#[test]
fn what_was_refused_is_urgent_until_the_node_has_it() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let urgent = || BTreeSet::from(["n1".to_owned()]);
    logins.refused(&asked(&node, 1, None), Role::Current, now(0), "401");
    let message = format!("{}the BMC", logins.stamps("n1", now(0)));
    assert_eq!(logins.unreported(), urgent(), "reading it is not writing it");
    logins.refused(&asked(&node, 2, None), Role::Current, now(1), "401");
    logins.reported("n1", &message, now(1));
    assert_eq!(logins.unreported(), urgent());
    logins.reported("n1", &logins.stamps("n1", now(2)), now(2));
    assert_eq!(logins.unreported(), BTreeSet::new());
    logins.unanswered(&asked(&node, 2, None), Role::Current, now(400));
    assert_eq!(logins.unreported(), urgent(), "and one without an answer");
}

#[test]
fn an_account_that_three_bmcs_refuse_is_not_tried_on_the_others() {
    let mut logins = Logins::default();
    let nodes: Vec<Node> = (0..10).map(|at| node(&format!("n{at}"), "")).collect();
    for node in &nodes[..3] {
        let asked = asked(node, 1, None);
        assert_eq!(logins.next(&asked, now(0)), Ok(Role::Current));
        logins.refused(&asked, Role::Current, now(0), "401");
    }
    let why = logins.next(&asked(&nodes[3], 1, None), now(10)).unwrap_err();
    assert!(
        why.contains(&format!("3 BMCs in a row refused the account of Secret {SECRET} (nodes n0, n1, n2)")),
        "{why}"
    );
    assert_eq!(logins.next(&asked(&nodes[3], 2, None), now(10)), Ok(Role::Current), "it was changed");
    // One BMC a minute, and one that takes it ends this.
    assert_eq!(logins.next(&asked(&nodes[4], 1, None), now(61)), Ok(Role::Current));
    assert!(logins.next(&asked(&nodes[5], 1, None), now(61)).is_err());
    logins.taken(&asked(&nodes[4], 1, None), Role::Current);
    assert_eq!(logins.next(&asked(&nodes[5], 1, None), now(62)), Ok(Role::Current));
}

#[test]
fn one_bmc_that_refuses_an_account_again_and_again_stops_no_other() {
    let (mut logins, bad, good) = (Logins::default(), node("bad", ""), node("good", ""));
    refused(&mut logins, &asked(&bad, 1, None), 0, 20_000);
    assert_eq!(logins.next(&asked(&good, 1, None), now(20_000)), Ok(Role::Current));
}
