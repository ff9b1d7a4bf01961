//! Records in the cache: the newest version of each, whether it came by a watch or as the answer to a write.

use std::collections::{BTreeMap, BTreeSet};

use nodewell_remediation::{
    api::{Meta, fence::NodeFence},
    time::Now,
};
use tokio::sync::watch;

use super::{Cache, Source, State, denied};

/// The newest version seen of each record, also of records that are gone.
///
/// resourceVersions are numbers that grow (KEP-5504 made of that a promise). One that is no number is taken as it comes:
/// a write by an older copy then fails at the API server.
#[derive(Debug, Default)]
pub(super) struct Versions {
    newest: BTreeMap<String, u128>,
    /// The UID of the last record of a name that is gone: a late event does not bring it back.
    gone: BTreeMap<String, String>,
    /// By UID: those that a read did not find, before the watch shows that they were deleted.
    missed: BTreeMap<String, NodeFence>,
}

impl Versions {
    /// Whether this is at least as new as everything seen before of its name.
    fn admit(&mut self, fence: &NodeFence) -> bool {
        // One that is being deleted was not gone: a finalizer keeps it.
        let is_kept = fence.metadata.deletion_timestamp.is_some();
        if self.gone.get(&fence.metadata.name) == Some(&fence.metadata.uid) && !is_kept {
            return false;
        }
        let Ok(version) = fence.metadata.resource_version.parse::<u128>() else { return true };
        let newest = self.newest.entry(fence.metadata.name.clone()).or_default();
        let is_new = version >= *newest;
        *newest = version.max(*newest);
        is_new
    }

    pub(super) fn of(&self, name: &str) -> Option<u128> {
        self.newest.get(name).copied()
    }

    pub(super) fn gone(&self) -> BTreeSet<String> {
        self.gone.values().cloned().collect()
    }

    pub(super) fn gone_uid(&self, name: &str) -> Option<String> {
        self.gone.get(name).cloned()
    }
}

impl Cache {
    /// By the watch, by a read, or as the answer to a write; older copies than one seen before are ignored.
    pub fn apply_fence(&self, fence: NodeFence) {
        let mut state = self.lock();
        let mut loud = false;
        state.store.see(Source::Fences, &fence.metadata.resource_version);
        state.saw_epoch(epoch(&fence));
        if state.versions.admit(&fence) {
            loud = state.snapshot.fences.get(&fence.metadata.name) != Some(&fence);
            state.replace_fence(fence, self.clock.now());
        }
        drop(state);
        self.notify_if(loud);
    }

    /// The same, as part of a list.
    pub fn list_fence(&self, fence: NodeFence) {
        let Meta { name, uid, resource_version, .. } = &fence.metadata;
        self.check_listed(Source::Fences, name, uid, resource_version);
        self.apply_fence(fence);
    }

    /// The newest term that was ever seen, wherever, also if the store went back since; nothing before records were listed.
    #[must_use]
    pub fn newest_epoch(&self) -> Option<u64> {
        let state = self.lock();
        state.synced.is_complete(Source::Fences).then(|| *state.epochs.borrow())
    }

    /// A term has, or had, this number.
    pub fn saw_epoch(&self, epoch: u64) {
        self.lock().saw_epoch(epoch);
    }

    /// The newest term that was ever seen, as it grows: for a caller that saves it where a restored store cannot take
    /// it back.
    #[must_use]
    pub fn epochs(&self) -> watch::Receiver<u64> {
        self.lock().epochs.subscribe()
    }

    /// The watch shows that the record with this UID was deleted; a later one of the same name stays.
    pub fn remove_fence(&self, name: &str, uid: &str) {
        let mut state = self.lock();
        let removed = state.remove_fence(name, uid, self.clock.now());
        let is_it = removed.is_some();
        let missed = state.versions.missed.remove(uid);
        if let Some(fence) = removed.or(missed) {
            denied::departs(&mut state.snapshot.denied, &fence);
        }
        drop(state);
        self.notify_if(is_it);
    }

    /// A read shows that it is not there. How it went, and whether the store went back, is not known before the watch shows it:
    /// what it denied is remembered.
    pub fn miss_fence(&self, name: &str, uid: &str) {
        let mut state = self.lock();
        let removed = state.remove_fence(name, uid, self.clock.now());
        let is_it = removed.is_some();
        if let Some(fence) = removed {
            denied::remember(&mut state.snapshot.denied, &fence);
            state.versions.missed.insert(uid.to_owned(), fence);
        }
        drop(state);
        self.notify_if(is_it);
    }
}

impl State {
    fn replace_fence(&mut self, fence: NodeFence, now: Now) {
        let Some(before) = self.snapshot.fences.insert(fence.metadata.name.clone(), fence.clone()) else { return };
        if before.metadata.uid == fence.metadata.uid {
            denied::changes(&mut self.snapshot, &before, &fence);
        } else {
            // How it went was not seen.
            denied::remember(&mut self.snapshot.denied, &before);
            self.departed.remember(&before, now);
        }
    }

    fn remove_fence(&mut self, name: &str, uid: &str, now: Now) -> Option<NodeFence> {
        // Of a record that was never stored: the one that was deleted before it stays known as gone.
        if uid.is_empty() {
            return None;
        }
        self.versions.gone.insert(name.to_owned(), uid.to_owned());
        self.snapshot.fences.get(name).filter(|fence| fence.metadata.uid == uid)?;
        let fence = self.snapshot.fences.remove(name)?;
        self.departed.remember(&fence, now);
        Some(fence)
    }

    /// The records of a list; the others are gone.
    pub(super) fn keep_fences(&mut self, names: &BTreeSet<String>, now: Now) {
        let all = std::mem::take(&mut self.snapshot.fences);
        let (listed, gone): (BTreeMap<_, _>, BTreeMap<_, _>) =
            all.into_iter().partition(|(name, _)| names.contains(name));
        self.departed.listed(&listed, now);
        // Their end was not seen, nor is that of those which a read has missed.
        self.versions.missed.clear();
        for fence in gone.values() {
            denied::remember(&mut self.snapshot.denied, fence);
            self.departed.remember(fence, now);
        }
        self.snapshot.fences = listed;
    }

    fn saw_epoch(&mut self, epoch: u64) {
        self.epochs.send_if_modified(|newest| {
            let grows = epoch > *newest;
            *newest = epoch.max(*newest);
            grows
        });
    }
}

fn epoch(fence: &NodeFence) -> u64 {
    fence.status.intent.as_ref().map_or(0, |intent| intent.epoch).max(fence.status.epoch)
}
