//! Whether the server shows of each Node what its agent knows, and since when.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nodewell_model::view::ConditionView;
use serde_json::Value;

/// What is known of all Nodes; times are since the cluster began.
#[derive(Debug)]
pub struct Truth {
    indices: HashMap<String, usize>,
    nodes: Mutex<Vec<Node>>,
}

#[derive(Debug, Clone, Default)]
struct Node {
    wanted: Vec<Arc<ConditionView>>,
    /// When the server first showed all of it.
    right_at: Option<Duration>,
    /// When the Node was first written since the counting began.
    written_at: Option<Duration>,
}

impl Truth {
    /// Nothing is wanted of these Nodes yet.
    #[must_use]
    pub fn new(names: &[String]) -> Self {
        let indices = names.iter().enumerate().map(|(index, name)| (name.clone(), index)).collect();
        Self { indices, nodes: Mutex::new(vec![Node::default(); names.len()]) }
    }

    /// From now on the server should show this of `node`.
    pub fn want(&self, node: usize, wanted: Vec<Arc<ConditionView>>) {
        let mut nodes = self.lock();
        nodes[node].wanted = wanted;
        nodes[node].right_at = None;
    }

    /// The server has this of Node `name` since `at`.
    pub fn shown(&self, name: &str, conditions: &[Value], at: Duration) {
        let Some(&index) = self.indices.get(name) else { return };
        let node = &mut self.lock()[index];
        node.written_at.get_or_insert(at);
        let right = node.wanted.iter().all(|wanted| conditions.iter().any(|shown| is_shown(shown, wanted)));
        node.right_at = right.then(|| node.right_at.unwrap_or(at));
    }

    /// When the last of `nodes` became right; `None` while one is not.
    #[must_use]
    pub fn all_right_at(&self, nodes: &[usize]) -> Option<Duration> {
        latest(&self.right_at(nodes))
    }

    /// When each became right.
    #[must_use]
    pub fn right_at(&self, nodes: &[usize]) -> Vec<Option<Duration>> {
        let known = self.lock();
        nodes.iter().map(|&node| known[node].right_at).collect()
    }

    /// First writes count from now on.
    pub fn expect_writes(&self) {
        self.lock().iter_mut().for_each(|node| node.written_at = None);
    }

    /// When each was first written since [`Truth::expect_writes`].
    #[must_use]
    pub fn written_at(&self, nodes: &[usize]) -> Vec<Option<Duration>> {
        let known = self.lock();
        nodes.iter().map(|&node| known[node].written_at).collect()
    }

    /// How many of them are not right.
    #[must_use]
    pub fn wrong(&self) -> usize {
        self.lock().iter().filter(|node| node.right_at.is_none()).count()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Node>> {
        self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The latest, if there is none missing.
#[must_use]
pub fn latest(times: &[Option<Duration>]) -> Option<Duration> {
    times.iter().copied().collect::<Option<Vec<Duration>>>()?.into_iter().max()
}

fn is_shown(shown: &Value, wanted: &ConditionView) -> bool {
    shown["type"] == wanted.condition.as_str()
        && shown["status"] == wanted.status.as_str()
        && shown["reason"] == wanted.reason.as_str()
        && shown["message"] == wanted.message.as_str()
}
