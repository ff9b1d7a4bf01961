//! What the API server reports of some objects while a case runs, in its order: each change with its resourceVersion, which
//! is of one counter for all kinds, and the moment at which it came.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use jiff::Timestamp;
use serde_json::Value;
use tokio::{task::JoinHandle, time::sleep};

use crate::{
    cluster::{Call, Client, Cluster, Identity},
    runtime::runtime,
};

/// Between the end of a watch and the next.
const BETWEEN: Duration = Duration::from_millis(20);

/// A change of an object, which is as it was after it, or at its end.
#[derive(Debug, Clone)]
pub struct Change {
    pub at: Timestamp,
    pub version: u64,
    pub is_gone: bool,
    pub object: Value,
}

impl Change {
    fn of(event: &Value) -> Option<Self> {
        let is_gone = match event["type"].as_str()? {
            "ADDED" | "MODIFIED" => false,
            "DELETED" => true,
            other => panic!("the watch ended with {other}: {}", event["object"]),
        };
        let object = event["object"].clone();
        let version = object["metadata"]["resourceVersion"].as_str()?.parse().ok()?;
        Some(Self { at: Timestamp::now(), version, is_gone, object })
    }
}

/// All changes of one object since a watch began. It ends with this.
#[derive(Debug)]
pub struct Watch {
    changes: Arc<Mutex<Vec<Change>>>,
    task: JoinHandle<()>,
}

impl Watch {
    /// Of the object called `name` in the collection at `path`; it may come later.
    #[must_use]
    pub fn start(cluster: &Cluster, path: &str, name: &str) -> Self {
        let (client, path) = (cluster.client(&Identity::Admin), format!("{path}?fieldSelector=metadata.name%3D{name}"));
        let changes = Arc::new(Mutex::new(Vec::new()));
        let task = runtime().spawn(follow(client, path, Arc::clone(&changes)));
        Self { changes, task }
    }

    /// The first that is what `is_it` asks for.
    ///
    /// # Panics
    /// If the server's watch broke: it reported an error, or what is no object.
    #[must_use]
    pub fn first(&self, is_it: impl Fn(&Change) -> bool) -> Option<Change> {
        assert!(!self.task.is_finished(), "the watch broke");
        self.changes.lock().unwrap().iter().find(|change| is_it(change)).cloned()
    }
}

/// The server ends a watch when it pleases, such as when a kind is served again; the next goes on where this one ended.
async fn follow(client: Client, path: String, changes: Arc<Mutex<Vec<Change>>>) {
    loop {
        let after = changes.lock().unwrap().last().map(|change| change.version);
        let after = after.map(|version| format!("&resourceVersion={version}")).unwrap_or_default();
        let call = Call::get(&format!("{path}&watch=1{after}"));
        client.follow(&call, |event| changes.lock().unwrap().extend(Change::of(&event))).await;
        sleep(BETWEEN).await;
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
