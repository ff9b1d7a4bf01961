//! An explanation for people.

use nodewell_faults::{
    Reason, advice,
    smart::{Attribute, Field, Kind},
    xid::Meaning,
};
use nodewell_model::{Action, Name, Severity};
use nodewell_rules::explain::ExplainedRule;

use super::{
    Explained, ExplainedCondition, list,
    own::{Holds, OwnReason},
};

pub(super) fn shown(explained: &Explained) -> String {
    let mut text = format!("{}\n", heading(explained));
    let parts = explained.condition.as_ref().map(condition).into_iter().chain(explained.code.as_ref().map(code));
    let monitor = explained.monitor.map(|reason| monitor(reason, explained.check));
    let parts = parts.chain(monitor).chain(explained.own.as_ref().map(own));
    let parts = parts.chain(explained.rules.iter().map(rule));
    let parts = parts.chain(explained.attribute.map(attribute)).chain(explained.field.map(field));
    parts.for_each(|part| {
        text.push('\n');
        text.push_str(&part);
    });
    text
}

fn heading(explained: &Explained) -> String {
    match (explained.attribute, explained.field) {
        (Some(attribute), _) => format!("{} ({})", explained.reason, attribute.name),
        (_, Some(field)) => format!("nvme:{}", field.names.join(", ")),
        _ => explained.reason.clone(),
    }
}

fn holds(condition: Option<&Name>) -> String {
    condition.map_or("an event only".to_owned(), |name| format!("holds {name} True"))
}

/// Lines `name  value`.
#[derive(Default)]
struct Rows(String);

impl Rows {
    fn row(mut self, name: &str, value: &str) -> Self {
        for (at, line) in lines(value).iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            self.0.push_str(&format!("    {name:<9} {line}\n"));
        }
        self
    }
}

fn condition(condition: &ExplainedCondition) -> String {
    let mut rows = Rows::default();
    if !condition.meaning.is_empty() {
        rows = rows.row("True", &condition.meaning);
    }
    if let Some(healthy) = &condition.healthy {
        rows = rows.row("healthy", &format!("{}: {}", healthy.reason, healthy.message));
    }
    let files: Vec<String> = condition.rules_in.iter().map(|file| file.display().to_string()).collect();
    let (of, files, checks) = (condition.rules_of.join(", "), files.join(", "), condition.checks.join(", "));
    for (name, names) in [("rules of", of), ("rules in", files), ("checks", checks)] {
        if !names.is_empty() {
            rows = rows.row(name, &names);
        }
    }
    let reasons: String = condition
        .reasons
        .iter()
        .map(|held| format!("    {:<8}  {}\n", list::severity(held.severity), held.reason))
        .collect();
    let meaning = "True while one of its problems is there, Unknown while a monitor that watches for it cannot see.";
    format!("  a condition\n{}{}  held True by\n{reasons}", wrapped(meaning), rows.0)
}

fn code(code: &Meaning) -> String {
    let head = verdict(code.severity, code.condition.as_ref(), code.action);
    let mut rows = Rows::default();
    for (word, effect) in [("if fatal", &code.fatal), ("if not", &code.nonfatal)] {
        if let Some(effect) = effect {
            rows = rows.row(word, &verdict(effect.severity, effect.condition.as_ref(), effect.action));
        }
    }
    let worst = code.fatal.as_ref().map_or(code.action, |fatal| fatal.action);
    rows = rows.row("advice", advice::of_gpus(worst));
    if !code.conditions().is_empty() {
        rows = rows.row("ends", ends_of_code(worst));
    }
    rows = rows.row("sure", &format!("the vendor says {}", code.vendor));
    if !code.choice.is_empty() {
        rows = rows.row("choice", &code.choice);
    }
    format!("  {head}\n{}{}", wrapped(&code.meaning), rows.row("table", &code.table).0)
}

fn verdict(severity: Severity, condition: Option<&Name>, action: Action) -> String {
    format!("{severity}: {}, action {}", holds(condition), action.as_str())
}

