//! `nodewell ack` and `nodewell unack`: a person calls a problem that is there a false positive, or takes that back.

use std::collections::BTreeSet;

use clap::{Args, builder::NonEmptyStringValueParser};
use nodewell_client::Client;
use nodewell_model::{
    Ack, MuteKey, Name, ProblemKey,
    ack::AckRequest,
    mute::{AffectedView, TakeBackRequest},
    view::{NodeView, ProblemView},
};
use serde::Serialize;

use super::{
    error::{CommandError, USAGE},
    mute::{person, unsaved},
    out::Out,
    output::Output,
};

/// So many subjects are named where one has to be chosen.
const LISTED: usize = 10;

/// Call a problem a false positive, or list those that are (root calls, every user may list).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell ack IOError --subject sdc --why 'the shelf was pulled on purpose'
  sudo nodewell ack KubeletUnhealthy --why 'the probe is wrong for this distribution'
  nodewell ack
  sudo nodewell unack IOError --subject sdc

It is about a problem that is there now: where several are, name one by its subject,
or all of them with --all. Until it ends such a problem is shown and counted, and does
not turn its condition. It does when it gets worse, and when it begins again: to silence
what is to come use `nodewell mute`. Each is counted in nodewell_false_positives_total,
from which false alarms per node and day are made.
As JSON and YAML: the list, or {problems, durable} of a new one.")]
pub(super) struct AckCommand {
    /// The problems' reason, such as IOError; without one the false positives are listed.
    #[arg(requires = "why")]
    reason: Option<Name>,
    /// Only the problem of this subject: a device, a unit.
    #[arg(long, requires = "reason", value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,
    /// Only problems of this condition, where several share the reason.
    #[arg(long, value_name = "TYPE", requires = "reason")]
    condition: Option<Name>,
    /// All problems of the reason that are there when the agent is asked, whatever their subjects.
    #[arg(long, requires = "reason", conflicts_with = "subject")]
    all: bool,
    /// Why it is no fault of the node.
    #[arg(long, value_name = "TEXT", requires = "reason", value_parser = NonEmptyStringValueParser::new())]
    why: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Take back that a problem is a false positive: it turns its condition again (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell unack IOError --subject sdc
  sudo nodewell unack KubeletUnhealthy

`nodewell ack` lists what is called a false positive. It stays counted.
As JSON and YAML: {problems, durable}.")]
pub(super) struct Unack {
    /// The problems' reason.
    reason: Name,
    /// Only the problem of this subject.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,
    /// Only problems of this condition.
    #[arg(long, value_name = "TYPE")]
    condition: Option<Name>,
    #[command(flatten)]
    output: Output,
}

/// A problem that is a false positive, as the list has it.
#[derive(Debug, Serialize)]
struct Listed {
    #[serde(flatten)]
    problem: ProblemKey,
    #[serde(flatten)]
    ack: Ack,
}

impl AckCommand {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let Self { reason, subject, condition, all, why, output } = self;
        // Clap lets none of them be without the other.
        let (Some(reason), Some(why)) = (reason, why) else {
            return list(client, output, out).await;
        };
        let mut key = MuteKey { reason, condition, subject };
        if !all {
            let view: NodeView = client.get("/v1/status").await?;
            key = narrowed(key, &view)?;
        }
        let MuteKey { reason, condition, subject } = key.clone();
        let request = AckRequest { reason, condition, subject, why, by: person() };
        let answer: AffectedView = client.post("/v1/ack", &request).await?;
        match output.document() {
            Some(form) => out.document(form, &answer),
            None => Ok(out.line(&acked(&key, answer))?),
        }
    }
}

impl Unack {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let Self { reason, subject, condition, output } = self;
        let request = TakeBackRequest { reason, condition, subject, by: person() };
        let answer: AffectedView = client.post("/v1/unack", &request).await?;
        match output.document() {
            Some(form) => out.document(form, &answer),
            None => Ok(out.line(&unacked(&MuteKey::from(request), answer))?),
        }
    }
}

/// With the subject of the one problem that `key` is about now: one that begins before the agent is asked is not called
/// so, unless that one has no subject, which means any.
fn narrowed(key: MuteKey, view: &NodeView) -> Result<MuteKey, CommandError> {
    if key.subject.is_some() {
        return Ok(key);
    }
    let concerned = view.conditions.iter().filter(|of| key.concerns(&of.condition)).flat_map(|of| &of.problems);
    let is_meant =
        |problem: &&ProblemView| problem.reason == key.reason && !problem.test && problem.false_positive.is_none();
    let meant: Vec<&ProblemView> = concerned.filter(is_meant).collect();
    let subjects: BTreeSet<Option<&str>> = meant.iter().map(|one| one.subject.as_deref()).collect();
    if subjects.len() > 1 {
        return Err(several(&key, &subjects));
    }
    if meant.len() > 1 {
        let message =
            format!("{key} is there in {} conditions: name one with --condition, or all with --all", meant.len());
        return Err(CommandError::new(USAGE, message));
    }
    let subject = subjects.into_iter().next().flatten().map(str::to_owned);
    Ok(MuteKey { subject, ..key })
}

fn several(key: &MuteKey, subjects: &BTreeSet<Option<&str>>) -> CommandError {
    let named: Vec<&str> = subjects.iter().take(LISTED).map(|subject| subject.unwrap_or("no subject")).collect();
    let more = match subjects.len() - named.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "{key} is there on {}{more}: name one with --subject, or call all of them false positives with --all",
        named.join(", ")
    );
    CommandError::new(USAGE, message)
}

