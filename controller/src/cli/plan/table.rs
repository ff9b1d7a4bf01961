//! The plan as a table, or as the whole account of one node.

use std::{fmt::Write as _, time::Duration};

use jiff::Timestamp;
use nodewell_remediation::{
    facts::{ConditionStatus, Node},
    guard::reason::PREDICATE_ERROR,
    node_report::NodeReport,
    policy::duration::show,
    snapshot::Snapshot,
};

use super::{
    super::look::{Look, Paint, one_line},
    One,
};

/// The texts of `kubectl get nodes`.
pub(in crate::cli) fn state(node: &Node) -> String {
    let ready = match node.condition("Ready").map(|ready| ready.status) {
        Some(ConditionStatus::True) => "Ready",
        Some(ConditionStatus::False) => "NotReady",
        Some(ConditionStatus::Unknown) | None => "Unknown",
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
            look.paint(Paint::Warning, "dry run: the controller's configuration lets it only report what it would do")
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
pub(super) fn all(snapshot: &Snapshot, node_reports: &[NodeReport], now: Timestamp, look: Look) -> String {
    let head = ["NODE", "STATE", "POLICY", "PHASE", "NEXT", "BLOCKED BY"].map(str::to_owned);
    let mut rows = vec![Row { cells: head, paint: Some(Paint::Strong) }];
    rows.extend(node_reports.iter().map(|node_report| row(snapshot, node_report, now)));
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

fn row(snapshot: &Snapshot, node_report: &NodeReport, now: Timestamp) -> Row {
    let or_dash = |text: Option<String>| text.filter(|text| !text.is_empty()).unwrap_or_else(|| "-".to_owned());
    let mut blockers: Vec<&str> = node_report.blockers.iter().map(|blocker| blocker.reason.as_str()).collect();
    if !node_report.errors.is_empty() {
        blockers.push(PREDICATE_ERROR);
    }
    blockers.dedup();
    let paint = match (&node_report.next, blockers.is_empty()) {
        (Some(_), true) => Some(Paint::Bad),
        (Some(_), false) => Some(Paint::Warning),
        (None, false) => Some(Paint::Warning),
        (None, true) => None,
    };
    Row {
        cells: [
            one_line(&node_report.node),
            or_dash(snapshot.nodes.get(&node_report.node).map(state)),
            or_dash(node_report.policy.as_ref().map(|policy| with_others(policy, node_report.also.len()))),
            or_dash(node_report.phase.map(|phase| format!("{phase:?}"))),
            or_dash(next(node_report, now)),
            or_dash(Some(blockers.join(","))),
        ],
        paint,
    }
}

/// The step, or how long its node has to stay healthy until it is given back.
fn next(node_report: &NodeReport, now: Timestamp) -> Option<String> {
    let left = |at: Timestamp| show(Duration::from_secs(at.duration_since(now).as_secs().max(0).unsigned_abs()));
    let restored = node_report.restored_at.map(|at| format!("given back in {}", left(at)));
    node_report.next.as_deref().map(one_line).or(restored)
}

/// The policy that decides; how many more would apply.
fn with_others(policy: &str, others: usize) -> String {
    if others == 0 { policy.to_owned() } else { format!("{policy} (+{others})") }
}

/// Who decides in the place of a policy that is true as well, or opened the record that is to give way to it.
fn instead(node_report: &NodeReport) -> String {
    let decides = node_report.policy.as_deref().map(one_line).unwrap_or_default();
    if node_report.phase.is_some() {
        format!(", but the record is of policy {decides}")
    } else {
        format!(", but policy {decides} decides")
    }
}

/// What a drain could not move, as its record has it.
pub(super) fn refused_evictions<'s>(snapshot: &'s Snapshot, node_report: &NodeReport) -> &'s [String] {
    let drain = snapshot.fences.get(&node_report.node).and_then(|fence| fence.status.drain.as_ref());
    drain.filter(|drain| !drain.done).map(|drain| drain.refused_evictions.as_slice()).unwrap_or_default()
}

/// How much of a record's log is shown.
const LINES: usize = 5;

fn log<'s>(snapshot: &'s Snapshot, node_report: &NodeReport) -> impl Iterator<Item = String> + use<'s> {
    let log = snapshot.fences.get(&node_report.node).map(|fence| fence.status.log.as_slice()).unwrap_or_default();
    let last = &log[log.len().saturating_sub(LINES)..];
    last.iter().map(|entry| format!("{:.0} {}", entry.at, one_line(&entry.text)))
}

