//! Reasons that only the catalogue of messages has: the agent's own, such as that a monitor is silent.

use nodewell_message::{Entry, Reasons};
use nodewell_model::{Name, Severity};
use nodewell_rules::RuleSet;
use serde::Serialize;

/// One of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct OwnReason {
    pub(super) reason: Name,
    pub(super) holds: Holds,
    /// `None`: what is Unknown has none, and an Event's may be that of what it is about.
    pub(super) severity: Option<Severity>,
    /// What is written with it, with example figures.
    pub(super) messages: Vec<String>,
}

/// What it does to conditions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Holds {
    True(Name),
    /// Any condition that is watched by what cannot see.
    Unknown,
    /// Any condition that only muted problems or false positives would hold.
    False,
    Event,
}

/// All of them, but for places that stand for others' reasons.
pub(super) fn all(set: &RuleSet) -> Vec<OwnReason> {
    let is_decoder = |name: &str| set.rules.iter().any(|rule| rule.decoder.is_some() && rule.reason.as_str() == name);
    let listed = nodewell_faults::messages().reasons();
    let named = listed.flat_map(|reasons| reasons.names.iter().map(move |name| (name, reasons)));
    named.filter(|(name, _)| !is_decoder(name)).filter_map(|(name, reasons)| own(name, reasons)).collect()
}

/// The reason `word`, in any case.
pub(super) fn named(set: &RuleSet, word: &str) -> Option<OwnReason> {
    all(set).into_iter().find(|own| own.reason.as_str().eq_ignore_ascii_case(word))
}

fn own(name: &str, reasons: &Reasons) -> Option<OwnReason> {
    let holds = match reasons.condition.as_str() {
        "(Unknown)" => Holds::Unknown,
        "(Event)" => Holds::Event,
        "(False)" => Holds::False,
        // A part of other messages.
        other if other.starts_with('(') => return None,
        condition => Holds::True(condition.parse().ok()?),
    };
    let entries = nodewell_faults::messages().entries().filter(|entry| entry.reason() == name && is_whole(entry));
    let messages = entries.map(Entry::shown).collect();
    Some(OwnReason { reason: name.parse().ok()?, holds, severity: severity(&reasons.severity), messages })
}

/// Neither why a problem is over, nor a part of another message.
fn is_whole(entry: &Entry) -> bool {
    !entry.variant().starts_with("ended") && !entry.variant().starts_with("figure")
}

fn severity(name: &str) -> Option<Severity> {
    [Severity::Info, Severity::Warn, Severity::Error, Severity::Critical]
        .into_iter()
        .find(|severity| severity.as_str() == name)
}
