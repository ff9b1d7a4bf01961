//! etcd restored from a backup: what the API server stores is what it was, its versions are given a second time, and every
//! watch breaks or hangs. Machines, BMCs and processes stay as they are.
//!
//! Nodes, Leases, records and the leader's Lease go back together, and what people wrote on them. Pods stay: set back they
//! would run twice by Kubernetes' own doing, and no oracle could distinguish that from ours. So the mark of their release
//! stays as well: a backup that has the pods of a storage has no mark, and one that has the mark has no such pods.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    rc::Rc,
    time::Duration,
};

use nodewell_reconcile::cluster::Leadership;
use nodewell_remediation::{
    api::{STORAGE_RELEASED, fence::NodeFence},
    facts::{LeaseView, Node},
    time::Moment,
};

use super::Truth;
use crate::scenario::Kind;

/// Between two backups, and how many are stored.
const EVERY: Duration = Duration::from_secs(2);
const KEPT: usize = 60;

#[derive(Debug, Default)]
pub struct Backups(VecDeque<Backup>);

/// The store as it was.
#[derive(Debug, Clone)]
struct Backup {
    at: Moment,
    version: u64,
    nodes: BTreeMap<String, Rc<Node>>,
    leases: BTreeMap<String, LeaseView>,
    fences: BTreeMap<String, NodeFence>,
    leadership: Option<Leadership>,
    handed_over: Moment,
    scheduled_by_hand: BTreeSet<String>,
    skipped: BTreeMap<String, Moment>,
    aborted: BTreeMap<String, Moment>,
    cordoned_by_people: BTreeSet<String>,
}

impl Truth {
    pub(super) fn back_up(&mut self) {
        let now = self.now();
        let is_due = self.backups.0.back().is_none_or(|last| now.since(last.at) >= EVERY);
        if !is_due || self.scenario.kind == Kind::Large {
            return;
        }
        let store = &self.store;
        let backup = Backup {
            at: now,
            version: store.version,
            nodes: store.nodes.clone(),
            leases: store.leases.clone(),
            fences: store.fences.clone(),
            leadership: store.leadership.clone(),
            handed_over: store.handed_over,
            scheduled_by_hand: store.scheduled_by_hand.clone(),
            skipped: store.skipped.clone(),
            aborted: store.aborted.clone(),
            cordoned_by_people: self.oracle.persons.clone(),
        };
        self.backups.0.push_back(backup);
        if self.backups.0.len() > KEPT {
            self.backups.0.pop_front();
        }
    }

    /// The newest backup that is `age` old, or the oldest; the API server is `away` meanwhile. False if there is none.
    pub fn goes_back(&mut self, age: Duration, away: Duration) -> bool {
        let now = self.now();
        let old_enough = |backup: &&Backup| now.since(backup.at) >= age;
        let backups = &self.backups.0;
        let Some(backup) = backups.iter().rev().find(old_enough).or_else(|| backups.front()).cloned() else {
            return false;
        };
        self.backups.0.retain(|other| other.at <= backup.at);
        self.note(format!("etcd: set back from version {} to {}", self.store.version, backup.version));
        let at = backup.at;
        let is_gone = |name: &String| !backup.fences.contains_key(name);
        let gone = self.store.fences.iter().filter(|(name, _)| is_gone(name));
        self.oracle.forgotten = gone.map(|(name, fence)| (name.clone(), fence.spec.node_uid.clone())).collect();
        self.oracle.persons.clone_from(&backup.cordoned_by_people);
        self.take(backup);
        self.store.down = self.store.down.max(now.plus(away));
        self.blind_until = now;
        self.forgive_what_was_forgotten(at);
        true
    }

    fn take(&mut self, backup: Backup) {
        let store = &mut self.store;
        store.version = backup.version;
        store.set_back += 1;
        store.changes.clear();
        store.fences = backup.fences;
        store.leadership = backup.leadership;
        store.handed_over = backup.handed_over;
        (store.skipped, store.aborted) = (backup.skipped, backup.aborted);
        store.scheduled_by_hand = backup.scheduled_by_hand;
        let now = std::mem::replace(&mut store.nodes, backup.nodes.clone());
        let leases = std::mem::replace(&mut store.leases, backup.leases);
        let is_same = |name: &String, node: &Node| now.get(name).is_some_and(|now| now.uid == node.uid);
        store.nodes.retain(|name, node| is_same(name, node));
        for (name, mark) in changed_marks(&store.nodes, &now) {
            let version = store.next_version();
            let node = store.nodes.get_mut(&name).expect("it was just looked at");
            set_release_mark(Rc::make_mut(node), mark, version);
        }
        // What was registered or deleted since is so again at once: its kubelet or its cloud sees to that.
        for (name, node) in now {
            if store.nodes.contains_key(&name) {
                continue;
            }
            let mut again = (*node).clone();
            again.resource_version = store.next_version();
            store.nodes.insert(name.clone(), Rc::new(again));
            store.leases.remove(&name);
            if let Some(mut lease) = leases.get(&name).cloned() {
                lease.resource_version = store.next_version();
                store.leases.insert(name, lease);
            }
        }
        let nodes = &store.nodes;
        store.leases.retain(|name, _| nodes.contains_key(name));
    }
}

/// Marks of a storage's release that a backup has not, or has no more, by the Nodes as they were until now.
fn changed_marks(
    backup: &BTreeMap<String, Rc<Node>>,
    now: &BTreeMap<String, Rc<Node>>,
) -> Vec<(String, Option<String>)> {
    let mark = |node: &Rc<Node>| node.annotations.get(STORAGE_RELEASED).cloned();
    let both = backup.iter().filter_map(|(name, node)| Some((name, mark(node), mark(now.get(name)?))));
    both.filter(|(_, before, now)| before != now).map(|(name, _, now)| (name.clone(), now)).collect()
}

fn set_release_mark(node: &mut Node, mark: Option<String>, version: String) {
    node.resource_version = version;
    match mark {
        Some(mark) => node.annotations.insert(STORAGE_RELEASED.to_owned(), mark),
        None => node.annotations.remove(STORAGE_RELEASED),
    };
}