/// One node, with every reason in full.
pub(super) fn one(snapshot: &Snapshot, node_report: &NodeReport, one: &One, now: Timestamp, look: Look) -> String {
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _ = writeln!(text, "{:<8} {value}", format!("{name}:"));
    };
    line("node", &look.paint(Paint::Strong, &one_line(&node_report.node)));
    line("state", &snapshot.nodes.get(&node_report.node).map(state).unwrap_or_default());
    line("policy", node_report.policy.as_deref().unwrap_or("none is true of it"));
    if let Some(phase) = node_report.phase {
        line("phase", &format!("{phase:?}"));
    }
    line("next", &next(node_report, now).unwrap_or_else(|| look.paint(Paint::Good, "nothing")));
    for blocker in &node_report.blockers {
        line("blocked", &format!("{}: {}", look.paint(Paint::Warning, &blocker.reason), one_line(&blocker.message)));
    }
    for (policy, error) in &node_report.errors {
        line("error", &look.paint(Paint::Bad, &format!("{PREDICATE_ERROR}: policy {policy}: {}", one_line(error))));
    }
    for pod in refused_evictions(snapshot, node_report) {
        line("refused", &look.paint(Paint::Warning, &one_line(pod)));
    }
    for pod in &one.waits {
        line("drains", &look.paint(Paint::Warning, &one_line(pod)));
    }
    for result in &one.policies {
        let also = if node_report.also.contains(&result.policy) { instead(node_report) } else { String::new() };
        line("asked", &format!("policy {}: {}{also}", result.policy, one_line(&result.text)));
    }
    for entry in log(snapshot, node_report) {
        line("log", &entry);
    }
    text
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::{Blocker, Phase};
    use serde_json::json;

    use super::{super::policies::PolicyResult, *};

    fn node_report() -> NodeReport {
        NodeReport {
            node: "n1".into(),
            policy: Some("lost".into()),
            phase: Some(Phase::AwaitGuards),
            next: Some("power off".into()),
            blockers: vec![
                Blocker::new("BudgetZone", "zone a has\n2 of 1"),
                Blocker::new("DryRun", "use --no-dry-run"),
            ],
            errors: vec![("other".into(), "no such key".into())],
            ..NodeReport::default()
        }
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn asked(policies: Vec<PolicyResult>) -> One {
        One { policies, waits: Vec::new(), forecast: Err(String::new()) }
    }

    fn well() -> NodeReport {
        NodeReport { node: "worker-2".into(), ..NodeReport::default() }
    }

    #[test]
    fn columns_are_aligned_and_reasons_are_single_words() {
        let text = all(&Snapshot::default(), &[node_report(), well()], NOW, Look::PLAIN);
        let expected = "\
NODE       STATE   POLICY   PHASE         NEXT        BLOCKED BY
n1         -       lost     AwaitGuards   power off   BudgetZone,DryRun,PredicateError
worker-2   -       -        -             -           -
";
        assert_eq!(text, expected);
    }

    #[test]
    fn one_node_shows_each_reason_in_full_and_on_one_line() {
        let text = one(&Snapshot::default(), &node_report(), &asked(Vec::new()), NOW, Look::PLAIN);
        assert!(text.contains("blocked: BudgetZone: zone a has 2 of 1\n"), "{text}");
        assert!(text.contains("error:   PredicateError: policy other: no such key\n"), "{text}");
        let text = one(&Snapshot::default(), &well(), &asked(Vec::new()), NOW, Look::PLAIN);
        assert!(text.contains("next:    nothing\n"), "{text}");
    }

    #[test]
    fn of_a_node_that_is_healthy_again_the_time_is_shown_until_it_is_given_back() {
        let at = NOW + Duration::from_secs(252);
        let healthy = NodeReport { next: None, restored_at: Some(at), blockers: Vec::new(), ..node_report() };
        let text = |now| one(&Snapshot::default(), &healthy, &asked(Vec::new()), now, Look::PLAIN);
        assert!(text(NOW).contains("next:    given back in 4m12s\n"), "{}", text(NOW));
        assert!(text(at + Duration::from_secs(1)).contains("next:    given back in 0s\n"), "its report is old");
        let all = all(&Snapshot::default(), &[healthy], NOW, Look::PLAIN);
        assert!(all.contains("AwaitGuards   given back in 4m12s   PredicateError\n"), "{all}");
    }

    #[test]
    fn a_drains_blockers_and_the_logs_end_are_shown() {
        let status = json!({ "drain": { "done": false, "refusedEvictions": ["shop/db-0: PodDisruptionBudget db"] },
            "log": (1..=7).map(|line| json!({ "at": "2026-01-02T00:00:00Z", "epoch": 1, "text": format!("line {line}") }))
                .collect::<Vec<_>>() });
        let fence =
            json!({ "metadata": { "name": "n1" }, "spec": { "nodeName": "n1", "nodeUID": "" }, "status": status });
        let fence = serde_json::from_value(fence).unwrap();
        let snapshot = Snapshot { fences: [("n1".to_owned(), fence)].into(), ..Snapshot::default() };
        let text = one(&snapshot, &node_report(), &asked(Vec::new()), NOW, Look::PLAIN);
        assert!(text.contains("refused: shop/db-0: PodDisruptionBudget db\n"), "{text}");
        assert!(text.contains("log:     2026-01-02T00:00:00Z line 3\n") && !text.contains("line 2"), "{text}");
    }

    #[test]
    fn a_policy_that_does_not_decide_is_named() {
        let shadowed = NodeReport { also: vec!["reap".into()], phase: None, ..node_report() };
        assert!(all(&Snapshot::default(), std::slice::from_ref(&shadowed), NOW, Look::PLAIN).contains("lost (+1)"));
        let results =
            [("lost", "Observe, true of it for 2h"), ("gpu", "Enforce, does not select it"), ("reap", "Enforce, true")];
        let shown = |node_report: &NodeReport| {
            let results = results.map(|(policy, text)| PolicyResult { policy: policy.into(), text: text.into() });
            one(&Snapshot::default(), node_report, &asked(results.into()), NOW, Look::PLAIN)
        };
        let text = shown(&shadowed);
        assert!(text.contains("asked:   policy lost: Observe, true of it for 2h\n"), "{text}");
        assert!(text.contains("asked:   policy gpu: Enforce, does not select it\n"), "{text}");
        assert!(text.contains("asked:   policy reap: Enforce, true, but policy lost decides\n"), "{text}");
        let text = shown(&NodeReport { phase: Some(Phase::Waiting), ..shadowed });
        assert!(text.contains("asked:   policy reap: Enforce, true, but the record is of policy lost\n"), "{text}");
    }

    #[test]
    fn what_stops_everything_comes_first() {
        let snapshot = Snapshot { stopped: Some("rack 4".into()), ..Snapshot::default() };
        let text = head(&snapshot, true, Look { colours: true });
        assert!(text.starts_with("\x1b[1;31mstopped: rack 4\x1b[0m\n"), "{text:?}");
        assert!(head(&snapshot, true, Look::PLAIN).contains("dry run"));
    }
}
