//! docs/reference/messages.md: every message that a condition or an Event may have, from the programs' own catalogues.

use nodewell_faults::{Tables, reason};
use nodewell_message::Entry;
use nodewell_model::{ConditionSpec, Name, Severity};
use nodewell_rules::{LoadPlan, RuleSet};

const HEAD: &str = "# Messages\n\n\
    **For:** people who see a message in a condition, an Event or `status.blockedBy`, or match on one.\\\n\
    **Afterwards:** you know which reason writes it, and which part of it is the node's own.\n\n\
    Every message that the agent writes into a NodeCondition or an Event by itself, with example figures: what stands in\n\
    place of `97` is the node's own. A condition's message has the subject (a device, a mount point) before it.\n\
    Messages of rules of the kernel log are the log's own lines; those of plug-ins and daemons are theirs. A message is\n\
    one line of at most 256 bytes, in an Event that quotes others (the kernel, a daemon) of at most 1024.\n\
    `nodewell explain REASON` says what a reason means and what to do. `(healthy)` is the message while nothing is\n\
    wrong: of a condition, or of one of its subjects. `(ended)` is why a problem is over, in the Event of its end.\n\
    `(figure)` is a part of other messages of its condition. In the second column, `(Unknown)` is any condition with\n\
    that status, `(any)` any condition at all.\n";

const CONTROLLER: &str = "## The controller's\n\n\
    Reasons of `status.blockedBy` (docs/runbook.md has what to do about each), of Events on a Node, and of the\n\
    conditions FenceReady and AgentSilent. `FencePhase` stands for `Fence` with the phase that the record enters, such as\n\
    `FenceIsolating`. One Event may have several of these messages, one after the other.\n";

/// The page.
pub(crate) fn page() -> String {
    let rules = nodewell_rules::load(&LoadPlan::default()).set;
    let composed = nodewell_faults::messages().entries().map(|entry| (entry.key.clone(), row(entry, &rules)));
    let declared = rules.conditions.iter().map(|spec| (spec.condition.to_string(), healthy_row(spec)));
    let mut rows: Vec<(String, String)> = composed.chain(declared).collect();
    rows.sort();
    let rows: String = rows.into_iter().map(|(_, row)| row).collect();
    let controller: String = nodewell_remediation::message::messages().entries().map(controller_row).collect();
    format!(
        "{HEAD}\n| reason | condition | severity | message |\n|---|---|---|---|\n{rows}\n{CONTROLLER}\n| reason | message \
         |\n|---|---|\n{controller}"
    )
}

fn controller_row(entry: &Entry) -> String {
    format!("| `{}` | {} |\n", entry.reason(), entry.shown().replace('|', "\\|"))
}

fn healthy_row(spec: &ConditionSpec) -> String {
    format!("| (healthy) | {} | | {} |\n", spec.condition, spec.healthy_message)
}

fn row(entry: &Entry, rules: &RuleSet) -> String {
    let (name, shown) = (entry.reason(), entry.shown().replace('|', "\\|"));
    let listed = Listed::of(name, rules);
    match entry.variant().split('-').next() {
        Some("healthy") => format!("| (healthy) | {name} | | {shown} |\n"),
        Some("ended") if name == "ProblemEnded" => format!("| (ended) | (any) | | {shown} |\n"),
        Some("ended") => format!("| (ended) | {name} | | {shown} |\n"),
        Some("figure") => {
            format!("| (figure) | {} | | {shown} |\n", listed.map_or(name.to_owned(), |listed| listed.condition))
        }
        _ => {
            let Listed { condition, severity } = listed.unwrap_or_default();
            let gap = if severity.is_empty() { "" } else { " " };
            format!("| `{name}` | {condition} |{gap}{severity} | {shown} |\n")
        }
    }
}

/// What a row shows of a reason.
#[derive(Default)]
struct Listed {
    condition: String,
    severity: String,
}

impl Listed {
    /// From the messages' own list, the catalogue of reasons, the shipped rules or the tables of codes.
    fn of(name: &str, rules: &RuleSet) -> Option<Self> {
        let own = || {
            let reasons = nodewell_faults::messages().reason(name)?;
            Some(Self { condition: reasons.condition.clone(), severity: reasons.severity.clone() })
        };
        let catalogue = || {
            let reason = reason::all().iter().find(|reason| reason.name.as_str() == name)?;
            Some(Self::with(reason.condition.as_ref(), reason.severity))
        };
        let by_rule = || {
            let rule = rules.rules.iter().find(|rule| rule.reason.as_str() == name)?;
            Some(Self::with(rule.condition.as_ref(), rule.severity))
        };
        let by_code = || {
            let meaning = Tables::shipped().xids.codes().named(name)?;
            Some(Self::with(meaning.condition.as_ref(), meaning.severity))
        };
        own().or_else(catalogue).or_else(by_rule).or_else(by_code)
    }

    fn with(condition: Option<&Name>, severity: Severity) -> Self {
        let condition = condition.map_or_else(|| "(Event)".to_owned(), Name::to_string);
        Self { condition, severity: severity.to_string() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../docs/reference/messages.md");

    #[test]
    fn the_shipped_rules_healthy_messages_may_ship() {
        for spec in nodewell_rules::load(&LoadPlan::default()).set.conditions {
            assert_eq!(nodewell_message::text_diagnostics(&spec.healthy_message), [""; 0], "{}", spec.condition);
            assert!(spec.healthy_message.len() < nodewell_message::LIMIT, "{}", spec.condition);
        }
    }

    #[test]
    fn every_message_names_its_condition() {
        let nameless: Vec<String> = page().lines().filter(|row| row.contains("` | | ")).map(str::to_owned).collect();
        assert_eq!(nameless, [""; 0]);
    }

    #[test]
    fn the_page_is_that_of_the_catalogues() {
        let made = page();
        let first = made.lines().zip(SHIPPED.lines()).find(|(made, shipped)| made != shipped);
        assert!(made == SHIPPED, "run: cargo run -p nodewell-pages messages >docs/reference/messages.md\n{first:?}");
    }
}
