//! What was counted at the end: of others exactly what was planted, and of the peer no more than it may have.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use nodewell_tests::{
    agent::Agent,
    cluster::{Call, Cluster},
    intruder::GRANTED,
    wait::until,
};

use super::{
    HOSTILE, NODE,
    fault::{Fault, own_types},
};

/// Reasons of one peer with a counter of their own.
const COUNTED_OF_PEER: usize = 256;
/// Events that one peer may have at the API server: so many at once, and then one a second.
const EVENTS_AT_ONCE: u64 = 25;

/// The value of one series; `None` if it is not there.
pub(super) fn number(metrics: &str, name: &str, labels: &[(&str, &str)]) -> Option<u64> {
    let labels: Vec<String> = labels.iter().map(|(label, value)| format!("{label}=\"{value}\"")).collect();
    let series = format!("{name}{{{}}} ", labels.join(","));
    metrics.lines().find_map(|line| line.strip_prefix(&series)?.trim().parse().ok())
}

/// `answers` is what the peer was answered up to now, and `begun` when it began.
pub(super) fn check(cluster: &Cluster, agent: &Agent, faults: &[Fault], answers: &BTreeMap<u16, u64>, begun: Instant) {
    until("all faults are over", || (!faults.iter().any(|fault| fault.is_held(agent))).then_some(()));
    let metrics = agent.metrics();
    check_reasons(&metrics, faults);
    check_conditions(agent, &metrics);
    check_peer(&metrics, answers);
    check_refused(agent);
    check_events(cluster, faults, begun);
}

/// Each reason was counted as often as it was planted, and none holds a condition any more.
fn check_reasons(metrics: &str, faults: &[Fault]) {
    let mut planted: BTreeMap<&str, u64> = BTreeMap::new();
    for fault in faults {
        *planted.entry(&fault.reason).or_default() += 1;
    }
    let counted =
        planted.keys().copied().map(|reason| (reason, number(metrics, "problem_counter", &[("reason", reason)])));
    let counted: BTreeMap<&str, u64> = counted.filter_map(|(reason, count)| Some((reason, count?))).collect();
    assert_eq!(counted, planted, "problem_counter");
    let held: BTreeSet<(&str, &str)> =
        faults.iter().map(|fault| (fault.reason.as_str(), fault.condition.as_str())).collect();
    for (reason, condition) in held {
        let gauge = number(metrics, "problem_gauge", &[("reason", reason), ("type", condition)]);
        assert_eq!(gauge, Some(0), "problem_gauge of {reason} in {condition}");
    }
}

/// Those that the peer does not hold are healthy again; nothing that was written to the kernel log was lost.
fn check_conditions(agent: &Agent, metrics: &str) {
    for name in own_types() {
        let gauge = |metric: &str, labels: &[(&str, &str)]| number(metrics, metric, labels);
        assert_eq!(gauge("nodewell_active_problems", &[("type", name.as_str())]), Some(0), "{name}");
        assert_eq!(gauge("nodewell_condition", &[("type", name.as_str()), ("status", "False")]), Some(1), "{name}");
    }
    assert_eq!(number(metrics, "nodewell_records_lost_total", &[("monitor", "kernel-monitor")]), Some(0));
    let problems = agent.condition(GRANTED).map(|condition| condition.problems).unwrap_or_default();
    assert!(!problems.is_empty(), "the peer holds its own");
    let of_others: Vec<_> = problems.iter().filter(|problem| !is_peer(&problem.source)).collect();
    assert!(of_others.is_empty(), "{of_others:?}");
}

/// The peer was served, refused and bounded; what it saw is what the agent counted.
fn check_peer(metrics: &str, answers: &BTreeMap<u16, u64>) {
    let of_peer =
        |line: &&str| ["Junk", "Made", "Forged"].iter().any(|name| line.contains(&format!("reason=\"{name}")));
    let counted = metrics.lines().filter(|line| line.starts_with("problem_counter{")).filter(of_peer).count();
    assert!((1..=COUNTED_OF_PEER).contains(&counted), "{counted} reasons of one peer are counted");
    let seen = |codes: &[u16]| codes.iter().filter_map(|code| answers.get(code)).sum::<u64>();
    let reports = |result: &str| number(metrics, "nodewell_reports_total", &[("result", result)]).unwrap_or_default();
    for (result, codes) in [("taken", &[200, 202][..]), ("too-many-subjects", &[409][..]), ("forbidden", &[][..])] {
        let count = reports(result);
        assert!(count > 0 && count >= seen(codes), "{count} reports {result}; the peer saw {answers:?}");
    }
    let requests = metrics.lines().find_map(|line| line.strip_prefix("nodewell_socket_requests_total ")?.parse().ok());
    assert!(requests.is_some_and(|count: u64| count >= seen(&[200, 202, 403, 409])), "{requests:?} of {answers:?}");
    let turned_away = |bound: &str| number(metrics, "nodewell_socket_refused_total", &[("bound", bound)]);
    assert!(turned_away("peer").is_some_and(|count| count > 0), "no connection of the peer's was one too many");
    assert_eq!(turned_away("all"), Some(0), "no client was turned away because of another");
}

/// No other was refused anything.
fn check_refused(agent: &Agent) {
    let refused = agent.view().refused;
    let others: Vec<_> = refused.iter().filter(|one| !one.peer.contains(&HOSTILE.uid.to_string())).collect();
    assert!(!refused.is_empty() && others.is_empty(), "{others:?}");
}

/// Each fault is one Event that counts one, and the peer's are no more than it may have.
fn check_events(cluster: &Cluster, faults: &[Fault], begun: Instant) {
    for fault in faults {
        let events = fault.events(cluster);
        assert!(events.len() == 1 && events[0]["count"] == 1, "{fault:?}: {events:?}");
    }
    let path = format!("/api/v1/namespaces/default/events?fieldSelector=involvedObject.name%3D{NODE}");
    let (_, list) = cluster.admin(&Call::get(&path));
    let most = EVENTS_AT_ONCE + begun.elapsed().as_secs() + 1;
    let events = list["items"].as_array().map(Vec::as_slice).unwrap_or_default();
    let sources = events.iter().filter_map(|event| event["source"]["component"].as_str());
    let of_peer = sources.filter(|source| is_peer(source)).count() as u64;
    assert!((1..=most).contains(&of_peer), "{of_peer} Events of one peer in {:?}", begun.elapsed());
}

/// Of the sources that report over the socket, root's has this name alone.
fn is_peer(source: &str) -> bool {
    source.contains('@') && !source.starts_with("raid@")
}
