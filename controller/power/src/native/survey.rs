//! Reads every node's ConfigMaps once, also while another leads: no BMC is asked and no Secret read.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nodewell_reconcile::{api_error::ApiError, cluster::Configuration};
use nodewell_remediation::{
    api::fence::Blocker,
    facts::Node,
    method::{KnownConfigMaps, ValidatedMethods},
};

use super::NativePower;

/// What was read so long ago is read again, so that a standby does not begin with what was true last week.
const OLD: Duration = Duration::from_secs(1200);

impl<C: Configuration> NativePower<C> {
    /// Those of `nodes` whose ConfigMaps have to be read. From here on these nodes are all that there are: before it is first
    /// called, and until each was read once, nothing is fenced whose identity its configuration alone vouches for.
    pub fn unread<'a>(&self, nodes: impl Iterator<Item = &'a Node>) -> Vec<Node> {
        let now = self.runner.now();
        let mut memory = self.memory();
        let (mut all, mut unread) = (BTreeSet::new(), Vec::new());
        for node in nodes {
            all.insert(node.name.clone());
            if memory.wiring.read_at(&node.name).is_none_or(|at| now.since(at) >= OLD) {
                unread.push(node.clone());
            }
        }
        memory.wiring.list(all);
        unread
    }

    /// Reads them, eight at once. Ends early when the API server does not answer: the rest is unread still.
    pub async fn survey(&self, nodes: Vec<Node>) {
        let (queue, shared) = (Mutex::new(nodes.into_iter()), SharedMaps::default());
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let lane = || async {
            while let Some(node) = next() {
                // What speaks against it matters when it is to be fenced.
                if self.read_now(&node, &shared).await.is_none() {
                    while next().is_some() {}
                }
            }
        };
        tokio::join!(lane(), lane(), lane(), lane(), lane(), lane(), lane(), lane());
    }

    /// What is configured for the node by now; nothing if the API server did not answer: what was known before stands.
    pub(super) async fn read_now(
        &self,
        node: &Node,
        shared: &SharedMaps,
    ) -> Option<Result<Arc<ValidatedMethods>, Blocker>> {
        let (now, mut known) = (self.runner.now(), KnownConfigMaps::new());
        let found = self.configured(node, &mut known, shared).await;
        let is_read = found.as_ref().map_or_else(|unready| unready.is_read, |_| true);
        is_read.then(|| self.learn(node, now, found, &known))
    }
}

/// What nodes have in common is asked for once by all that are read together.
#[derive(Debug, Default)]
pub(super) struct SharedMaps(Mutex<KnownConfigMaps>);

impl SharedMaps {
    /// `data` of the ConfigMap. One that is named like the node is the node's own.
    pub(super) async fn read<C: Configuration>(
        &self,
        cluster: &C,
        node: &Node,
        name: &str,
    ) -> Result<Option<BTreeMap<String, String>>, ApiError> {
        let known = self.known().get(name).cloned();
        if let Some(data) = known {
            return Ok(data);
        }
        let data = cluster.config_map(name).await?;
        if !name.ends_with(&node.name) {
            self.known().insert(name.to_owned(), data.clone());
        }
        Ok(data)
    }

    fn known(&self) -> MutexGuard<'_, KnownConfigMaps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
