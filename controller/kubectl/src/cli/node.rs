//! `node`: one node, with all conditions of nodewell and what is done about it.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::{no_such_node, node_name, output::Output};
use crate::{
    access::{Api, Target},
    error::{CommandError, found},
    read::{self, Scope},
    text,
    view::node::NodeView,
};

/// One node: its conditions, its agent, and what the controller does about it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Node {
    /// Its name
    #[arg(value_name = "NAME", value_parser = node_name)]
    name: String,
    #[command(flatten)]
    output: Output,
    /// The label of a node's rack [default: any that ends in /rack]
    #[arg(long, value_name = "KEY", env = "NODEWELL_RACK_LABEL", hide_env_values = true)]
    rack_label: Option<String>,
    /// Exit with 1 on a problem, with 2 if something is unknown
    #[arg(long)]
    exit_code: bool,
}

const EXAMPLES: &str = "\
Examples:
  kubectl nodewell node worker-7
  kubectl nodewell node node/worker-7 -o yaml
  kubectl nodewell node worker-7 --exit-code >/dev/null

Above is by whom it is cordoned, which taints are the controller's, whether its
agent reports, its remediation and what that waits for; below is every condition
of nodewell, problems first, with since when, reason and message.

Exit codes: 0 shown, whatever it is; with --exit-code 0 only if it is well, 1 if
it has a problem, 2 if something is unknown; 66 there is no such node.";

impl Node {
    pub(super) async fn run(self, target: &Target) -> Result<ExitCode, CommandError> {
        let api = Api::connect(target).await?;
        let scope = Scope { namespace: &target.namespace, selector: None, rack_label: self.rack_label.as_deref() };
        let facts = read::node(&api, &scope, &self.name).await?;
        let node = facts.node(&self.name).ok_or_else(|| no_such_node(&self.name))?;
        let now = Timestamp::now();
        let view = NodeView::of(&facts, node, now);
        let code = if self.exit_code { view.health.exit_code() } else { 0 };
        found(code, self.output.write(&view, now, text::node::text))
    }
}
