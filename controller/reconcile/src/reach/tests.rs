use super::*;

fn at(secs: u64) -> Moment {
    Moment(Duration::from_secs(secs))
}

fn word(host: &str, sequence: u64, secs: Option<u64>) -> ReachReport {
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
fn another_hosts_word_is_dropped_when_it_stands_still() {
    let mut reach = Reach::default();
    reach.hear(vec![word("other", 1, Some(4)), word("me", 9, Some(9))], "me", at(10));
    assert_eq!(
        reach.words("me", at(10))["a"],
        BTreeMap::from([("other".into(), Some(at(6)))]),
        "our own is no other's"
    );
    reach.hear(vec![word("other", 1, Some(4))], "me", at(21));
    assert!(reach.words("me", at(21)).is_empty());
}
