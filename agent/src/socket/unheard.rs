//! A last report that ends nothing: nothing is known of the daemon, because what is to end was reported by another user
//! or unit.

use nodewell_model::{
    Status, text,
    view::{DaemonState, DaemonView},
};

/// A name that a client chose is cut there.
const NAME_LIMIT_BYTES: usize = 160;
/// Daemons of the same source that are named.
const NAMED: usize = 4;

/// What to warn of, if one of these reports of `principal` is the last of none of the `known` daemons, nor of one that
/// another of them began.
pub(super) fn warning(known: &[DaemonView], reports: &[Status], principal: &str) -> Option<String> {
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
        let warned = |source: &str, principal: &str| warning(&known, &[last(source)], principal);
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
        assert_eq!(warning(&[], &[more, alive.clone()], "root"), None);
        assert_eq!(warning(&[], &[alive, last("raid")], "root"), None, "begun and ended by one batch");
        assert!(warning(&[], &[last("raid")], "root").is_some());
    }
}
