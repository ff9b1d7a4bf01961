//! A fleet of BMCs that lock their account after three refused logins within five minutes, some slow, some dead, through everything
//! that people and leaders do to it, on a stopped clock. `NODEWELL_LONG=1` plays 3,000 of them, else 200.

mod bmcs;

use super::*;
use bmcs::{Fleet, MINUTE, checks};

fn size() -> usize {
    if std::env::var_os("NODEWELL_LONG").is_some() { 3000 } else { 200 }
}

#[tokio::test(start_paused = true)]
async fn no_bmc_of_a_fleet_is_ever_locked() {
    let fleet = Fleet::new(size());
    tokio::select! {
        () = checks(&fleet) => {}
        () = story(&fleet) => {}
    }
}

#[allow(clippy::print_stdout)]
async fn story(fleet: &Fleet) {
    fleet.lead(75, &[4500]).await;
    assert_eq!(fleet.unready(), 0);
    let (median, most) = fleet.logins_in_the_last_hour();
    println!("{} BMCs, one leader: {median} logins an hour, {most} at most", fleet.size());
    assert!((5..=7).contains(&median), "{median}");

    fleet.lead(61, &[120]).await;
    let (median, most) = fleet.logins_in_the_last_hour();
    println!("another leader every two minutes: {median} logins an hour, {most} at most");
    assert!((5..=7).contains(&median), "{median}");

    let die = |is_dead| fleet.bmcs.borrow_mut().iter_mut().step_by(10).for_each(|bmc| bmc.is_dead = is_dead);
    die(true);
    fleet.lead(30, &[1800]).await;
    assert_eq!(fleet.unready(), fleet.size() / 10);
    die(false);
    fleet.lead(20, &[1200]).await;
    assert_eq!(fleet.unready(), 0);
    fleet.assert_not_locked("before the rotation");

    rotate(fleet, &[45, 15, 45, 15, 45, 15, 60, 60, 60]).await;
    mistype(fleet).await;
    println!("locked: 0 of {}", fleet.size());
}

/// The Secret gets both passwords, the BMCs the new one within an hour, and then the old one goes.
#[allow(clippy::print_stdout)]
async fn rotate(fleet: &Fleet, terms_secs: &[u64]) {
    fleet.forget_times();
    let before = fleet.secret.get().current;
    fleet.edit(before + 1, Some(before));
    fleet.lead(10, &[180]).await;
    tokio::join!(fleet.lead(60, terms_secs), change(fleet, before + 1));
    fleet.lead(20, &[300]).await;
    fleet.edit(before + 1, None);
    fleet.lead(20, &[300]).await;
    let longest = fleet.longest_unready();
    println!("a rotation under leaders of {terms_secs:?} s: unready for {} s at most", longest.as_secs());
    assert!(longest <= Duration::from_secs(600), "{longest:?}");
    assert_eq!(fleet.unready(), 0);
    fleet.assert_not_locked("in the rotation");
}

/// Some each minute, for an hour.
async fn change(fleet: &Fleet, password: u64) {
    let each_minute = fleet.size().div_ceil(60);
    for minute in 0..60 {
        let ends = (minute * each_minute..(minute + 1) * each_minute).take_while(|at| *at < fleet.size());
        ends.for_each(|at| fleet.bmcs.borrow_mut()[at].password = password);
        sleep(MINUTE).await;
    }
}

/// They are asked for less time than they take: no refusal is ever seen.
#[tokio::test(start_paused = true)]
async fn bmcs_that_refuse_late_are_not_locked() {
    let fleet = Fleet::new(200);
    fleet.bmcs.borrow_mut().iter_mut().step_by(50).for_each(|bmc| bmc.is_late = true);
    fleet.lead(15, &[900]).await;
    rotate(&fleet, &[600]).await;
    mistype(&fleet).await;
}

/// A wrong password in the Secret and the right one again, under one leader, which asks all nodes within the time: one after the
/// other, and each at its moment at the latest.
#[allow(clippy::print_stdout)]
#[tokio::test(start_paused = true)]
async fn an_edited_secret_is_soon_asked_by_and_locks_no_bmc() {
    let fleet = Fleet::new(size());
    let time = MINUTE * 2 + (Duration::from_secs(2) * u32::try_from(fleet.size()).unwrap()).min(MINUTE * 15);
    let story = async {
        sleep(time).await;
        assert_eq!(fleet.unready(), 0);
        let right = fleet.secret.get().current;
        fleet.edit(90, None);
        sleep(time).await;
        assert_eq!(fleet.unready(), fleet.size(), "none is ready by what it took before");
        let refused: usize = fleet.bmcs.borrow().iter().map(|bmc| bmc.refused.len()).sum();
        println!("a wrong password for {} s: {refused} of {} BMCs refused it", time.as_secs(), fleet.size());
        // Of thousands five a second have their moment anyway, some while the first refusal is on its way.
        assert!(refused <= 30, "{refused}");
        fleet.edit(right, None);
        sleep(time).await;
        assert_eq!(fleet.unready(), 0, "{} s after it was corrected", time.as_secs());
        fleet.assert_not_locked("by an edit");
    };
    tokio::select! {
        () = fleet.lead(60, &[3600]) => panic!("the leader ended before the story"),
        () = story => {}
    }
}

/// Terms that are shorter than a wait, and much longer; that are multiples of it, and not.
#[tokio::test(start_paused = true)]
async fn a_rotation_is_short_under_leaders_of_any_length() {
    let fleet = Fleet::new(size());
    let story = async {
        fleet.lead(15, &[900]).await;
        for terms_secs in [&[20][..], &[30], &[120], &[17, 71, 41, 93]] {
            rotate(&fleet, terms_secs).await;
        }
    };
    tokio::select! {
        () = checks(&fleet) => {}
        () = story => {}
    }
}

/// A wrong password in the Secret, three more, and the right one half an hour later.
#[allow(clippy::print_stdout)]
async fn mistype(fleet: &Fleet) {
    let right = fleet.secret.get().current;
    for wrong in [90, 91, 92, 93] {
        fleet.edit(wrong, None);
        fleet.lead(2, &[120]).await;
    }
    fleet.lead(30, &[240]).await;
    let refused: BTreeMap<usize, usize> =
        fleet.bmcs.borrow().iter().map(|bmc| bmc.refused.len()).fold(BTreeMap::new(), |mut counts, refused| {
            *counts.entry(refused).or_default() += 1;
            counts
        });
    println!("a wrong password for 38 minutes: BMCs by their refused logins of the last five minutes: {refused:?}");
    fleet.edit(right, None);
    fleet.lead(15, &[900]).await;
    assert_eq!(fleet.unready(), 0, "15 minutes after it was corrected");
    fleet.assert_not_locked("by a wrong password");
}
