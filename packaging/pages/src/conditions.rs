//! docs/reference/conditions.md: every condition with the reasons that hold it True, and the reasons of Events; from
//! the rules, the catalogue of the checks, the tables of codes and the agent's own list.

use nodewell_faults::{Tables, reason, xid::Meaning};
use nodewell_message::{Entry, Reasons};
use nodewell_model::{Action, ConditionSpec, Name, Severity};
use nodewell_rules::{LoadPlan, Rule, RuleSet};

use crate::markdown::{cell, code, prose};

const HEAD: &str = "# Conditions and reasons: every one\n\n\
    **For:** people who see a condition or a reason on a node, or write a policy or an alert on it.\\\n\
    **Afterwards:** you know what it means, how severe it is, and what finds it.\n\n\
    `nodewell-pages conditions` writes this page from the rules, the checks' catalogue and the tables of codes.\n\
    [Conditions](../conditions.md) has the pages that say what is read and when it ends; `nodewell explain REASON`\n\
    has what to do, how a problem ends and how sure it is, and [messages](messages.md) the texts.\n\n\
    A reason below a condition is permanent: it holds the condition True until it ends. Those of [Events](#events)\n\
    are temporary. *From* is the check that reports it (its table in the configuration is called so), the monitor\n\
    whose rule finds it in a log (`kernel-monitor`, `journal-monitor`), a table of codes (`xid`, `sxid`), or the\n\
    agent itself; of its own the last column has a message. The controller writes\n\
    [FenceReady](../fence-config.md#fenceready), and [AgentSilent](../agent-liveness.md) into the others.\n";
const TABLE: &str = "| reason | severity | action | from | what it means |\n|---|---|---|---|---|\n";
/// What reasons hold that hold no condition True, as the agent's own list calls it.
const OTHERS: [(&str, &str, &str); 3] = [
    (
        "(Unknown)",
        "Unknown",
        "Why any condition that is watched is Unknown: whether the problem is there is not known.",
    ),
    ("(False)", "False", "In a condition that is False because what would hold it is muted or a false positive."),
    (EVENT, "Events", "These change no condition."),
];
const EVENT: &str = "(Event)";

/// One reason as one source gives it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    /// A condition, or one of [`OTHERS`].
    holds: String,
    reason: String,
    from: String,
    severity: String,
    action: String,
    what: String,
}

/// The page.
pub(crate) fn page() -> String {
    let rules = nodewell_rules::load(&LoadPlan::default()).set;
    let rows = rows(&rules);
    let mut conditions: Vec<&ConditionSpec> = rules.conditions.iter().collect();
    conditions.sort_by_key(|spec| spec.condition.clone());
    let mut text = HEAD.to_owned();
    for spec in conditions {
        let about = about(spec, &rules);
        text += &chapter(spec.condition.as_str(), &about, spec.condition.as_str(), &rows);
    }
    for (holds, title, about) in OTHERS {
        text += &chapter(title, about, holds, &rows);
    }
    text
}

fn about(spec: &ConditionSpec, rules: &RuleSet) -> String {
    let meaning = rules.meanings.get(&spec.condition).map(String::as_str).unwrap_or_default();
    let healthy = format!("{}, “{}”", code(spec.healthy_reason.as_str()), prose(&spec.healthy_message));
    format!("True: {}. False: {healthy}.", prose(meaning))
}

fn chapter(title: &str, about: &str, holds: &str, rows: &[Row]) -> String {
    let rows: String = rows.iter().filter(|row| row.holds == holds).map(Row::shown).collect();
    format!("\n## {title}\n\n{about}\n\n{TABLE}{rows}")
}

fn rows(rules: &RuleSet) -> Vec<Row> {
    // What a rule with a decoder gives is in the tables.
    let of_rules = rules.rules.iter().filter(|rule| rule.decoder.is_none()).map(of_rule);
    let of_checks = reason::by_check().map(|(check, reason)| {
        let verdict = Verdict { condition: reason.condition, severity: reason.severity, action: Some(reason.action) };
        Row::of(reason.name.as_str(), code(check), verdict, &reason.meaning)
    });
    let tables = Tables::shipped();
    let xids = tables.xids.codes().all().flat_map(|meaning| of_code("xid", meaning));
    let sxids = tables.sxids.codes().all().flat_map(|meaning| of_code("sxid", meaning));
    let own = nodewell_faults::messages().reasons().flat_map(|reasons| of_agent(reasons, rules));
    let mut rows: Vec<Row> = of_rules.chain(of_checks).chain(xids).chain(sxids).chain(own).collect();
    rows.sort();
    rows.dedup();
    rows
}

/// How bad a reason is.
struct Verdict {
    condition: Option<Name>,
    severity: Severity,
    action: Option<Action>,
}

