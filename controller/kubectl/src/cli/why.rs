//! `why`: why a node is cordoned, drained or fenced, or was.

use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::{no_such_node, node_name, output::Output};
use crate::{
    access::{Api, Target},
    error::{CommandError, found},
    read::{self, Scope},
    text,
    view::why::WhyView,
};

/// Why a node was cordoned, drained or fenced: in plain words, the newest first.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Why {
    /// Its name; the node may be gone
    #[arg(value_name = "NODE", value_parser = node_name)]
    node: String,
    #[command(flatten)]
    output: Output,
}

const EXAMPLES: &str = "\
Examples:
  kubectl nodewell why worker-7
  kubectl nodewell why worker-7 --all
  kubectl nodewell why worker-7 -o json | jq -r '.now[]'

It reads the cordon and the taints of the Node and who wrote them, the record of
its remediation, records that ended (the controller keeps each for a day), and
Events (the API server keeps them for an hour): the controller's, the kubelet's,
and what the agent warned of within an hour before a remediation was begun. The
audit on the controller's hosts has all that was done, for years.

Exit codes: 0 shown; 66 there is no such node, and nothing is left of one.";

impl Why {
    pub(super) async fn run(self, target: &Target) -> Result<ExitCode, CommandError> {
        let api = Api::connect(target).await?;
        let scope = Scope { namespace: &target.namespace, selector: None, rack_label: None };
        let facts = read::story(&api, &scope, &self.node).await?;
        let now = Timestamp::now();
        let view = WhyView::of(&facts, &self.node, now);
        if !view.knows_it() {
            return Err(no_such_node(&self.node));
        }
        found(0, self.output.write(&view, now, text::why::text))
    }
}
