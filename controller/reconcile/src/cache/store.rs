//! Whether the API server's store is still the one we know: etcd may be restored from a backup, and then each version is
//! given a second time.
//!
//! It is sound to conclude that from one list or one read. Both are asked for without a resourceVersion, so the API server
//! answers from etcd's quorum, or from a cache that it has first brought up to etcd's present revision: an answer is never
//! older than what was committed before it was asked for, and whatever we have seen was committed. A lagging replica
//! behind a load balancer cannot answer so. A proxy that does lie costs a list of everything and the leader's term; what it
//! shows is seen now for the first time and so only delays, and what cannot be taken back is read again before it is done.

use std::collections::{BTreeMap, BTreeSet};

use tokio::sync::watch;

use super::{Cache, Source, State, denied, stamp::number};

const ALL: [Source; 5] = [Source::Nodes, Source::KubeletLeases, Source::AgentLeases, Source::Fences, Source::Policies];

/// What is known of versions, and what has to be listed again.
#[derive(Debug, Default)]
pub(super) struct Store {
    /// The newest version seen in each source: of a list, of an object, of a bookmark.
    newest: BTreeMap<Source, u128>,
    /// Lists under way.
    asked: BTreeMap<Source, Asked>,
    /// Not listed since the store went back.
    unread: BTreeSet<Source>,
    /// How often each source's cache was thrown away.
    resets: BTreeMap<Source, u64>,
    /// How often the store went back; a caller that waits for that looks here.
    set_backs: watch::Sender<u64>,
}

/// What was known when a list was asked for: that has to be in it.
#[derive(Debug, Default)]
struct Asked {
    newest: u128,
    gone: BTreeSet<String>,
    /// It was asked for before the store was seen to have gone back, or contradicts what it was read into.
    is_void: bool,
}

/// What was known of one object when it was asked for by itself.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    source: Source,
    version: u128,
    gone: Option<String>,
    set_backs: u64,
}

impl Store {
    pub(super) fn see(&mut self, source: Source, version: &str) {
        if let Some(version) = number(version) {
            let newest = self.newest.entry(source).or_default();
            *newest = version.max(*newest);
        }
    }

