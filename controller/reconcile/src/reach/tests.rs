//! What a host may report of a node, and whose report counts.

mod rounds;

use super::*;

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(secs))
}

fn report(host: &str, sequence: u64, secs: Option<u64>) -> ReachReport {
    ReachReport { host: host.into(), sequence, nodes: BTreeMap::from([("a".into(), secs)]) }
}

#[test]
fn a_node_is_unreachable_since_the_first_try_that_failed() {
    let mut reach = Reach::default();
    reach.learn(vec![("a".into(), false)], at(10));
    reach.learn(vec![("a".into(), false)], at(14));
    assert_eq!(reach.report("me", at(16)).nodes["a"], Some(6));
    reach.learn(vec![("a".into(), true)], at(18));
    assert_eq!(reach.report("me", at(18)).nodes["a"], None);
}

#[test]
fn another_hosts_word_counts_once_it_changes_and_not_when_it_stands_still() {
    let mut reach = Reach::default();
    reach.hear(vec![report("other", 1, Some(4)), report("me", 9, Some(9))], "me", at(10));
    assert!(reach.reports("me", at(10)).is_empty(), "it may be as old as its Lease");
    reach.hear(vec![report("other", 2, Some(6)), report("me", 10, Some(11))], "me", at(12));
    let reports = reach.reports("me", at(12));
    assert_eq!(reports["a"], BTreeMap::from([("other".into(), Some(at(6)))]), "our own is no other's");
    for now in (14..60).step_by(2) {
        reach.hear(vec![report("other", 2, Some(6))], "me", at(now));
        assert_eq!(reach.reports("me", at(now)).is_empty(), now > 22, "at {now}");
    }
}

#[test]
fn a_report_that_changed_between_watches_is_not_believed() {
    let mut reach = Reach::default();
    reach.hear(vec![report("other", 1, Some(4))], "me", at(10));
    reach.hear(vec![report("other", 7, Some(600))], "me", at(100));
    assert!(reach.reports("me", at(100)).is_empty(), "it may have died at 90");
    reach.hear(vec![report("other", 8, Some(602))], "me", at(102));
    assert_eq!(reach.reports("me", at(102))["a"].len(), 1);
}

/// Ten seconds are the most that lie between two looks at what others report.
#[test]
fn a_host_that_was_heard_ten_seconds_ago_is_still_watched() {
    let mut reach = Reach::default();
    reach.hear(vec![report("other", 1, Some(4))], "me", at(10));
    reach.hear(vec![report("other", 2, Some(14))], "me", at(20));
    assert_eq!(reach.reports("me", at(20))["a"].len(), 1);
}

#[test]
fn a_blind_host_reports_only_what_it_reaches() {
    let mut reach = Reach { blind: true, ..Reach::default() };
    reach.learn(vec![("a".into(), false), ("b".into(), true)], at(10));
    assert_eq!(reach.report("me", at(20)).nodes, BTreeMap::from([("b".into(), None)]));
    assert_eq!(reach.reports("me", at(20)).into_keys().collect::<Vec<_>>(), ["b"]);
    reach.blind = false;
    assert_eq!(reach.report("me", at(20)).nodes["a"], Some(10));
}

#[test]
fn a_host_sees_when_half_of_the_others_answer() {
    let sample = |reached: usize, of: usize| -> Vec<(String, bool)> {
        (0..of).map(|number| (format!("node-{number}"), number < reached)).collect()
    };
    let cases = [(0, 0, false), (0, 3, false), (1, 3, false), (1, 2, true), (2, 3, true), (1, 1, true)];
    for (reached, of, seeing) in cases {
        assert_eq!(sees(&sample(reached, of)), seeing, "{reached} of {of}");
    }
}
