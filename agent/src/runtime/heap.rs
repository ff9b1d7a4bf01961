//! Memory that a start or a reload needs for a moment.

use std::time::Duration;

use nodewell_rules::shipped;
use nodewell_sys::memory::{drop_texts, trim_heap};
use tokio::{sync::watch, time::sleep};

/// By then the first reports are out, and what made them is freed.
const SETTLING: Duration = Duration::from_secs(10);

/// Gives it back once each is over.
pub async fn trim(mut reloads: watch::Receiver<()>) {
    loop {
        sleep(SETTLING).await;
        if let Err(error) = trim_heap() {
            tracing::warn!(%error, "the heap was not trimmed, or is not locked: a dead swap disk could stall the agent");
        }
        // A reload has compared the built-in rules with the installed ones.
        if let Err(error) = drop_texts(shipped::texts()) {
            tracing::debug!(%error, "the text of the built-in rules stays in memory");
        }
        if reloads.changed().await.is_err() {
            return;
        }
    }
}