fn ends_of_code(action: Action) -> &'static str {
    match action {
        Action::ResetGpu => {
            "when the driver says that the GPU needs nothing any more (Xid 154), when the GPU's monitor sees that it has \
             recovered, with a new boot, by `nodewell clear`"
        }
        _ => "when the GPU's monitor sees that it has recovered, with a new boot, by `nodewell clear`",
    }
}

fn monitor(reason: &Reason, check: Option<&str>) -> String {
    let mut rows = Rows::default().row("action", reason.action.as_str()).row("advice", &reason.advice);
    if !reason.ends.is_empty() {
        rows = rows.row("ends", &reason.ends);
    }
    rows = rows.row("sure", &reason.sure).row("source", &reason.source);
    if let Some(check) = check {
        rows = rows.row("check", check);
    }
    let head =
        format!("  {}: {}, from the monitor of such hardware\n", reason.severity, holds(reason.condition.as_ref()));
    format!("{head}{}{}", wrapped(&reason.meaning), rows.0)
}

fn own(own: &OwnReason) -> String {
    let severity = own.severity.map(|severity| format!("{severity}: ")).unwrap_or_default();
    let (head, meaning) = match &own.holds {
        Holds::True(condition) => {
            (format!("{severity}holds {condition} True, from the agent itself"), "It ends by itself with its cause.")
        }
        Holds::Unknown => (
            "makes conditions Unknown: whether the problem is there is not known".to_owned(),
            "It says why a monitor cannot see what it watches. Each condition that it watches is Unknown until it can.",
        ),
        Holds::False => (
            "in a condition that is False".to_owned(),
            "What would hold it is muted or a false positive: `nodewell status` shows by whom and why.",
        ),
        Holds::Event => (format!("{severity}an event only, from the agent itself"), "It changes no condition."),
    };
    let rows = own.messages.iter().fold(Rows::default(), |rows, message| rows.row("message", message));
    format!("  {head}\n{}{}", wrapped(meaning), rows.0)
}

fn attribute(attribute: &Attribute) -> String {
    let mut rows = Rows::default().row("rising", &attribute.rising);
    if !attribute.caveat.is_empty() {
        rows = rows.row("but", &attribute.caveat);
    }
    let sure =
        "the numbers have no standard; the disk's own verdict (SMART status) and growth count, not a static old count";
    format!("  {}\n{}{}", kind(attribute.kind), wrapped(&attribute.meaning), rows.row("sure", sure).0)
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Failure => "growth announces a failing disk",
        Kind::Wear => "the rated life",
        Kind::Link => "the way to the disk: cable, backplane, power",
        Kind::Environment => "heat, shocks, power",
        Kind::Usage => "only a count",
        Kind::Vendor => "means something only with the vendor's own notes",
    }
}

fn field(field: &Field) -> String {
    let mut rows = Rows::default().row("rising", &field.rising);
    if !field.reasons.is_empty() {
        rows = rows.row("reasons", &field.reasons.join(", "));
    }
    format!("{}{}", wrapped(&field.meaning), rows.row("source", "NVM Express base specification, log page 02h").0)
}

fn rule(rule: &ExplainedRule) -> String {
    let mut text =
        format!("  {}: {}, from {} ({})\n", rule.severity, holds(rule.condition.as_ref()), rule.source, rule.monitor);
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
    rule.overridden.iter().for_each(|over| line("changed", &format!("by the override at {over}")));
    text
}

/// Words in lines of at most 96 columns.
fn lines(words: &str) -> Vec<String> {
    const WIDTH: usize = 96;
    let mut lines = vec![String::new()];
    for word in words.split_whitespace() {
        let full = lines.last().is_some_and(|line| line.chars().count() + 1 + word.chars().count() > WIDTH);
        match lines.last_mut().filter(|line| !full || line.is_empty()) {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => line.push_str(&format!(" {word}")),
            None => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The same, indented.
pub(super) fn wrapped(words: &str) -> String {
    lines(words).iter().map(|line| format!("    {line}\n")).collect()
}
