//! Agents: who is silent, what was done about it, and what became of requests for certificates.

use nodewell_metrics::Exposition;
use nodewell_remediation::{liveness::AGENT_SILENT, snapshot::Snapshot};

use super::table;
use crate::tally::TallySnapshot;

/// As it stands on the Nodes, whichever replica leads.
pub(super) fn silent(page: &mut Exposition, snapshot: &Snapshot) {
    let marked = snapshot.nodes.values().filter(|node| node.conditions.iter().any(|one| one.reason == AGENT_SILENT));
    page.metric(&table::AGENTS_SILENT).sample(&[], marked.count());
}

/// What this program did. What waits is known to the leader alone.
pub(super) fn done(page: &mut Exposition, tally: &TallySnapshot, leads: bool) {
    let (nodes, requests) = (tally.liveness, tally.enrolment);
    page.metric(&table::AGENT_NODES)
        .sample(&[("outcome", "marked_unknown")], nodes.marked_unknown)
        .sample(&[("outcome", "collected")], nodes.collected)
        .sample(&[("outcome", "conflict")], nodes.conflicts)
        .sample(&[("outcome", "failed")], nodes.failures);
    page.metric(&table::AGENTS_BLOCKED).sample(&[], u8::from(leads && tally.blocked));
    page.metric(&table::SIGNING_REQUESTS)
        .sample(&[("outcome", "approved")], requests.approved)
        .sample(&[("outcome", "denied")], requests.denied)
        .sample(&[("outcome", "failed")], requests.failures);
    page.metric(&table::SIGNING_REQUESTS_REFUSED);
    for (reason, count) in &tally.refused {
        page.sample(&[("reason", reason)], *count);
    }
    page.metric(&table::SIGNING_REQUESTS_WAITING);
    for (reason, count) in tally.waiting.iter().filter(|_| leads) {
        page.sample(&[("reason", reason)], *count);
    }
}

#[cfg(test)]
mod tests {
    use nodewell_reconcile::liveness;

    use super::*;

    fn tally() -> TallySnapshot {
        TallySnapshot {
            liveness: liveness::Counts { marked_unknown: 2, collected: 1, ..liveness::Counts::default() },
            blocked: true,
            enrolment: nodewell_approver::Counts { approved: 3, ..nodewell_approver::Counts::default() },
            refused: [("AnotherNode", 1)].into(),
            waiting: [("AnotherNode", 1)].into(),
            ..TallySnapshot::default()
        }
    }

    fn text(leads: bool) -> String {
        let mut page = Exposition::default();
        done(&mut page, &tally(), leads);
        page.into_text()
    }

    #[test]
    fn what_was_done_is_counted_by_its_outcome() {
        for line in [
            "nodewell_controller_agent_nodes_total{outcome=\"marked_unknown\"} 2\n",
            "nodewell_controller_agent_nodes_total{outcome=\"collected\"} 1\n",
            "nodewell_controller_agents_blocked 1\n",
            "nodewell_controller_signing_requests_total{outcome=\"approved\"} 3\n",
            "nodewell_controller_signing_requests_refused_total{reason=\"AnotherNode\"} 1\n",
            "nodewell_controller_signing_requests_waiting{reason=\"AnotherNode\"} 1\n",
        ] {
            assert!(text(true).contains(line), "{line}{}", text(true));
        }
    }

    #[test]
    fn who_does_not_lead_any_more_knows_of_nothing_that_waits() {
        assert!(text(false).contains("nodewell_controller_agents_blocked 0\n"));
        assert!(!text(false).contains("waiting{"));
        assert!(text(false).contains("refused_total{reason=\"AnotherNode\"} 1\n"), "a counter stays");
    }
}
