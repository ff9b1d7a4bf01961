//! Which agents are silent, and where none is called so.

use super::*;
use crate::{api::fence::NodeFence, facts::HeartbeatOwner};

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

/// Five agents with the kubelet's identity, which may have no Lease, and what this controller wrote itself of each node.
fn with_fence_ready(heard: u64) -> Snapshot {
    let mut snapshot = cluster(5, heard);
    snapshot.agent_leases.clear();
    for node in snapshot.nodes.values_mut() {
        node.conditions[1].heartbeat_owner = HeartbeatOwner::Agent;
        node.conditions[1].heartbeat = Some(at(heard).wall);
        let fence_ready = condition("FenceReady", ConditionStatus::True, SPOKE);
        node.conditions.push(Condition { heartbeat_owner: HeartbeatOwner::Other, ..fence_ready });
    }
    snapshot
}

/// `FenceReady` beats every six hours, and Node Problem Detector as it likes.
#[test]
fn what_other_writers_report_is_no_sign_of_the_agent() {
    let memory = SilenceMemory::default().observe(&with_fence_ready(0), at(0));
    let heard = with_fence_ready(600);
    let memory = memory.observe(&heard, at(600));
    let looked = survey(&heard, &memory, &SilenceTimeouts::default(), at(1000));
    assert_eq!((names(&looked), &looked.blocked), (vec![], &None), "all of them beat");
    // Four go on; what the controller writes of the fifth does not speak for its agent.
    let mut one_silent = with_fence_ready(1400);
    let silent = one_silent.nodes.get_mut("n1").unwrap();
    silent.conditions[1].heartbeat = heard.nodes["n1"].conditions[1].heartbeat;
    silent.conditions[2].heartbeat = Some(at(1400).wall);
    let mut memory = memory;
    memory.recheck_after("n1", secs(1501));
    let memory = memory.observe(&one_silent, at(1400));
    let look = |second| survey(&one_silent, &memory, &SilenceTimeouts::default(), at(second));
    assert_eq!((names(&look(1500)), names(&look(1501))), (vec![], vec!["n1"]));
}

/// A client emptied `managedFields`: what only agents report is still theirs.
#[test]
fn without_owners_the_agents_own_conditions_are_its_signs() {
    let mut snapshot = with_fence_ready(0);
    for node in snapshot.nodes.values_mut() {
        node.conditions[1].heartbeat_owner = HeartbeatOwner::Ownerless;
        // A kubelet may report what Kubernetes does not know.
        let of_kubelet = condition("ConfigOK", ConditionStatus::True, SPOKE);
        let owned = Condition { is_own_report: true, heartbeat_owner: HeartbeatOwner::Other, ..of_kubelet };
        node.conditions.push(owned);
    }
    let memory = SilenceMemory::default().observe(&snapshot, at(0));
    for node in ["n2", "n3", "n4", "n5"] {
        snapshot.nodes.get_mut(node).unwrap().conditions[1].heartbeat = Some(at(600).wall);
    }
    let memory = memory.observe(&snapshot, at(600));
    assert_eq!(names(&survey(&snapshot, &memory, &SilenceTimeouts::default(), at(901))), ["n1"]);
}

/// The first nodes have an agent without a Lease, all others Node Problem Detector alone; all beat at `heard`.
fn beside_npd(agents: usize, npd_only: usize, heard: u64) -> Snapshot {
    let mut snapshot = cluster(agents + npd_only, 900);
    snapshot.agent_leases.clear();
    for (name, node) in &mut snapshot.nodes {
        let is_agents = name[1..].parse::<usize>().unwrap() <= agents;
        let (kind, heartbeat_owner) = if is_agents {
            ("DiskUnhealthy", HeartbeatOwner::Agent)
        } else {
            ("KernelDeadlock", HeartbeatOwner::Other)
        };
        let heartbeat = Some(at(heard).wall);
        node.conditions[1] = Condition { heartbeat_owner, heartbeat, ..condition(kind, ConditionStatus::False, SPOKE) };
    }
    snapshot
}

fn survey_after(before: &Snapshot, after: &Snapshot) -> Survey {
    let memory = SilenceMemory::default().observe(before, at(0)).observe(after, at(600));
    survey(after, &memory, &SilenceTimeouts::default(), at(901))
}

/// Node Problem Detector was removed and has left its conditions on six nodes, where no agent is yet.
#[test]
fn conditions_that_another_client_left_behind_are_no_silent_agents() {
    let before = beside_npd(4, 6, 0);
    let mut after = before.clone();
    for name in ["n2", "n3", "n4"] {
        after.nodes.get_mut(name).unwrap().conditions[1].heartbeat = Some(at(600).wall);
    }
    let survey = survey_after(&before, &after);
    assert_eq!((names(&survey), &survey.blocked), (vec!["n1"], &None));
}

#[test]
fn nodes_with_another_monitor_alone_are_no_agents_that_live() {
    let before = beside_npd(10, 100, 0);
    let mut after = beside_npd(10, 100, 600);
    for number in 1..=10 {
        after.nodes.get_mut(&format!("n{number}")).unwrap().conditions[1].heartbeat = Some(at(0).wall);
    }
    let survey = survey_after(&before, &after);
    assert!(survey.silent.is_empty());
    assert!(survey.blocked.unwrap().starts_with("10 of 10 agents went silent"));
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
    let mut half = cluster(4, 241);
    renew(&mut half, &["n3", "n4"], 200);
    assert_eq!(names(&look(&half, 241)), ["n1", "n2"], "half of them are none");
}