fn of_rule(rule: &Rule) -> Row {
    let verdict = Verdict { condition: rule.condition.clone(), severity: rule.severity, action: rule.action };
    Row::of(rule.reason.as_str(), code(&rule.monitor), verdict, first_sentence(&rule.explain))
}

/// A code whose line decides may be both, an Event and a condition. Codes without a public meaning are left out.
fn of_code(table: &str, code_meaning: Meaning) -> Vec<Row> {
    let Meaning { reason, condition, severity, action, fatal, meaning, .. } = code_meaning;
    if reason.as_str().ends_with("Reserved") {
        return Vec::new();
    }
    let by_line = fatal.filter(|fatal| fatal.condition.is_some() && fatal.condition != condition).map(|fatal| {
        let verdict = Verdict { condition: fatal.condition, severity: fatal.severity, action: Some(fatal.action) };
        Row::of(reason.as_str(), format!("{}, when its line says so", code(table)), verdict, &meaning)
    });
    let verdict = Verdict { condition, severity, action: Some(action) };
    [Row::of(reason.as_str(), code(table), verdict, &meaning)].into_iter().chain(by_line).collect()
}

/// Of these the message is all that there is.
fn of_agent(reasons: &Reasons, rules: &RuleSet) -> Vec<Row> {
    let is_decoder = |name: &str| rules.rules.iter().any(|rule| rule.decoder.is_some() && rule.reason.as_str() == name);
    let is_shown = |holds: &str| !holds.starts_with('(') || OTHERS.iter().any(|(other, ..)| *other == holds);
    let names = reasons.names.iter().filter(|name| is_shown(&reasons.condition) && !is_decoder(name));
    let row = |name: &String| Row {
        holds: reasons.condition.clone(),
        reason: name.clone(),
        from: "the agent".to_owned(),
        severity: reasons.severity.clone(),
        action: String::new(),
        what: message(name),
    };
    names.map(row).collect()
}

/// The first of its messages, with example figures; neither why a problem is over, nor a part of another one.
fn message(name: &str) -> String {
    let is_whole = |entry: &&Entry| !["ended", "figure"].iter().any(|part| entry.variant().starts_with(*part));
    let mut entries = nodewell_faults::messages().entries().filter(|entry| entry.reason() == name);
    entries.find(is_whole).map(Entry::shown).unwrap_or_default()
}

/// What it means comes first; the rest is what to do.
fn first_sentence(text: &str) -> &str {
    let is_end = |at: &usize| text[*at..].trim_start().starts_with(char::is_uppercase);
    text.match_indices(". ").map(|(at, _)| at + 1).find(is_end).map_or(text, |at| &text[..at])
}

impl Row {
    fn of(reason: &str, from: String, verdict: Verdict, what: &str) -> Self {
        Self {
            holds: verdict.condition.map_or_else(|| EVENT.to_owned(), |condition| condition.to_string()),
            reason: reason.to_owned(),
            from,
            severity: verdict.severity.to_string(),
            action: verdict.action.map(Action::as_str).unwrap_or_default().to_owned(),
            what: what.to_owned(),
        }
    }

    fn shown(&self) -> String {
        let Self { reason, severity, action, from, what, .. } = self;
        format!("| {} |{} |{} | {from} | {} |\n", code(reason), spaced(severity), spaced(action), cell(what))
    }
}

fn spaced(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" {text}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMITTED: &str = include_str!("../../../docs/reference/conditions.md");

    #[test]
    fn each_condition_has_a_meaning_and_a_reason() {
        let rules = nodewell_rules::load(&LoadPlan::default()).set;
        let rows = rows(&rules);
        for spec in &rules.conditions {
            assert!(rules.meanings.contains_key(&spec.condition), "{}", spec.condition);
            assert!(rows.iter().any(|row| row.holds == spec.condition.as_str()), "{}", spec.condition);
        }
        let is_known = |row: &Row| {
            let is_other = OTHERS.iter().any(|(other, ..)| *other == row.holds);
            is_other || rules.conditions.iter().any(|spec| spec.condition.as_str() == row.holds)
        };
        assert!(rows.iter().all(is_known));
    }

    #[test]
    fn a_sentence_ends_before_the_next_one() {
        assert_eq!(first_sentence("It is v1.2 of x. y and z. Do this."), "It is v1.2 of x. y and z.");
        assert_eq!(first_sentence("One alone."), "One alone.");
    }

    #[test]
    fn the_page_is_that_of_the_rules_and_the_catalogue() {
        let made = page();
        let first = made.lines().zip(COMMITTED.lines()).find(|(made, committed)| made != committed);
        assert!(
            made == COMMITTED,
            "run: cargo run -p nodewell-pages conditions >docs/reference/conditions.md\n{first:?}"
        );
    }
}
