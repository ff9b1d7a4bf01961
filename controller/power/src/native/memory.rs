//! What was found out of nodes, and when.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use jiff::Timestamp;
use nodewell_remediation::{
    api::fence::Blocker,
    facts::Node,
    method::{Plugs, ValidatedMethods},
    snapshot::Level,
    time::{Moment, Now},
};

use super::{
    NativePower, NotProven,
    changes::Changes,
    contradiction::Contradictions,
    logins::Logins,
    not_ready,
    runs::AgentRuns,
    wiring::{Wiring, WiringError},
};

#[derive(Debug, Default)]
pub(super) struct Memory {
    plugs: Plugs,
    pub(super) wiring: Wiring,
    pub(super) logins: Logins,
    pub(super) contradictions: Contradictions,
    pub(super) runs: AgentRuns,
    pub(super) changes: Changes,
    nodes: BTreeMap<String, Remembered>,
    /// By address: who logs in to a BMC.
    turns: BTreeMap<u64, Arc<Turn>>,
}

/// One login at a time.
pub(super) type Turn = tokio::sync::Mutex<()>;

#[derive(Debug)]
struct Remembered {
    of: About,
    at: Moment,
    found: Result<Arc<ValidatedMethods>, Blocker>,
    identity: BTreeMap<Level, (Moment, Result<(), Blocker>)>,
}

/// How old an answer may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ages {
    pub(super) good: Duration,
    pub(super) refused: Duration,
}

impl Ages {
    fn of<T, E>(self, answer: &Result<T, E>) -> Duration {
        if answer.is_ok() { self.good } else { self.refused }
    }
}

/// What the answers depend on, beside the ConfigMaps.
#[derive(Debug, Clone, PartialEq, Eq)]
struct About {
    uid: String,
    system_uuid: String,
    provider_id: String,
    kind: Option<String>,
}

impl About {
    fn of(node: &Node) -> Self {
        Self {
            uid: node.uid.clone(),
            system_uuid: node.system_uuid.clone(),
            provider_id: node.provider_id.clone(),
            kind: node.labels.get("type").cloned(),
        }
    }
}

impl Memory {
    pub(super) fn configured(
        &self,
        node: &Node,
        now: Moment,
        ages: Ages,
    ) -> Option<Result<Arc<ValidatedMethods>, Blocker>> {
        let known = self.nodes.get(&node.name).filter(|known| known.of == About::of(node))?;
        (now.since(known.at) < ages.of(&known.found)).then(|| known.found.clone())
    }

    /// An identity that was proven for another configuration is forgotten. Plugs of a configuration that cannot be read
    /// any more stay: they may still be wired so.
    pub(super) fn configure(&mut self, node: &Node, now: Moment, found: Result<Arc<ValidatedMethods>, Blocker>) {
        if let Ok(validated) = &found {
            self.plugs.set(validated);
        }
        let of = About::of(node);
        let before = self.nodes.remove(&node.name).filter(|known| known.of == of && known.found == found);
        let identity = before.map(|known| known.identity).unwrap_or_default();
        self.nodes.insert(node.name.clone(), Remembered { of, at: now, found, identity });
    }

    /// No other node hangs on the plugs of this level, as far as that has to be known: what is wrong with a PDU is not wrong with
    /// the BMC that is used before it.
    pub(super) fn alone(&self, validated: &ValidatedMethods, level: Level) -> Result<(), NotProven> {
        self.plugs.check_unshared(validated, level).map_err(not_ready)?;
        Ok(self.wiring.check(validated, level)?)
    }

    /// What other nodes' configurations say against this one's levels. That they were not read yet is nothing of theirs.
    pub(super) fn neighbours(&self, validated: &ValidatedMethods) -> Vec<Option<String>> {
        let of = |level| match self.plugs.check_unshared(validated, level) {
            Err(shared) => Some(shared),
            Ok(()) => match self.wiring.check(validated, level) {
                Err(WiringError::Shared(doubtful)) => Some(doubtful),
                Err(WiringError::Unread(_)) | Ok(()) => None,
            },
        };
        validated.numbered().map(of).collect()
    }

    pub(super) fn identified(
        &self,
        node: &Node,
        validated: &Arc<ValidatedMethods>,
        level: Level,
        now: Moment,
        ages: Ages,
    ) -> Option<Result<(), Blocker>> {
        let known = self.nodes.get(&node.name).filter(|known| known.of == About::of(node))?;
        let (at, identity) = known.identity.get(&level)?;
        (known.found.as_ref() == Ok(validated) && now.since(*at) < ages.of(identity)).then(|| identity.clone())
    }

    pub(super) fn identify(
        &mut self,
        node: &Node,
        validated: &Arc<ValidatedMethods>,
        level: Level,
        now: Moment,
        identity: Result<(), Blocker>,
    ) {
        let known = self.nodes.get_mut(&node.name).filter(|known| known.found.as_ref() == Ok(validated));
        if let Some(known) = known.filter(|known| known.of == About::of(node)) {
            known.identity.insert(level, (now, identity));
        }
    }

    /// That it was proven counts no more. What was refused stays so for its time: a BMC is not asked more often by this.
    fn doubt_identity(&mut self, name: &str, level: Level) {
        if let Some(known) = self.nodes.get_mut(name) {
            known.identity.retain(|of, (_, identity)| *of != level || identity.is_err());
        }
    }

    pub(super) fn turn(&mut self, address: u64) -> Arc<Turn> {
        Arc::clone(self.turns.entry(address).or_default())
    }

    fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.turns.retain(|_, turn| Arc::strong_count(turn) > 1);
        self.wiring.forget(&is_there);
        self.logins.forget(&is_there);
        self.contradictions.forget(&is_there);
        self.runs.forget(&is_there);
        self.changes.forget(&is_there);
        let gone: Vec<String> = self.nodes.keys().filter(|name| !is_there(name)).cloned().collect();
        for name in gone {
            self.nodes.remove(&name);
            self.plugs.forget(&name);
        }
    }
}

/// A question to a level. Unless each of its methods answers, the level has to prove again whose it is: an address is another
/// machine's only after it was silent, as when BMCs come back from a loss of power with leases that were dealt out again.
pub(super) struct Question<'a> {
    memory: &'a Mutex<Memory>,
    node: &'a str,
    level: Level,
    is_answered: bool,
}

impl Question<'_> {
    pub(super) fn answered(mut self) {
        self.is_answered = true;
    }
}

impl Drop for Question<'_> {
    fn drop(&mut self) {
        if !self.is_answered {
            lock(self.memory).doubt_identity(self.node, self.level);
        }
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<C> NativePower<C> {
    /// Of one that is dropped before it has an answer there is none.
    pub(super) fn question<'a>(&'a self, node: &'a Node, level: Level) -> Question<'a> {
        Question { memory: &self.memory, node: &node.name, level, is_answered: false }
    }

    pub(super) fn now(&self) -> Now {
        Now { moment: self.runner.now(), wall: Timestamp::now() }
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }

    /// Forgets nodes that are gone; their plugs are free.
    pub fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.memory().forget(&is_there);
        self.logins.forget(&is_there);
    }
}

#[cfg(test)]
mod tests;
