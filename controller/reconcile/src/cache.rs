//! What the watchers have seen, as one snapshot that decisions read where it lies.
//!
//! Whatever has an age is stamped here with the moment at which *we* saw it change; no other clock is believed.

mod activity;
mod causes;
mod denied;
mod departed;
mod events;
mod fences;
mod handover;
mod histogram;
mod peers;
mod renewals;
mod stamp;
mod store;
mod synced;
mod tally;
#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nodewell_remediation::{
    api::policy::RemediationPolicy,
    decide::GatherRequest,
    facts::{LeaseView, Node},
    node_report::NodeReport,
    policy::Policy,
    shutdown::Shutdowns,
    snapshot::{Gathered, HostView, Quorum, Snapshot},
};
use tokio::sync::{Notify, watch};

pub(crate) use self::handover::Decided;
pub use self::{
    activity::{ActivityCounters, Acts},
    causes::Spans,
    events::{NodeEvent, NodeEvents},
    histogram::Histogram,
    synced::{Limits, Source},
    tally::Counts,
};
use self::{
    causes::Causes, departed::Departed, fences::Versions, handover::Handovers, peers::Dumps, renewals::Renewals,
    store::Store, synced::Synced,
};
use crate::{clock::Clock, cluster::LeaseKind};

/// Shared by the watchers, which write, and the loop, which decides. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Cache {
    clock: Clock,
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    snapshot: Snapshot,
    synced: Synced,
    renewals: Renewals,
    store: Store,
    versions: Versions,
    /// The newest term ever seen: in records, in the leader's Lease, in what an earlier run of this program left.
    epochs: watch::Sender<u64>,
    dumps: Dumps,
    shutdowns: Shutdowns,
    handovers: Handovers,
    departed: Departed,
    events: NodeEvents,
    node_reports: Arc<Vec<NodeReport>>,
    /// By policy.
    counts: BTreeMap<String, Counts>,
    counters: ActivityCounters,
    causes: Causes,
}

impl Cache {
    #[must_use]
    pub fn new(clock: Clock, limits: Limits) -> Self {
        let state = State {
            snapshot: Snapshot::default(),
            synced: Synced::new(limits),
            renewals: Renewals::default(),
            store: Store::default(),
            versions: Versions::default(),
            epochs: watch::Sender::new(0),
            dumps: Dumps::default(),
            shutdowns: Shutdowns::default(),
            handovers: Handovers::default(),
            departed: Departed::default(),
            events: NodeEvents::default(),
            node_reports: Arc::default(),
            counts: BTreeMap::new(),
            counters: ActivityCounters::default(),
            causes: Causes::default(),
        };
        Self { clock, inner: Arc::new(Inner { state: Mutex::new(state), changed: Notify::new() }) }
    }

    /// Waits for a change that a decision should follow soon. Renewals of Leases and heartbeats are none: there are
    /// hundreds a second, and the loop looks once a second anyway.
    pub async fn changed(&self) {
        self.inner.changed.notified().await;
    }

    /// Everything, as it is now; `synced`, `absence` and crash dumps are judged at this moment. Must not be held
    /// over an await.
    pub fn with<T>(&self, look: impl FnOnce(&mut Snapshot) -> T) -> T {
        let now = self.clock.moment();
        let mut state = self.lock();
        let State { snapshot, synced, renewals, dumps, shutdowns, store, .. } = &mut *state;
        snapshot.host.synced = synced.is_synced(now);
        snapshot.host.absence = renewals.absence(now);
        snapshot.host.unread = store.unread();
        dumps.show(snapshot, now);
        snapshot.shutdowns = shutdowns.of(&snapshot.nodes);
        look(snapshot)
    }

    /// By the watch or by a read; an older version than the one that is here is ignored. Shows nothing of the watch:
    /// that is [`heard`](Self::heard).
    pub fn apply_node(&self, mut node: Node) {
        let now = self.clock.moment();
        let mut state = self.lock();
        state.store.see(Source::Nodes, &node.resource_version);
        if state.snapshot.nodes.get(&node.name).is_some_and(|known| stamp::is_older(&node, known)) {
            return;
        }
        let known = state.snapshot.nodes.get(&node.name);
        let is_other = known.is_none_or(|known| known.uid != node.uid);
        let loud = stamp::node(known, &mut node, now);
        state.shutdowns.see(&node, now);
        let name = node.name.clone();
        state.snapshot.nodes.insert(name.clone(), node);
        if is_other {
            let uid = state.snapshot.nodes[&name].uid.clone();
            state.departed.see_node(&name, &uid);
            state.show_events(&name);
        }
        drop(state);
        self.notify_if(loud);
    }

