//! `nodewell mute` and `nodewell unmute`: a person knows of a problem and does not act on it yet.

mod reason;

use std::env;

use clap::{Args, builder::NonEmptyStringValueParser};
use jiff::{SignedDuration, Timestamp};
use nodewell_client::Client;
use nodewell_model::{
    Mute, MuteKey, Name,
    mute::{AffectedView, MuteRequest, TakeBackRequest},
    view::NodeView,
};

use self::reason::Standing;
use super::{error::CommandError, out::Out, output::Output};

/// Mute problems that may wait, or list what is muted (root mutes, every user may list).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell mute IOError --subject sdc --until 3d --why 'sdc is on order, RMA 4711'
  sudo nodewell mute ClockNotSynchronised --until 2026-12-01T08:00:00Z --why 'the lab has no NTP'
  nodewell mute
  sudo nodewell unmute IOError --subject sdc

A muted problem stays a problem: it is shown, counted and in the metrics, its events
go on, and it ends as it would have. It does not turn its condition, and no repair acts
on it. The mute ends by itself; [[mute]] in the configuration does the same.
As JSON and YAML: the list of mutes, or {problems, durable} of a new one.")]
pub(super) struct MuteCommand {
    /// The problems' reason, such as IOError; without one the mutes are listed.
    #[arg(requires_all = ["until", "why"])]
    reason: Option<Name>,
    /// Only problems of this subject: a device, a unit.
    #[arg(long, requires = "reason", value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,
    /// Only problems of this condition, where several share the reason.
    #[arg(long, value_name = "TYPE", requires = "reason")]
    condition: Option<Name>,
    /// How long, such as 12h or 3d, or until when, such as 2026-12-01T08:00:00Z; at most 366 days.
    #[arg(long, value_name = "WHEN", requires = "reason", value_parser = until)]
    until: Option<Timestamp>,
    /// Why the problem may wait.
    #[arg(long, value_name = "TEXT", requires = "reason", value_parser = NonEmptyStringValueParser::new())]
    why: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Take a mute back before its time: problems turn their condition again (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell unmute IOError --subject sdc
  sudo nodewell unmute ClockNotSynchronised

It takes the reason, subject and condition that were muted; `nodewell mute` lists them.
As JSON and YAML: {problems, durable}.")]
pub(super) struct Unmute {
    /// The reason that was muted.
    reason: Name,
    /// The subject, where only one was muted.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,
    /// The condition, where only one was muted.
    #[arg(long, value_name = "TYPE")]
    condition: Option<Name>,
    #[command(flatten)]
    output: Output,
}

impl MuteCommand {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let Self { reason, subject, condition, until, why, output } = self;
        // Clap lets none of them be without the others.
        let (Some(reason), Some(until), Some(why)) = (reason, until, why) else {
            return list(client, output, out).await;
        };
        let key = MuteKey { reason: reason.clone(), condition: condition.clone(), subject: subject.clone() };
        let standing = Standing::of(client, &key).await?;
        let request = MuteRequest { reason, condition, subject, until, why, by: person() };
        let answer: AffectedView = client.post("/v1/mute", &request).await?;
        if answer.problems == 0 {
            standing.warn();
        }
        match output.document() {
            Some(form) => out.document(form, &answer),
            None => Ok(out.line(&muted(&key, until, answer))?),
        }
    }
}

impl Unmute {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let Self { reason, subject, condition, output } = self;
        let request = TakeBackRequest { reason, condition, subject, by: person() };
        let answer: AffectedView = client.post("/v1/unmute", &request).await?;
        match output.document() {
            Some(form) => out.document(form, &answer),
            None => Ok(out.line(&unmuted(&MuteKey::from(request), answer))?),
        }
    }
}

/// Who is behind sudo.
pub(super) fn person() -> Option<String> {
    env::var("SUDO_USER").ok().filter(|user| !user.is_empty())
}

async fn list(client: &Client, output: Output, out: &mut Out) -> Result<(), CommandError> {
    let view: NodeView = client.get("/v1/status").await?;
    if let Some(form) = output.document() {
        return out.document(form, &view.mutes);
    }
    if view.mutes.is_empty() {
        return Ok(out.line("nothing is muted")?);
    }
    view.mutes.iter().try_for_each(|mute| out.line(&entry(mute)))?;
    Ok(())
}

fn entry(Mute { key, until, why, by, .. }: &Mute) -> String {
    format!("{}  until {until}  by {by}: {why}", key.whole())
}

fn muted(key: &MuteKey, until: Timestamp, answer: AffectedView) -> String {
    let text = match answer.problems {
        0 => format!("muted {key} until {until}: there is no such problem now, and one that comes turns no condition"),
        1 => format!("muted {key} until {until}: 1 problem"),
        many => format!("muted {key} until {until}: {many} problems"),
    };
    format!("{text}{}", unsaved(answer))
}

fn unmuted(key: &MuteKey, answer: AffectedView) -> String {
    let text = match answer.problems {
        0 => format!("the mute of {key} is taken back; no problem turns its condition by that"),
        1 => format!("the mute of {key} is taken back: 1 problem counts again"),
        many => format!("the mute of {key} is taken back: {many} problems count again"),
    };
    format!("{text}{}", unsaved(answer))
}

pub(super) fn unsaved(answer: AffectedView) -> &'static str {
    if answer.durable { "" } else { " (not saved: a restart of the agent may forget it)" }
}

/// A time, or how long from now; to the second, as people mean it.
fn until(text: &str) -> Result<Timestamp, String> {
    const TAKES: &str = "takes how long (30m, 12h, 3d) or a time with its zone (2026-12-01T08:00:00Z)";
    if text.get(4..5) == Some("-") {
        return text.parse().map_err(|_| TAKES.to_owned());
    }
    let span = nodewell_settings::duration::parse(text).map_err(|error| format!("{error}; it {TAKES}"))?;
    let now = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default();
    let end = SignedDuration::try_from(span).ok().and_then(|span| now.checked_add(span).ok());
    end.ok_or_else(|| TAKES.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> MuteKey {
        MuteKey { reason: Name::fixed("IOError"), condition: None, subject: Some("sdc".to_owned()) }
    }

    #[test]
    fn until_is_a_span_or_a_time_with_its_zone() {
        assert_eq!(until("2026-12-01T08:00:00+01:00").unwrap().to_string(), "2026-12-01T07:00:00Z");
        let in_3_days = until("3d").unwrap().as_second() - Timestamp::now().as_second();
        assert!((259_198..=259_200).contains(&in_3_days), "{in_3_days}");
        for wrong in ["tomorrow", "2026-12-01", "2026-12-01T08:00:00", "", "-3d"] {
            assert!(until(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_was_done_is_said_with_its_number_of_problems() {
        let at: Timestamp = "2026-12-01T08:00:00Z".parse().unwrap();
        let answer = |problems, durable| AffectedView { problems, durable };
        assert_eq!(muted(&key(), at, answer(1, true)), "muted IOError on sdc until 2026-12-01T08:00:00Z: 1 problem");
        assert!(muted(&key(), at, answer(0, true)).ends_with("one that comes turns no condition"));
        assert!(muted(&key(), at, answer(2, false)).contains("2 problems (not saved"));
        assert_eq!(
            unmuted(&key(), answer(1, true)),
            "the mute of IOError on sdc is taken back: 1 problem counts again"
        );
    }
}
