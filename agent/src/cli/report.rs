//! `nodewell report`: a script's way to be a problem daemon.

mod send;
mod stdin;
mod still;

use std::time::Duration;

use clap::{ArgGroup, Args};
use jiff::Timestamp;
use nodewell_client::Client;
use nodewell_model::{Action, Condition, ConditionStatus, Event, Name, Severity, Status};
use serde::Deserialize;
use serde_json::Value;

use super::{
    error::{CommandError, USAGE},
    out::Out,
    output::Output,
};
use send::Sender;

/// The source of a report that names none.
const DEFAULT_SOURCE: &str = "nodewell-report";

/// Report a condition, an event or a sign of life to the agent, as a problem daemon does.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("what").required(true).multiple(true)
        .args(["condition", "event", "heartbeat", "last", "full", "stdin"]),
    after_help = "Examples:
  nodewell report --source raid-monitor --condition RaidProblem=true \\
      --reason RaidDegraded --subject md0 --message 'md0 lost sdb1' --ttl 10m
  nodewell report --source raid-monitor --condition RaidProblem=false --subject md0 \
      --ttl 10m
  nodewell report --source raid-monitor --heartbeat --ttl 10m
  nodewell report --source raid-monitor --last
  nodewell report --event RaidRebuilt --severity info --subject md0 --message 'md0 is whole again'
  my-daemon | nodewell report --stdin --source my-daemon

Root may report; others need a [[grant]] in nodewell.toml. The type must be in
the catalogue: declare your own as a [[condition]] in a rule file.
A condition holds until it is reported false, the daemon says --last, or a
person clears it; when nothing is heard for a --ttl it is shown as unconfirmed.
A unit, and a user outside of units, ends only what it reported itself: a --last
of another one ends nothing, and a warning says so, as of what a --last ends
beside the subject that it names.
As JSON and YAML: the agent's answer; as text there is none.

Exit codes: 0 the agent took it; 64 it is not a report; 69 the agent cannot be
reached or is overloaded; 77 not granted; 70 anything else, such as too many
subjects."
)]
pub(super) struct Report {
    /// A condition's type and status: true, false or unknown.
    #[arg(long, value_name = "TYPE=STATUS", value_parser = condition)]
    condition: Option<(Name, ConditionStatus)>,
    /// The reason of something that happened, such as RaidRebuilt.
    #[arg(long, value_name = "REASON")]
    event: Option<Name>,
    /// Why the condition is as it is, such as RaidDegraded.
    #[arg(long, requires = "condition")]
    reason: Option<Name>,
    /// What it is about: a device, a unit. A condition without one that is false ends them all.
    #[arg(long)]
    subject: Option<String>,
    /// For people.
    #[arg(long, default_value = "")]
    message: String,
    /// info, warn, error or critical [default: warn; for events info].
    #[arg(long, value_parser = word::<Severity>)]
    severity: Option<Severity>,
    /// What should be done, such as replace-disk; `nodewell report --action help` lists them.
    #[arg(long, value_parser = word::<Action>, requires = "condition")]
    action: Option<Action>,
    /// When it became so or happened, such as 2026-11-21T06:00:00Z [default: now].
    #[arg(long, value_name = "TIME")]
    time: Option<Timestamp>,
    /// Only a sign of life.
    #[arg(long)]
    heartbeat: bool,
    /// The daemon ends: its conditions are withdrawn, nothing more is expected.
    #[arg(long)]
    last: bool,
    /// This is all there is: whatever the daemon reported before and is not named now is withdrawn.
    #[arg(long)]
    full: bool,
    /// Reports as JSON from standard input: one, an array of them, or one after the other.
    #[arg(long, conflicts_with_all = ["condition", "event", "heartbeat", "last", "full", "id"])]
    stdin: bool,
    /// The daemon's name; the agent adds the user or unit.
    #[arg(long, value_name = "NAME", default_value = DEFAULT_SOURCE)]
    source: String,
    /// Within this time there will be another report, such as 90s or 10m: else the daemon is missed. Without it, the
    /// report is valid until it is withdrawn (--heartbeat: 3m).
    #[arg(long, value_name = "TIME", value_parser = ttl)]
    ttl: Option<Duration>,
    /// The report's id: the same again changes nothing [default: a new one].
    #[arg(long)]
    id: Option<String>,
    /// How long to try again while the agent restarts or is overloaded; 0 for one try.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = retry_time)]
    wait: Duration,
    #[command(flatten)]
    output: Output,
}

