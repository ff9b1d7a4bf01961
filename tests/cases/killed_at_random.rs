//! An agent that is killed again and again while lines arrive in its log counts everything once and forgets nothing.

use nodewell_tests::{
    agent::Plan,
    cluster::{Cluster, Identity},
    fire::{Fire, RULES, under_fire},
    suite::Suite,
};

/// The bench kills a thousand times.
const KILLS: u64 = 25;

pub(crate) fn list(suite: &mut Suite) {
    suite.behaviour("killed_at_random").api("everything_is_counted_once", everything_is_counted_once);
}

fn everything_is_counted_once(cluster: &Cluster) {
    let node = "under-fire";
    cluster.create_node(node);
    let plan = Plan::new(node).rules(RULES);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(node.to_owned()), plan.folder());
    let plan = plan.kubeconfig(kubeconfig);
    let toll = under_fire(cluster, node, &plan, &Fire { kills: KILLS, seed: 7 });
    assert_eq!(toll.wrong(), 0, "{toll:?}");
}
