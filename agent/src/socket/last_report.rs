//! What is surprising about a last report. It ends nothing where nothing is known of the daemon, because what is to end was
//! reported by another user or unit; and more than it names where the daemon has reported that, too.

use nodewell_model::{
    ConditionStatus, Name, Status, text,
    view::{DaemonState, DaemonView, NodeView, ProblemView},
};

/// A name that a client chose is cut there.
const NAME_LIMIT_BYTES: usize = 160;
/// Daemons of the same source, or problems, that are named.
const NAMED: usize = 4;

/// What to warn of these reports of `principal`, before they are taken.
pub(super) fn warning(view: &NodeView, reports: &[Status], principal: &str) -> Option<String> {
    ends_nothing(&view.daemons, reports, principal)
        .or_else(|| reports.iter().find_map(|report| ends_more(view, report, reports, principal)))
}

/// If a report that names a subject is the last of `reports`: problems that none of them names, which end with it. A full
/// one means all that it leaves out.
fn ends_more(view: &NodeView, last: &Status, reports: &[Status], principal: &str) -> Option<String> {
    if !last.last || last.full || last.conditions.is_empty() {
        return None;
    }
    let name = format!("{}@{principal}", last.source);
    let of_source = || reports.iter().filter(|report| report.source == last.source);
    let is_named = |condition: &Name, subject: Option<&str>| {
        of_source().flat_map(|report| &report.conditions).any(|one| {
            // Without a subject it ends them all.
            let is_of_all = one.subject.is_none() && one.status == ConditionStatus::False;
            one.condition == *condition && (is_of_all || one.subject.as_deref() == subject)
        })
    };
    let mut others: Vec<String> = Vec::new();
    for view in &view.conditions {
        // One that another claims, too, stays.
        let of_it = view.problems.iter().filter(|problem| problem.source == name);
        let unnamed = of_it.filter(|problem| !is_named(&view.condition, problem.subject.as_deref()));
        others.extend(unnamed.map(|problem| whole(&view.condition, problem)));
    }
    let more = others.len().saturating_sub(NAMED);
    others.truncate(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let ended = others.join(", ");
    (!others.is_empty())
        .then(|| format!("the last report of {} ends all that it has reported, too: {ended}{more}", line(&name)))
}

fn whole(condition: &Name, problem: &ProblemView) -> String {
    let subject = problem.subject.as_ref().map(|subject| format!(" on {}", line(subject))).unwrap_or_default();
    format!("{condition} ({}{subject})", problem.reason)
}

/// One of them is the last of none of the `known` daemons, nor of one that another of them began.
fn ends_nothing(known: &[DaemonView], reports: &[Status], principal: &str) -> Option<String> {
    let is_begun = |last: &Status| reports.iter().any(|report| !only_ends(report) && report.source == last.source);
    let mut last = reports.iter().filter(|report| only_ends(report) && !is_begun(report));
    last.find_map(|report| ended_nothing(known, &report.source, principal))
}

fn only_ends(report: &Status) -> bool {
    report.last && report.conditions.is_empty() && report.events.is_empty()
}

fn ended_nothing(known: &[DaemonView], source: &str, principal: &str) -> Option<String> {
    let name = format!("{source}@{principal}");
    if known.iter().any(|daemon| daemon.name == name) {
        return None;
    }
    let is_of_source = |daemon: &&DaemonView| daemon.name.split_once('@').is_some_and(|(other, _)| other == source);
    let others: Vec<String> = known.iter().filter(is_of_source).take(NAMED).map(shown).collect();
    let ended = format!("the last report has ended nothing: nothing is known of {}", line(&name));
    if others.is_empty() {
        return Some(format!("{ended}, nor of another daemon of that source"));
    }
    Some(format!(
        "{ended}, but of {}: a daemon is ended by its own unit or user, and root ends one that is gone by `nodewell forget \
         NAME`",
        others.join(", ")
    ))
}

fn shown(daemon: &DaemonView) -> String {
    let name = line(&daemon.name);
    if daemon.state == DaemonState::Stale { format!("{name} (silent)") } else { name }
}

fn line(name: &str) -> String {
    text::line(name, NAME_LIMIT_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn last(source: &str) -> Status {
        serde_json::from_value(json!({"source": source, "last": true})).unwrap()
    }

    #[test]
    fn the_daemons_of_the_same_source_are_named() {
        let daemons = [("raid@raid.service", "stale"), ("raid@uid:7", "running"), ("raids@root", "running")];
        let known = daemons.map(|(name, state)| json!({"name": name, "state": state}));
        let known: Vec<DaemonView> = serde_json::from_value(json!(known)).unwrap();
        let warned = |source: &str, principal: &str| ends_nothing(&known, &[last(source)], principal);
        let expected = "the last report has ended nothing: nothing is known of raid@root, but of raid@raid.service \
                        (silent), raid@uid:7: a daemon is ended by its own unit or user, and root ends one that is gone \
                        by `nodewell forget NAME`";
        assert_eq!(warned("raid", "root").as_deref(), Some(expected));
        let expected = "the last report has ended nothing: nothing is known of disks@root, nor of another daemon of that \
                        source";
        assert_eq!(warned("disks", "root").as_deref(), Some(expected));
        assert_eq!(warned("raid", "uid:7"), None, "it was there");
    }

    #[test]
    fn a_report_of_more_than_an_end_is_no_mistake() {
        let event = json!({"severity": "info", "timestamp": "2026-01-01T00:00:00Z", "reason": "Done", "message": ""});
        let report = json!({"source": "raid", "last": true, "events": [event]});
        let more: Status = serde_json::from_value(report).unwrap();
        let alive = Status { last: false, ..last("raid") };
        assert_eq!(ends_nothing(&[], &[more, alive.clone()], "root"), None);
        assert_eq!(ends_nothing(&[], &[alive, last("raid")], "root"), None, "begun and ended by one batch");
        assert!(ends_nothing(&[], &[last("raid")], "root").is_some());
    }

    #[test]
    fn what_ends_beside_what_it_names_is_named() {
        let problem = |reason: &str, subject: &str, source: &str| {
            json!({"id": "1", "reason": reason, "subject": subject, "severity": "warn", "count": 1, "message": "m",
                "since": "2026-01-01T00:00:00Z", "last_seen": "2026-01-01T00:00:00Z", "source": source})
        };
        let condition = |condition: &str, problems: &[serde_json::Value]| {
            json!({"type": condition, "status": "True", "reason": "R", "message": "m",
                "transition": "2026-01-01T00:00:00Z", "problems": problems})
        };
        let disks = [
            problem("RaidDegraded", "md0", "raid@root"),
            problem("RaidDegraded", "md7", "raid@root"),
            problem("RaidDegraded", "md8", "smartd@root, raid@root"),
        ];
        let memory = [problem("DimmBad", "A1", "raid@root"), problem("DimmBad", "A2", "raid@uid:7")];
        let mut view = (*crate::shared_state::SharedState::new("w1").0.view()).clone();
        view.conditions = [condition("DiskUnhealthy", &disks), condition("MemoryUnhealthy", &memory)]
            .map(|one| std::sync::Arc::new(serde_json::from_value(one).unwrap()))
            .to_vec();
        let report = |last: bool, subject: &str| -> Status {
            let mut healthy = json!({"type": "DiskUnhealthy", "status": "False", "reason": "Whole", "message": "",
                "transition": "2026-01-01T00:00:00Z"});
            if !subject.is_empty() {
                healthy["subject"] = subject.into();
            }
            serde_json::from_value(json!({"source": "raid", "last": last, "conditions": [healthy]})).unwrap()
        };
        let ends = |reports: &[Status], principal| ends_more(&view, reports.last().unwrap(), reports, principal);
        let all = "the last report of raid@root ends all that it has reported, too: ";
        let expected = format!("{all}DiskUnhealthy (RaidDegraded on md7), MemoryUnhealthy (DimmBad on A1)");
        let of_md0 = report(true, "md0");
        assert_eq!(ends(std::slice::from_ref(&of_md0), "root"), Some(expected));
        let expected = format!("{all}MemoryUnhealthy (DimmBad on A1)");
        assert_eq!(ends(&[report(true, "")], "root").as_ref(), Some(&expected), "without a subject it ends them all");
        assert_eq!(ends(&[report(false, "md7"), of_md0.clone()], "root"), Some(expected), "one before it in the batch");
        assert_eq!(ends(&[report(false, "md0")], "root"), None);
        assert_eq!(ends(std::slice::from_ref(&of_md0), "uid:8"), None);
        assert_eq!(ends(&[last("raid")], "root"), None, "all of it is meant");
        assert_eq!(ends(&[Status { full: true, ..of_md0 }], "root"), None, "it is all there is");
    }
}
