//! `status`: what is wrong with the nodes of the cluster.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;
use nodewell_remediation::facts::{AGENT_CONDITION_TYPES, FENCE_READY};

use super::output::Output;
use crate::{
    access::{Api, Target},
    error::{CommandError, USAGE, found},
    facts::Facts,
    read::{self, Scope},
    text,
    view::fleet::{FleetView, READY},
};

/// What is wrong with the nodes: by condition, with zone, rack and age.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Status {
    #[command(flatten)]
    output: Output,
    /// Only nodes with these labels, as kubectl takes them
    #[arg(long, short = 'l', value_name = "LABELS")]
    selector: Option<String>,
    /// Only this condition
    #[arg(long, value_name = "TYPE")]
    condition: Option<String>,
    /// The label of a node's rack [default: any that ends in /rack]
    #[arg(long, value_name = "KEY", env = "NODEWELL_RACK_LABEL", hide_env_values = true)]
    rack_label: Option<String>,
    /// Exit with 1 on a problem, with 2 if something is unknown
    #[arg(long)]
    exit_code: bool,
}

const EXAMPLES: &str = "\
Examples:
  kubectl nodewell status
  kubectl nodewell status --all
  kubectl nodewell status --condition DiskUnhealthy -o wide
  kubectl nodewell status -l topology.kubernetes.io/zone=a --context east
  kubectl nodewell status --exit-code >/dev/null || echo 'look at the fleet'
  kubectl nodewell status -o json | jq -r '.conditions[].nodes[].node'

Conditions are those of nodewell's agents and of its controller; NotReady is the
kubelet's. Nodes whose agent is silent or missing are named: nothing is known of
them. What is well is one line; --all and -o wide list it. JSON and YAML have
everything in any case.

Exit codes: 0 shown, whatever it is; with --exit-code 0 only if all nodes are
well, 1 if one has a problem, else 2 if one is unknown; 69 no API server
answers; 77 no permission to list nodes; 78 no kubeconfig that can be used.";

impl Status {
    pub(super) async fn run(self, target: &Target) -> Result<ExitCode, CommandError> {
        let api = Api::connect(target).await?;
        let scope = Scope {
            namespace: &target.namespace,
            selector: self.selector.as_deref(),
            rack_label: self.rack_label.as_deref(),
        };
        let facts = read::fleet(&api, &scope).await?;
        self.condition.iter().try_for_each(|wanted| is_known(wanted, &facts))?;
        let now = Timestamp::now();
        let view = FleetView::of(&facts, self.condition.as_deref(), now);
        let code = if self.exit_code { view.health().exit_code() } else { 0 };
        found(code, self.output.write(&view, now, text::fleet::text))
    }
}

/// A mistyped name would be well everywhere.
fn is_known(wanted: &str, facts: &Facts) -> Result<(), CommandError> {
    let is_there = || facts.nodes.iter().flat_map(|node| &node.conditions).any(|condition| condition.kind == wanted);
    if AGENT_CONDITION_TYPES.contains(&wanted) || [READY, FENCE_READY].contains(&wanted) || is_there() {
        return Ok(());
    }
    let known = AGENT_CONDITION_TYPES.join(", ");
    let message = format!("no node has a condition {wanted:?}; nodewell's are {known}, {FENCE_READY} and {READY}");
    Err(CommandError::new(USAGE, message))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::facts::NodeFacts;

    #[test]
    fn a_mistyped_condition_is_no_healthy_fleet() {
        let raw = json!({ "metadata": { "name": "n1", "managedFields": [{ "manager": "nodewell", "operation": "Apply",
                "subresource": "status", "fieldsV1": { "f:status": { "f:conditions": {
                    "k:{\"type\":\"RackDoorOpen\"}": { "f:type": {} } } } } }] },
            "status": { "conditions": [{ "type": "RackDoorOpen", "status": "False" }] } });
        let facts = Facts { nodes: NodeFacts::read(&raw, None).into_iter().collect(), ..Facts::default() };
        for known in ["DiskUnhealthy", "Ready", "FenceReady", "RackDoorOpen"] {
            assert!(is_known(known, &facts).is_ok(), "{known}");
        }
        let error = is_known("DiskUnhealthi", &facts).unwrap_err().to_string();
        assert!(
            error.contains("no node has a condition \"DiskUnhealthi\"") && error.contains("DiskUnhealthy"),
            "{error}"
        );
    }
}
