//! The scale test in small, on virtual time: the limits hold for 300 nodes as for 15,000.

use std::time::Duration;

use nodewell_scale::{
    cluster::Cluster,
    report::Report,
    scenario::{self, Outage},
    server::Limits,
};
use tokio::runtime::Builder;

const NODES: usize = 300;
/// Roomy: what is looked at is what the exporters ask for.
const LIMITS: Limits = Limits { seats: 24, queue: 3200, work: Duration::from_millis(10) };

fn on_virtual_time<T>(story: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build();
    runtime.expect("a runtime needs no more than memory").block_on(story)
}

fn assert_met(reports: &[Report]) {
    for report in reports {
        assert_eq!(report.missed().count(), 0, "{}", report.text());
    }
}

#[test]
fn an_idle_cluster_costs_no_more_than_its_heartbeats() {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(NODES, LIMITS);
        let start = scenario::start(&mut cluster, Duration::from_secs(300)).await;
        let idle = scenario::idle(&cluster, "idle", Duration::from_secs(600)).await;
        // In ten minutes each node has one or two heartbeats to send, and nothing but those.
        let writes = idle.figures.requests("patch-node-status");
        assert!((NODES as u64..=2 * NODES as u64).contains(&writes), "{}", idle.text());
        // Six a second on average, at random moments: thirty in one are no chance.
        assert!(idle.figures.all.peak <= NODES as u64 / 10, "{}", idle.text());
        assert_met(&[start, idle]);
    });
}

#[test]
fn a_rack_that_fails_is_reported_and_counted_once() {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(NODES, LIMITS);
        let start = scenario::start(&mut cluster, Duration::ZERO).await;
        let rack = scenario::rack(&mut cluster, NODES / 3).await;
        assert_eq!(rack.figures.requests("create-event"), NODES as u64, "three for each node of the rack");
        assert_met(&[start, rack]);
    });
}

#[test]
fn after_an_outage_news_come_first_and_heartbeats_spread() {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(NODES, LIMITS);
        let start = scenario::start(&mut cluster, Duration::ZERO).await;
        let plan = Outage { lasting: Duration::from_secs(340), one_in: 20, is_limited: true };
        let [away, back] = scenario::outage(&mut cluster, plan).await;
        assert!(away.figures.requests("unanswered") > 0, "{}", away.text());
        assert!(back.figures.by_verb["patch-node-status"].peak <= NODES as u64 / 5, "{}", back.text());
        assert_met(&[start, away, back]);
    });
}

#[test]
fn a_server_with_one_seat_is_waited_for_in_patience() {
    on_virtual_time(async {
        let narrow = Limits { seats: 1, queue: 20, work: Duration::from_millis(50) };
        let mut cluster = Cluster::virtual_time(NODES, narrow);
        let start = scenario::start(&mut cluster, Duration::ZERO).await;
        assert!(start.figures.requests("turned-away") > 0, "{}", start.text());
        assert_met(&[start]);
    });
}

/// The proof that these tests can fail: an exporter that reports too little is seen.
#[test]
fn what_the_server_does_not_show_is_wrong() {
    on_virtual_time(async {
        let mut cluster = Cluster::virtual_time(2, LIMITS);
        scenario::start(&mut cluster, Duration::ZERO).await;
        cluster.open.send_replace(false);
        cluster.report(1, nodewell_scale::fleet::broken(&cluster.healthy, "DiskUnhealthy", cluster.clock.wall()));
        cluster.happen(1, "IOError", "sda");
        let idle = scenario::idle(&cluster, "idle", Duration::from_secs(20)).await;
        assert_eq!(idle.missed().count(), 2, "{}", idle.text());
    });
}
