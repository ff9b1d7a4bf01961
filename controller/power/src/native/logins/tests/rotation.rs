//! A Secret with two accounts, and BMCs that take one of them.

use super::*;

/// A BMC that takes only this account: how many logins it refuses until it is known, and whether it took one.
fn proven(logins: &mut Logins, asked: &Asked<'_>, takes: Role, secs: u64) -> (usize, bool) {
    let mut refused = 0;
    while let Ok(role) = logins.next(asked, now(secs)) {
        if role == takes {
            logins.taken(asked, role);
            return (refused, true);
        }
        logins.refused(asked, role, now(secs), "401");
        refused += 1;
    }
    (refused, false)
}

fn nodes(count: usize, message: &str) -> Vec<Node> {
    (0..count).map(|at| node(&format!("n{at}"), message)).collect()
}

const TAKES_PREVIOUS: &str = "logins: bmc takes the previous password [00000002 00000000]. ";

/// Changed BMCs come in runs by chance: those that are not changed yet are asked by the account that they take.
#[test]
fn bmcs_that_are_changed_stop_no_account() {
    let (mut logins, nodes) = (Logins::default(), nodes(9, TAKES_PREVIOUS));
    let of = |at: usize| asked(&nodes[at], 2, Some(1));
    assert_eq!(proven(&mut logins, &asked(&node("new", ""), 2, None), Role::Current, 0), (0, true));
    for at in 0..3 {
        assert_eq!(proven(&mut logins, &of(at), Role::Current, 10), (1, true), "the other one follows at once");
    }
    // Whichever it takes: three in a row have changed, so that the new one comes first, and the old one is not stopped.
    assert_eq!(proven(&mut logins, &of(3), Role::Current, 20), (0, true));
    assert_eq!(proven(&mut logins, &of(4), Role::Previous, 30), (1, true));
    assert_eq!(proven(&mut logins, &of(5), Role::Previous, 40), (0, true));
}

#[test]
fn one_bmc_that_takes_an_account_ends_what_was_in_a_row() {
    let (mut logins, nodes) = (Logins::default(), nodes(9, TAKES_PREVIOUS));
    let of = |at: usize| asked(&nodes[at], 2, Some(1));
    logins.taken(&asked(&node("new", ""), 2, None), Role::Current);
    for (at, takes, refused) in [
        (0, Role::Current, 1),
        (1, Role::Current, 1),
        (2, Role::Previous, 0),
        (3, Role::Current, 1),
        (4, Role::Previous, 0),
    ] {
        assert_eq!(proven(&mut logins, &of(at), takes, 10), (refused, true), "n{at}");
    }
}

/// Nothing is known of the other account, or that others refuse it: a BMC waits for the one that it took.
#[test]
fn a_bmc_is_not_asked_by_another_account_than_its_own_because_that_is_stopped() {
    let (mut logins, nodes) = (Logins::default(), nodes(9, TAKES_PREVIOUS));
    let of = |at: usize| asked(&nodes[at], 2, Some(1));
    for at in 0..3 {
        logins.refused(&of(at), Role::Previous, now(0), "401");
    }
    // No BMC has refused the other one yet, so one is asked by it.
    assert_eq!(logins.next(&of(3), now(10)), Ok(Role::Current));
    logins.refused(&of(3), Role::Current, now(10), "401");
    let why = logins.next(&of(4), now(10)).unwrap_err();
    assert!(why.contains("3 BMCs in a row refused the account"), "{why}");
    assert_eq!(logins.next(&of(4), now(61)), Ok(Role::Previous), "one a minute");
    assert!(logins.next(&of(5), now(61)).is_err());
    logins.taken(&of(4), Role::Previous);
    assert_eq!(logins.next(&of(5), now(62)), Ok(Role::Previous));
}

/// A directory changes all of them at once.
#[test]
fn where_all_are_changed_three_refuse_the_old_account() {
    let (mut logins, nodes) = (Logins::default(), nodes(200, TAKES_PREVIOUS));
    let of = |at: usize| asked(&nodes[at], 2, Some(1));
    let all: Vec<(usize, bool)> = (0..200).map(|at| proven(&mut logins, &of(at), Role::Current, 10)).collect();
    assert_eq!(all.iter().map(|(refused, _)| refused).sum::<usize>(), 3);
    assert_eq!(all.iter().filter(|(_, is_taken)| *is_taken).count(), 197, "the first wait until it is known");
}

/// Which account was refused is known to the next leader: the other one may follow, as in one process.
#[test]
fn the_next_leader_knows_which_account_was_refused() {
    let (mut logins, well) = (Logins::default(), node("n1", TAKES_PREVIOUS));
    let bmc = asked(&well, 2, Some(1));
    assert_eq!(proven(&mut logins, &bmc, Role::Current, 0), (1, false), "it is not known that any takes it");
    let message = logins.stamps("n1", now(1));
    assert_eq!(message, "logins: bmc refused previous 2026-11-25T19:00:00Z [00000002 00006e31]. ");
    let written = node("n1", &message);
    let bmc = asked(&written, 2, Some(1));
    let mut next = Logins::default();
    assert!(next.next(&bmc, now(20)).is_err());
    assert_eq!(next.next(&bmc, now(165)), Ok(Role::Current), "half a window later");
    let other = node("n2", "");
    next.taken(&asked(&other, 2, Some(1)), Role::Current);
    assert_eq!(next.next(&bmc, now(20)), Ok(Role::Current), "at once where another takes it");
    let edited = asked(&written, 3, Some(1));
    assert_eq!(Logins::default().next(&edited, now(20)), Ok(Role::Current), "another Secret");
    next.refused(&bmc, Role::Current, now(20), "401");
    assert!(next.next(&bmc, now(170)).is_err(), "two within the window");
}

/// It is the BMC's own no more: the agents get the other one.
#[test]
fn what_a_command_had_refused_is_not_the_agents() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    logins.taken(&asked(&well, 2, Some(1)), Role::Previous);
    let written = node("n1", "logins: bmc refused previous 2026-11-25T19:00:00Z [00000002 00006e31]. ");
    let bmc = asked(&written, 2, Some(1));
    assert_eq!(logins.role(&bmc), Role::Previous);
    assert!(logins.next(&bmc, now(5)).is_err());
    assert_eq!(logins.role(&bmc), Role::Current);
}

/// An account that was refused and is taken since was not there yet: the next leader begins with it.
#[test]
fn a_refused_account_that_was_taken_since_is_not_given_up() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    logins.refused(&asked(&well, 2, Some(1)), Role::Current, now(0), "401");
    logins.taken(&asked(&well, 2, Some(1)), Role::Current);
    let message = logins.stamps("n1", now(1));
    assert_eq!(message, "logins: bmc refused another 2026-11-25T19:00:00Z [00000002 00006e31]. ");
    let written = node("n1", &message);
    assert_eq!(Logins::default().next(&asked(&written, 2, Some(1)), now(10)), Ok(Role::Current));
}

/// It is neither the current one nor the one before.
#[test]
fn an_account_that_is_configured_no_more_has_no_role() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    for (account, secs) in [(1, 0), (2, 1)] {
        logins.refused(&asked(&node, account, None), Role::Current, now(secs), "401");
    }
    let stamps = logins.stamps("n1", now(2));
    assert!(stamps.contains("refused current") && !stamps.contains("previous"), "{stamps}");
}
