//! docs/reference/messages.md: every message that a condition or an Event may have, from the programs' own catalogues.

use nodewell_faults::reason;
use nodewell_message::Entry;
use nodewell_model::ConditionSpec;
use nodewell_rules::LoadPlan;

const HEAD: &str = "# Messages\n\n\
    Every message that the agent writes into a NodeCondition or an Event by itself, with example figures: what stands in\n\
    place of `97` is the node's own. A condition's message has the subject (a device, a mount point) before it.\n\
    Messages of rules of the kernel log are the log's own lines; those of plug-ins and daemons are theirs. A message is\n\
    one line of at most 256 bytes, in an Event that quotes others (the kernel, a daemon) of at most 1024.\n\
    `nodewell explain REASON` says what a reason means and what to do. `(healthy)` is the message while nothing is\n\
    wrong: of a condition, or of one of its subjects.\n";

const CONTROLLER: &str = "## The controller's\n\n\
    Reasons of `status.blockedBy` (docs/remediation.md has what to do about each), of Events on a Node, and of the\n\
    conditions FenceReady and AgentSilent. `FencePhase` stands for `Fence` with the phase that the record enters, such as\n\
    `FenceIsolating`. One Event may have several of these messages, one after the other.\n";

/// The page.
pub(crate) fn page() -> String {
    let composed = nodewell_faults::messages().entries().map(|entry| (entry.key.clone(), row(entry)));
    let declared = conditions().into_iter().map(|spec| (spec.condition.to_string(), healthy_row(&spec)));
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
    let (reason, _) = entry.key.split_once('/').unwrap_or((&entry.key, ""));
    format!("| `{reason}` | {} |\n", entry.shown().replace('|', "\\|"))
}

/// What the shipped rules declare.
fn conditions() -> Vec<ConditionSpec> {
    nodewell_rules::load(&LoadPlan::default()).set.conditions
}

fn healthy_row(spec: &ConditionSpec) -> String {
    format!("| (healthy) | {} | | {} |\n", spec.condition, spec.healthy_message)
}

fn row(entry: &Entry) -> String {
    let (name, variant) = entry.key.split_once('/').unwrap_or((&entry.key, ""));
    let shown = entry.shown().replace('|', "\\|");
    match reason::named(name).filter(|_| !variant.starts_with("healthy")) {
        Some(reason) => {
            let condition = reason.condition.as_ref().map_or("(Event)", |condition| condition.as_str());
            format!("| `{name}` | {condition} | {} | {shown} |\n", reason.severity)
        }
        None if variant.starts_with("healthy") => format!("| (healthy) | {name} | | {shown} |\n"),
        None if entry.quotes => format!("| `{name}` | (Event) | | {shown} |\n"),
        None => format!("| `{name}` | | | {shown} |\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../docs/reference/messages.md");

    #[test]
    fn the_shipped_rules_healthy_messages_may_ship() {
        for spec in conditions() {
            assert_eq!(nodewell_message::text_diagnostics(&spec.healthy_message), [""; 0], "{}", spec.condition);
            assert!(spec.healthy_message.len() < nodewell_message::LIMIT, "{}", spec.condition);
        }
    }

    #[test]
    fn the_page_is_that_of_the_catalogues() {
        let made = page();
        let first = made.lines().zip(SHIPPED.lines()).find(|(made, shipped)| made != shipped);
        assert!(made == SHIPPED, "run: cargo run -p nodewell-pages messages >docs/reference/messages.md\n{first:?}");
    }
}
