//! The attacher of the tests' CSI driver: it looks at VolumeAttachments, has its storage attach and detach, and writes
//! what became of it, as external-attacher does.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use jiff::Timestamp;
pub use nodewell_csi::storage::{Act, Change};
use nodewell_csi::storage::{Patch, Storage};
use nodewell_tests::cluster::{Call, Client};
use serde_json::Value;

const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// It ends when dropped; what is attached then stays so.
#[derive(Debug)]
pub struct Attacher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    storage: Mutex<Storage>,
    is_over: AtomicBool,
}

impl Attacher {
    pub(crate) fn start(client: Client) -> Self {
        let shared = Shared { client, storage: Mutex::default(), is_over: AtomicBool::new(false) };
        let shared = Arc::new(shared);
        let works = Arc::clone(&shared);
        Self { shared, thread: Some(thread::spawn(move || works.run())) }
    }

    /// From now on nothing is detached from `node`.
    pub fn hang(&self, node: &str) {
        self.shared.storage().hang(node);
    }

    /// What was to be detached meanwhile is.
    pub fn recover(&self) {
        self.shared.storage().recover();
    }

    /// What was done with a volume, oldest first.
    #[must_use]
    pub fn history(&self, volume: &str) -> Vec<Change> {
        self.shared.storage().history().iter().filter(|change| change.volume == volume).cloned().collect()
    }
}

impl Drop for Attacher {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            eprintln!("attacher: VolumeAttachments were not answered any more");
        }
    }
}

impl Shared {
    fn run(&self) {
        while !self.is_over.load(Ordering::Relaxed) {
            let (code, list) = self.client.call(&Call::get(ATTACHMENTS));
            let all = list["items"].as_array().filter(|_| code == 200);
            all.into_iter().flatten().for_each(|attachment| self.answer(attachment));
            thread::sleep(LOOK_EVERY);
        }
    }

    fn answer(&self, attachment: &Value) {
        let (Some(name), Some(patch)) =
            (attachment["metadata"]["name"].as_str(), self.storage().answer(attachment, Timestamp::now()))
        else {
            return;
        };
        let (code, answer) = self.client.call(&match patch {
            Patch::Object(patch) => Call::merge(&format!("{ATTACHMENTS}/{name}"), &patch),
            Patch::Status(patch) => Call::merge(&format!("{ATTACHMENTS}/{name}/status"), &patch),
        });
        // It is gone, or was written meanwhile, and is looked at again.
        if ![200, 404, 409].contains(&code) {
            eprintln!("attacher: {name}: {code}: {answer}");
        }
    }

    fn storage(&self) -> MutexGuard<'_, Storage> {
        self.storage.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
