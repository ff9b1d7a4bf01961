//! What is new at a look is judged, once, by what is planted then.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use nodewell_cluster::soak::{
    act::{
        Act::{self, Condition, Cordon, Record},
        Planted,
        Verdict::{False, Wrong},
    },
    fault::Fault::{self, DiskFailed, PlugPulled},
    watch::{Shown, State},
};
use nodewell_tests::suite::Suite;

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("an_act_is_judged_once_when_it_begins", an_act_is_judged_once_when_it_begins)
        .case("an_order_is_judged_once", an_order_is_judged_once)
        .case("a_fault_that_is_over_is_no_cause_a_minute_later", a_fault_that_is_over_is_no_cause_a_minute_later);
}

fn look<const N: usize>(acts: [Act; N]) -> BTreeMap<String, Shown> {
    BTreeMap::from([("w1".to_owned(), Shown { acts: BTreeSet::from(acts), ready: "False".to_owned() })])
}

fn planted(fault: Fault) -> Option<Planted> {
    Some(Planted { fault, node: Some("w1".to_owned()), is_over: false })
}

fn an_act_is_judged_once_when_it_begins() {
    let mut state = State::default();
    state.shown(&look([]));
    state.shown(&look([Cordon]));
    state.shown(&look([Cordon]));
    let found: Vec<_> =
        state.findings.iter().map(|one| (one.verdict, one.node.as_str(), one.planted.as_str())).collect();
    assert_eq!(found, [(Wrong, "w1", "nothing")]);
    assert_eq!(state.findings[0].what, "cordoned (Ready is False)");

    state.planted = planted(PlugPulled);
    state.shown(&look([Cordon, Record]));
    assert_eq!(state.findings.len(), 1, "the fault is the cause of the record");
    state.shown(&look([]));
    state.planted = None;
    state.shown(&look([Cordon]));
    assert_eq!(state.findings.len(), 2, "it was cordoned again");
}

fn an_order_is_judged_once() {
    let mut state = State::with(planted(DiskFailed));
    state.ordered("w1", &["get power", "set power 0"]);
    state.ordered("w1", &["get power", "set power 0", "get power"]);
    assert_eq!(state.findings.iter().map(|one| one.verdict).collect::<Vec<_>>(), [Wrong]);
    state.planted = planted(PlugPulled);
    state.ordered("w1", &["get power", "set power 0", "get power", "set power 1"]);
    assert_eq!(state.findings.len(), 1);
    state.ordered("w2", &["set power 1"]);
    assert_eq!((state.findings.len(), state.findings[1].node.as_str()), (2, "w2"));
    assert_eq!(state.findings[1].planted, "plug pulled on w1");
}

fn a_fault_that_is_over_is_no_cause_a_minute_later() {
    let condition = || Condition("DiskUnhealthy".to_owned());
    let at = |age: u64| {
        let mut state = State::with(planted(DiskFailed));
        state.over_since = Some(Instant::now().checked_sub(Duration::from_secs(age)).unwrap());
        state.shown(&look([condition(), Cordon]));
        state.findings.iter().map(|one| one.verdict).collect::<Vec<_>>()
    };
    assert_eq!(at(30), [Wrong], "the condition may be late, and the cordon may not");
    assert_eq!(at(61), [Wrong, False]);
}
