//! A thousand kills at random moments: what is lost, what is reported twice.

use nodewell_tests::{
    agent::Plan,
    cluster::{Cluster, Identity},
    fire::{Fire, RULES, Toll, under_fire},
};

use crate::{
    setting::Setting,
    table::{Row, Unit},
};

const NODE: &str = "bench-fire";
/// Printed with the figures: the same again, as far as clocks allow.
const SEED: u64 = 20_261_121;

/// On the double: it is away in a fourth of the lives, which a real server is too slow for.
pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let cluster = Cluster::double();
    cluster.create_node(NODE);
    let plan = Plan::new(NODE).rules(RULES);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(NODE.to_owned()), plan.folder());
    let kills = setting.times(1000, 50) as u64;
    let toll = under_fire(&cluster, NODE, &plan.kubeconfig(kubeconfig), &Fire { kills, seed: SEED });
    let Toll { seen, seen_counted, faults, faults_counted, starts, starts_counted, looked_healthier, .. } = toll;
    let exactly = |measure: &str, wrong: u64, beside: String| {
        Row::new(format!("{kills} × kill -9: {measure}"), precise(wrong), Unit::Count).beside(beside).exactly(0.0)
    };
    vec![
        exactly("events lost or doubled", seen.abs_diff(seen_counted), format!("{seen_counted} of {seen} counted")),
        exactly("faults lost or doubled", faults.abs_diff(faults_counted), format!("{faults_counted} of {faults}")),
        exactly("starts of problems", starts.abs_diff(starts_counted), format!("{starts_counted} of {starts} seen")),
        exactly("condition looked healthier", looked_healthier, format!("in {kills} looks, seed {SEED}")),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn precise(count: u64) -> f64 {
    count as f64
}
