//! The API server goes and comes back: how long until it has what happened meanwhile.

use std::{
    thread,
    time::{Duration, Instant},
};

use nodewell_tests::{
    agent::Plan,
    cluster::{Cluster, Identity},
    fire::RULES,
};

use crate::{
    daemon::Daemon,
    setting::Setting,
    statistics::Samples,
    table::{Row, Unit},
    wait,
};

const NODE: &str = "bench-outage";
const TARGET_RECOVERY_MILLIS: f64 = 2_000.0;
/// Long enough that the back-off has reached its longest pauses.
const AWAY: Duration = Duration::from_secs(12);

pub(crate) fn rows(setting: &Setting) -> Vec<Row> {
    let cluster = Cluster::double();
    cluster.create_node(NODE);
    let plan = Plan::new(NODE).rules(RULES);
    let kubeconfig = cluster.write_kubeconfig(&Identity::Node(NODE.to_owned()), plan.folder());
    let daemon = Daemon::start(plan.kubeconfig(kubeconfig));
    wait::until("the server has the condition", || cluster.condition(NODE, "FireUnhealthy"));
    let times: Vec<Duration> = (0..setting.times(7, 2)).map(|round| recovery(&cluster, &daemon, round)).collect();
    vec![
        Row::median(
            "API server away for 12 s: its return → the Event is there",
            &Samples::millis(&times),
            Unit::Millis,
        )
        .at_most(TARGET_RECOVERY_MILLIS),
    ]
}

fn recovery(cluster: &Cluster, daemon: &Daemon, round: usize) -> Duration {
    cluster.stop();
    daemon.plan().kmsg().write(&format!("fire: seen on r{round}"));
    thread::sleep(AWAY);
    let back = Instant::now();
    cluster.start_again();
    wait::until("the Event is there", || {
        let reported = cluster.events(NODE, "FireSeen");
        reported.iter().any(|event| event["message"].to_string().contains(&format!("r{round}"))).then_some(())
    });
    back.elapsed()
}