async fn list(client: &Client, output: Output, out: &mut Out) -> Result<(), CommandError> {
    let view: NodeView = client.get("/v1/status").await?;
    let listed = listed(&view);
    if let Some(form) = output.document() {
        return out.document(form, &listed);
    }
    if listed.is_empty() {
        return Ok(out.line("no problem is called a false positive")?);
    }
    listed.iter().try_for_each(|one| out.line(&entry(one)))?;
    Ok(())
}

fn listed(view: &NodeView) -> Vec<Listed> {
    let problems = view.conditions.iter().flat_map(|of| of.problems.iter().map(move |problem| (of, problem)));
    let acked = problems.filter_map(|(of, problem)| {
        let ack = problem.false_positive.clone()?;
        let (condition, reason) = (of.condition.clone(), problem.reason.clone());
        Some(Listed { problem: ProblemKey { condition, reason, subject: problem.subject.clone() }, ack })
    });
    acked.collect()
}

fn entry(Listed { problem, ack: Ack { at, by, why } }: &Listed) -> String {
    let ProblemKey { condition, reason, subject } = problem.clone();
    let key = MuteKey { reason, condition: Some(condition), subject };
    format!("{}  at {at}  by {by}: {why}", key.whole())
}

fn acked(key: &MuteKey, answer: AffectedView) -> String {
    let text = match answer.problems {
        1 => format!("{key} is a false positive: 1 problem turns no condition until it ends"),
        many => format!("{key} is a false positive: {many} problems turn no condition until they end"),
    };
    format!("{text}{}", unsaved(answer))
}

fn unacked(key: &MuteKey, answer: AffectedView) -> String {
    let text = match answer.problems {
        0 => format!(
            "{key} is no false positive any more; a mute is in force, and no problem turns its condition by that"
        ),
        1 => format!("{key} is no false positive any more: 1 problem counts again"),
        many => format!("{key} is no false positive any more: {many} problems count again"),
    };
    format!("{text}{}", unsaved(answer))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn key() -> MuteKey {
        MuteKey { reason: Name::fixed("IOError"), condition: None, subject: Some("sdc".to_owned()) }
    }

    #[test]
    fn what_was_done_is_said_with_its_number_of_problems() {
        let answer = |problems, durable| AffectedView { problems, durable };
        assert_eq!(
            acked(&key(), answer(1, true)),
            "IOError on sdc is a false positive: 1 problem turns no condition until it ends"
        );
        assert!(acked(&key(), answer(2, false)).contains("2 problems turn no condition until they end (not saved"));
        assert!(unacked(&key(), answer(0, true)).contains("a mute is in force"));
        assert!(unacked(&key(), answer(1, true)).ends_with("1 problem counts again"));
    }

    #[test]
    fn without_a_subject_it_is_about_the_only_problem_that_is_there() {
        let problem = |subject: Option<&str>, test: bool| {
            let time = "2026-12-01T08:00:00Z";
            json!({"id": "1", "reason": "IOError", "subject": subject, "severity": "error", "since": time, "test": test,
                   "last_seen": time, "count": 1, "message": "", "source": "kernel-monitor"})
        };
        let narrowed = |problems: &[serde_json::Value]| {
            let condition = json!({"type": "DiskUnhealthy", "status": "True", "reason": "IOError", "message": "",
                                   "transition": "2026-12-01T08:00:00Z", "problems": problems});
            let apiserver = json!({"state": "disabled", "last_success": null});
            let view = json!({"node": "n1", "daemons": [], "apiserver": apiserver, "conditions": [condition]});
            let key = MuteKey { subject: None, ..key() };
            let narrowed = narrowed(key, &serde_json::from_value(view).unwrap());
            narrowed.map(|key| key.subject).map_err(|error| error.to_string())
        };
        let (sdc, sdd) = (problem(Some("sdc"), false), problem(Some("sdd"), false));
        assert_eq!(narrowed(&[sdc.clone(), problem(Some("sdx"), true)]), Ok(Some("sdc".to_owned())));
        assert_eq!(narrowed(&[problem(None, false)]), Ok(None));
        assert_eq!(narrowed(&[]), Ok(None), "the agent says so");
        let error = narrowed(&[sdc, sdd]).unwrap_err();
        assert!(error.starts_with("IOError is there on sdc, sdd: name one with --subject, or "), "{error}");
        let many: Vec<_> = (0..12).map(|n| problem(Some(&format!("sd{n}")), false)).collect();
        assert!(narrowed(&many).unwrap_err().contains(" and 2 more: "));
    }

    #[test]
    fn the_list_has_what_people_called_false_positives() {
        let time = "2026-12-01T08:00:00Z";
        let problem = |subject: &str| {
            json!({"id": "1", "reason": "IOError", "subject": subject, "severity": "error", "since": time,
                   "last_seen": time, "count": 1, "message": "", "source": "kernel-monitor"})
        };
        let mut acked = problem("sdc");
        acked["false_positive"] = json!({"at": time, "by": "alice (root)", "why": "pulled on purpose"});
        let condition = json!({"type": "DiskUnhealthy", "status": "False", "reason": "FalsePositives", "message": "",
                               "transition": time, "problems": [acked, problem("sdd")]});
        let apiserver = json!({"state": "disabled", "last_success": null});
        let view = json!({"node": "n1", "daemons": [], "apiserver": apiserver, "conditions": [condition]});
        let listed = listed(&serde_json::from_value(view).unwrap());
        let entries: Vec<String> = listed.iter().map(entry).collect();
        let expected = format!("IOError on sdc of DiskUnhealthy  at {time}  by alice (root): pulled on purpose");
        assert_eq!(entries, [expected]);
        let json = serde_json::to_value(&listed).unwrap();
        assert_eq!((json[0]["reason"].as_str(), json[0]["by"].as_str()), (Some("IOError"), Some("alice (root)")));
    }
}