    /// Sources that decisions wait for, as text.
    pub(super) fn unread(&self) -> Option<String> {
        let names: Vec<String> = self.unread.iter().map(|source| format!("{source:?}")).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

impl State {
    /// The list of this source ended; true if it is to be believed.
    pub(super) fn end_list(&mut self, source: Source) -> bool {
        if self.store.asked.remove(&source).is_some_and(|asked| asked.is_void) {
            return false;
        }
        if self.store.unread.remove(&source) && self.store.unread.is_empty() {
            tracing::info!("everything is listed again since the API server's store went back");
        }
        true
    }

    /// Whether a listed object is older than the copy that was known before the list was asked for.
    fn contradicts(&self, source: Source, known: Option<u128>, version: &str) -> bool {
        let Some(asked) = self.store.asked.get(&source) else { return false };
        let known = known.filter(|known| *known <= asked.newest);
        known.zip(number(version)).is_some_and(|(known, listed)| listed < known)
    }

    fn throw_away(&mut self, source: Source) {
        let snapshot = &mut self.snapshot;
        match source {
            Source::Nodes => snapshot.nodes.clear(),
            Source::KubeletLeases => snapshot.kubelet_leases.clear(),
            Source::AgentLeases => snapshot.agent_leases.clear(),
            Source::Fences => {
                let fences = std::mem::take(&mut snapshot.fences);
                fences.values().for_each(|fence| denied::remember(&mut snapshot.denied, fence));
                self.departed.set_aside(fences);
                self.versions = super::Versions::default();
            }
            // They have no versions here: a list is the truth.
            Source::Policies => {}
        }
        self.synced.lose(source);
        self.store.newest.remove(&source);
        *self.store.resets.entry(source).or_default() += 1;
        if let Some(asked) = self.store.asked.get_mut(&source) {
            (asked.newest, asked.gone) = (0, BTreeSet::new());
        }
    }

    /// From here on nothing is believed that was not listed again. Each time is logged once, by the first source.
    fn went_back(&mut self, source: Source, was: &str, is: &str) {
        if self.store.unread.contains(&source) {
            return;
        }
        tracing::warn!(
            ?source,
            was,
            is,
            "the API server's store went back, as after etcd was restored from a backup: what was known of the cluster is \
             thrown away and listed again, this term ends, and nothing is begun until then; see \"After a restore of \
             etcd\" in docs/outages.md"
        );
        self.store.unread = ALL.into();
        for (other, asked) in &mut self.store.asked {
            asked.is_void |= *other != source;
        }
        ALL.into_iter().for_each(|source| self.synced.lose(source));
        self.store.set_backs.send_modify(|count| *count += 1);
    }

    fn version_of(&self, source: Source, name: &str) -> Option<u128> {
        let snapshot = &self.snapshot;
        match source {
            Source::Nodes => number(&snapshot.nodes.get(name)?.resource_version),
            Source::KubeletLeases => number(&snapshot.kubelet_leases.get(name)?.resource_version),
            Source::AgentLeases => number(&snapshot.agent_leases.get(name)?.resource_version),
            Source::Fences => self.versions.of(name),
            Source::Policies => None,
        }
    }
}

impl Cache {
    /// A list of this source is about to be asked for; its watch had come to the version `at`.
    pub fn ask_list(&self, source: Source, at: &str) {
        let mut state = self.lock();
        state.store.see(source, at);
        let newest = state.store.newest.get(&source).copied().unwrap_or_default();
        let gone = if source == Source::Fences { state.versions.gone() } else { BTreeSet::new() };
        state.store.asked.insert(source, Asked { newest, gone, is_void: false });
        if source == Source::KubeletLeases {
            state.renewals.miss(self.clock.moment());
        }
    }

    /// Its answer begins: the list is of this version. One that is older than what was known when it was asked for shows
    /// that the store went back; what was known is thrown away, and the list is the truth. So it is once another source has
    /// shown that, however new the list: an object that was changed since has a newer version than the copy of it that was
    /// known, or that was seen to be deleted.
    pub fn list_began(&self, source: Source, version: &str) {
        let mut state = self.lock();
        let was = state.store.asked.get(&source).map_or(0, |asked| asked.newest);
        if number(version).is_some_and(|version| version < was) {
            state.went_back(source, &was.to_string(), version);
        }
        if state.store.unread.contains(&source) {
            state.throw_away(source);
        }
        state.store.see(source, version);
        drop(state);
        self.notify_if(true);
    }

    /// An object of a list, before it is applied. After `etcdutl snapshot restore --bump-revision` lists are not older, and
    /// the objects in them are: then this list goes into an empty cache, and is asked for once more.
    pub(super) fn check_listed(&self, source: Source, name: &str, uid: &str, version: &str) {
        let mut state = self.lock();
        let known = state.version_of(source, name);
        let is_newer = known.zip(number(version)).is_some_and(|(known, listed)| listed > known);
        // One that was deleted and has a newer version is kept by a finalizer.
        let is_back = !is_newer && state.store.asked.get(&source).is_some_and(|asked| asked.gone.contains(uid));
        if !is_back && !state.contradicts(source, known, version) {
            return;
        }
        let was = if is_back { "deleted".to_owned() } else { known.unwrap_or_default().to_string() };
        state.went_back(source, &format!("{name} {was}"), &format!("{name} {version}"));
        state.throw_away(source);
        state.store.unread.insert(source);
        if let Some(asked) = state.store.asked.get_mut(&source) {
            asked.is_void = true;
        }
    }

    /// Returns when this source has to be listed again.
    pub async fn relist_wanted(&self, source: Source) {
        let mut set_backs = self.lock().store.set_backs.subscribe();
        while !self.lock().store.unread.contains(&source) {
            if set_backs.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// How often the store went back since this program began.
    #[must_use]
    pub fn set_backs(&self) -> u64 {
        *self.lock().store.set_backs.borrow()
    }

    /// Notifies of each further time.
    pub(crate) fn hear_of_set_backs(&self) -> watch::Receiver<u64> {
        self.lock().store.set_backs.subscribe()
    }

    /// How often each source's cache was thrown away.
    #[must_use]
    pub fn resets(&self) -> BTreeMap<&'static str, u64> {
        let state = self.lock();
        ALL.into_iter().map(|source| (source.name(), state.store.resets.get(&source).copied().unwrap_or(0))).collect()
    }

    /// What is known of one object that is about to be read by itself.
    pub(crate) fn mark(&self, source: Source, name: &str) -> Mark {
        let state = self.lock();
        let version = state.version_of(source, name).unwrap_or_default();
        let gone = if source == Source::Fences { state.versions.gone_uid(name) } else { None };
        let set_backs = *state.store.set_backs.borrow();
        Mark { source, version, gone, set_backs }
    }

    /// It was read: an older copy than was known before is one of another store.
    pub(crate) fn compare(&self, mark: &Mark, uid: &str, version: &str) {
        let mut state = self.lock();
        // One that was deleted and has a newer version is kept by a finalizer.
        let is_newer = number(version).is_some_and(|version| version > mark.version);
        let is_back = mark.gone.as_deref() == Some(uid) && !is_newer;
        let is_older = number(version).is_some_and(|version| version < mark.version);
        if (is_back || is_older) && *state.store.set_backs.borrow() == mark.set_backs {
            let was = if is_back { "deleted".to_owned() } else { mark.version.to_string() };
            state.went_back(mark.source, &was, version);
        }
        drop(state);
        self.notify_if(true);
    }

    /// The leader's own Lease was read, or stored, with this version after that one.
    pub(crate) fn compare_lease(&self, was: u128, is: &str) {
        let mark = Mark { source: Source::AgentLeases, version: was, gone: None, set_backs: self.set_backs() };
        self.compare(&mark, "", is);
    }
}

#[cfg(test)]
mod tests;
