//! Nodes that other controllers remediate: every replica reads their Leases, and the leader holds Leases of its own
//! for the nodes that it remediates.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use nodewell_reconcile::{api_error::ApiError, cache::Cache, clock::Clock, cluster::Records, leader::Term};
use nodewell_remediation::{
    api::fence::{NodeFence, Phase},
    snapshot::PeerLeases,
};
use tokio::time::sleep;

use crate::kube::{
    KubeCluster,
    claims::{self, DURATION, NodeLeases, Read, Standing},
};

/// A remediator that wants a node takes its Lease, so that two cannot have it between two readings; these only report
/// it to us earlier.
const APART: Duration = Duration::from_secs(10);
/// Where there is no such namespace.
const SELDOM: Duration = Duration::from_secs(60);

/// Before anything is known of them.
pub(super) fn unread(namespace: &str) -> PeerLeases {
    let text = format!("the Leases of other remediators ({namespace}) have not been read yet");
    PeerLeases { unreadable: Some(text), ..PeerLeases::default() }
}

/// Never returns.
pub(super) async fn look_after(cluster: &KubeCluster, cache: &Cache, term: Term, dry_run: bool) {
    let Some(namespace) = cluster.settings().claims.clone() else { return std::future::pending().await };
    let (mut reported, mut known) = (String::new(), false);
    loop {
        let read = claims::read(cluster.wire(), &namespace).await;
        let news = match seen(&read, &namespace, known, cluster.clock().wall()) {
            Some(claims) => {
                let news = claims.unreadable.clone().or_else(|| unanswered(&read, &namespace));
                cache.set_peer_leases(claims);
                news
            }
            None => None,
        };
        known = matches!(read, Read::Listed(_) | Read::Closed(_)) || known && !matches!(read, Read::NoNamespace);
        if let Read::Listed(leases) = &read
            && !dry_run
            && leads(&term, cluster.clock())
        {
            renew(cluster, cache, leases, &namespace).await;
        }
        log_change(&mut reported, news.unwrap_or_default());
        sleep(if matches!(read, Read::NoNamespace) { SELDOM } else { APART }).await;
    }
}

/// What is believed from here on; nothing leaves what was. `known`: there was such a namespace.
fn seen(read: &Read, namespace: &str, known: bool, now: Timestamp) -> Option<PeerLeases> {
    let blocked = |text| Some(PeerLeases { unreadable: Some(text), ..PeerLeases::default() });
    match read {
        Read::Listed(leases) => Some(leases.claims(namespace, now)),
        Read::NoNamespace => Some(PeerLeases::default()),
        Read::Closed(error) => blocked(closed(namespace, error)),
        Read::Unknown(error @ ApiError::Refused { code: 403, .. }) if known => blocked(closed(namespace, error)),
        // The right was never granted, which does not stop a cluster where no remediator claims anything.
        Read::Unknown(ApiError::Refused { code: 403, .. }) => Some(PeerLeases::default()),
        // An API server that does not answer, or is too busy, reports nothing of claims.
        Read::Unknown(_) => None,
    }
}

fn unanswered(read: &Read, namespace: &str) -> Option<String> {
    if let Read::Unknown(error) = read { Some(unseen(namespace, error)) } else { None }
}

/// Each message once.
fn log_change(reported: &mut String, news: String) {
    if *reported != news && !news.is_empty() {
        tracing::error!("{news}");
    }
    *reported = news;
}

pub(crate) fn closed(namespace: &str, error: &ApiError) -> String {
    format!(
        "namespace {namespace} is there, so other remediators may remediate nodes, and its Leases cannot be read: \
         {error}; apply /usr/share/nodewell-controller/rbac-claims.yaml, or set [claims] enabled = false"
    )
}

pub(crate) fn unseen(namespace: &str, error: &ApiError) -> String {
    format!(
        "it is not known whether other remediators claim nodes: namespace {namespace} cannot be read: {error}; \
         nothing is blocked for that; apply /usr/share/nodewell-controller/rbac.yaml"
    )
}

fn leads(term: &Term, clock: Clock) -> bool {
    term.borrow().as_ref().is_some_and(|lease_deadline| lease_deadline.is_ahead(clock.moment()))
}

/// Nodes under remediation, and the UIDs of their Nodes. What was given up is a person's, who may want another
/// operator's help.
fn under_remediation(cache: &Cache) -> Option<BTreeMap<String, Option<String>>> {
    let is_under_remediation = |fence: &NodeFence| !matches!(fence.status.phase, Phase::Closed | Phase::Quarantined);
    cache.with(|snapshot| {
        let fences = snapshot.fences.iter().filter(|(_, fence)| is_under_remediation(fence));
        let mut nodes: BTreeMap<_, _> =
            fences.map(|(name, fence)| (name.clone(), Some(fence.spec.node_uid.clone()))).collect();
        for name in &snapshot.busy {
            nodes.entry(name.clone()).or_default();
        }
        snapshot.host.synced.then_some(nodes)
    })
}

/// Takes and renews Leases of nodes under remediation, and releases those of others.
async fn renew(cluster: &KubeCluster, cache: &Cache, leases: &NodeLeases, namespace: &str) {
    let (Some(nodes), now) = (under_remediation(cache), cluster.clock().wall()) else { return };
    let standings: BTreeMap<&str, Standing> = leases.standings(now).collect();
    for (node, uid) in nodes.iter().filter_map(|(node, uid)| Some((node, uid.as_ref()?))) {
        let due = match standings.get(node.as_str()) {
            Some(Standing::Held(_)) => false,
            Some(Standing::Ours(renewed)) => is_due(*renewed, now),
            Some(Standing::Free) | None => true,
        };
        if due && let Err(error) = cluster.claim(node, uid).await {
            tracing::warn!(node, %error, "the node's Lease for other remediators was not taken");
        }
    }
    let ours = standings.iter().filter(|(_, standing)| matches!(standing, Standing::Ours(_)));
    for node in ours.map(|(node, _)| *node).filter(|node| !nodes.contains_key(*node)) {
        match claims::release(cluster.wire(), namespace, leases, node).await {
            Ok(()) => tracing::debug!(node, "the node's Lease was released"),
            Err(error) => tracing::warn!(node, %error, "the node's Lease was not released; it is tried again"),
        }
    }
}

/// A third of it went by, by whatever clock.
fn is_due(renewed: Option<Timestamp>, now: Timestamp) -> bool {
    renewed.is_none_or(|renewed| now.duration_since(renewed).unsigned_abs() > DURATION / 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(code: u16) -> ApiError {
        ApiError::Refused { code, message: "no".into() }
    }

    #[test]
    fn what_is_known_to_be_there_and_cannot_be_read_blocks_and_silence_changes_nothing() {
        let seen = |read: Read, known| seen(&read, "x", known, Timestamp::UNIX_EPOCH);
        let blocks = |claims: Option<PeerLeases>| claims.map(|claims| claims.unreadable.is_some());
        assert_eq!(blocks(seen(Read::Closed(refused(403)), false)), Some(true));
        assert_eq!(blocks(seen(Read::Unknown(refused(403)), true)), Some(true));
        assert_eq!(blocks(seen(Read::Unknown(refused(403)), false)), Some(false));
        assert_eq!(blocks(seen(Read::NoNamespace, true)), Some(false));
        for error in [refused(429), refused(401), ApiError::NoAnswer("late".into())] {
            assert_eq!(blocks(seen(Read::Unknown(error), true)), None);
        }
        assert!(unread("x").unreadable.is_some(), "before anything was read");
    }
}
