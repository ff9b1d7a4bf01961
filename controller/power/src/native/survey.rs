//! Reads every node's ConfigMaps once, also while another leads: no BMC is asked and no Secret read.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use nodewell_reconcile::cluster::Configuration;
use nodewell_remediation::{facts::Node, method::KnownConfigMaps};

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
        let (queue, shared) = (Mutex::new(nodes.into_iter()), Mutex::new(KnownConfigMaps::new()));
        let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).next();
        let lane = || async {
            while let Some(node) = next() {
                if !self.survey_one(&node, &shared).await {
                    while next().is_some() {}
                }
            }
        };
        tokio::join!(lane(), lane(), lane(), lane(), lane(), lane(), lane(), lane());
    }

    /// False if the API server did not answer. What nodes have in common is asked for once in a survey.
    async fn survey_one(&self, node: &Node, shared: &Mutex<KnownConfigMaps>) -> bool {
        let common = || shared.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = common().clone();
        let (now, before) = (self.runner.now(), known.len());
        let found = self.configured(node, &mut known).await;
        let is_read = found.as_ref().map_or_else(|unready| unready.is_read, |_| true);
        if known.len() > before {
            common().extend(
                known.iter().filter(|(name, _)| !name.ends_with(&node.name)).map(|(n, d)| (n.clone(), d.clone())),
            );
        }
        // What speaks against it matters when it is to be fenced.
        drop(self.learn(node, now, found, &known));
        is_read
    }
}
