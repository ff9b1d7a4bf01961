//! `plan`: what would be done now, and why not, for every node. Reads the cluster once; writes nothing.

mod fate;
mod read;
mod remedy;
mod table;

use std::{sync::Arc, time::Duration};

use clap::Args;
use nodewell_reconcile::clock::Clock;
use nodewell_remedy::{decide::Memory, fate::Fate, snapshot::Snapshot, verdict::Verdict};
use serde_json::{Value, json};

use super::{
    Failure, Global,
    failure::print,
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
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller plan                   every node: state, policy, what is next, what holds it
  nodewell-controller plan --node worker-7   all reasons in full; when its pods would run again if it failed
  nodewell-controller plan --json            for scripts

It reads the cluster once and decides as a leader would, with the ages that the API server tells; nothing is written.
With --node the BMC of that node is asked, from this host, whether it is its own.";

/// The one node that was asked for: what would become of it, or what cannot be read.
type Told = Option<Result<Fate, String>>;

impl Plan {
    pub(super) async fn run(self, global: &Global) -> Result<(), Failure> {
        let (config, cluster) = global.cluster().await?;
        let clock = Clock::system(clock::slept);
        // Ages reach back to before our own beginning.
        let now = read::later(clock.now(), READ_BACK);
        let mut snapshot = read::snapshot(&cluster, &config, now).await?;
        snapshot.epoch = 1;
        let file = config.node_reaper_config.as_deref();
        let refusals = file.map(|file| read::add_reaper(&mut snapshot, file, now)).transpose()?.unwrap_or_default();
        let decision = nodewell_remedy::decide::decide(&snapshot, Memory::default(), now);
        let mut verdicts = decision.verdicts;
        let mut fate = None;
        if let Some(name) = &self.node {
            let missing = || Failure::Said(format!("there is no node {name:?}"));
            let node = snapshot.nodes.get(name).ok_or_else(missing)?;
            verdicts.retain(|verdict| &verdict.node == name);
            fate = Some(fate::of(&Arc::new(cluster), &config, &snapshot, node, now).await);
        }
        print(&self.shown(&snapshot, (&verdicts, &refusals), &fate, config.dry_run))
    }

    fn shown(
        &self,
        snapshot: &Snapshot,
        (verdicts, refusals): (&[Verdict], &[String]),
        fate: &Told,
        dry_run: bool,
    ) -> String {
        if self.json {
            let mut nodes: Vec<Value> = verdicts.iter().map(|verdict| as_json(snapshot, verdict)).collect();
            if let ([node], Some(fate)) = (nodes.as_mut_slice(), fate) {
                node["fate"] = fate::as_json(fate);
            }
            let of_all = json!({
                "dryRun": dry_run, "stopped": snapshot.stopped, "nodeReaperRefused": refusals, "nodes": nodes,
            });
            return format!("{of_all}\n");
        }
        let look = Look::of_stdout();
        let mut text = table::head(snapshot, dry_run, look);
        text.push_str(&table::refused(refusals, look));
        match (&self.node, verdicts) {
            (Some(_), [verdict]) => text.push_str(&table::one(snapshot, verdict, look)),
            _ => text.push_str(&table::all(snapshot, verdicts, look)),
        }
        if let Some(fate) = fate {
            text.push('\n');
            text.push_str(&fate::told(fate, width()));
        }
        text
    }
}

/// No age on the API server is of use beyond this.
const READ_BACK: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

fn as_json(snapshot: &Snapshot, verdict: &Verdict) -> Value {
    let errors: Vec<Value> =
        verdict.errors.iter().map(|(policy, error)| json!({ "policy": policy, "error": error })).collect();
    json!({
        "node": verdict.node,
        "state": snapshot.nodes.get(&verdict.node).map(table::state),
        "policy": verdict.policy,
        "phase": verdict.phase,
        "next": verdict.next,
        "holds": verdict.holds,
        "errors": errors,
    })
}
