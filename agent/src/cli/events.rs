//! `nodewell events`: what happened on this node, one line each.

use clap::Args;
use nodewell_client::Client;
use nodewell_model::view::EventView;

use super::{
    error::{CommandError, SOFTWARE, UNAVAILABLE},
    out::Out,
    render::{Look, event_line},
};

/// Old events shown before a follower waits for new ones, as `tail -f` does.
const FOLLOW_SHOWS: usize = 10;

/// What happened on this node, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell events --limit 20
  nodewell events --follow
  nodewell events --follow --json | jq -r 'select(.severity == \"critical\") | .message'

The agent keeps the newest 4,096 events of its run; on the API server and in
the journal they live longer.")]
pub(super) struct Events {
    /// Go on with new events until interrupted.
    #[arg(long, short)]
    follow: bool,
    /// As JSON: an array, or one object a line with --follow.
    #[arg(long)]
    json: bool,
    /// Only the newest N (with --follow: how many old ones come first) [default: 1000, with --follow 10].
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

impl Events {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        if self.follow {
            return self.follow(client, out).await;
        }
        let query = self.limit.map(|limit| format!("?limit={limit}")).unwrap_or_default();
        let events: Vec<EventView> = client.get(&format!("/v1/events{query}")).await?;
        if self.json {
            return out.json(&events);
        }
        let look = Look::of_stdout();
        for event in &events {
            out.line(&event_line(event, look))?;
        }
        if events.is_empty() && self.limit != Some(0) && out.is_terminal() {
            out.line("nothing has happened since the agent started")?;
        }
        Ok(())
    }

    async fn follow(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let limit = self.limit.unwrap_or(FOLLOW_SHOWS);
        let mut lines = client.follow(&format!("/v1/events?follow=true&limit={limit}")).await?;
        while let Some(text) = lines.next_line().await? {
            let shown = if self.json { text } else { event_line(&parse(&text)?, Look::of_stdout()) };
            out.line(&shown)?;
            out.flush()?;
        }
        Err(CommandError::new(UNAVAILABLE, "the agent ended the stream: it is stopping"))
    }
}

/// One line of a followed stream.
pub(super) fn parse(text: &str) -> Result<EventView, CommandError> {
    serde_json::from_str(text).map_err(|error| {
        CommandError::new(SOFTWARE, format!("the agent sent an event that this version cannot read: {error}"))
    })
}
