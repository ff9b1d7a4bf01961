//! The lines of the problems that hold a condition.

use std::collections::BTreeSet;

use nodewell_model::view::{ConditionView, ProblemView};

use super::super::{
    super::{
        event::colour,
        flow::{Layout, Piece, flow},
    },
    Extent, GAP, Table,
};

/// `  └ `: as far as text goes on below.
const INDENT: usize = 4;

/// The lines of each problem. A text that stands above is left out: a condition's message has that of its worst problem.
pub(super) fn lines(condition: &ConditionView, table: &Table<'_>) -> Vec<String> {
    let mut above = BTreeSet::new();
    let mut lines = Vec::new();
    for problem in &condition.problems {
        let is_new = !condition.message.contains(&problem.message) && above.insert(&problem.message);
        lines.push(line(problem, is_new || table.extent == Extent::Wide, table));
    }
    lines
}

fn line(problem: &ProblemView, has_message: bool, table: &Table<'_>) -> String {
    let (look, age) = (table.look, |time| crate::cli::age::age(time, table.now));
    let wide = (table.extent == Extent::Wide).then(|| format!("by {}, id {}", problem.source, problem.id));
    let parts = [
        Some(problem.reason.to_string()),
        problem.subject.clone(),
        Some(problem.severity.to_string()),
        Some(format!("{}{}", look.sign("×", "x"), problem.count)),
        Some(format!("seen {} ago", age(problem.last_seen))),
        problem.action.as_ref().map(|action| format!("{} {action}", look.sign("→", "->"))),
        problem.unconfirmed_since.map(|time| format!("unconfirmed for {}", age(time))),
        problem.test.then(|| "[test]".to_owned()),
        wide,
        has_message.then(|| problem.message.clone()),
    ];
    let pieces: Vec<Piece> = parts.iter().flatten().map(|part| Piece::new(part)).collect();
    let layout = Layout { first: INDENT, indent: INDENT, separator: GAP };
    let mark = look.paint(colour(problem.severity), look.sign("└", "-"));
    format!("  {mark} {}\n", flow(&pieces, layout, look))
}
