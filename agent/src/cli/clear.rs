//! `nodewell clear`: an operator ends a problem.

use clap::{Args, builder::NonEmptyStringValueParser};
use nodewell_client::Client;
use nodewell_model::{
    Name,
    api::{ClearRequest, ClearedView},
};

use super::{error::CommandError, out::Out, output::Output};

/// End the active problems of a condition, of all reporters (root).
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell clear DiskUnhealthy
  sudo nodewell clear DiskUnhealthy --subject sda
  sudo nodewell clear KernelUnhealthy --reason KernelOops

A problem that is still there comes back with its next record.
As JSON and YAML: {cleared}, how many.")]
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
            None => Ok(out.line(&summary(&request, answer.cleared))?),
        }
    }
}

fn summary(request: &ClearRequest, cleared: usize) -> String {
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
        assert_eq!(summary(&request, 2), "cleared 2 problems of DiskUnhealthy");
        request.subject = Some("sda".to_owned());
        assert_eq!(summary(&request, 0), "nothing to clear: there is no active problem of DiskUnhealthy of sda");
    }
}
