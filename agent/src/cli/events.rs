//! `nodewell events`: what happened on this node, one line each.

use clap::Args;
use jiff::tz::TimeZone;
use nodewell_client::Client;
use nodewell_model::{Severity, view::EventView};

use super::{
    age::local,
    failure::{Failure, SOFTWARE, UNAVAILABLE},
    out::{Look, Out, Paint, one_line},
};

/// Old events shown before a follower waits for new ones, as `tail -f` does.
const FOLLOW_SHOWS: usize = 10;

/// What happened on this node, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell events --limit 20
  nodewell events --follow
  nodewell events --follow --json | jq -r 'select(.severity == \"critical\") | .message'

The agent keeps the newest 4,096 events of its run; on the API server and in the journal they live longer.")]
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
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), Failure> {
        if self.follow {
            return self.follow(client, out).await;
        }
        let query = self.limit.map(|limit| format!("?limit={limit}")).unwrap_or_default();
        let events: Vec<EventView> = client.get(&format!("/v1/events{query}")).await?;
        if self.json {
            return out.json(&events);
        }
        let (look, zone) = (out.look(), TimeZone::system());
        for event in &events {
            out.line(&line(event, &look, &zone))?;
        }
        if events.is_empty() && out.is_terminal() {
            out.line("nothing has happened since the agent started")?;
        }
        Ok(())
    }

    async fn follow(self, client: &Client, out: &mut Out) -> Result<(), Failure> {
        let limit = self.limit.unwrap_or(FOLLOW_SHOWS);
        let mut lines = client.follow(&format!("/v1/events?follow=true&limit={limit}")).await?;
        let zone = TimeZone::system();
        while let Some(text) = lines.next_line().await? {
            let shown = if self.json { text } else { line(&parse(&text)?, &out.look(), &zone) };
            out.line(&shown)?;
            out.flush()?;
        }
        Err(Failure::said(UNAVAILABLE, "the agent ended the stream: it is stopping"))
    }
}

/// One line of a followed stream.
pub(super) fn parse(text: &str) -> Result<EventView, Failure> {
    serde_json::from_str(text).map_err(|error| {
        Failure::said(SOFTWARE, format!("the agent sent an event that this version cannot read: {error}"))
    })
}

/// Time, severity, reason, subject, count, message.
pub(crate) fn line(event: &EventView, look: &Look, zone: &TimeZone) -> String {
    let test = if event.test { "[test] " } else { "" };
    let head = format!(
        "{}  {}  {:<20}  {:<12}  {:<5}  ",
        local(event.timestamp, zone),
        look.paint(colour(event.severity), &format!("{:<8}", event.severity)),
        event.reason,
        one_line(event.subject.as_deref().unwrap_or("-")),
        format!("{}{}", look.sign("×", "x"), event.count),
    );
    format!("{head}{test}{}", one_line(&event.message))
}

/// The colour of a severity.
pub(super) fn colour(severity: Severity) -> Paint {
    match severity {
        Severity::Info => Paint::Faint,
        Severity::Warn => Paint::Warning,
        Severity::Error | Severity::Critical => Paint::Bad,
    }
}

#[cfg(test)]
mod tests {
    use nodewell_model::Name;

    use super::*;

    #[test]
    fn a_line_has_its_columns() {
        let mut event = EventView {
            id: 7,
            severity: Severity::Error,
            timestamp: "2026-11-21T02:00:00.75Z".parse().unwrap(),
            reason: Name::fixed("Ext4Error"),
            message: "EXT4-fs error\n(device sda1)".to_owned(),
            subject: Some("sda1".to_owned()),
            source: "kernel-monitor".to_owned(),
            condition: None,
            count: 3,
            test: false,
        };
        assert_eq!(
            line(&event, &Look::PLAIN, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             sda1          ×3     EXT4-fs error (device sda1)"
        );
        event.subject = None;
        event.test = true;
        let ascii = Look { unicode: false, ..Look::PLAIN };
        assert_eq!(
            line(&event, &ascii, &TimeZone::UTC),
            "2026-11-21T02:00:00+00:00  error     Ext4Error             -             x3     [test] EXT4-fs error (device sda1)"
        );
    }
}