/// It has neither a Lease nor a condition that is not the kubelet's.
#[test]
fn a_node_without_an_agent_is_none_of_those_that_went_silent() {
    let mut snapshot = cluster(5, 241);
    renew(&mut snapshot, &["n3"], 200);
    for name in ["n4", "n5"] {
        snapshot.agent_leases.remove(name);
        snapshot.nodes.get_mut(name).unwrap().conditions.truncate(1);
    }
    assert!(look(&snapshot, 241).blocked.unwrap().starts_with("2 of 3 agents went silent"));
    // By either sign there is one.
    let mut snapshot = cluster(4, 241);
    renew(&mut snapshot, &["n4"], 200);
    snapshot.nodes.values_mut().take(3).for_each(|node| node.conditions.truncate(1));
    assert!(look(&snapshot, 241).blocked.unwrap().starts_with("3 of 4 agents went silent"));
    let mut snapshot = cluster(4, 901);
    renew(&mut snapshot, &["n4"], 900);
    snapshot.agent_leases.retain(|name, _| name == "n4");
    assert!(look(&snapshot, 901).blocked.unwrap().starts_with("3 of 4 agents went silent"));
}

#[test]
fn agents_whose_silence_was_reported_before_are_no_sign_of_our_own_blindness() {
    let mut snapshot = cluster(5, 241);
    renew(&mut snapshot, &["n4", "n5"], 200);
    for name in ["n1", "n2", "n3"] {
        snapshot.nodes.get_mut(name).unwrap().conditions[1].reason = AGENT_SILENT.into();
    }
    assert_eq!(names(&look(&snapshot, 241)), ["n1", "n2", "n3"]);
}

#[test]
fn the_only_agent_may_be_silent_while_its_kubelet_is_heard() {
    assert_eq!(names(&look(&cluster(1, 241), 241)), ["n1"]);
    let mut deaf = cluster(1, 241);
    for (seen, is_blocked) in [(191, true), (192, false)] {
        deaf.kubelet_leases.insert("n1".into(), lease(secs(seen), 40));
        assert_eq!(look(&deaf, 241).blocked.is_some(), is_blocked, "{seen}");
    }
    deaf.kubelet_leases.clear();
    assert!(look(&deaf, 241).blocked.is_some());
}

#[test]
fn who_does_not_lead_or_does_not_see_does_nothing() {
    let spoils: [fn(&mut Snapshot); 4] = [
        |s| s.epoch = 0,
        |s| s.host.synced = false,
        |s| s.host.absence = Some(Absence { since: secs(190), until: secs(212) }),
        |s| s.stopped = Some("rack 4".into()),
    ];
    for spoil in spoils {
        let mut snapshot = cluster(1, 241);
        spoil(&mut snapshot);
        let survey = look(&snapshot, 241);
        assert!(survey.silent.is_empty() && survey.blocked.is_some());
    }
}

/// An agent has to be heard again, and nothing more: absences that recur do not hide one for ever.
#[test]
fn thirty_seconds_after_an_absence_agents_are_judged_again() {
    let mut snapshot = cluster(1, 241);
    snapshot.host.absence = Some(Absence { since: secs(190), until: secs(211) });
    assert_eq!(names(&look(&snapshot, 241)), ["n1"]);
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
    renew(&mut booted, &["n2", "n3", "n4"], 800);
    for lease in booted.kubelet_leases.values_mut() {
        lease.change_seen_at = secs(890);
    }
    for (now, expected) in [(898, &[][..]), (899, &["n1"])] {
        assert_eq!(names(&survey(&booted, &memory, &SilenceTimeouts::default(), at(now))), expected, "{now}");
    }
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
    for (phase, is_left_alone) in [
        (Phase::PoweringOn, true),
        (Phase::AwaitReady, true),
        (Phase::Recovering, true),
        (Phase::Draining, false),
        (Phase::PoweringOff, false),
        (Phase::Quarantined, false),
    ] {
        fence.status.phase = phase;
        snapshot.fences.insert("n1".into(), fence.clone());
        assert_eq!(look(&snapshot, 241).silent.is_empty(), is_left_alone, "{phase:?}");
    }
}

#[test]
fn a_node_that_was_looked_at_rests_until_its_agent_is_heard_of() {
    let mut snapshot = cluster(4, 2000);
    renew(&mut snapshot, &["n2", "n3", "n4"], 2000);
    let mut memory = SilenceMemory::default().observe(&snapshot, at(0));
    memory.recheck_after("n1", secs(3000));
    assert!(survey(&snapshot, &memory, &SilenceTimeouts::default(), at(2000)).silent.is_empty());
    let mut rested = memory.clone();
    rested.recheck_after("n1", secs(2000));
    assert_eq!(names(&survey(&snapshot, &rested, &SilenceTimeouts::default(), at(2000))), ["n1"]);
    snapshot.nodes.get_mut("n1").unwrap().conditions[1].heartbeat = Some("2026-01-01T00:10:00Z".parse().unwrap());
    let memory = memory.observe(&snapshot, at(2000));
    assert_eq!(names(&survey(&snapshot, &memory, &SilenceTimeouts::default(), at(2000))), ["n1"]);
}
