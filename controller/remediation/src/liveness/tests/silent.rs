//! Which agents are silent, and where none is called so.

use super::*;
use crate::api::fence::NodeFence;

fn renew(snapshot: &mut Snapshot, names: &[&str], now: u64) {
    for name in names {
        snapshot.agent_leases.get_mut(*name).unwrap().change_seen_at = secs(now);
    }
}

fn look(snapshot: &Snapshot, now: u64) -> Survey {
    let memory = SilenceMemory::default().observe(snapshot, at(0)).observe(snapshot, at(now));
    survey(snapshot, &memory, &SilenceTimeouts::default(), at(now))
}

fn names(survey: &Survey) -> Vec<&str> {
    survey.silent.iter().map(|agent| agent.node.as_str()).collect()
}

#[test]
fn a_lease_that_ran_out_before_our_eyes_is_silence() {
    let mut snapshot = cluster(5, 241);
    renew(&mut snapshot, &["n2", "n3", "n4", "n5"], 200);
    assert_eq!(names(&look(&snapshot, 241)), ["n1"]);
    assert_eq!(names(&look(&snapshot, 240)), [""; 0], "not a moment earlier");
}

#[test]
fn without_a_lease_heartbeats_are_given_fifteen_minutes_of_our_own_clock() {
    let mut snapshot = cluster(5, 901);
    renew(&mut snapshot, &["n2", "n3", "n4", "n5"], 900);
    snapshot.agent_leases.remove("n1");
    assert_eq!(names(&look(&snapshot, 901)), ["n1"]);
    assert!(look(&snapshot, 900).silent.is_empty());
    // Its own clock may show whatever it likes: what moves is alive.
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    snapshot.nodes.get_mut("n1").unwrap().conditions[1].heartbeat = Some("2020-01-01T00:00:00Z".parse().unwrap());
    let memory = memory.observe(&snapshot, at(600));
    assert!(survey(&snapshot, &memory, &SilenceTimeouts::default(), at(901)).silent.is_empty());
}

#[test]
fn more_than_half_at_once_is_our_own_blindness() {
    let mut snapshot = cluster(5, 241);
    renew(&mut snapshot, &["n4", "n5"], 200);
    let survey = look(&snapshot, 241);
    assert!(survey.silent.is_empty());
    assert!(survey.blocked.unwrap().starts_with("3 of 5 agents went silent"));
    renew(&mut snapshot, &["n3"], 200);
    assert_eq!(names(&look(&snapshot, 241)), ["n1", "n2"], "two of five are no storm");
}

#[test]
fn the_only_agent_may_be_silent_while_its_kubelet_is_heard() {
    assert_eq!(names(&look(&cluster(1, 241), 241)), ["n1"]);
    let mut deaf = cluster(1, 241);
    deaf.kubelet_leases.clear();
    assert!(look(&deaf, 241).blocked.is_some());
}

#[test]
fn who_does_not_lead_or_does_not_see_does_nothing() {
    let spoils: [fn(&mut Snapshot); 3] =
        [|s| s.epoch = 0, |s| s.host.synced = false, |s| s.stopped = Some("rack 4".into())];
    for spoil in spoils {
        let mut snapshot = cluster(1, 241);
        spoil(&mut snapshot);
        let survey = look(&snapshot, 241);
        assert!(survey.silent.is_empty() && survey.blocked.is_some());
    }
}

#[test]
fn a_node_that_restarts_is_given_ten_minutes() {
    let mut snapshot = cluster(4, 300);
    renew(&mut snapshot, &["n2", "n3", "n4"], 300);
    snapshot.kubelet_leases.insert("n1".into(), lease(secs(0), 40));
    assert!(look(&snapshot, 300).silent.is_empty(), "the kubelet is silent too");
    renew(&mut snapshot, &["n2", "n3", "n4"], 600);
    assert_eq!(names(&look(&snapshot, 600)), ["n1"], "that is no reboot any more");

    let mut booted = cluster(4, 300);
    renew(&mut booted, &["n2", "n3", "n4"], 300);
    let memory = SilenceMemory::default().observe(&booted, at(0));
    booted.nodes.get_mut("n1").unwrap().boot_id = "boot-2".into();
    let memory = memory.observe(&booted, at(299));
    assert!(survey(&booted, &memory, &SilenceTimeouts::default(), at(300)).silent.is_empty(), "it has just started");
}

#[test]
fn a_node_that_we_power_on_is_left_alone() {
    let mut snapshot = cluster(4, 241);
    renew(&mut snapshot, &["n2", "n3", "n4"], 200);
    let mut fence: NodeFence = serde_json::from_value(json!({
        "metadata": { "name": "n1" },
        "spec": { "nodeName": "n1", "nodeUID": "uid-n1", "policy": "p" },
    }))
    .unwrap_or_else(|error| panic!("{error}"));
    fence.status.phase = Phase::AwaitReady;
    snapshot.fences.insert("n1".into(), fence);
    assert!(look(&snapshot, 241).silent.is_empty());
}

#[test]
fn a_node_that_was_looked_at_rests_until_its_agent_is_heard_of() {
    let mut snapshot = cluster(4, 2000);
    renew(&mut snapshot, &["n2", "n3", "n4"], 2000);
    let mut memory = SilenceMemory::default().observe(&snapshot, at(0));
    memory.recheck_after("n1", secs(3000));
    assert!(survey(&snapshot, &memory, &SilenceTimeouts::default(), at(2000)).silent.is_empty());
    snapshot.nodes.get_mut("n1").unwrap().conditions[1].heartbeat = Some("2026-01-01T00:10:00Z".parse().unwrap());
    let memory = memory.observe(&snapshot, at(2000));
    assert_eq!(names(&survey(&snapshot, &memory, &SilenceTimeouts::default(), at(2000))), ["n1"]);
}
