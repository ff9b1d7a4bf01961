//! Monitors in a process of their own, with privileges of their own: `nodewelld monitor NAME`. To the agent they are
//! problem daemons like anybody's: they read its socket and report over it.

mod children;
mod filesystem;
mod flags;
mod link;
mod service;
mod words;

use std::io;

use nix::sys::signal::Signal;
use nodewell_client::Client;
use tokio::signal::unix::{SignalKind, signal};

pub use children::Children;
pub use flags::{Group, MonitorFlags, NotYet};

use crate::{detectors::proof::HostRoots, runtime::notify};

use filesystem::FilesystemCheck;
use link::Link;
use words::Words;

/// Lets this process end with its parent, which started it. False if that is gone already.
#[must_use]
pub fn end_with(parent: i32) -> bool {
    // Started as /proc/self/exe, we would be called `exe`.
    let _ = nix::sys::prctl::set_name(c"nodewelld");
    // Only an invalid signal can be refused. It is sent when the thread that started us ends: the agent's main thread.
    let _ = nix::sys::prctl::set_pdeathsig(Signal::SIGKILL);
    nix::unistd::getppid().as_raw() == parent
}

/// Runs the checks of the host until SIGTERM or SIGINT. Fails only where signals cannot be listened to.
pub async fn run(client: Client) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let words = Words::new(FilesystemCheck::IDLE);
    let link = Link::new(client, Group::Check.as_str(), words.clone());
    let check = FilesystemCheck::new(HostRoots::default(), words.clone());
    // It works as soon as it waits: the agent may come later than we do.
    notify::ready();
    tokio::select! {
        () = check.run(&link) => {}
        () = link.follow() => {}
        () = service::run(words) => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    notify::stopping();
    tracing::info!("stopping");
    link.finish().await;
    Ok(())
}
