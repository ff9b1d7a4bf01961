//! Pods that are killed.

use jiff::Timestamp;
use proptest::prelude::*;

use super::*;

fn now(minutes: u64) -> Now {
    let wall = Timestamp::from_second(1_800_000_000 + minutes.cast_signed() * 60).unwrap();
    Now { wall, boottime: Duration::from_secs(100_000 + minutes * 60), boot_id: "a".to_owned() }
}

fn pods(uid: &str, oom_kills: u64) -> BTreeMap<String, Pod> {
    [(uid.to_owned(), Pod { oom_kills })].into()
}

fn names() -> PodNames {
    let names = PodNames::default();
    names.replace([("u".to_owned(), "ns/web".to_owned())].into());
    names
}

/// After how many minutes something is reported, of counts at minutes.
fn replay(counts: &[(u64, u64)]) -> Vec<u64> {
    let mut known = Pods::default();
    let reported =
        |(minute, count): &&(u64, u64)| !known.take(&pods("u", *count), 5, &names(), &now(*minute)).is_empty();
    counts.iter().filter(reported).map(|(minute, _)| *minute).collect()
}

#[test]
fn old_kills_do_not_count_and_few_are_normal() {
    assert!(replay(&[(0, 500), (1, 504), (62, 508)]).is_empty());
}

#[test]
fn five_within_an_hour_are_reported_once() {
    assert_eq!(replay(&[(0, 0), (10, 3), (20, 5), (30, 9), (40, 20)]), [20]);
}

#[test]
fn it_is_reported_daily_while_it_goes_on_and_again_after_calm() {
    let going_on: Vec<_> = (0..200).map(|n| (n * 10, n * 2)).collect();
    assert_eq!(replay(&going_on), [30, 30 + 24 * 60]);
    assert_eq!(replay(&[(0, 0), (10, 9), (200, 9), (210, 18)]), [10, 210]);
}

#[test]
fn a_pod_that_came_after_the_first_look_was_born_with_nothing() {
    let mut known = Pods::default();
    assert!(known.take(&BTreeMap::new(), 5, &names(), &now(0)).is_empty());
    let reported = known.take(&pods("u", 6), 5, &names(), &now(1));
    let message = &reported[0].message;
    assert!(
        message.starts_with("pod ns/web (uid u) reached its memory limit 6 times within 1 h (limit 5); "),
        "{message}"
    );
    assert_eq!(reported[0].subject.as_deref(), Some("ns/web"));
    let unnamed = known.take(&pods("v", 6), 5, &names(), &now(2));
    assert_eq!(unnamed[0].subject.as_deref(), Some("v"), "by its uid");
}

#[test]
fn what_is_saved_reports_nothing_twice() {
    let mut known = Pods::default();
    known.take(&pods("u", 0), 5, &names(), &now(0));
    assert_eq!(known.take(&pods("u", 6), 5, &names(), &now(1)).len(), 1);
    let mut known: Pods = serde_json::from_value(serde_json::to_value(known.saved()).unwrap()).unwrap();
    assert!(known.take(&pods("u", 7), 5, &names(), &now(2)).is_empty());
    assert!(
        known.take(&pods("other", 0), 5, &names(), &now(3)).is_empty() && known.pods.len() == 1,
        "the dead are forgotten"
    );
}

proptest! {
    #[test]
    fn no_counts_break_it(counts in prop::collection::vec((0_u64..5000, any::<u64>()), 0..50)) {
        prop_assert!(replay(&counts).len() <= counts.len());
    }
}
