//! What a dry run logs: what it would do to each node, or what speaks against that, once for each change.

use std::collections::BTreeMap;

use nodewell_remediation::{
    guard::reason::{CACHE_NOT_SYNCED, DRY_RUN},
    verdict::Verdict,
};

/// What was logged last, by node.
#[derive(Debug, Default)]
pub(super) struct Rehearsal {
    logged: BTreeMap<String, Key>,
}

/// What makes a verdict another one. Numbers in messages do not: they change every second.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    policy: Option<String>,
    phase: Option<String>,
    next: Option<String>,
    reasons: Vec<String>,
}

impl Rehearsal {
    /// Nodes with a change to log, and the message.
    pub(super) fn news(&mut self, verdicts: &[Verdict]) -> Vec<(String, String)> {
        if verdicts.iter().flat_map(|verdict| &verdict.blockers).any(|blocker| blocker.reason == CACHE_NOT_SYNCED) {
            // Nothing is known for sure; what was logged stands.
            return Vec::new();
        }
        let before = std::mem::take(&mut self.logged);
        let mut news = Vec::new();
        for verdict in verdicts.iter().filter(|verdict| is_of_interest(verdict)) {
            let key = Key::of(verdict);
            if before.get(&verdict.node) != Some(&key) {
                news.push((verdict.node.clone(), message(verdict)));
            }
            self.logged.insert(verdict.node.clone(), key);
        }
        let over = before.into_keys().filter(|node| !self.logged.contains_key(node));
        news.extend(over.map(|node| (node, "would do nothing any more".to_owned())));
        news
    }
}

fn is_of_interest(verdict: &Verdict) -> bool {
    verdict.policy.is_some() || verdict.phase.is_some() || !verdict.errors.is_empty()
}

impl Key {
    fn of(verdict: &Verdict) -> Self {
        let blockers = verdict.blockers.iter().map(|blocker| blocker.reason.clone());
        let mut reasons: Vec<String> =
            blockers.chain(verdict.errors.iter().map(|(policy, _)| policy.clone())).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let phase = verdict.phase.map(|phase| format!("{phase:?}"));
        Self { policy: verdict.policy.clone(), phase, next: verdict.next.clone(), reasons }
    }
}

fn message(verdict: &Verdict) -> String {
    let next = verdict.next.as_deref().unwrap_or("do nothing");
    let mut text = match verdict.phase {
        Some(phase) => format!("would go on from {phase:?} with {next}"),
        None => format!("would {next}"),
    };
    if let Some(policy) = &verdict.policy {
        text = format!("{text} by policy {policy}");
    }
    let blockers = verdict.blockers.iter().filter(|blocker| blocker.reason != DRY_RUN);
    let blockers = blockers.map(|blocker| format!("{}: {}", blocker.reason, blocker.message));
    let errors = verdict.errors.iter().map(|(policy, error)| format!("policy {policy} cannot be judged: {error}"));
    let against: Vec<String> = blockers.chain(errors).collect();
    if against.is_empty() { text } else { format!("{text}, but {}", against.join("; ")) }
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::fence::{Blocker, Phase};

    use super::*;

    fn verdict(node: &str, blockers: &[(&str, &str)]) -> Verdict {
        Verdict {
            node: node.into(),
            policy: Some("lost".into()),
            next: Some("cordon".into()),
            blockers: blockers.iter().map(|(reason, message)| Blocker::new(reason, *message)).collect(),
            ..Verdict::default()
        }
    }

    fn well(node: &str) -> Verdict {
        Verdict { node: node.into(), ..Verdict::default() }
    }

    #[test]
    fn each_verdict_is_logged_once_and_again_when_it_changes() {
        let mut rehearsal = Rehearsal::default();
        let young = |seconds: u32| {
            let text = format!("true for {seconds}s");
            [verdict("a", &[("DryRun", "only logs"), ("WithinGracePeriod", &text)]), well("b")]
        };
        let news = rehearsal.news(&young(1));
        assert_eq!(news, [("a".into(), "would cordon by policy lost, but WithinGracePeriod: true for 1s".into())]);
        assert_eq!(rehearsal.news(&young(2)), [], "another number is no news");
        let free = [verdict("a", &[("DryRun", "only logs")]), well("b")];
        assert_eq!(rehearsal.news(&free), [("a".into(), "would cordon by policy lost".into())]);
        assert_eq!(rehearsal.news(&free), []);
        assert_eq!(rehearsal.news(&[well("a"), well("b")]), [("a".into(), "would do nothing any more".into())]);
        assert_eq!(rehearsal.news(&[well("a"), well("b")]), []);
    }

    #[test]
    fn who_knows_too_little_says_nothing_new() {
        let mut rehearsal = Rehearsal::default();
        let free = [verdict("a", &[("DryRun", "only logs")])];
        assert_eq!(rehearsal.news(&[verdict("a", &[("DryRun", ""), ("CacheNotSynced", "")])]), []);
        assert_eq!(rehearsal.news(&free).len(), 1);
        assert_eq!(rehearsal.news(&[verdict("a", &[("DryRun", ""), ("CacheNotSynced", "")])]), []);
        assert_eq!(rehearsal.news(&free), [], "it was logged before");
    }

    #[test]
    fn a_record_and_a_predicate_that_fails_are_told_too() {
        let open = Verdict { phase: Some(Phase::AwaitGuards), ..verdict("a", &[("DryRun", "only logs")]) };
        let broken = Verdict { errors: vec![("gpu".into(), "no such key".into())], ..well("b") };
        let news = Rehearsal::default().news(&[open, broken]);
        assert_eq!(news[0].1, "would go on from AwaitGuards with cordon by policy lost");
        assert_eq!(news[1].1, "would do nothing, but policy gpu cannot be judged: no such key");
    }
}
