//! A restart of the agent under daemons that report: nothing is refused for good, and what is so is reported again.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use jiff::Timestamp;
use nodewell_client::{Client, Reporter, ReporterSettings};
use nodewell_model::{Condition, ConditionStatus, Event, Name, Severity};
use nodewell_tests::{runtime::block_on, suite::Suite, wait::PATIENCE};

use crate::report_api::agent;

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("report_restart")
        .case("a_restarted_agent_receives_everything_again", a_restarted_agent_receives_everything_again)
        .case("a_stop_under_load_refuses_nothing", a_stop_under_load_refuses_nothing);
}

fn broken() -> Condition {
    Condition {
        condition: Name::fixed("RaidProblem"),
        status: ConditionStatus::True,
        transition: "2026-11-21T02:00:00Z".parse().unwrap(),
        reason: Name::fixed("RaidDegraded"),
        message: "md0 lost a disk".to_owned(),
        subject: Some("md0".to_owned()),
        severity: Some(Severity::Error),
        action: None,
    }
}

fn event(n: usize) -> Event {
    Event {
        severity: Severity::Warn,
        timestamp: Timestamp::now(),
        reason: Name::fixed("RaidSeen"),
        message: n.to_string(),
        subject: None,
        seen_by: None,
    }
}

fn settings() -> ReporterSettings {
    ReporterSettings {
        ttl: Duration::from_secs(3),
        batch_for: Duration::from_millis(1),
        ..ReporterSettings::new("raid-monitor")
    }
}

fn wait_answered(reporter: &Reporter) {
    block_on(async { tokio::time::timeout(PATIENCE, reporter.flushed()).await.expect("answered in time") });
}

fn a_restarted_agent_receives_everything_again() {
    let mut agent = agent();
    let client = Client::new(agent.socket());
    let reporter = block_on(async { Reporter::start(client, settings(), |lost| panic!("{lost:?}")) });
    reporter.set(broken());
    wait_answered(&reporter);
    assert_eq!(agent.condition("RaidProblem").unwrap().status.as_str(), "True");
    agent.restart();
    // The daemon sets nothing: a heartbeat finds another instance.
    let view = agent.wait_condition("RaidProblem", "True");
    assert_eq!(view.problems[0].count, 1);
    assert!(block_on(reporter.finish(PATIENCE)));
    assert!(agent.condition("RaidProblem").is_none());
}

/// 100 events a second, over three restarts: each is taken by one of the agents, none is discarded.
fn a_stop_under_load_refuses_nothing() {
    let mut agent = agent();
    let refused = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&refused);
    let client = Client::new(agent.socket());
    let reporter =
        block_on(async { Reporter::start(client, settings(), move |_| _ = counted.fetch_add(1, Ordering::Relaxed)) });
    let mut taken = 0;
    for round in 0..3 {
        for n in 0..50 {
            reporter.event(event(round * 50 + n));
            std::thread::sleep(Duration::from_millis(10));
        }
        wait_answered(&reporter);
        taken += agent.events("RaidSeen").len();
        // The next round's first reports find a socket that is going away.
        agent.stop_and_start(|| reporter.event(event(1000 + round)));
    }
    wait_answered(&reporter);
    taken += agent.events("RaidSeen").len();
    // Those reported while it stopped may be on record with an agent that is gone.
    assert!((150..=153).contains(&taken), "{taken}");
    assert_eq!((refused.load(Ordering::Relaxed), reporter.dropped_events()), (0, 0));
}
