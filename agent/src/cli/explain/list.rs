//! `nodewell explain --list`: every reason that may be given, by rules, by monitors of hardware, by tables of codes, by
//! the agent itself; and the names that a shell completes.

use std::collections::BTreeSet;

use nodewell_faults::{reason, xid::Meaning};
use nodewell_model::{Name, Severity};
use nodewell_rules::RuleSet;
use serde::Serialize;

use super::{
    super::{error::CommandError, out::Out, output::Output},
    condition,
    own::{self, Holds, OwnReason},
};

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Listed {
    pub(super) reason: Name,
    #[serde(rename = "type")]
    kind: &'static str,
    pub(super) condition: Option<Name>,
    /// Not of what makes conditions Unknown.
    pub(super) severity: Option<Severity>,
}

/// What there is to name on a command line, in the order of the alphabet.
pub(in crate::cli) struct Names {
    pub(in crate::cli) reasons: Vec<Name>,
    pub(in crate::cli) conditions: Vec<Name>,
    /// Conditions that one of the reasons turns.
    pub(in crate::cli) turned: BTreeSet<Name>,
}

pub(in crate::cli) fn names(set: &RuleSet) -> Names {
    let listed = listed(set);
    let turned = listed.iter().filter_map(|entry| entry.condition.clone()).collect();
    let mut reasons: Vec<Name> = listed.into_iter().map(|entry| entry.reason).collect();
    reasons.dedup();
    let mut conditions: Vec<Name> = condition::all(set).into_iter().map(|spec| spec.condition).collect();
    conditions.sort();
    Names { reasons, conditions, turned }
}

pub(super) fn write(set: &RuleSet, output: Output, out: &mut Out) -> Result<(), CommandError> {
    let listed = listed(set);
    if let Some(form) = output.document() {
        return out.document(form, &listed);
    }
    let width = listed.iter().map(|entry| entry.reason.as_str().len()).max().unwrap_or_default();
    for entry in &listed {
        out.line(&format!("{:<width$}  {:<8}  {}", entry.reason, severity(entry.severity), entry.holds()))?;
    }
    Ok(())
}

/// In the order of their names, each once.
pub(super) fn listed(set: &RuleSet) -> Vec<Listed> {
    // What a rule with a decoder gives is in the tables.
    let rules = set.rules.iter().filter(|rule| rule.decoder.is_none());
    let rules = rules.map(|rule| line(&rule.reason, rule.condition.as_ref(), rule.severity));
    let monitors = reason::all().iter().map(|known| line(&known.name, known.condition.as_ref(), known.severity));
    let tables = set.tables();
    let codes = tables.xids.codes().all().chain(tables.sxids.codes().all()).filter(|code| !is_reserved(code));
    let codes = codes.flat_map(|code| of_code(&code));
    let plugins = set.plugins.iter().flat_map(|monitor| &monitor.tasks);
    let plugins = plugins.map(|task| line(&task.reason, task.condition.as_ref(), task.severity));
    let own = own::all(set).into_iter().map(of_own);
    let mut listed: Vec<Listed> = rules.chain(plugins).chain(monitors).chain(codes).chain(own).collect();
    listed.sort();
    listed.dedup();
    listed
}

fn line(reason: &Name, condition: Option<&Name>, severity: Severity) -> Listed {
    let kind = if condition.is_some() { "permanent" } else { "temporary" };
    Listed { reason: reason.clone(), kind, condition: condition.cloned(), severity: Some(severity) }
}

const UNKNOWN: &str = "unknown";
/// What is in the way of a problem.
const QUIET: &str = "quiet";

fn of_own(own: OwnReason) -> Listed {
    let (kind, condition) = match own.holds {
        Holds::True(condition) => ("permanent", Some(condition)),
        Holds::Unknown => (UNKNOWN, None),
        Holds::False => (QUIET, None),
        Holds::Event => ("temporary", None),
    };
    Listed { reason: own.reason, kind, condition, severity: own.severity }
}

impl Listed {
    fn holds(&self) -> &str {
        match &self.condition {
            Some(condition) => condition.as_str(),
            None if self.kind == UNKNOWN => "any condition Unknown",
            None if self.kind == QUIET => "any condition False",
            None => "event only",
        }
    }
}

/// As people read it.
pub(super) fn severity(severity: Option<Severity>) -> &'static str {
    severity.map_or("-", Severity::as_str)
}

/// Codes without a public meaning would only hide the others.
fn is_reserved(code: &Meaning) -> bool {
    code.reason.as_str().ends_with("Reserved")
}

/// A code whose line decides may be both, an Event and a condition.
fn of_code(code: &Meaning) -> Vec<Listed> {
    let fatal = code.fatal.as_ref().map(|fatal| line(&code.reason, fatal.condition.as_ref(), fatal.severity));
    [line(&code.reason, code.condition.as_ref(), code.severity)].into_iter().chain(fatal).collect()
}
