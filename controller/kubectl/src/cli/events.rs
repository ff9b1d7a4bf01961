//! `events`: what happened on nodes.

use std::{process::ExitCode, time::Duration};

use clap::Args;
use jiff::Timestamp;
use nodewell_remediation::policy::duration;

use super::{node_name, output::Output};
use crate::{
    access::{Api, Target},
    error::{CommandError, found},
    read, text,
    view::events::{EventsView, Filter},
};

/// What happened: Events of agents and of the controller, the newest last.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Events {
    /// Only of this node
    #[arg(value_name = "NODE", value_parser = node_name)]
    node: Option<String>,
    #[command(flatten)]
    output: Output,
    /// Only what happened within so long: 30m, 2h
    #[arg(long, value_name = "SPAN", value_parser = duration::parse)]
    since: Option<Duration>,
    /// Only this reason; may be given several times
    #[arg(long, value_name = "REASON")]
    reason: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  kubectl nodewell events --since 30m
  kubectl nodewell events worker-7 --all
  kubectl nodewell events --reason KernelOops --reason MediumError
  kubectl nodewell events -o json | jq -r '.events[].reason' | sort | uniq -c

--all has those of the kubelet and of other clients, too. The API server keeps
Events for an hour, unless it is set otherwise; `nodewell events` on a node has
more of them.

Exit codes: 0 shown, also if there is none; 77 no permission to list Events.";

impl Events {
    pub(super) async fn run(self, target: &Target) -> Result<ExitCode, CommandError> {
        let api = Api::connect(target).await?;
        let facts = read::events(&api, self.node.as_deref()).await?;
        let filter = Filter { node: self.node, since: self.since, reasons: self.reason, all: self.output.all() };
        let now = Timestamp::now();
        let view = EventsView::of(&facts, &filter, now);
        found(0, self.output.write(&view, now, text::events::text))
    }
}
