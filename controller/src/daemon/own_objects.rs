//! Who writes the controller's own objects, the status of policies and its report: the leader, and where none leads a
//! replica in a dry run. Else a person who only tries the controller would learn last what it makes of the cluster.

use std::time::Duration;

use nodewell_reconcile::{
    cluster::{Election, Leadership},
    leader::Term,
};
use nodewell_remediation::time::Moment;

use crate::kube::KubeCluster;

/// Between two looks at the leader's Lease.
const APART: Duration = Duration::from_secs(5);
/// A Lease that another replica has not renewed for so long is held by none.
const SILENT: Duration = Duration::from_secs(30);

/// Whether this replica writes them.
#[derive(Debug)]
pub(super) struct Writer<'a> {
    cluster: &'a KubeCluster,
    term: Term,
    dry_run: bool,
    leader: LeaderSeen,
    asked: Option<(Moment, bool)>,
}

impl<'a> Writer<'a> {
    pub(super) fn new(cluster: &'a KubeCluster, term: Term, dry_run: bool) -> Self {
        Self { cluster, term, dry_run, leader: LeaderSeen::default(), asked: None }
    }

    pub(super) async fn is_us(&mut self, now: Moment) -> bool {
        let leads = self.term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(now));
        leads || self.dry_run && self.is_without_leader(now).await
    }

    /// What cannot be read is no proof of an absence.
    async fn is_without_leader(&mut self, now: Moment) -> bool {
        if let Some((asked, answer)) = self.asked
            && now.since(asked) < APART
        {
            return answer;
        }
        let answer = self.cluster.leadership().await.is_ok_and(|lease| self.leader.is_absent(lease, now));
        self.asked = Some((now, answer));
        answer
    }
}

/// The leader's Lease, by a replica that does not stand for election.
#[derive(Debug, Default)]
struct LeaderSeen {
    lease: Option<(Leadership, Moment)>,
}

impl LeaderSeen {
    /// Durations are those that this replica saw pass.
    fn is_absent(&mut self, lease: Option<Leadership>, now: Moment) -> bool {
        let Some(lease) = lease.filter(|lease| !lease.holder.is_empty()) else { return true };
        let since = self.lease.take().filter(|(known, _)| *known == lease).map_or(now, |(_, since)| since);
        self.lease = Some((lease, since));
        now.since(since) >= SILENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dry_run_writes_where_no_controller_leads() {
        let lease = |holder: &str, version: &str| {
            Some(Leadership { holder: holder.into(), resource_version: version.into(), ..Leadership::default() })
        };
        let at = |secs| Moment(Duration::from_secs(secs));
        let mut seen = LeaderSeen::default();
        assert!(seen.is_absent(None, at(0)) && seen.is_absent(lease("", "1"), at(1)), "there is none, or it resigned");
        assert!(!seen.is_absent(lease("cp-1", "2"), at(2)), "it may have been renewed right now");
        assert!(!seen.is_absent(lease("cp-1", "2"), at(20)), "it has time");
        assert!(!seen.is_absent(lease("cp-1", "3"), at(40)), "it is renewed");
        assert!(seen.is_absent(lease("cp-1", "3"), at(70)), "it is renewed no more");
    }
}