    /// The same, as part of a list, which is the truth about everything that was known before it was asked for.
    pub fn list_node(&self, node: Node) {
        self.check_listed(Source::Nodes, &node.name, &node.uid, &node.resource_version);
        self.apply_node(node);
    }

    pub fn remove_node(&self, name: &str) {
        let mut state = self.lock();
        let was = state.snapshot.nodes.remove(name).is_some();
        state.snapshot.events.remove(name);
        drop(state);
        self.notify_if(was);
    }

    /// By the watch or by a read; one that a later one has just overtaken is ignored.
    pub fn apply_lease(&self, kind: LeaseKind, node: &str, mut lease: LeaseView) {
        let now = self.clock.moment();
        let mut state = self.lock();
        state.store.see(kind.into(), &lease.resource_version);
        let leases = leases(&mut state.snapshot, kind);
        if leases.get(node).is_some_and(|known| stamp::is_overtaken(&lease, known, now)) {
            return;
        }
        let loud = stamp::lease(leases.get(node), &mut lease, now);
        let before = leases.insert(node.to_owned(), lease.clone());
        if let (LeaseKind::Kubelet, Some(before)) = (kind, before) {
            let State { renewals, snapshot, .. } = &mut *state;
            renewals.apply(node, &before, &snapshot.kubelet_leases, now);
        }
        drop(state);
        self.notify_if(loud);
    }

    /// The same, as part of a list.
    pub fn list_lease(&self, kind: LeaseKind, node: &str, lease: LeaseView) {
        self.check_listed(kind.into(), node, "", &lease.resource_version);
        self.apply_lease(kind, node, lease);
    }

    pub fn remove_lease(&self, kind: LeaseKind, node: &str) {
        let mut state = self.lock();
        let was = leases(&mut state.snapshot, kind).remove(node).is_some();
        drop(state);
        self.notify_if(was);
    }

