//! Whether nodes are configured otherwise than when they were asked last. That is looked at far more often than BMCs
//! are asked: `FenceReady` would else be that of the old configuration for a whole round.

use std::{
    collections::{BTreeMap, BTreeSet, hash_map::DefaultHasher},
    hash::{Hash, Hasher},
    sync::Arc,
};

use nodewell_reconcile::cluster::{Configuration, Secret};
use nodewell_remediation::{api::fence::Blocker, facts::Node, method::ValidatedMethods};

use super::{NativePower, secret, survey::SharedMaps};

/// By node.
#[derive(Debug, Default)]
pub(super) struct Changes(BTreeMap<String, Seen>);

/// Hashes of methods and accounts: no password is stored for this.
#[derive(Debug)]
struct Seen {
    /// By what it was asked last, as far as it was looked at before.
    asked: u64,
    /// What the last look found.
    found: u64,
}

impl Changes {
    /// The first look of a term takes what is there for what it was asked by: a change of leader asks no BMC sooner.
    fn look(&mut self, node: &Node, found: u64) {
        let seen = self.0.entry(node.name.clone()).or_insert(Seen { asked: found, found });
        seen.found = found;
    }

    /// It is being asked. What was changed after the last look is found by the next one, and asked by once more.
    pub(super) fn ask(&mut self, node: &Node) {
        if let Some(seen) = self.0.get_mut(&node.name) {
            seen.asked = seen.found;
        }
    }

    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.0.retain(|node, _| is_there(node));
    }
}

impl<C> NativePower<C> {
    /// Nodes that are configured otherwise than when they were asked last. Which login a BMC gets is decided as ever.
    #[must_use]
    pub fn changed(&self) -> BTreeSet<String> {
        let memory = self.memory();
        let changed = memory.changes.0.iter().filter(|(_, seen)| seen.found != seen.asked);
        changed.map(|(node, _)| node.clone()).collect()
    }
}

/// Those that nodes share are read once for all of them, and stored no longer than one look.
type Secrets = BTreeMap<String, Option<Secret>>;

impl<C: Configuration> NativePower<C> {
    /// Reads what is configured for these nodes by now, with their Secrets, and asks no BMC. What could not be read is
    /// no change.
    pub async fn look(&self, nodes: Vec<Node>) {
        let (shared, mut secrets) = (SharedMaps::default(), Secrets::new());
        for node in nodes {
            let Some(configured) = self.read_now(&node, &shared).await else { continue };
            if let Ok(found) = self.fingerprint(&configured, &mut secrets).await {
                self.memory().changes.look(&node, found);
            }
        }
    }

    async fn fingerprint(
        &self,
        configured: &Result<Arc<ValidatedMethods>, Blocker>,
        secrets: &mut Secrets,
    ) -> Result<u64, String> {
        let mut hasher = DefaultHasher::new();
        match configured {
            Ok(validated) => {
                validated.hash(&mut hasher);
                // What another node's configuration says against it changes without its own.
                self.memory().neighbours(validated).hash(&mut hasher);
                for call in validated.calls.values() {
                    let found = self.secret(&call.secret, secrets).await?;
                    secret::fingerprint(found, &validated.node, call).hash(&mut hasher);
                }
            }
            Err(blocker) => blocker.message.hash(&mut hasher),
        }
        Ok(hasher.finish())
    }

    async fn secret(&self, name: &str, secrets: &mut Secrets) -> Result<Option<Secret>, String> {
        if let Some(known) = secrets.get(name) {
            return Ok(known.clone());
        }
        let found = secret::read(&*self.cluster, self.settings.secrets_folder.as_deref(), name).await?;
        secrets.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}
