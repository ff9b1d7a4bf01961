//! Logins that had no answer: the BMC may have refused them, or was slow.

use super::*;

/// Asks every ten seconds; no login has an answer in time.
fn unanswered(logins: &mut Logins, asked: &Asked<'_>, from: u64, to: u64) -> Vec<(u64, Role)> {
    let mut made = Vec::new();
    for secs in (from..to).step_by(10) {
        if let Ok(role) = logins.next(asked, now(secs)) {
            logins.unanswered(asked, role, now(secs));
            made.push((secs, role));
        }
    }
    made
}

#[test]
fn a_bmc_that_never_answers_is_asked_twice_in_a_window() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let bmc = asked(&node, 1, None);
    let made: Vec<u64> = unanswered(&mut logins, &bmc, 0, 700).into_iter().map(|(secs, _)| secs).collect();
    assert_eq!(made, [0, 30, 330, 360, 660, 690]);
    let why = logins.next(&bmc, now(700)).unwrap_err();
    assert!(why.starts_with("2 logins were refused or not answered within 330 s"), "{why}");
}

#[test]
fn a_bmc_that_was_slow_begins_from_nothing_when_it_takes_a_login() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let bmc = asked(&node, 1, None);
    logins.unanswered(&bmc, Role::Current, now(0));
    let why = logins.next(&bmc, now(29)).unwrap_err();
    assert_eq!(
        why,
        "no answer to the login at 2026-11-25T19:00:00Z; not to be locked out it asks again at 2026-11-25T19:00:30Z"
    );
    assert_eq!(logins.next(&bmc, now(30)), Ok(Role::Current));
    logins.unanswered(&bmc, Role::Current, now(30));
    // A question of before was answered after all.
    logins.taken(&bmc, Role::Current);
    assert_eq!(logins.next(&bmc, now(31)), Ok(Role::Current));
    assert_eq!(logins.stamps("n1", now(31)), "");
    // What it refused it has counted, slow or not.
    for secs in [40, 41] {
        logins.refused(&bmc, Role::Current, now(secs), "401");
    }
    logins.taken(&bmc, Role::Current);
    assert!(logins.next(&bmc, now(42)).is_err());
}

#[test]
fn one_that_was_refused_and_one_without_an_answer_are_two() {
    let (mut logins, node) = (Logins::default(), node("n1", ""));
    let bmc = asked(&node, 1, None);
    logins.refused(&bmc, Role::Current, now(0), "401");
    let other = asked(&node, 2, None);
    assert_eq!(logins.next(&other, now(10)), Ok(Role::Current));
    logins.unanswered(&other, Role::Current, now(10));
    assert!(logins.next(&asked(&node, 3, None), now(100)).is_err());
}

#[test]
fn the_next_leader_knows_of_logins_without_an_answer() {
    let mut made = Vec::new();
    let mut message = String::new();
    for term in 0..20 {
        let (mut logins, node) = (Logins::default(), node("n1", &message));
        made.extend(unanswered(&mut logins, &asked(&node, 1, None), term * 40, term * 40 + 40));
        message = logins.stamps("n1", now(term * 40 + 39));
    }
    let made: Vec<u64> = made.into_iter().map(|(secs, _)| secs).collect();
    assert!(most_in_five_minutes(&made) <= 2 && made.len() >= 4, "{made:?}");
}

/// It is no refusal: the same account is tried again soon.
#[test]
fn the_next_leader_waits_no_longer_for_a_slow_bmc() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    logins.unanswered(&asked(&well, 1, None), Role::Current, now(0));
    let written = node("n1", &logins.stamps("n1", now(1)));
    let mut next = Logins::default();
    assert!(next.next(&asked(&written, 1, None), now(20)).is_err());
    assert_eq!(next.next(&asked(&written, 1, None), now(30)), Ok(Role::Current));
}

/// That both had no answer is known when the first of them counts no more.
#[test]
fn the_next_leader_knows_of_both_for_two_windows() {
    let (mut logins, well) = (Logins::default(), node("n1", ""));
    let bmc = asked(&well, 2, Some(1));
    logins.taken(&bmc, Role::Previous);
    for secs in [0, 100] {
        logins.unanswered(&bmc, Role::Previous, now(secs));
    }
    let written = node("n1", &logins.stamps("n1", now(335)));
    assert_eq!(Logins::default().next(&asked(&written, 2, Some(1)), now(336)), Ok(Role::Current));
}

#[test]
fn what_counts_no_more_is_not_reported() {
    let node = node("n1", "");
    let bmc = asked(&node, 1, None);
    let is_reported = |logins: &Logins, secs| !logins.stamps("n1", now(secs)).is_empty();
    let mut refused = Logins::default();
    refused.refused(&bmc, Role::Current, now(0), "401");
    assert!(is_reported(&refused, 329) && !is_reported(&refused, 330));
    let mut silent = Logins::default();
    silent.unanswered(&bmc, Role::Current, now(0));
    assert!(is_reported(&silent, 659) && !is_reported(&silent, 660));
}

/// It takes the other one by now: no refusal is ever seen, under one leader or many.
#[test]
fn the_other_account_is_tried_where_one_never_has_an_answer() {
    let (mut message, mut made) = (String::new(), Vec::new());
    let mut logins = Logins::default();
    for term in 0..20 {
        let node = node("n1", &message);
        let bmc = asked(&node, 2, Some(1));
        if term == 0 {
            logins.taken(&bmc, Role::Previous);
        }
        made.extend(unanswered(&mut logins, &bmc, term * 40, term * 40 + 40));
        message = logins.stamps("n1", now(term * 40 + 39));
        logins = Logins::default();
    }
    let current = made.iter().position(|(_, role)| *role == Role::Current);
    assert_eq!(current, Some(2), "{made:?}");
    assert!(made[2].0 <= 400, "{made:?}");
}

#[test]
fn the_other_account_is_not_tried_first_where_an_answer_came_or_the_question_was_its_own() {
    let node = node("n1", "");
    let bmc = asked(&node, 2, Some(1));
    let mut of_both = Logins::default();
    of_both.taken(&bmc, Role::Previous);
    of_both.unanswered(&bmc, Role::Current, now(0));
    of_both.unanswered(&bmc, Role::Previous, now(100));
    assert_eq!(of_both.next(&bmc, now(800)), Ok(Role::Previous));
    let mut refused_once = Logins::default();
    refused_once.refused(&bmc, Role::Current, now(0), "401");
    refused_once.unanswered(&bmc, Role::Current, now(100));
    assert_eq!(refused_once.next(&bmc, now(800)), Ok(Role::Current));
}
