//! From a cause to what was done about it, as this leader saw both; for metrics, never for decisions.
//!
//! The cause begins when a policy is first seen to be true of a node without a record. What another leader began is in
//! no figures: its beginning was not seen here.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::{api::fence::NodeFence, node_report::NodeReport, snapshot::Snapshot, time::Moment};

use super::{Cache, histogram::Histogram};

/// In seconds: a cordon at once, power after the Lease is stale, and what waits for its turn.
const BOUNDS: &[f64] = &[0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 60.0, 120.0, 300.0, 900.0, 3600.0];

/// How long it took since the cause.
#[derive(Debug, Clone, PartialEq)]
pub struct Spans {
    /// Until our cordon was in the record.
    pub cordoned: Histogram,
    /// Until power was confirmed to be off.
    pub off: Histogram,
    /// Until the first pods were released.
    pub released: Histogram,
}

impl Default for Spans {
    fn default() -> Self {
        let [cordoned, off, released] = [(); 3].map(|()| Histogram::new(BOUNDS));
        Self { cordoned, off, released }
    }
}

/// A node that needs remediation.
#[derive(Debug)]
struct Cause {
    since: Moment,
    /// What was measured already.
    reached: BTreeSet<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    Cordoned,
    Off,
    Released,
}

/// Those that are known, by node, and what was measured.
#[derive(Debug, Default)]
pub(super) struct Causes {
    open: BTreeMap<String, Cause>,
    spans: Spans,
}

impl Causes {
    /// What a decision reports of every node.
    pub(super) fn learn(&mut self, node_reports: &[NodeReport], snapshot: &Snapshot, now: Moment) {
        let wanted: BTreeSet<&str> = node_reports
            .iter()
            .filter(|node_report| node_report.policy.is_some())
            .map(|node_report| node_report.node.as_str())
            .collect();
        self.open.retain(|node, _| wanted.contains(node.as_str()) || snapshot.fences.contains_key(node));
        for node in wanted {
            if !self.open.contains_key(node) && !snapshot.fences.contains_key(node) {
                self.open.insert(node.to_owned(), Cause { since: now, reached: BTreeSet::new() });
            }
        }
    }

    /// Of another term nothing was seen.
    pub(super) fn forget(&mut self) {
        self.open.clear();
    }

    /// A record as it was stored.
    pub(super) fn stored(&mut self, fence: &NodeFence, now: Moment) {
        let Some(cause) = self.open.get_mut(&fence.spec.node_name) else { return };
        let status = &fence.status;
        let marks = [
            (Mark::Cordoned, status.own_changes.cordon, &mut self.spans.cordoned),
            (Mark::Off, status.off.is_some(), &mut self.spans.off),
            (Mark::Released, status.released > 0, &mut self.spans.released),
        ];
        for (mark, is_reached, span) in marks {
            if is_reached && cause.reached.insert(mark) {
                span.observe(now.since(cause.since));
            }
        }
    }
}

impl Cache {
    /// As they are now.
    #[must_use]
    pub fn spans(&self) -> Spans {
        self.lock().causes.spans.clone()
    }

    pub(crate) fn stored(&self, fence: &NodeFence) {
        let now = self.clock.moment();
        self.lock().causes.stored(fence, now);
    }

    pub(crate) fn forget_causes(&self) {
        self.lock().causes.forget();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use nodewell_remediation::api::Meta;

    use super::*;
    use crate::{cache::Limits, clock::Clock};

    fn fence(node: &str) -> NodeFence {
        let metadata = Meta { name: node.into(), ..Meta::default() };
        let mut fence = NodeFence { metadata, spec: Default::default(), status: Default::default() };
        fence.spec.node_name = node.into();
        fence
    }

    fn node_report(node: &str) -> NodeReport {
        NodeReport { node: node.into(), policy: Some("p".into()), ..NodeReport::default() }
    }

    fn at(seconds: u64) -> Moment {
        Moment(Duration::from_secs(seconds))
    }

    #[test]
    fn a_cause_is_measured_from_its_beginning_and_each_mark_once() {
        let (mut causes, mut snapshot) = (Causes::default(), Snapshot::default());
        causes.learn(&[node_report("n")], &snapshot, at(10));
        let mut fence = fence("n");
        fence.status.own_changes.cordon = true;
        causes.stored(&fence, at(12));
        snapshot.fences.insert("n".into(), fence.clone());
        causes.learn(&[node_report("n")], &snapshot, at(20));
        fence.status.released = 3;
        causes.stored(&fence, at(30));
        causes.stored(&fence, at(40));
        let spans = &causes.spans;
        assert_eq!((spans.cordoned.count(), spans.cordoned.sum()), (1, 2.0));
        assert_eq!((spans.released.count(), spans.released.sum()), (1, 20.0));
        assert_eq!(spans.off.count(), 0);
    }

    #[test]
    fn a_cause_lasts_while_a_policy_is_true_of_its_node_or_its_record_is_open() {
        let (mut causes, mut snapshot) = (Causes::default(), Snapshot::default());
        let mut fence = fence("n");
        causes.learn(&[node_report("n")], &snapshot, at(10));
        causes.learn(&[node_report("n")], &snapshot, at(20));
        snapshot.fences.insert("n".into(), fence.clone());
        causes.learn(&[], &snapshot, at(30));
        fence.status.own_changes.cordon = true;
        causes.stored(&fence, at(40));
        assert_eq!((causes.spans.cordoned.count(), causes.spans.cordoned.sum()), (1, 30.0));
    }

    #[test]
    fn a_term_that_ended_leaves_what_was_measured_and_no_cause() {
        let cache = Cache::new(Clock::counted(Timestamp::UNIX_EPOCH), Limits::default());
        cache.publish(vec![node_report("n")]);
        let mut fence = fence("n");
        fence.status.own_changes.cordon = true;
        cache.stored(&fence);
        cache.forget_causes();
        fence.status.released = 3;
        cache.stored(&fence);
        assert_eq!((cache.spans().cordoned.count(), cache.spans().released.count()), (1, 0));
    }

    #[test]
    fn what_another_leader_began_is_not_measured() {
        let (mut causes, mut snapshot) = (Causes::default(), Snapshot::default());
        let mut fence = fence("n");
        snapshot.fences.insert("n".into(), fence.clone());
        causes.learn(&[node_report("n")], &snapshot, at(10));
        fence.status.own_changes.cordon = true;
        causes.stored(&fence, at(12));
        assert_eq!(causes.spans, Spans::default());
    }

    #[test]
    fn a_cause_that_passed_begins_again() {
        let (mut causes, snapshot) = (Causes::default(), Snapshot::default());
        causes.learn(&[node_report("n")], &snapshot, at(10));
        causes.learn(&[], &snapshot, at(20));
        causes.learn(&[node_report("n")], &snapshot, at(30));
        let mut fence = fence("n");
        fence.status.own_changes.cordon = true;
        causes.stored(&fence, at(31));
        assert_eq!(causes.spans.cordoned.sum(), 1.0);
    }
}
