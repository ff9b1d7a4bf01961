//! The signal to stop.

use std::{future::Future, io};

use tokio::signal::unix::{SignalKind, signal};

/// Returns at SIGTERM or SIGINT, heard from now on.
pub(super) fn signals() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
