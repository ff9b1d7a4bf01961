//! The store at both ends of the agent's life.

use std::time::Duration;

use tokio::{sync::oneshot, time::timeout};

use super::Fatal;
use crate::{
    config::Config,
    monitors::ledger_sender::{LedgerSender, Report},
    runtime::activation::Activated,
    store::{Store, StoreOptions},
};

/// How long the start waits for what an earlier run has saved: a disk that takes longer is failing.
pub(super) const LOAD_WITHIN: Duration = Duration::from_secs(2);

/// What is open before the agent starts.
pub struct Opened {
    /// What systemd has opened for us.
    pub activated: Activated,
    /// A thread of its own opens the file.
    pub store: Store,
}

/// The store, if there is a directory for it. Only a thread that cannot be started is an error.
pub fn open(config: &Config) -> Result<Store, Fatal> {
    let Some(directory) = config.state_dir.clone() else {
        tracing::info!("no state directory: what is known now is forgotten at the end; name one with --state-dir");
        return Ok(Store::nowhere());
    };
    Ok(Store::open(StoreOptions { directory })?)
}

/// The ledger receives what the sources reported last, and all of it is written to the disk.
pub(super) async fn save_everything(ledger_sender: Option<LedgerSender>, store: &Store, grace: Duration) {
    if let Some(ledger_sender) = ledger_sender {
        let (done, drained) = oneshot::channel();
        ledger_sender.send(Report::Drained(done)).await;
        let _ = timeout(grace, drained).await;
    }
    if !store.close(grace).await {
        tracing::warn!("the last state was not saved in time");
    }
}
