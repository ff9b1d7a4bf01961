//! The conditions that a policy asks for, as the cause of its record has them.

use nodewell_printable::is_hidden;

use crate::{
    facts::{Condition, Node},
    policy::Policy,
    time::Moment,
};

/// A cause is one line.
const MOST: usize = 3;
/// Of each text that other clients write: `spec.cause` holds 4096 characters; of an Event the server takes the first 1024.
const LONGEST_CHARS: usize = 120;

/// Those that the node has, in the order in which `spec.when` names them. Ready is in every cause, and not here.
pub(super) fn asked_for(policy: &Policy, node: &Node, ago: impl Fn(Moment) -> String) -> Vec<String> {
    let kinds = policy.when.conditions_in_order().into_iter().filter(|kind| *kind != "Ready");
    let found = kinds.filter_map(|kind| node.condition(kind)).take(MOST);
    found.map(|condition| format!("{} for {}", state(condition), ago(condition.change_seen_at))).collect()
}

fn state(condition: &Condition) -> String {
    let Condition { kind, status, reason, message, .. } = condition;
    let mut why = vec![shown(reason), shown(message)];
    why.retain(|text| !text.is_empty());
    let why = if why.is_empty() { String::new() } else { format!(" ({})", why.join(": ")) };
    format!("{}={status}{why}", shown(kind))
}

/// In one line, without what would change how it is read.
pub(super) fn shown(text: &str) -> String {
    let clean: String = text.chars().map(|sign| if is_hidden(sign) { ' ' } else { sign }).collect();
    let mut signs = clean.trim().chars();
    let start: String = signs.by_ref().take(LONGEST_CHARS).collect();
    if signs.as_str().is_empty() { start } else { format!("{start}…") }
}
