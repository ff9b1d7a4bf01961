//! `plan`: what the leader does now, and why not, for every node; where none reports that, what this host's own
//! configuration would decide. Reads the cluster once; writes nothing.

mod budgets;
mod drain;
mod forecast;
mod leader;
mod policies;
mod read;
mod remediation;
mod stored;
pub(super) mod table;

use std::{fmt::Write as _, sync::Arc, time::Duration};

use clap::Args;
use jiff::Timestamp;
use nodewell_forecast::NodeForecast;
use nodewell_reconcile::clock::Clock;
use nodewell_remediation::{decide::Memory, guard::budgets::usage, node_report::NodeReport, snapshot::Snapshot};
use serde_json::{Value, json};

use self::policies::PolicyResult;
use super::{
    Acting, CommandError, Global,
    error::print,
    look::{Look, width},
    output::Output,
};
use crate::{
    clock,
    report::{Budget, Report},
};

/// Show what would be done now, and why not, for every node.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Plan {
    /// Only this node, with everything that speaks against it, and what would become of its pods if it failed
    #[arg(long, value_name = "NAME")]
    node: Option<String>,
    #[command(flatten)]
    output: Output,
    /// What this host's configuration would decide, whatever a leader does
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    pub(super) acting: Acting,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller plan                   each node: what is next, why not
  nodewell-controller plan --node worker-7   all reasons, and what if it failed
  nodewell-controller plan --json            for scripts; -o yaml
  nodewell-controller plan --no-dry-run      what if this host's config acted

It shows what the leader decided some seconds ago, by its own configuration:
what changes first comes first. While no controller reports anything, with
--local, and with options of a run, it decides here instead, as a leader would,
with the ages that the API server has; then only what is in records knows of
etcd and other hosts. Nothing is written. With --node it asks the BMC of that
node, from this host, whether it is the node's own, and while the node drains it
shows the pods that are left and their budgets. Exit codes: 0 whatever is
planned; 70 the cluster cannot be read, or there is no such node.";

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
    now: Timestamp,
    /// Why node-reaper's configuration is not acted on.
    refusals: &'a [String],
    usage: &'a [Budget],
    dry_run: bool,
    /// Who decided so, in a sentence.
    decided_by: &'a str,
    /// Who decided so, as data; nothing if it was decided here.
    leader: Option<&'a Report>,
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
        let asked_here = self.local || global.acting.is_given();
        let leader = leader::find(&cluster, &config, asked_here, now.wall).await;
        let mut node_reports = decision.node_reports;
        match &leader.report {
            Some(report) => leader::take_over(report, &mut node_reports),
            None => stored::take_over(&snapshot, &mut node_reports),
        }
        node_reports.sort_by(|one, other| (one.urgency(), &one.node).cmp(&(other.urgency(), &other.node)));
        let mut one = None;
        if let Some(name) = &self.node {
            let missing = || CommandError::Message(format!("there is no node {name:?}"));
            let node = snapshot.nodes.get(name).ok_or_else(missing)?;
            node_reports.retain(|node_report| &node_report.node == name);
            one = Some(One {
                policies: policies::of(&snapshot, &decision.memory, node, now.moment),
                waits: drain::of(&cluster, &snapshot, name, now).await,
                forecast: forecast::of(&cluster, &config, &snapshot, node, leader.is_dry_run(&config), now).await,
            });
        }
        let here = Report {
            dry_run: config.dry_run,
            node_reaper_refused: refusals,
            budgets: usage(&snapshot, now.moment).iter().map(Budget::from).collect(),
            ..Report::default()
        };
        let report = leader.report.as_ref().unwrap_or(&here);
        let found = Found {
            snapshot: &snapshot,
            node_reports: &node_reports,
            now: now.wall,
            refusals: &report.node_reaper_refused,
            usage: &report.budgets,
            dry_run: report.dry_run,
            decided_by: &leader.sentence,
            leader: leader.report.as_ref(),
            one,
        };
        let document = self.output.document(|| found.document())?;
        print(&document.unwrap_or_else(|| found.shown()))
    }
}

impl Found<'_> {
    fn document(&self) -> Value {
        let Found { snapshot, node_reports, now: _, refusals, usage, dry_run, decided_by: _, leader, one } = self;
        let mut nodes: Vec<Value> = node_reports.iter().map(|node_report| as_json(snapshot, node_report)).collect();
        if let ([node], Some(one)) = (nodes.as_mut_slice(), one) {
            node["policies"] = policies::as_json(&one.policies);
            node["drainWaits"] = json!(one.waits);
            node["forecast"] = forecast::as_json(&one.forecast);
        }
        json!({
            "dryRun": dry_run, "stopped": snapshot.stopped, "nodeReaperRefused": refusals, "nodes": nodes,
            "budgets": usage, "neverActing": policies::that_never_act_as_json(snapshot),
            "leader": leader.map(leader::as_json),
        })
    }

    fn shown(&self) -> String {
        let Found { snapshot, node_reports, now, refusals, usage, dry_run, decided_by, leader, one } = self;
        let look = Look::of_stdout();
        let mut text = table::head(snapshot, *dry_run, look);
        let _ = writeln!(text, "{decided_by}");
        text.push_str(&table::refused(refusals, look));
        text.push_str(&policies::that_never_act(snapshot));
        text.push_str(&budgets::shown(usage));
        match (one, node_reports) {
            (Some(one), [node_report]) => text.push_str(&table::one(snapshot, node_report, one, *now, look)),
            _ => text.push_str(&table::all(snapshot, node_reports, *now, look)),
        }
        if leader.is_none() && node_reports.iter().any(|node_report| node_report.next.is_some()) {
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
        "restoredAt": node_report.restored_at,
        "blockedBy": node_report.blockers,
        "refusedEvictions": table::refused_evictions(snapshot, node_report),
        "errors": errors,
    })
}
