//! The lines of the problems that hold a condition.

use std::collections::BTreeSet;

use nodewell_model::{
    Ack,
    text::{MESSAGE_LIMIT_BYTES, about, line as one_line},
    view::{ConditionView, ProblemView},
};

use super::super::{
    super::{
        event::colour,
        flow::{Layout, Piece, flow},
        look::Look,
    },
    Extent, GAP, Table,
};

/// `  └ `: as far as text goes on below.
const INDENT: usize = 4;

/// What follows the worst problem's message in that of the condition: the other subjects.
const ALSO: &str = "; also ";

/// The lines of each problem. A text that stands above as a whole is left out.
pub(super) fn lines(condition: &ConditionView, table: &Table<'_>) -> Vec<String> {
    let mut above = BTreeSet::new();
    let mut lines = Vec::new();
    for problem in &condition.problems {
        let is_new = above.insert(&problem.message) && !is_message_of(condition, problem);
        lines.push(line(problem, is_new || table.extent == Extent::Wide, table));
    }
    lines
}

/// A condition's message is that of its worst problem, with the subject before it where it does not name that itself. A
/// text that is only a part of it, such as another subject's, is not said by it.
fn is_message_of(condition: &ConditionView, problem: &ProblemView) -> bool {
    let line = |text: &str| one_line(text, MESSAGE_LIMIT_BYTES);
    let shown = line(&condition.message);
    let is_whole = |text: &str| shown.strip_prefix(&line(text)).is_some_and(is_nothing_of_it);
    is_whole(&problem.message) || is_whole(&about(problem.subject.as_deref(), &problem.message))
}

/// What may follow a problem's own message: the other subjects, how many are muted, how many are false positives.
fn is_nothing_of_it(rest: &str) -> bool {
    let counted = |part: &str, what: &str| part.strip_suffix(what).is_some_and(|count| count.parse::<usize>().is_ok());
    let is_count =
        |part: &str| [" muted", " false positive", " false positives"].iter().any(|what| counted(part, what));
    rest.is_empty()
        || rest.starts_with(ALSO)
        || rest.strip_prefix("; ").is_some_and(|rest| rest.split("; ").all(is_count))
}

/// What to do; the word for nothing is for programs that sort by it.
fn advice(problem: &ProblemView, look: &Look) -> Option<String> {
    let action = problem.action.as_ref().filter(|action| action.as_str() != "none")?;
    Some(format!("{} {action}", look.sign("→", "->")))
}

fn line(problem: &ProblemView, has_message: bool, table: &Table<'_>) -> String {
    let (look, age) = (table.look, |time| nodewell_time::age(time, table.now));
    let wide = (table.extent == Extent::Wide).then(|| format!("by {}, id {}", problem.source, problem.id));
    let parts = [
        Some(problem.reason.to_string()),
        problem.subject.clone(),
        Some(problem.severity.to_string()),
        Some(format!("{}{}", look.sign("×", "x"), problem.count)),
        Some(format!("seen {} ago", age(problem.last_seen))),
        advice(problem, look),
        problem.unconfirmed_since.map(|time| format!("unconfirmed for {}", age(time))),
        problem.muted_until.map(|time| format!("muted until {time}")),
        problem.false_positive.as_ref().map(|ack| false_positive(ack, age(ack.at))),
        problem.test.then(|| "[test]".to_owned()),
        wide,
        Some(&problem.message).filter(|text| has_message && !text.is_empty()).cloned(),
    ];
    let pieces: Vec<Piece> = parts.iter().flatten().map(|part| Piece::new(part)).collect();
    let layout = Layout { first: INDENT, indent: INDENT, separator: GAP };
    let mark = look.paint(colour(problem.severity), look.sign("└", "-"));
    format!("  {mark} {}\n", flow(&pieces, layout, look))
}

fn false_positive(ack: &Ack, age: impl std::fmt::Display) -> String {
    one_line(&format!("false positive for {age} by {}: {}", ack.by, ack.why), MESSAGE_LIMIT_BYTES)
}
