//! `nodewell explain`: what a reason means, how its problem ends and what to do.

use clap::Args;
use nodewell_rules::{
    Explanation, LoadPlan, RuleSet,
    explain::{ExplainedRule, explain, nearest_reason},
};
use serde::Serialize;

use super::{
    failure::{Failure, USAGE},
    out::Out,
    rules::{RuleChoice, loaded},
};

/// What a reason means, how it ends, and what to do.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell explain KernelOops
  nodewell explain --list
  nodewell explain IOError --json")]
pub(super) struct Explain {
    /// The reason, such as KernelOops.
    #[arg(required_unless_present = "list")]
    reason: Option<String>,
    /// All reasons, one a line.
    #[arg(long, conflicts_with = "reason")]
    list: bool,
    /// As JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    rules: RuleChoice,
}

/// One line of `--list`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Listed<'a> {
    reason: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    condition: Option<&'a str>,
    severity: &'static str,
}

impl Explain {
    pub(super) fn run(self, out: &mut Out) -> Result<(), Failure> {
        let plan: LoadPlan = self.rules.plan();
        let set = loaded(&plan)?;
        match self.reason {
            None => list(&set, self.json, out),
            Some(reason) => {
                let explanation = explain(&set, &reason).ok_or_else(|| unknown(&set, &reason))?;
                if self.json {
                    return out.json(&explanation);
                }
                Ok(out.text(&shown(&explanation))?)
            }
        }
    }
}

fn unknown(set: &RuleSet, reason: &str) -> Failure {
    let near = nearest_reason(set, reason).map(|near| format!(" Did you mean {near}?")).unwrap_or_default();
    let message = format!("no rule has the reason {reason:?}.{near} `nodewell explain --list` shows them all");
    Failure::said(USAGE, message)
}

fn list(set: &RuleSet, json: bool, out: &mut Out) -> Result<(), Failure> {
    let mut listed: Vec<Listed<'_>> = set
        .rules
        .iter()
        .map(|rule| Listed {
            reason: rule.reason.as_str(),
            kind: if rule.condition.is_some() { "permanent" } else { "temporary" },
            condition: rule.condition.as_ref().map(|name| name.as_str()),
            severity: rule.severity.as_str(),
        })
        .collect();
    listed.sort();
    listed.dedup();
    if json {
        return out.json(&listed);
    }
    let width = listed.iter().map(|entry| entry.reason.len()).max().unwrap_or_default();
    for entry in &listed {
        let holds = entry.condition.unwrap_or("event only");
        out.line(&format!("{:<width$}  {:<8}  {holds}", entry.reason, entry.severity))?;
    }
    Ok(())
}

fn shown(explanation: &Explanation) -> String {
    let mut text = format!("{}\n", explanation.reason);
    for rule in &explanation.rules {
        text.push('\n');
        text.push_str(&rule_shown(rule));
    }
    text
}

fn rule_shown(rule: &ExplainedRule) -> String {
    let holds = rule.condition.as_ref().map_or("an event only".to_owned(), |name| format!("holds {name} True"));
    let mut text = format!("  {}: {holds}, from {} ({})\n", rule.severity, rule.source, rule.monitor);
    if !rule.explain.is_empty() {
        text.push_str(&wrapped(&rule.explain));
    }
    let action = rule.action.map(|action| action.as_str().to_owned());
    let file = format!("{}:{}", rule.file.display(), rule.line);
    let mut line = |name: &str, value: &str| text.push_str(&format!("    {name:<9} {value}\n"));
    action.iter().for_each(|action| line("action", action));
    rule.ends.iter().for_each(|end| line("ends", end));
    rule.counting.iter().for_each(|counting| line("counts", counting));
    if !rule.origin.is_empty() {
        line("printed", &rule.origin);
    }
    rule.patterns.iter().for_each(|pattern| line("pattern", pattern));
    rule.examples.iter().flat_map(|example| example.lines()).for_each(|example| line("example", example));
    line("rule", &file);
    text
}

/// Words in lines of at most 96 columns, indented.
fn wrapped(words: &str) -> String {
    const WIDTH: usize = 96;
    let (mut text, mut line) = (String::new(), String::new());
    for word in words.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
            text.push_str(&format!("    {line}\n"));
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    text + &format!("    {line}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_found_and_a_near_one_suggested() {
        let set = nodewell_rules::load(&LoadPlan::default()).set;
        let text = shown(&explain(&set, "kerneloops").unwrap());
        for words in ["KernelOops\n", "KernelUnhealthy True", "ends      by `nodewell clear`"] {
            assert!(text.contains(words), "{text}");
        }
        let unknown = unknown(&set, "KernelOop").to_string();
        assert!(unknown.contains("Did you mean KernelOops?"), "{unknown}");
    }

    #[test]
    fn words_are_wrapped() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.len() <= 100 && line.starts_with("    word")), "{text}");
        assert_eq!(text.split_whitespace().count(), 40);
    }
}