impl Report {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let sender = Sender::new(client, self.wait);
        if self.stdin {
            let defaults = stdin::Defaults { source: self.source, ttl_secs: self.ttl.map(|ttl| ttl.as_secs()) };
            return stdin::send_all(&sender, &defaults, self.output, out).await;
        }
        let form = self.output.document();
        let ended = self.ended();
        let status = serde_json::to_value(self.status()?).map_err(CommandError::json)?;
        let accepted = sender.send(status).await?;
        if let Some((condition, subject)) = ended {
            still::warn(client, &condition, subject.as_deref()).await;
        }
        form.map_or(Ok(()), |form| out.document(form, &accepted))
    }

    /// What is reported false, and of which subject.
    fn ended(&self) -> Option<(Name, Option<String>)> {
        let (condition, status) = self.condition.as_ref()?;
        (*status == ConditionStatus::False).then(|| (condition.clone(), self.subject.clone()))
    }

    fn status(self) -> Result<Status, CommandError> {
        let now = self.time.unwrap_or_else(Timestamp::now);
        Ok(Status {
            events: self.happened(now).into_iter().collect(),
            conditions: self.is(now)?.into_iter().collect(),
            source: self.source,
            hardware: None,
            // A sign of life promises another one.
            ttl_secs: self.ttl.map(|ttl| ttl.as_secs()).or((!self.heartbeat).then_some(0)),
            id: self.id,
            full: self.full,
            last: self.last,
            linger_secs: None,
        })
    }

    fn happened(&self, timestamp: Timestamp) -> Option<Event> {
        let (subject, message) = (self.subject.clone(), self.message.clone());
        let severity = self.severity.unwrap_or(Severity::Info);
        self.event.clone().map(|reason| Event { severity, timestamp, reason, message, subject, seen_by: None })
    }

    fn is(&self, transition: Timestamp) -> Result<Option<Condition>, CommandError> {
        let Some((condition, status)) = self.condition.clone() else { return Ok(None) };
        let reason = match (self.reason.clone(), status) {
            (Some(reason), _) => reason,
            (None, ConditionStatus::True) => {
                return Err(CommandError::new(
                    USAGE,
                    format!("{condition}=true takes a --reason, such as RaidDegraded"),
                ));
            }
            (None, ConditionStatus::False) => Name::fixed("NoProblem"),
            (None, ConditionStatus::Unknown) => Name::fixed("CannotTell"),
        };
        let (subject, message) = (self.subject.clone(), self.message.clone());
        let (severity, action) = (self.severity, self.action);
        Ok(Some(Condition { condition, status, transition, reason, message, subject, severity, action }))
    }
}

fn condition(text: &str) -> Result<(Name, ConditionStatus), String> {
    let (name, status) = text.split_once('=').ok_or("it takes TYPE=STATUS, such as RaidProblem=true")?;
    let status = match status.to_ascii_lowercase().as_str() {
        "true" => ConditionStatus::True,
        "false" => ConditionStatus::False,
        "unknown" => ConditionStatus::Unknown,
        other => return Err(format!("the status is true, false or unknown, not {other:?}")),
    };
    Ok((Name::new(name).map_err(|error| error.to_string())?, status))
}

fn retry_time(text: &str) -> Result<Duration, String> {
    if text == "0" { Ok(Duration::ZERO) } else { nodewell_settings::duration::parse(text) }
}

fn ttl(text: &str) -> Result<Duration, String> {
    let time = nodewell_settings::duration::parse(text)?;
    if time < Duration::from_secs(1) { Err("takes a second or more".to_owned()) } else { Ok(time) }
}

/// A value as it stands in JSON; the error lists those that there are.
fn word<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::from(text)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_is_a_type_and_a_status() {
        assert_eq!(condition("RaidProblem=TRUE"), Ok((Name::fixed("RaidProblem"), ConditionStatus::True)));
        for bad in ["RaidProblem", "RaidProblem=yes", "raid=true"] {
            assert!(condition(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_wrong_word_is_answered_with_the_right_ones() {
        assert_eq!(word::<Severity>("error"), Ok(Severity::Error));
        assert!(word::<Action>("help").unwrap_err().contains("`replace-disk`"));
    }
}
