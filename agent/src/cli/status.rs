//! `nodewell status`: the account of this node, once or until interrupted.

use std::{sync::Arc, time::Duration};

use clap::Args;
use nodewell_client::{Client, ClientError};
use nodewell_model::view::NodeView;
use tokio::time::sleep;

use super::{
    error::CommandError,
    out::Out,
    render::{Look, Paint, status_table},
};

/// Ages grow by the second; asking costs the agent well under a millisecond.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// What is wrong with this node: its conditions, their problems, and which monitors are blind.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell status
  nodewell status --watch
  nodewell status --json | jq -r '.conditions[] | select(.status == \"True\") | .type'

True means that the problem is there. Unknown means that no monitor for it can see.
The exit code is 0 whatever the conditions are.")]
pub(super) struct Status {
    /// As JSON; with --watch one object a line, on each change.
    #[arg(long)]
    json: bool,
    /// Go on until interrupted.
    #[arg(long, short)]
    watch: bool,
}

impl Status {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        if self.watch {
            return self.watch(client, out).await;
        }
        let view: NodeView = client.get("/v1/status").await?;
        if self.json {
            return out.json(&view);
        }
        out.text(&status_table(&view, Look::of_stdout()))?;
        Ok(())
    }

    async fn watch(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        // The first answer must come; the command waits for an agent that goes away later.
        let mut shown: Option<Arc<NodeView>> = None;
        let mut asked: Result<NodeView, ClientError> = Ok(client.get("/v1/status").await?);
        loop {
            match asked.map(Arc::new) {
                Ok(view) if self.json || !out.is_terminal() => {
                    if shown.as_ref() != Some(&view) {
                        self.write(&view, out)?;
                        shown = Some(view);
                    }
                }
                Ok(view) => redraw(out, &status_table(&view, Look::of_stdout()))?,
                Err(error) if error.is_temporary() && out.is_terminal() && !self.json => {
                    let look = Look::of_stdout();
                    redraw(out, &format!("{}\n", look.paint(Paint::Bad, &format!("{error}; waiting for it"))))?;
                }
                Err(error) if error.is_temporary() => {}
                Err(error) => return Err(error.into()),
            }
            sleep(WATCH_EVERY).await;
            asked = client.get("/v1/status").await;
        }
    }

    fn write(&self, view: &NodeView, out: &mut Out) -> Result<(), CommandError> {
        if self.json {
            out.json_row(view)?;
            return Ok(out.flush()?);
        }
        out.text(&status_table(view, Look::PLAIN))?;
        out.line("")?;
        Ok(out.flush()?)
    }
}

/// Over what stood there, without a flicker: each line is cleared as it is written, then all below.
fn redraw(out: &mut Out, text: &str) -> Result<(), CommandError> {
    let room = Look::of_stdout().height.saturating_sub(1);
    let lines: Vec<&str> = text.lines().collect();
    let mut screen = String::from("\x1b[H");
    let fits = lines.len() <= room;
    for line in lines.iter().take(if fits { room } else { room.saturating_sub(1) }) {
        screen.push_str(line);
        screen.push_str("\x1b[K\n");
    }
    if !fits {
        screen.push_str(&format!("({} more lines)\x1b[K\n", lines.len() + 1 - room));
    }
    screen.push_str("\x1b[J");
    out.text(&screen)?;
    Ok(out.flush()?)
}
