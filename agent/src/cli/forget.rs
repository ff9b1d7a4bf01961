//! `nodewell forget`: a daemon that reported over the socket is gone for good.

use clap::{Args, builder::NonEmptyStringValueParser};
use nodewell_client::Client;
use nodewell_model::api::{ClearedView, ForgetRequest};

use super::{clear::unsaved, error::CommandError, out::Out, output::Output, render::one_line};

/// Forget a daemon that is gone for good, with all that it has reported (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell forget raid-monitor@raid-monitor.service
  sudo nodewell forget backup@uid:1001

`nodewell status --all` lists the daemons that report over the socket. What it has
reported ends; one that reports again is there again.
As JSON and YAML: {cleared, durable}: how many problems ended, and whether that
is saved.

Exit codes: 0 it is forgotten; 64 there is no such daemon; 77 not root; 69 the
agent cannot be reached.")]
pub(super) struct Forget {
    /// The daemon's name in the list, such as raid-monitor@raid-monitor.service.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    daemon: String,
    #[command(flatten)]
    output: Output,
}

impl Forget {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let Self { daemon, output } = self;
        let request = ForgetRequest { daemon };
        let answer: ClearedView = client.post("/v1/forget", &request).await?;
        match output.document() {
            Some(form) => out.document(form, &answer),
            None => {
                out.line(&summary(&request.daemon, answer.cleared))?;
                Ok(unsaved(answer.durable).map_or(Ok(()), |line| out.line(line))?)
            }
        }
    }
}

fn summary(daemon: &str, ended: usize) -> String {
    let ended = match ended {
        0 => String::new(),
        1 => ", and 1 problem ended".to_owned(),
        many => format!(", and {many} problems ended"),
    };
    format!("{} is forgotten{ended}", one_line(daemon))
}