    /// One that cannot be read is known by its errors, and blocks what is under way by it.
    pub fn apply_policy(&self, policy: &RemediationPolicy) {
        let name = policy.metadata.name.clone();
        let compiled = Policy::compile(policy)
            .map_err(|diagnostics| diagnostics.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        let mut state = self.lock();
        match compiled {
            Ok(policy) => {
                state.snapshot.forget_policy(&name);
                state.snapshot.add_policy(policy);
            }
            Err(diagnostics) => {
                state.snapshot.add_unreadable(&name, diagnostics);
            }
        }
        drop(state);
        self.notify_if(true);
    }

    /// A policy that is not even of the right shape: its fields could not be parsed.
    pub fn apply_unreadable_policy(&self, name: &str, problem: String) {
        let mut state = self.lock();
        state.snapshot.add_unreadable(name, problem);
        drop(state);
        self.notify_if(true);
    }

    pub fn remove_policy(&self, name: &str) {
        let mut state = self.lock();
        state.snapshot.forget_policy(name);
        drop(state);
        self.notify_if(true);
    }

    /// What the host sees of itself; `synced` and `absence` in it are ignored, since those are stored here.
    pub fn set_host(&self, change: impl FnOnce(&mut HostView)) {
        let mut state = self.lock();
        let before = state.snapshot.host.clone();
        change(&mut state.snapshot.host);
        let loud = state.snapshot.host != before;
        drop(state);
        self.notify_if(loud);
    }

    /// How etcd is, and at which addresses one member stands alone: whether that one is healthy.
    pub fn set_etcd(&self, etcd: Quorum, members: BTreeMap<String, bool>) {
        let mut state = self.lock();
        let loud = state.snapshot.etcd != etcd || state.snapshot.etcd_members != members;
        state.snapshot.etcd = etcd;
        state.snapshot.etcd_members = members;
        drop(state);
        self.notify_if(loud);
    }

    /// A kill switch was set (why), or all of them were taken away.
    pub fn set_stopped(&self, stopped: Option<String>) {
        let mut state = self.lock();
        let loud = state.snapshot.stopped != stopped;
        state.snapshot.stopped = stopped;
        drop(state);
        self.notify_if(loud);
    }

    /// A whole list was read: what is not in `names` is gone, and this source is complete from here on. Not if the store was
    /// seen to have gone back meanwhile: then it is asked for again.
    pub fn listed(&self, source: Source, names: &BTreeSet<String>) {
        let mut state = self.lock();
        if !state.end_list(source) {
            return;
        }
        state.synced.complete(source, self.clock.moment());
        if source == Source::KubeletLeases {
            state.renewals.listed(self.clock.moment());
        }
        match source {
            Source::Nodes => {
                state.snapshot.nodes.retain(|name, _| names.contains(name));
                state.snapshot.events.retain(|name, _| names.contains(name));
            }
            Source::KubeletLeases => state.snapshot.kubelet_leases.retain(|name, _| names.contains(name)),
            Source::AgentLeases => state.snapshot.agent_leases.retain(|name, _| names.contains(name)),
            Source::Fences => state.keep_fences(names, self.clock.now()),
            Source::Policies => state.snapshot.keep_policies(names),
        }
        drop(state);
        self.notify_if(true);
    }

    /// The watch is alive: a change or a bookmark came by it. What we read or wrote ourselves does not come by it.
    pub fn heard(&self, source: Source) {
        self.lock().synced.hear(source, self.clock.moment());
    }

    /// The watch broke; nothing is known of what changes until it is [`listed`](Self::listed) again.
    pub fn lost(&self, source: Source) {
        let mut state = self.lock();
        state.synced.lose(source);
        if source == Source::KubeletLeases {
            state.renewals.miss(self.clock.moment());
        }
        drop(state);
        self.notify_if(true);
    }

    /// What was asked about one node.
    pub fn gather(&self, node: &str, fill: impl FnOnce(&mut Gathered)) {
        fill(self.lock().snapshot.gathered.entry(node.to_owned()).or_default());
        self.notify_if(true);
    }

    /// Forgets what was asked about nodes that no question is about any more.
    pub(crate) fn retain_gathered(&self, requests: &BTreeMap<String, GatherRequest>) {
        let mut state = self.lock();
        let Snapshot { gathered, fences, .. } = &mut state.snapshot;
        gathered.retain(|name, _| requests.contains_key(name) || fences.contains_key(name));
    }

    pub(crate) fn publish(&self, node_reports: Vec<NodeReport>) {
        let now = self.clock.moment();
        let mut state = self.lock();
        let State { causes, snapshot, .. } = &mut *state;
        causes.learn(&node_reports, snapshot, now);
        state.node_reports = Arc::new(node_reports);
    }

    /// What the last decision reports of every node.
    #[must_use]
    pub fn node_reports(&self) -> Arc<Vec<NodeReport>> {
        Arc::clone(&self.lock().node_reports)
    }

    pub(crate) fn notify_if(&self, loud: bool) {
        if loud {
            self.inner.changed.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic here leaves maps that are whole: every change is one insertion or removal.
        self.inner.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn leases(snapshot: &mut Snapshot, kind: LeaseKind) -> &mut BTreeMap<String, LeaseView> {
    match kind {
        LeaseKind::Kubelet => &mut snapshot.kubelet_leases,
        LeaseKind::Agent => &mut snapshot.agent_leases,
    }
}

/// The list of policies stays in the order of their names.
trait Policies {
    fn forget_policy(&mut self, name: &str);
    fn add_policy(&mut self, policy: Policy);
    /// It is logged once for each new set of errors; whether that was so now.
    fn add_unreadable(&mut self, name: &str, diagnostics: String) -> bool;
    fn keep_policies(&mut self, names: &BTreeSet<String>);
}

impl Policies for Snapshot {
    fn forget_policy(&mut self, name: &str) {
        self.policies.retain(|policy| policy.name != name);
        self.unreadable_policies.remove(name);
    }

    fn add_policy(&mut self, policy: Policy) {
        let index = self.policies.partition_point(|other| other.name < policy.name);
        self.policies.insert(index, policy);
    }

    fn add_unreadable(&mut self, name: &str, diagnostics: String) -> bool {
        let is_news = self.unreadable_policies.get(name) != Some(&diagnostics);
        if is_news {
            tracing::warn!(policy = name, diagnostics, "the policy cannot be read; what is under way by it is blocked");
        }
        self.forget_policy(name);
        self.unreadable_policies.insert(name.to_owned(), diagnostics);
        is_news
    }

    fn keep_policies(&mut self, names: &BTreeSet<String>) {
        self.policies.retain(|policy| names.contains(&policy.name));
        self.unreadable_policies.retain(|name, _| names.contains(name));
    }
}
