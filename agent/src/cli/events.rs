//! `nodewell events`: what happened on this node, one line each.

mod filter;

use std::io::{self, Write};

use clap::Args;
use jiff::Timestamp;
use nodewell_client::Client;
use nodewell_model::{Name, view::EventView};
use nodewell_rules::{explain::nearest_word, load};
use nodewell_time::age;

use self::filter::Filter;
use super::{
    error::{CommandError, SOFTWARE, UNAVAILABLE},
    explain::{Names, names},
    out::Out,
    output::Output,
    render::{EventStyle, Look, event_row},
    rules::RuleChoice,
};
use crate::shared_state::EVENT_LOG_LIMIT;

/// Old events shown before a follower waits for new ones, as `tail -f` does.
const FOLLOW_SHOWS: usize = 10;
/// Without a limit of the user's.
const SHOWS: usize = 1000;

/// What happened on this node, oldest first.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell events --limit 20
  nodewell events --since 2h --condition DiskUnhealthy
  nodewell events --since 2026-11-21T06:00:00Z --reason KernelOops --reason OOMKilling -o wide
  nodewell events --follow
  nodewell events --follow --json | jq -r 'select(.severity == \"critical\") | .message'

The first column is how long ago it was; -o wide and --follow show the time by
the local clock, and -o wide the source and the condition, too. As JSON it is an
array; with --follow one object a line.
The agent keeps the newest 4,096 events of its run; on the API server and in
the journal they live longer.")]
pub(super) struct Events {
    /// Go on with new events until interrupted.
    #[arg(long, short)]
    follow: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    filter: Filter,
    /// Only the newest N (with --follow: how many old ones come first) [default: 1000, with --follow 10].
    #[arg(long, short = 'n', value_name = "N")]
    limit: Option<usize>,
}

impl Events {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        if self.follow {
            return self.follow(client, out).await;
        }
        let kept = self.asked(client, SHOWS).await?;
        self.warn(&kept);
        let events = self.wanted(kept, SHOWS);
        if let Some(form) = self.output.document() {
            return out.document(form, &events);
        }
        let (look, style) = (Look::of_stdout(), self.style(EventStyle::Age(Timestamp::now())));
        for event in &events {
            out.line(&event_row(event, style, look))?;
        }
        if events.is_empty() && self.limit != Some(0) && out.is_terminal() {
            out.line(self.nothing())?;
        }
        Ok(())
    }

    /// For people: why there is no more of what they asked for. On stderr, where it is no event.
    fn warn(&self, kept: &[EventView]) {
        if self.output.document().is_none() {
            // With stderr gone as well, there is nowhere left to write to.
            let lines = self.unknown(kept).into_iter().chain(self.gap(kept, Timestamp::now()));
            lines.for_each(|line| drop(writeln!(io::stderr(), "nodewell: {line}")));
        }
    }

    /// For people: names that nothing here has. Daemons on the socket have reasons and conditions of their own.
    fn unknown(&self, kept: &[EventView]) -> Vec<String> {
        let absent: Vec<(&str, &Name)> = self.filter.absent_from(kept).collect();
        if absent.is_empty() {
            return Vec::new();
        }
        let Names { reasons, conditions, .. } = names(&load(&RuleChoice::installed().plan()).set);
        let line = |(kind, name): (&str, &Name)| {
            let known = if kind == "reason" { &reasons } else { &conditions };
            let near = nearest_word(name.as_str(), known.iter().map(Name::as_str));
            let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
            (!known.contains(name))
                .then(|| format!("{name} is no {kind} of the catalogue, and no event of a daemon has it{near}"))
        };
        absent.into_iter().filter_map(line).collect()
    }

    /// What was asked for and is from before all that the agent has. With a number only the newest are wanted.
    fn gap(&self, kept: &[EventView], now: Timestamp) -> Option<String> {
        let oldest = kept.iter().map(|event| event.timestamp).min()?;
        let is_asked_for = self.limit.is_none() && self.filter.reaches_before(oldest, now);
        is_asked_for.then(|| {
            let age = age(oldest, now);
            format!("the oldest event here is {age} old ({oldest:.0}); for older ones see journalctl -u nodewell")
        })
    }

    fn nothing(&self) -> &'static str {
        if self.filter.takes_all() {
            "nothing has happened since the agent started"
        } else {
            "nothing that matches has happened since the agent started"
        }
    }

    fn style(&self, usual: EventStyle) -> EventStyle {
        if self.output.is_wide() { EventStyle::Wide } else { usual }
    }

    /// What is chosen among comes whole; the newest one comes in any case, for its id.
    async fn asked(&self, client: &Client, usual: usize) -> Result<Vec<EventView>, CommandError> {
        let limit = if self.filter.takes_all() { self.limit.unwrap_or(usual).max(1) } else { EVENT_LOG_LIMIT };
        Ok(client.get(&format!("/v1/events?limit={limit}")).await?)
    }

    fn wanted(&self, mut events: Vec<EventView>, usual: usize) -> Vec<EventView> {
        let now = Timestamp::now();
        events.retain(|event| self.filter.takes(event, now));
        // A time is a limit of its own.
        let usual = if self.filter.has_time() { EVENT_LOG_LIMIT } else { usual };
        let surplus = events.len().saturating_sub(self.limit.unwrap_or(usual));
        events.split_off(surplus)
    }

    async fn follow(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let old = self.asked(client, FOLLOW_SHOWS).await?;
        let newest = old.last().map_or(0, |event| event.id);
        self.warn(&old);
        for event in self.wanted(old, FOLLOW_SHOWS) {
            self.write(&event, out)?;
        }
        out.flush()?;
        let mut lines = client.follow(&format!("/v1/events?follow=true&after={newest}")).await?;
        while let Some(text) = lines.next_line().await? {
            let event = parse(&text)?;
            if self.filter.takes(&event, Timestamp::now()) {
                self.write(&event, out)?;
                out.flush()?;
            }
        }
        Err(CommandError::new(UNAVAILABLE, "the agent ended the stream: it is stopping"))
    }

    fn write(&self, event: &EventView, out: &mut Out) -> Result<(), CommandError> {
        match self.output.document() {
            Some(form) => out.row(form, event),
            None => Ok(out.line(&event_row(event, self.style(EventStyle::Time), Look::of_stdout()))?),
        }
    }
}

/// One line of a followed stream.
fn parse(text: &str) -> Result<EventView, CommandError> {
    serde_json::from_str(text).map_err(|error| {
        CommandError::new(SOFTWARE, format!("the agent sent an event that this version cannot read: {error}"))
    })
}

#[cfg(test)]
mod tests;
