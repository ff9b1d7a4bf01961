//! The API server is away for a while; some nodes have something to report when it is back, the others only a
//! heartbeat.

use std::time::Duration;

use tokio::time::sleep;

use super::{CONDITION, PATIENCE, count, delays, rack::mend, report, wrongs};
use crate::{
    cluster::Cluster,
    fleet::broken,
    report::{Fact, Report},
};

/// Nodes with something undelivered are right so soon after the server's return.
const RECOVERY_SECS: f64 = 2.0;
/// Five minutes, and a tenth by chance: in a longer outage every heartbeat is missed.
const LONGEST_HEARTBEAT: Duration = Duration::from_secs(330);
/// What is looked at after the return: the idle nodes are to spread over a minute.
const WINDOW: Duration = Duration::from_secs(90);

/// How long, and how many nodes have something to report.
#[derive(Debug, Clone, Copy)]
pub struct Outage {
    pub lasting: Duration,
    /// Every so manieth node.
    pub one_in: usize,
    /// Whether the recovery of those is held to its limit: a server has its own, too.
    pub is_limited: bool,
}

/// Two reports: while the server is away, and after its return.
pub async fn outage(cluster: &mut Cluster, plan: Outage) -> [Report; 2] {
    let (eager, idle): (Vec<usize>, Vec<usize>) = cluster.all().into_iter().partition(|node| node % plan.one_in == 0);
    let from = cluster.next_second().await;
    cluster.open.send_replace(false);
    // Not the last seconds: what happens in the very moment of the return measures something else.
    let pause = plan.lasting.mul_f64(0.9) / u32::try_from(eager.len()).unwrap_or(u32::MAX).max(1);
    for &node in &eager {
        sleep(pause).await;
        cluster.report(node, broken(&cluster.healthy, CONDITION, cluster.clock.wall()));
        ["sda", "sdb"].iter().for_each(|disk| cluster.happen(node, "IOError", disk));
    }
    let back = from + plan.lasting;
    sleep(back.saturating_sub(cluster.now())).await;
    let title = format!("outage of {} s, {} nodes have something to report", plan.lasting.as_secs(), eager.len());
    let away = report(cluster, format!("{title}: away"), from, back);
    cluster.truth.expect_writes();
    cluster.open.send_replace(true);
    let mut facts = recovery(cluster, &eager, &idle, back, plan).await;
    let mut after = report(cluster, format!("{title}: back"), back, back + WINDOW);
    facts.extend(mend(cluster, &eager).await);
    facts.extend(wrongs(cluster).await);
    after.facts = facts;
    [away, after]
}

async fn recovery(cluster: &Cluster, eager: &[usize], idle: &[usize], back: Duration, plan: Outage) -> Vec<Fact> {
    cluster.until(PATIENCE, |cluster| cluster.truth.all_right_at(eager).is_some()).await;
    let [median, last] = delays("something to report: right after", &cluster.truth.right_at(eager), back);
    let last = if plan.is_limited { last.at_most(RECOVERY_SECS) } else { last };
    let delivered = cluster.delivered(eager, PATIENCE).await;
    let mut facts = vec![median, last, Fact::new("their Events there after", delivered - back.as_secs_f64(), "s")];
    sleep((back + WINDOW).saturating_sub(cluster.now())).await;
    let written = cluster.truth.written_at(idle);
    if written.iter().any(Option::is_some) {
        let heard: Vec<Option<Duration>> = written.iter().copied().filter(Option::is_some).collect();
        facts.push(Fact::new("nothing to report: written", count(heard.len()), ""));
        facts.extend(delays("nothing to report: written after", &heard, back));
    }
    if plan.lasting > LONGEST_HEARTBEAT {
        let unheard = written.len() - written.iter().flatten().count();
        facts.push(Fact::new("nothing to report, and not written", count(unheard), "").at_most(0.0));
    }
    facts
}
