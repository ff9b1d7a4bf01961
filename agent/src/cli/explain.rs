//! `nodewell explain`: what a condition, a reason or a code of hardware means, how sure that is, how its problem ends and
//! what to do.

mod condition;
mod list;
mod own;
mod text;
mod topic;

use clap::Args;
use nodewell_faults::{
    Reason,
    smart::{Attribute, Field},
    xid::Meaning,
};
use nodewell_rules::{LoadPlan, explain::ExplainedRule};
use serde::Serialize;

use self::{condition::ExplainedCondition, own::OwnReason, topic::Topic};
use super::{
    error::{CommandError, USAGE},
    out::Out,
    output::Output,
    rules::{RuleChoice, loaded},
};
pub(super) use list::{Names, names};

/// What a condition, a reason or a code of hardware means, how it ends, and what to do.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell explain KernelOops
  nodewell explain DiskUnhealthy
  nodewell explain MonitorStale
  nodewell explain xid:79
  nodewell explain sxid:24007
  nodewell explain smart:197
  nodewell explain nvme:critical-warning
  nodewell explain --list
  nodewell explain IOError --json")]
pub(super) struct Explain {
    /// The reason, such as KernelOops, the condition, or a code: xid:N, sxid:N, smart:N, nvme:FIELD.
    #[arg(required_unless_present = "list")]
    reason: Option<String>,
    /// All reasons, one a line.
    #[arg(long, conflicts_with = "reason")]
    list: bool,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    rules: RuleChoice,
}

/// Everything that is known of one condition, reason or code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Explained {
    /// The reason, the condition, or the code as it was asked for.
    reason: String,
    /// The condition of this name, which may be a reason's name, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    condition: Option<ExplainedCondition>,
    /// Rules that find it in a log, in the order in which they are tried.
    rules: Vec<ExplainedRule>,
    /// What the monitor of such hardware reports of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    monitor: Option<&'static Reason>,
    /// The check that this monitor is, as its file of the catalogue is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<&'static str>,
    /// A reason of the agent's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    own: Option<OwnReason>,
    /// What the vendor's code means.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<Meaning>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attribute: Option<&'static Attribute>,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'static Field>,
}

impl Explain {
    pub(super) fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let plan: LoadPlan = self.rules.plan();
        let set = loaded(&plan)?;
        match self.reason {
            None => list::write(&set, self.output, out),
            Some(word) => {
                let topic = Topic::parse(&word).map_err(|error| CommandError::new(USAGE, error))?;
                let explained = topic.explain(&set).map_err(|error| CommandError::new(USAGE, error))?;
                if let Some(form) = self.output.document() {
                    return out.document(form, &explained);
                }
                Ok(out.text(&text::shown(&explained))?)
            }
        }
    }
}

#[cfg(test)]
mod tests;
