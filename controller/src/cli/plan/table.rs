//! The plan as a table, or as the whole account of one node.

use std::fmt::Write as _;

use nodewell_remedy::{
    facts::{Node, Truth},
    snapshot::Snapshot,
    verdict::Verdict,
};

use super::super::look::{Look, Paint, one_line};

/// `kubectl get nodes`' words.
pub(in crate::cli) fn state(node: &Node) -> String {
    let ready = match node.condition("Ready").map(|ready| ready.status) {
        Some(Truth::True) => "Ready",
        Some(Truth::False) => "NotReady",
        Some(Truth::Unknown) | None => "Unknown",
    };
    let cordoned = if node.unschedulable { ",SchedulingDisabled" } else { "" };
    format!("{ready}{cordoned}")
}

/// What is true of the whole cluster: a kill switch, unreadable policies, a dry run.
pub(super) fn head(snapshot: &Snapshot, dry_run: bool, look: Look) -> String {
    let mut text = String::new();
    if let Some(why) = &snapshot.stopped {
        let _ = writeln!(text, "{}", look.paint(Paint::Bad, &format!("stopped: {}", one_line(why))));
    }
    for (name, problem) in &snapshot.unreadable_policies {
        let line = format!("policy {name} cannot be read: {}", one_line(problem));
        let _ = writeln!(text, "{}", look.paint(Paint::Bad, &line));
    }
    if dry_run {
        let _ = writeln!(
            text,
            "{}",
            look.paint(Paint::Warning, "dry run: the controller's configuration lets it only say what it would do")
        );
    }
    if snapshot.policies.is_empty() {
        text.push_str("there is no policy that can be read: nothing will be done\n");
    }
    text
}

/// Why node-reaper's configuration is not acted on.
pub(super) fn refused(refusals: &[String], look: Look) -> String {
    let line = |reason: &String| {
        let text = format!("policy node-reaper only observes, its configuration is refused: {}", one_line(reason));
        look.paint(Paint::Bad, &text) + "\n"
    };
    refusals.iter().map(line).collect()
}

/// A row: the cells, and how it is meant.
struct Row {
    cells: [String; 6],
    paint: Option<Paint>,
}

/// All nodes, one a line.
pub(super) fn all(snapshot: &Snapshot, verdicts: &[Verdict], look: Look) -> String {
    let head = ["NODE", "STATE", "POLICY", "PHASE", "NEXT", "HELD BY"].map(str::to_owned);
    let mut rows = vec![Row { cells: head, paint: Some(Paint::Strong) }];
    rows.extend(verdicts.iter().map(|verdict| row(snapshot, verdict)));
    let mut widths = [0; 6];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(&row.cells) {
            *width = cell.chars().count().max(*width);
        }
    }
    let mut text = String::new();
    for row in &rows {
        let line: Vec<String> = row.cells.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let line = line.join("   ");
        let line = line.trim_end();
        let _ = writeln!(text, "{}", row.paint.map_or_else(|| line.to_owned(), |paint| look.paint(paint, line)));
    }
    text
}

fn row(snapshot: &Snapshot, verdict: &Verdict) -> Row {
    let or_dash = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned());
    let mut holds: Vec<&str> = verdict.holds.iter().map(|hold| hold.reason.as_str()).collect();
    if !verdict.errors.is_empty() {
        holds.push("PredicateError");
    }
    holds.dedup();
    let paint = match (&verdict.next, holds.is_empty()) {
        (Some(_), true) => Some(Paint::Bad),
        (Some(_), false) => Some(Paint::Warning),
        (None, false) => Some(Paint::Warning),
        (None, true) => None,
    };
    Row {
        cells: [
            one_line(&verdict.node),
            or_dash(snapshot.nodes.get(&verdict.node).map(state)),
            or_dash(verdict.policy.clone()),
            or_dash(verdict.phase.map(|phase| format!("{phase:?}"))),
            or_dash(verdict.next.as_deref().map(one_line)),
            or_dash(Some(holds.join(","))),
        ],
        paint,
    }
}

/// One node, with every reason in full.
pub(super) fn one(snapshot: &Snapshot, verdict: &Verdict, look: Look) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{:<8} {value}", format!("{name}:"));
    };
    line("node", &look.paint(Paint::Strong, &one_line(&verdict.node)));
    line("state", &snapshot.nodes.get(&verdict.node).map(state).unwrap_or_default());
    line("policy", verdict.policy.as_deref().unwrap_or("none is true of it"));
    if let Some(phase) = verdict.phase {
        line("phase", &format!("{phase:?}"));
    }
    line("next", &verdict.next.as_deref().map_or_else(|| look.paint(Paint::Good, "nothing"), one_line));
    for hold in &verdict.holds {
        line("held by", &format!("{}: {}", look.paint(Paint::Warning, &hold.reason), one_line(&hold.message)));
    }
    for (policy, error) in &verdict.errors {
        line("error", &look.paint(Paint::Bad, &format!("policy {policy}: {}", one_line(error))));
    }
    text
}

#[cfg(test)]
mod tests {
    use nodewell_remedy::api::fence::{Hold, Phase};

    use super::*;

    fn verdict() -> Verdict {
        Verdict {
            node: "n1".into(),
            policy: Some("lost".into()),
            phase: Some(Phase::Guarded),
            next: Some("power off".into()),
            holds: vec![Hold::new("BudgetZone", "zone a has\n2 of 1"), Hold::new("DryRun", "say --no-dry-run")],
            errors: vec![("other".into(), "no such key".into())],
            ..Verdict::default()
        }
    }

    fn well() -> Verdict {
        Verdict { node: "worker-2".into(), ..Verdict::default() }
    }

    #[test]
    fn columns_are_aligned_and_reasons_are_words() {
        let text = all(&Snapshot::default(), &[verdict(), well()], Look::PLAIN);
        let expected = "\
NODE       STATE   POLICY   PHASE     NEXT        HELD BY
n1         -       lost     Guarded   power off   BudgetZone,DryRun,PredicateError
worker-2   -       -        -         -           -
";
        assert_eq!(text, expected);
    }

    #[test]
    fn one_node_shows_each_reason_in_full_and_on_one_line() {
        let text = one(&Snapshot::default(), &verdict(), Look::PLAIN);
        assert!(text.contains("held by: BudgetZone: zone a has 2 of 1\n"), "{text}");
        assert!(text.contains("error:   policy other: no such key\n"), "{text}");
        assert!(one(&Snapshot::default(), &well(), Look::PLAIN).contains("next:    nothing\n"));
    }

    #[test]
    fn what_stops_everything_comes_first() {
        let snapshot = Snapshot { stopped: Some("rack 4".into()), ..Snapshot::default() };
        let text = head(&snapshot, true, Look { colours: true });
        assert!(text.starts_with("\x1b[1;31mstopped: rack 4\x1b[0m\n"), "{text:?}");
        assert!(head(&snapshot, true, Look::PLAIN).contains("dry run"));
    }
}
