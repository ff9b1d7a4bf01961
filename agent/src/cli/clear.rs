//! `nodewell clear`: an operator ends a problem.

use clap::{Args, builder::NonEmptyStringValueParser};
use nodewell_client::Client;
use nodewell_model::{
    Name,
    api::{ClearRequest, ClearedView},
};

use super::{error::CommandError, out::Out, output::Output, render::one_line};

/// End the active problems of a condition, of all reporters, and the wait for reporters that are gone (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell clear DiskUnhealthy
  sudo nodewell clear DiskUnhealthy --subject sda
  sudo nodewell clear KernelUnhealthy --reason KernelOops

A problem that is still there comes back with its next record.
A reporter that is silent, has not come since the boot or promises no report is
waited for no longer where it leaves the condition Unknown, unless --reason or
--subject is given; nodewell's own check processes are waited for. Once one that
comes back names the condition, it is there again.
As JSON and YAML: {cleared}, how many, {durable}, given_up[], who is not waited for, and
awaited[], whose promise of a report still runs.")]
pub(super) struct Clear {
    /// The condition's type, such as DiskUnhealthy.
    condition: Name,
    /// Only problems with this reason.
    #[arg(long)]
    reason: Option<Name>,
    /// Only problems of this subject: a device, a unit.
    #[arg(long, value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Clear {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let Self { condition, reason, subject, output } = self;
        let request = ClearRequest { condition, reason, subject, id: None, evidence: None, if_unchanged_since: None };
        let answer: ClearedView = client.post("/v1/clear", &request).await?;
        match output.document() {
            Some(form) => out.document(form, &answer),
            None => Ok(summary(&request, &answer).iter().try_for_each(|line| out.line(line))?),
        }
    }
}

fn summary(request: &ClearRequest, answer: &ClearedView) -> Vec<String> {
    let names: Vec<String> = answer.given_up.iter().map(|name| one_line(name)).collect();
    let condition = &request.condition;
    let waits = format!("{condition} waits no longer for {}, which may report it again", names.join(", "));
    let mut lines = match (answer.cleared, names.is_empty()) {
        (0, false) => vec![waits],
        (cleared, true) => vec![ended(request, cleared)],
        (cleared, false) => vec![ended(request, cleared), waits],
    };
    let awaited: Vec<String> = answer.awaited.iter().map(|name| one_line(name)).collect();
    lines.extend((!awaited.is_empty()).then(|| {
        let names = awaited.join(", ");
        format!("{condition} waits for the next report of {names}: one that is gone is ended by `nodewell forget NAME`")
    }));
    if (answer.cleared, names.len()) != (0, 0) {
        lines.extend(unsaved(answer.durable).map(str::to_owned));
    }
    lines
}

/// What ended in the agent's memory alone.
pub(super) fn unsaved(durable: bool) -> Option<&'static str> {
    (!durable).then_some("not saved: after a restart of the agent it may be back")
}

fn ended(request: &ClearRequest, cleared: usize) -> String {
    let reason = request.reason.as_ref().map(|reason| format!(" with reason {reason}")).unwrap_or_default();
    let subject = request.subject.as_ref().map(|subject| format!(" of {subject}")).unwrap_or_default();
    let which = format!("of {}{reason}{subject}", request.condition);
    match cleared {
        0 => format!("nothing to clear: there is no active problem {which}"),
        1 => format!("cleared 1 problem {which}"),
        many => format!("cleared {many} problems {which}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_names_what_was_cleared() {
        let condition = Name::fixed("DiskUnhealthy");
        let mut request =
            ClearRequest { condition, reason: None, subject: None, id: None, evidence: None, if_unchanged_since: None };
        let answer = |cleared, given_up: &[&str]| ClearedView {
            cleared,
            durable: true,
            given_up: given_up.iter().map(|name| (*name).to_owned()).collect(),
            awaited: Vec::new(),
        };
        let gone = ["raid@root", "raid@raid.service"];
        let waits = "DiskUnhealthy waits no longer for raid@root, raid@raid.service, which may report it again";
        assert_eq!(summary(&request, &answer(2, &[])), ["cleared 2 problems of DiskUnhealthy"]);
        assert_eq!(summary(&request, &answer(1, &gone)), ["cleared 1 problem of DiskUnhealthy", waits]);
        assert_eq!(summary(&request, &answer(0, &gone)), [waits]);
        let awaited = ClearedView { awaited: vec!["raid@raid.service".to_owned()], ..answer(1, &[]) };
        let next = "DiskUnhealthy waits for the next report of raid@raid.service: one that is gone is ended by `nodewell \
                    forget NAME`";
        assert_eq!(summary(&request, &awaited), ["cleared 1 problem of DiskUnhealthy", next]);
        let unsaved = ClearedView { durable: false, ..answer(1, &[]) };
        let may_be_back = "not saved: after a restart of the agent it may be back";
        assert_eq!(summary(&request, &unsaved), ["cleared 1 problem of DiskUnhealthy", may_be_back]);
        request.subject = Some("sda".to_owned());
        let nothing = "nothing to clear: there is no active problem of DiskUnhealthy of sda";
        assert_eq!(summary(&request, &answer(0, &[])), [nothing]);
    }
}
