//! One granted peer that does its worst, for `NODEWELL_HOSTILE_MINUTES` (an hour is the proof; seconds without it): each fault
//! that root reports and each of the kernel's reaches its condition and its Event, in the long proof within 5 s, and no counter
//! is wrong.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{
    agent::Agent,
    cluster::Cluster,
    intruder::Intruder,
    suite::{Need, Suite},
    wait::{PATIENCE, found_within, until},
};

use crate::{
    api_conditions::{plan_on, wait_published},
    lines::TEST_RULES,
};

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("hostile_peer").case_with(&[Need::Root], "delays_no_fault_of_others", delays_no_fault_of_others);
}

const HOSTILE: Intruder = Intruder { uid: 471_300, capabilities: &[] };
/// As many as one peer may have.
const DAEMONS: usize = 64;
const NODE: &str = "hostile-peer";
/// What is promised; a machine that runs other cases beside this one is given more.
const REACHED: Duration = Duration::from_secs(5);

/// How many faults, and how long between two of them.
struct Length {
    faults: usize,
    pause: Duration,
    within: Duration,
}

impl Length {
    fn asked_for() -> Self {
        let minutes = std::env::var("NODEWELL_HOSTILE_MINUTES").ok().and_then(|text| text.parse::<u64>().ok());
        match minutes {
            Some(minutes) => Self { faults: 100, pause: Duration::from_mins(minutes) / 100, within: REACHED },
            None => Self { faults: 10, pause: Duration::from_millis(200), within: PATIENCE },
        }
    }
}

fn delays_no_fault_of_others() {
    let cluster = Cluster::double();
    let grant = format!(
        "[[grant]]\nuser = \"{}\"\nconditions = [\"TestUnhealthy\"]\nevents = true\nrate = \"100/s\"\n",
        HOSTILE.uid
    );
    let plan = plan_on(&cluster, NODE).rules(TEST_RULES).config(&grant);
    fs::set_permissions(plan.folder(), fs::Permissions::from_mode(0o755)).unwrap();
    let agent = plan.start();
    wait_published(&cluster, NODE, "TestUnhealthy", "False");
    let _attack = HOSTILE.flood(&agent.socket(), DAEMONS);
    until("its reports count", || (raised(&agent, "Others") > 0).then_some(()));
    let length = Length::asked_for();
    let mut longest = Duration::ZERO;
    for number in 0..length.faults {
        let begun = Instant::now();
        plant(&agent, number);
        let reached = found_within(length.within, || missing(&cluster, &agent, number).is_empty().then_some(()));
        let where_not = || missing(&cluster, &agent, number);
        assert!(reached.is_some(), "fault {number} was after {:?} not in {:?}", length.within, where_not());
        longest = longest.max(begun.elapsed());
        // The rest of its time: so many faults are spread over the whole attack.
        thread::sleep(length.pause.saturating_sub(begun.elapsed()));
    }
    eprintln!("    {} faults of others came through, the slowest in {longest:?}", length.faults);
    let (kernel, reports) = (length.faults.div_ceil(2) as u64, (length.faults / 2) as u64);
    assert_eq!((raised(&agent, "TestFault"), raised(&agent, "RaidFailed")), (kernel, reports));
    for (reason, count) in [("TestFault", kernel), ("RaidFailed", reports)] {
        assert_eq!(cluster.events(NODE, reason).len() as u64, count, "{reason}: each is one Event");
    }
}

/// The kernel's and root's in turn.
fn plant(agent: &Agent, number: usize) {
    if number.is_multiple_of(2) {
        return agent.kmsg().write(&format!("test: fault on sd{number}"));
    }
    let report = format!(
        r#"{{"source":"raid","conditions":[{{"type":"TestUnhealthy","status":true,"reason":"RaidFailed",
        "subject":"md{number}","transition":"2026-11-21T02:00:00Z","message":"md{number} failed"}}]}}"#
    );
    assert_eq!(agent.post("/v1/status", &report).code(), 200, "root's own report");
}

/// Where it has not come through to yet.
fn missing(cluster: &Cluster, agent: &Agent, number: usize) -> Vec<&'static str> {
    let (reason, subject) = if number.is_multiple_of(2) {
        ("TestFault", format!("sd{number}"))
    } else {
        ("RaidFailed", format!("md{number}"))
    };
    let holds = agent
        .condition("TestUnhealthy")
        .is_some_and(|condition| condition.problems.iter().any(|problem| problem.subject.as_deref() == Some(&subject)));
    let is_published = cluster.condition(NODE, "TestUnhealthy").is_some_and(|condition| condition["status"] == "True");
    let names = |message: &str| message.split(|c: char| !c.is_alphanumeric()).any(|word| word == subject);
    let events = cluster.events(NODE, reason);
    let has_event = events.iter().any(|event| names(event["message"].as_str().unwrap_or_default()));
    let all = [("the condition here", holds), ("the Node's condition", is_published), ("the Node's Events", has_event)];
    all.into_iter().filter(|(_, is_there)| !is_there).map(|(name, _)| name).collect()
}

/// Of all reasons together, what the agent has counted under this name.
fn raised(agent: &Agent, reason: &str) -> u64 {
    let metrics = agent.metrics();
    let series = format!("problem_counter{{reason=\"{reason}\"}}");
    metrics.lines().find_map(|line| line.strip_prefix(&series)?.trim().parse().ok()).unwrap_or(0)
}
