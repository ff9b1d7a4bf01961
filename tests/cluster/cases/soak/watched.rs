//! What is new at a look is judged, once, by what is planted then.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::{Duration, Instant},
};

use nodewell_cluster::soak::{
    act::{
        Act::{self, Condition, Cordon, OutOfService, Record},
        Planted,
        Verdict::{False, Outer, Wrong},
    },
    fault::Fault::{self, DiskFailed, PlugPulled},
    watch::{Shown, State, Why, shown},
};
use nodewell_tests::suite::Suite;
use serde_json::{Value, json};

pub(super) fn list(suite: &mut Suite) {
    suite
        .case("an_act_is_judged_once_when_it_begins", an_act_is_judged_once_when_it_begins)
        .case("an_order_is_judged_once", an_order_is_judged_once)
        .case("a_condition_that_counts_says_why", a_condition_that_counts_says_why)
        .case(
            "an_agents_state_is_of_the_outer_machine_for_its_disk",
            an_agents_state_is_of_the_outer_machine_for_its_disk,
        )
        .case("a_second_order_of_one_fault_is_wrong", a_second_order_of_one_fault_is_wrong)
        .case("a_release_that_no_reading_preceded_is_wrong", a_release_that_no_reading_preceded_is_wrong)
        .case("a_release_after_the_node_was_turned_on_is_wrong", a_release_after_the_node_was_turned_on_is_wrong)
        .case("a_pod_that_is_deleted_without_a_cause_is_wrong", a_pod_that_is_deleted_without_a_cause_is_wrong)
        .case("a_fault_that_is_over_is_no_cause_a_minute_later", a_fault_that_is_over_is_no_cause_a_minute_later);
}

fn look<const N: usize>(acts: [Act; N]) -> BTreeMap<String, Shown> {
    let (acts, ready) = (BTreeSet::from(acts), "False".to_owned());
    BTreeMap::from([("w1".to_owned(), Shown { acts, ready, ..Shown::default() })])
}

fn found(state: &State) -> Vec<&str> {
    state.findings.iter().map(|one| one.what.as_str()).collect()
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
    assert_eq!(state.findings.len(), 1, "{:?}", state.findings);
    state.ordered("w2", &["set power 1"]);
    assert_eq!((state.findings.len(), state.findings[1].node.as_str()), (2, "w2"));
    assert_eq!(state.findings[1].planted, "plug pulled on w1");
}

/// One Node with a condition that is True.
fn reported(name: &str, reason: &str, message: &str) -> BTreeMap<String, Shown> {
    let condition = json!({ "type": name, "status": "True", "reason": reason, "message": message });
    let node = json!({ "metadata": { "name": "w1" }, "status": { "conditions": [condition] } });
    shown(&json!({ "items": [node] }), &json!({}), &json!({}))
}

fn a_condition_that_counts_says_why() {
    let look = reported("DiskUnhealthy", "RaidDegraded", "1 of 2 disks is gone");
    let why = Why { reason: "RaidDegraded".to_owned(), message: "1 of 2 disks is gone".to_owned() };
    assert_eq!(look["w1"].whys["DiskUnhealthy"], why);
    let mut state = State::default();
    state.shown(&look);
    assert_eq!(found(&state), ["DiskUnhealthy is True: RaidDegraded: 1 of 2 disks is gone (Ready is not there)"]);
    let line = state.findings[0].line();
    let expected =
        " w1: DiskUnhealthy is True: RaidDegraded: 1 of 2 disks is gone (Ready is not there); planted was: nothing";
    assert!(line.starts_with("FALSE REPORT: ") && line.ends_with(expected), "{line}");
}

fn an_agents_state_is_of_the_outer_machine_for_its_disk() {
    for (reason, verdict) in
        [("StateHangs", Outer), ("StateDiskFull", Outer), ("StateInUse", False), ("StateReadOnly", False)]
    {
        let mut state = State::default();
        state.shown(&reported("AgentStateUnwritable", reason, "not saved"));
        let found: Vec<_> = state.findings.iter().map(|one| (one.verdict, one.counts())).collect();
        assert_eq!(found, [(verdict, verdict == False)], "{reason}");
    }
}

fn a_second_order_of_one_fault_is_wrong() {
    let mut state = State::default();
    let mut orders = vec!["set power 0", "set power 1"];
    state.plant(planted(PlugPulled).unwrap());
    state.ordered("w1", &orders);
    state.plant(planted(PlugPulled).unwrap());
    orders.extend(["set power 0", "set power 1"]);
    state.ordered("w1", &orders);
    assert!(state.findings.is_empty(), "{:?}", state.findings);
    orders.push("set power 0");
    state.ordered("w1", &orders);
    assert_eq!(found(&state), ["its BMC was ordered to turn it off, for the second time (Ready is unknown)"]);
}

fn a_release_that_no_reading_preceded_is_wrong() {
    for (orders, is_right) in [
        (&["get power", "get power"][..], true),
        (&["get power", "set power 0", "get power", "get power"], true),
        (&["get power", "get power", "set power 0", "get power"], false),
        (&["get power"], false),
        (&["set power 0"], false),
        // It was released and turned on between two looks.
        (&["get power", "get power", "set power 1"], true),
        (&["get power", "set power 1", "get power", "get power"], false),
        (&["get power", "get power", "set power 1", "set power 0", "get power"], false),
    ] {
        let mut state = State::default();
        state.ordered("w1", &["get power", "get power"]);
        state.plant(planted(PlugPulled).unwrap());
        let all: Vec<&str> = ["get power", "get power"].into_iter().chain(orders.iter().copied()).collect();
        state.ordered("w1", &all);
        state.shown(&look([OutOfService]));
        assert_eq!(state.findings.is_empty(), is_right, "{orders:?}: {:?}", state.findings);
    }
}

fn a_release_after_the_node_was_turned_on_is_wrong() {
    for (looks_between, is_right) in [(0, true), (1, true), (2, false)] {
        let mut state = State::default();
        state.plant(planted(PlugPulled).unwrap());
        state.ordered("w1", &["get power", "get power", "set power 1"]);
        (0..looks_between).for_each(|_| state.shown(&look([])));
        state.shown(&look([OutOfService]));
        assert_eq!(state.findings.is_empty(), is_right, "{looks_between}: {:?}", state.findings);
    }
}

fn a_pod_that_is_deleted_without_a_cause_is_wrong() {
    let with = |node: &str, uid: &str, is_deleted: bool| {
        let deleted = if is_deleted { json!("2026-01-01T00:00:00Z") } else { Value::Null };
        let metadata = json!({ "name": "web-0", "uid": uid, "deletionTimestamp": deleted });
        let nodes = json!({ "items": [{ "metadata": { "name": "w1" } }, { "metadata": { "name": "w2" } }] });
        shown(&nodes, &json!({}), &json!({ "items": [{ "metadata": metadata, "spec": { "nodeName": node } }] }))
    };
    for (fault, is_right) in [(PlugPulled, true), (DiskFailed, true), (Fault::RuntimeStopped, false)] {
        for next in [with("w1", "1", true), with("w1", "2", false), with("w2", "2", false)] {
            let mut state = State::with(planted(fault));
            state.shown(&with("w1", "1", false));
            state.shown(&with("w1", "1", false));
            assert!(state.findings.is_empty(), "{:?}", state.findings);
            state.shown(&next);
            assert_eq!(found(&state).is_empty(), is_right, "{fault}: {:?}", state.findings);
        }
    }
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
