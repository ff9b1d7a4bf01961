//! Ends problems that other reporters claim, on evidence of a check: a kernel log line raised the fault of a GPU, and
//! the check of GPUs sees that it was reset. The agent lists the problems, and ends those that no reporter has claimed
//! since the evidence was gathered.
//!
//! A *claim* is a reporter's statement that a problem holds; the agent's ledger ends a problem when its last claim
//! ends.

use nodewell_checks::probe::RecoveryEvidence;
use nodewell_client::ClientError;
use nodewell_model::api::{ClearRequest, ConditionProblem};
use nodewell_rules::rule::RecoveryCheck;

use crate::check_process::report::link::Link;

/// Evidence that waits for an agent that is away; more is forgotten, oldest first: the problem stays.
const WAITING_LIMIT: usize = 4096;

/// Evidence that the agent has not received yet.
#[derive(Debug, Default)]
pub(super) struct PendingRecoveries {
    waiting: Vec<RecoveryEvidence>,
}

impl PendingRecoveries {
    /// Ends what can be ended now.
    pub(super) async fn end(&mut self, link: &Link, recoveries: Vec<RecoveryEvidence>) {
        self.waiting.extend(recoveries);
        let surplus = self.waiting.len().saturating_sub(WAITING_LIMIT);
        self.waiting.drain(..surplus);
        if self.waiting.is_empty() {
            return;
        }
        match self.try_all(link).await {
            Ok(()) => self.waiting.clear(),
            Err(error) if error.is_temporary() => tracing::debug!(%error, "evidence waits for the agent"),
            Err(error) => {
                tracing::warn!(%error, "the agent takes no evidence that problems are over");
                self.waiting.clear();
            }
        }
    }

    async fn try_all(&self, link: &Link) -> Result<(), ClientError> {
        let problems = link.problems().await?;
        for recovery in &self.waiting {
            for problem in problems.iter().filter(|problem| is_over(problem, recovery)) {
                let reason = &problem.problem.reason;
                if link.clear(&request(problem, recovery)).await? > 0 {
                    let RecoveryEvidence { subject, evidence, .. } = recovery;
                    tracing::info!(%reason, subject, evidence, "the problem is over");
                }
            }
        }
        Ok(())
    }
}

fn is_over(ConditionProblem { condition, problem, check }: &ConditionProblem, recovery: &RecoveryEvidence) -> bool {
    check.as_deref().and_then(RecoveryCheck::named) == Some(RecoveryCheck::DeviceRecovered)
        && *condition == recovery.condition
        && problem.subject.as_ref() == Some(&recovery.subject)
        && recovery.reason.as_ref().is_none_or(|reason| *reason == problem.reason)
        && problem.last_seen < recovery.seen_before
        && !problem.test
}

fn request(problem: &ConditionProblem, recovery: &RecoveryEvidence) -> ClearRequest {
    ClearRequest {
        condition: recovery.condition.clone(),
        reason: Some(problem.problem.reason.clone()),
        subject: Some(recovery.subject.clone()),
        id: Some(problem.problem.id.clone()),
        evidence: Some(recovery.evidence.clone()),
        if_unchanged_since: Some(problem.version()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(check: &str) -> ConditionProblem {
        serde_json::from_value(serde_json::json!({
            "condition": "GpuUnhealthy", "id": "1", "reason": "GpuXid79FallenOffBus", "subject": "0000:05:00.0",
            "severity": "critical", "since": "2026-01-01T00:00:00Z", "last_seen": "2026-01-01T00:00:05Z", "count": 3,
            "message": "", "source": "kernel-monitor", "check": check,
        }))
        .unwrap()
    }

    fn recovery() -> RecoveryEvidence {
        RecoveryEvidence {
            condition: nodewell_model::Name::fixed("GpuUnhealthy"),
            reason: None,
            subject: "0000:05:00.0".to_owned(),
            seen_before: "2026-01-01T00:01:00Z".parse().unwrap(),
            evidence: "it was reset".to_owned(),
        }
    }

    #[test]
    fn only_what_was_seen_before_the_evidence_and_waits_for_it_is_over() {
        let over = problem("device-recovered");
        assert!(is_over(&over, &recovery()));
        assert!(!is_over(&problem("device-present"), &recovery()));
        let is_over_with = |recovery: RecoveryEvidence| is_over(&over, &recovery);
        assert!(!is_over_with(RecoveryEvidence { seen_before: "2026-01-01T00:00:05Z".parse().unwrap(), ..recovery() }));
        assert!(!is_over_with(RecoveryEvidence { subject: "0000:06:00.0".to_owned(), ..recovery() }));
        assert!(!is_over_with(RecoveryEvidence { reason: Some(nodewell_model::Name::fixed("GpuLost")), ..recovery() }));
        let request = request(&over, &recovery());
        assert_eq!((request.id.as_deref(), request.if_unchanged_since.map(|seen| seen.count)), (Some("1"), Some(3)));
    }
}
