//! The scenarios, the same for the double and the real server: what happens, and what is measured of it.

mod idle;
mod outage;
mod rack;
mod start;

use std::time::Duration;

pub use idle::idle;
pub use outage::{Outage, outage};
pub use rack::rack;
pub use start::start;

use crate::{
    cluster::Cluster,
    report::{Fact, Report},
    truth::latest,
};

/// Nothing here takes so long; what does is reported as never.
const PATIENCE: Duration = Duration::from_secs(600);

/// The condition that breaks, one that is in the shipped rules.
const CONDITION: &str = "DiskUnhealthy";

/// How many conditions and Events of the cluster are not as they should be: each must be there, each counted once.
async fn wrongs(cluster: &Cluster) -> [Fact; 2] {
    let uncounted: u64 = cluster.miscounted().await;
    [
        Fact::new("Nodes that show something else than their agent knows", count(cluster.truth.wrong()), "")
            .at_most(0.0),
        Fact::new("occurrences lost or counted twice", whole(uncounted), "").at_most(0.0),
    ]
}

/// Median and last of what came about after `from`.
fn delays(what: &str, times: &[Option<Duration>], from: Duration) -> [Fact; 2] {
    let mut reached: Vec<Duration> = times.iter().flatten().map(|at| at.saturating_sub(from)).collect();
    reached.sort_unstable();
    let median = reached.get(reached.len() / 2).map_or(f64::NAN, Duration::as_secs_f64);
    let last = latest(times).map_or(f64::NAN, |at| at.saturating_sub(from).as_secs_f64());
    [Fact::new(format!("{what}, median"), median, "s"), Fact::new(format!("{what}, last"), last, "s")]
}

fn report(cluster: &Cluster, scenario: impl Into<String>, from: Duration, to: Duration) -> Report {
    let figures = cluster.meter.figures(from, to);
    Report { scenario: scenario.into(), cluster: cluster.name, nodes: cluster.size(), figures, facts: Vec::new() }
}

#[expect(clippy::cast_precision_loss, reason = "counts of nodes and requests are small")]
fn whole(number: u64) -> f64 {
    number as f64
}

fn count(number: usize) -> f64 {
    whole(number as u64)
}
