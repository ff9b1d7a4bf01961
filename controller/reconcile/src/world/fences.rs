//! Records in the world: the newest version of each, whether it came by a watch or as the answer to a write.

use std::collections::BTreeMap;

use nodewell_remedy::api::fence::NodeFence;

use super::{Source, World};

/// The newest version seen of each record, also of records that are gone.
///
/// resourceVersions are numbers that grow (KEP-5504 made of that a promise). One that is no number is taken as it comes:
/// a write by an older copy then fails at the API server.
#[derive(Debug, Default)]
pub(super) struct Versions {
    newest: BTreeMap<String, u128>,
    /// The UID of the last record of a name that is gone: a late event does not bring it back.
    gone: BTreeMap<String, String>,
}

impl Versions {
    /// Whether this is at least as new as everything seen before of its name.
    fn admit(&mut self, fence: &NodeFence) -> bool {
        if self.gone.get(&fence.metadata.name) == Some(&fence.metadata.uid) {
            return false;
        }
        let Ok(version) = fence.metadata.resource_version.parse::<u128>() else { return true };
        let newest = self.newest.entry(fence.metadata.name.clone()).or_default();
        let is_new = version >= *newest;
        *newest = version.max(*newest);
        is_new
    }
}

impl World {
    /// By the watch, by a read, or as the answer to a write; older copies than one seen before are ignored.
    pub fn apply_fence(&self, fence: NodeFence) {
        let mut state = self.lock();
        let mut loud = false;
        if state.versions.admit(&fence) {
            let name = fence.metadata.name.clone();
            loud = state.snapshot.fences.get(&name) != Some(&fence);
            state.snapshot.fences.insert(name, fence);
        }
        drop(state);
        self.tell_if(loud);
    }

    /// The newest term that any record names; nothing before they were listed.
    #[must_use]
    pub fn newest_epoch(&self) -> Option<u64> {
        let state = self.lock();
        let epochs = state
            .snapshot
            .fences
            .values()
            .map(|fence| fence.status.intent.as_ref().map_or(0, |intent| intent.epoch).max(fence.status.epoch));
        state.informed.is_complete(Source::Fences).then(|| epochs.max().unwrap_or(0))
    }

    /// The record with this UID is gone; a later one of the same name stays.
    pub fn remove_fence(&self, name: &str, uid: &str) {
        let mut state = self.lock();
        state.versions.gone.insert(name.to_owned(), uid.to_owned());
        let is_it = state.snapshot.fences.get(name).is_some_and(|fence| fence.metadata.uid == uid);
        if is_it {
            state.snapshot.fences.remove(name);
        }
        drop(state);
        self.tell_if(is_it);
    }
}
