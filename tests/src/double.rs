//! The API double: the part of a kube-apiserver that a node agent uses, over plain HTTP on loopback, with faults on
//! demand. It answers as the real one (1.36) does and does no more: the same cases run on both.

mod arrivals;
mod conditions;
mod faults;
mod in_process;
mod leases;
mod request;
mod routes;
mod serve;
mod status;
mod store;

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{Arc, Mutex},
};

use jiff::Timestamp;
use nodewell_kit::free_port;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

pub use faults::{Fault, LoggedRequest};
pub use in_process::{Answer, InProcess};

use crate::{cluster::Identity, runtime::block_on};
use serve::Shared;
use store::Store;

/// A running double. It ends when dropped.
#[derive(Debug)]
pub struct Double {
    address: SocketAddr,
    shared: Arc<Shared>,
    serving: Mutex<Option<JoinHandle<()>>>,
    backup: Mutex<Store>,
}

impl Double {
    /// Serves on a free port of loopback.
    ///
    /// # Panics
    /// If loopback has none.
    #[must_use]
    pub fn start() -> Self {
        let shared = Arc::<Shared>::default();
        let listener = serve::listen((Ipv4Addr::LOCALHOST, free_port()).into());
        let address = listener.local_addr().unwrap();
        let serving = Mutex::new(Some(serve::spawn(listener, Arc::clone(&shared))));
        Self { address, shared, serving, backup: Mutex::default() }
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// As a killed server: nothing listens, open connections break.
    pub fn stop(&self) {
        if let Some(serving) = self.serving.lock().unwrap().take() {
            serving.abort();
            // It was ordered to end: how it ended has no meaning.
            let _ = block_on(serving);
        }
    }

    /// Serves again, on the same port, what it had.
    pub fn start_again(&self) {
        let listener = serve::listen(self.address);
        *self.serving.lock().unwrap() = Some(serve::spawn(listener, Arc::clone(&self.shared)));
    }

    /// Saves what it has now for [`Double::restore`].
    ///
    /// # Panics
    /// Never in a test that has not failed.
    pub fn back_up(&self) {
        *self.backup.lock().unwrap() = self.shared.store.lock().unwrap().clone();
    }

    /// Has what it had at the backup, versions too.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    pub fn restore(&self) {
        *self.shared.store.lock().unwrap() = self.backup.lock().unwrap().clone();
    }

    /// The next `times` requests of any client but the administrator go wrong.
    pub fn fail_next(&self, times: usize, fault: Fault) {
        self.shared.faults.lock().unwrap().script(times, fault);
    }

    /// Every request of any client but the administrator goes wrong, until [`Double::heal`].
    pub fn fail_all(&self, fault: Fault) {
        self.fail_next(usize::MAX, fault);
    }

    /// From now on an admission policy refuses every Node with this condition.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    pub fn refuse_condition(&self, condition: &str) {
        self.shared.store.lock().unwrap().refused_condition = Some(condition.to_owned());
    }

    /// No more faults.
    pub fn heal(&self) {
        self.shared.faults.lock().unwrap().clear();
    }

    /// What was asked for by any client but the administrator, oldest first.
    #[must_use]
    pub fn requests(&self) -> Vec<LoggedRequest> {
        self.shared.log.lock().unwrap().clone()
    }

    /// When it took the Event of this name.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    #[must_use]
    pub fn event_arrived(&self, name: &str) -> Option<Timestamp> {
        self.shared.store.lock().unwrap().arrivals.event(name)
    }

    /// When it took the change by which the Node's condition last turned to `status`.
    ///
    /// # Panics
    /// Never in a test that has not failed.
    #[must_use]
    pub fn condition_turned(&self, node: &str, condition: &str, status: &str) -> Option<Timestamp> {
        self.shared.store.lock().unwrap().arrivals.turn(node, condition, status)
    }

    /// A kubeconfig for `identity`; JSON is YAML.
    #[must_use]
    pub fn kubeconfig(&self, identity: &Identity) -> Value {
        let token = match identity {
            Identity::Admin => "admin".to_owned(),
            Identity::Node(name) => format!("node:{name}"),
            Identity::Agent(name) => format!("node:{name}"),
            // It knows no roles of theirs: see the real server.
            Identity::Controller | Identity::Approver | Identity::ControllerManager | Identity::Person(_) => {
                "unknown".to_owned()
            }
            Identity::Bearer(token) => token.clone(),
            Identity::Stranger => "stranger".to_owned(),
            Identity::Unknown => "unknown".to_owned(),
        };
        crate::cluster::kubeconfig(json!({ "server": format!("http://{}", self.address) }), json!({ "token": token }))
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        self.stop();
    }
}
