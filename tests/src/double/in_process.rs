//! The double without sockets, for clients on virtual time: a paused clock and sockets do not mix.

use std::sync::Mutex;

use hyper::{body::Bytes, http::request::Parts};
use serde_json::Value;

use super::{
    request::{Asked, User},
    routes,
    store::Store,
};

/// What the double stores and answers, and nothing around it: no connections, no faults, no log.
#[derive(Debug, Default)]
pub struct InProcess {
    store: Mutex<Store>,
}

/// What one request is answered.
#[derive(Debug, Clone)]
pub struct Answer {
    pub code: u16,
    /// JSON.
    pub body: Vec<u8>,
}

impl InProcess {
    /// Answers what the agent of Node `node` asks.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    #[must_use]
    pub fn answer(&self, node: &str, parts: &Parts, body: Bytes) -> Answer {
        // A kubelet may have no Lease of ours; an identity of our own may, and no other client asks here.
        let own = parts.uri.path().contains("/leases");
        let user = if own { User::Admin } else { User::Node(node.to_owned()) };
        let asked = Asked::new(user, parts, body);
        let reply = routes::answer(&mut self.store.lock().unwrap(), &asked);
        Answer { code: reply.code.as_u16(), body: reply.body.to_string().into_bytes() }
    }

    /// A namespace beside those of a new cluster.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    pub fn create_namespace(&self, name: &str) {
        self.store.lock().unwrap().namespaces.insert(name.to_owned());
    }

    /// A new Node.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    pub fn create_node(&self, name: &str) {
        self.store.lock().unwrap().create_node(name);
    }

    /// The conditions of Node `name`, as they stand.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    #[must_use]
    pub fn conditions(&self, name: &str) -> Vec<Value> {
        self.store.lock().unwrap().nodes.get(name).map(|node| node.conditions.view()).unwrap_or_default()
    }

    /// All Events.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        self.store.lock().unwrap().events.values().cloned().collect()
    }
}
