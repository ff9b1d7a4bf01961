//! `plan`: what would be done now, and why not, for every node. Reads the cluster once; writes nothing.

mod budgets;
mod drain;
mod forecast;
mod policies;
mod read;
mod remediation;
mod stored;
mod table;

use std::{fmt::Write as _, sync::Arc, time::Duration};

use clap::Args;
use nodewell_reconcile::clock::Clock;
use nodewell_remediation::{
    decide::Memory,
    forecast::NodeForecast,
    guard::budgets::{BudgetUsage, usage},
    node_report::NodeReport,
    snapshot::Snapshot,
};
use serde_json::{Value, json};

use self::policies::PolicyResult;
use super::{
    Acting, CommandError, Global,
    error::print,
    look::{Look, width},
};
use crate::clock;

/// Show what would be done now, and why not, for every node.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Plan {
    /// Only this node, with everything that speaks against it, and what would become of its pods if it failed
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    /// As JSON, for scripts
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pub(super) acting: Acting,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller plan                   each node: what is next, why not
  nodewell-controller plan --node worker-7   all reasons, and what if it failed
  nodewell-controller plan --json            for scripts

It reads the cluster once and decides as a leader would, with the ages that the
API server has; nothing is written. Of a node under remediation it shows what
its record has. Only the leader asks etcd and other hosts. With --node it asks
the BMC of that node, from this host, whether it is the node's own, and while
the node drains it shows the pods that are left and their budgets. Exit codes: 0
whatever is planned; 70 the cluster cannot be read, or there is no such node.";

/// The one node that was asked for.
struct One {
    /// What each policy reports of it.
    policies: Vec<PolicyResult>,
    /// What its drain waits for.
    waits: Vec<String>,
    /// What would become of it, or what cannot be read.
    forecast: Result<NodeForecast, String>,
}

/// All that is shown.
struct Found<'a> {
    snapshot: &'a Snapshot,
    node_reports: &'a [NodeReport],
    /// Why node-reaper's configuration is not acted on.
    refusals: &'a [String],
    usage: &'a [BudgetUsage],
    one: Option<One>,
}

impl Plan {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (config, cluster) = global.cluster().await?;
        let cluster = Arc::new(cluster);
        let clock = Clock::system(clock::slept);
        // Ages reach back to before our own beginning.
        let now = read::later(clock.now(), READ_BACK);
        let mut snapshot = read::snapshot(&cluster, &config, now).await?;
        snapshot.epoch = 1;
        let file = config.node_reaper_config.as_deref();
        let refusals = file.map(|file| read::add_reaper(&mut snapshot, file, now)).transpose()?.unwrap_or_default();
        let decision = nodewell_remediation::decide::decide(&snapshot, Memory::reconstructed(&snapshot, now), now);
        let mut node_reports = decision.node_reports;
        stored::take_over(&snapshot, &mut node_reports);
        let mut one = None;
        if let Some(name) = &self.node {
            let missing = || CommandError::Message(format!("there is no node {name:?}"));
            let node = snapshot.nodes.get(name).ok_or_else(missing)?;
            node_reports.retain(|node_report| &node_report.node == name);
            one = Some(One {
                policies: policies::of(&snapshot, &decision.memory, node, now.moment),
                waits: drain::of(&cluster, &snapshot, name, now).await,
                forecast: forecast::of(&cluster, &config, &snapshot, node, now).await,
            });
        }
        let usage = usage(&snapshot, now.moment);
        let found = Found { snapshot: &snapshot, node_reports: &node_reports, refusals: &refusals, usage: &usage, one };
        print(&self.shown(&found, config.dry_run))
    }

    fn shown(&self, found: &Found<'_>, dry_run: bool) -> String {
        let Found { snapshot, node_reports, refusals, usage, one } = found;
        if self.json {
            let mut nodes: Vec<Value> = node_reports.iter().map(|node_report| as_json(snapshot, node_report)).collect();
            if let ([node], Some(one)) = (nodes.as_mut_slice(), one) {
                node["policies"] = policies::as_json(&one.policies);
                node["drainWaits"] = json!(one.waits);
                node["forecast"] = forecast::as_json(&one.forecast);
            }
            let of_all = json!({
                "dryRun": dry_run, "stopped": snapshot.stopped, "nodeReaperRefused": refusals, "nodes": nodes,
                "budgets": budgets::as_json(usage),
            });
            return format!("{of_all}\n");
        }
        let look = Look::of_stdout();
        let mut text = table::head(snapshot, dry_run, look);
        text.push_str(&table::refused(refusals, look));
        text.push_str(&budgets::shown(usage));
        match (one, node_reports) {
            (Some(one), [node_report]) => text.push_str(&table::one(snapshot, node_report, one, look)),
            _ => text.push_str(&table::all(snapshot, node_reports, look)),
        }
        if node_reports.iter().any(|node_report| node_report.next.is_some()) {
            let _ = writeln!(text, "\n{}", stored::NOT_ASKED.join("\n"));
        }
        if let Some(one) = one {
            let _ = write!(text, "\n{}", forecast::shown(&one.forecast, width()));
        }
        text
    }
}

/// No age on the API server is of use beyond this.
const READ_BACK: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

fn as_json(snapshot: &Snapshot, node_report: &NodeReport) -> Value {
    let errors: Vec<Value> =
        node_report.errors.iter().map(|(policy, error)| json!({ "policy": policy, "error": error })).collect();
    json!({
        "node": node_report.node,
        "state": snapshot.nodes.get(&node_report.node).map(table::state),
        "policy": node_report.policy,
        "also": node_report.also,
        "phase": node_report.phase,
        "next": node_report.next,
        "blockedBy": node_report.blockers,
        "refusedEvictions": table::refused_evictions(snapshot, node_report),
        "errors": errors,
    })
}
