//! Machines that shut down in an orderly way, as slowly as real ones do: two and eight minutes end without a hand on the
//! power. What is not back after ten is fenced. Fifteen minutes are left alone where the policy gives twenty.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_cluster::{CLUSTER, Cluster, Plan, identity, manifests::DEAD_NODES, worker::Worker};
use nodewell_tests::{
    suite::{Need, Suite},
    wait::{found_within, until_within},
};
use serde_json::Value;

const SOON: Duration = Duration::from_secs(60);
const READY: Duration = Duration::from_secs(180);
/// `rebootGracePeriod` by default.
const GRACE: Duration = Duration::from_secs(600);
/// A Lease is silent, a BMC is asked and ordered; and what stops before the agent does.
const FENCED: Duration = Duration::from_secs(150);

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("announced_reboot")
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "fifteen_minutes_are_left_alone_where_the_policy_gives_twenty",
            fifteen_minutes_are_left_alone_where_the_policy_gives_twenty,
        )
        .case_with(
            &[Need::LongSuite, CLUSTER],
            "two_and_eight_minutes_are_left_alone_and_more_than_ten_are_not",
            two_and_eight_minutes_are_left_alone_and_more_than_ten_are_not,
        );
}

fn fifteen_minutes_are_left_alone_where_the_policy_gives_twenty() {
    // One of two is no storm, and the budget's one: nothing but the announcement holds a hand back.
    let cluster = Cluster::start(Plan { workers: 2, controllers: 1, ..Plan::default() });
    cluster.install();
    identity::enroll(&cluster);
    let before = "nodeStartupGracePeriod: 0s";
    let longer = format!("{before}\n  rebootGracePeriod: 20m");
    cluster.apply_text(&policy(&[(before, longer.as_str())]));
    cluster.wait_until_fences_are_ready();
    is_left_alone(&cluster, "w2", Duration::from_secs(900));
    let events = cluster.api().events("w2", "Blocked");
    let is_announced = |event: &Value| {
        let message = event["message"].as_str().unwrap_or_default();
        message.contains("ShutdownAnnounced") && message.contains("has 20m to come back")
    };
    assert!(events.iter().any(is_announced), "what held it back: {events:?}");
}

fn two_and_eight_minutes_are_left_alone_and_more_than_ten_are_not() {
    let cluster = Cluster::start(Plan::default());
    cluster.install();
    identity::enroll(&cluster);
    // All three at once is no storm here, and no budget stands in the way: nothing but the announcement holds a hand
    // back.
    const BUDGET: &str = "maxUnavailable: 100%, maxDead: 100%, maxUnavailablePerZone: 100%, maxConcurrent: 3";
    let budget = format!("{BUDGET}, rate: {{ count: 10, window: 1h }} }}\n  cordonBudget: {{ {BUDGET}");
    cluster.apply_text(&policy(&[
        ("unhealthy: 50%", "unhealthy: 100%"),
        ("maxUnavailable: 1, maxConcurrent: 1, rate: { count: 10, window: 1h }", budget.as_str()),
    ]));
    cluster.wait_until_fences_are_ready();
    thread::scope(|scope| {
        scope.spawn(|| is_left_alone(&cluster, "w2", Duration::from_secs(120)));
        scope.spawn(|| is_left_alone(&cluster, "w3", Duration::from_secs(480)));
        scope.spawn(|| is_fenced_after_the_grace(&cluster, "w1"));
    });
}

/// Dead nodes are fenced, with other numbers.
fn policy(changes: &[(&str, &str)]) -> String {
    let mut policy = DEAD_NODES.to_owned();
    for &(text, by) in changes {
        assert!(policy.contains(text), "the policy has no {text:?}");
        policy = policy.replace(text, by);
    }
    policy
}

fn is_left_alone(cluster: &Cluster, name: &str, takes: Duration) {
    let worker = cluster.worker(name).unwrap();
    let begun = shut_down(worker, takes);
    until_within(takes + SOON, &format!("{name} is off by itself"), || (!worker.is_on()).then_some(()));
    assert!(begun.elapsed() >= takes, "{name} took {takes:?} to shut down, and was off after {:?}", begun.elapsed());
    worker.on().unwrap();
    cluster.api().wait_condition(READY, name, "Ready", "True");
    cluster.api().wait_given_back(READY, name);
    let orders = worker.orders();
    assert!(orders.iter().all(|order| !order.text.starts_with("set power")), "{name}: {orders:?}");
}

fn is_fenced_after_the_grace(cluster: &Cluster, name: &str) {
    let worker = cluster.worker(name).unwrap();
    let begun = shut_down(worker, GRACE + GRACE / 2);
    let is_cut = || worker.orders().iter().any(|order| order.text == "set power 0").then_some(());
    let early = found_within((GRACE - SOON / 2).saturating_sub(begun.elapsed()), is_cut);
    assert_eq!(early, None, "{name} lost its power after {:?}", begun.elapsed());
    until_within(SOON + FENCED, &format!("{name}, which is not back after the grace, loses its power"), is_cut);
    assert!(begun.elapsed() >= GRACE, "{name} lost its power after {:?}", begun.elapsed());
    cluster.api().wait_condition(READY, name, "Ready", "True");
}

/// Its administrator shuts it down, and something in it takes its time.
fn shut_down(worker: &Worker, takes: Duration) -> Instant {
    let unit = format!(
        "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nExecStop=/bin/sleep {}\nTimeoutStopSec=infinity\n",
        takes.as_secs()
    );
    let inside = worker.inside();
    inside.write("/run/systemd/system/takes-its-time.service", unit);
    inside.sh("systemctl daemon-reload && systemctl start takes-its-time");
    let begun = Instant::now();
    inside.sh("systemctl --no-block poweroff");
    begun
}
