//! Monitors in a process of their own, with privileges of their own: `nodewelld monitor NAME`. To the agent they are
//! problem daemons like anybody's: they read its socket and report over it.

mod children;
mod crew;
mod filesystem;
mod flags;
mod link;
mod place;
mod protocol;
mod service;
mod task;
mod words;
pub mod worker;

use std::{future, io, path::PathBuf};

use nix::sys::signal::Signal;
use nodewell_client::Client;
use nodewell_hardware::Settings;
use tokio::signal::unix::{SignalKind, signal};

pub use children::Children;
pub use crew::{Pause, PauseError, PauseFile};
pub use flags::{Group, MonitorFlags, TrialFlags, WorkerFlags};

pub(crate) use crew::GPU_DRIVERS;
pub(crate) use place::Place;
pub(crate) use task::Stat;

use crate::{detectors::proof::HostRoots, runtime::notify};

use crew::{Crew, CrewPlan};
use filesystem::FilesystemCheck;
use link::Link;
use protocol::Brief;
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

/// What a satellite is to do.
#[derive(Debug)]
pub struct Errand {
    pub group: Group,
    pub client: Client,
    /// The config's parts on hardware.
    pub settings: Settings,
    pub state_dir: Option<PathBuf>,
    pub trial: TrialFlags,
}

/// Runs one group of monitors until SIGTERM or SIGINT. Fails only where signals cannot be listened to.
pub async fn run(errand: Errand) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let group = errand.group;
    let words = Words::new(if group == Group::Check { FilesystemCheck::IDLE } else { "" });
    let link = Link::new(errand.client.clone(), group.as_str(), words.clone());
    let crew = Crew::new(errand.plan(), &link, words.clone());
    // It works as soon as it waits: the agent may come later than we do.
    notify::ready();
    tokio::select! {
        () = check(group, &link, words.clone()) => {}
        () = crew.run() => {}
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

/// What the service manager has made for a satellite (`StateDirectory=`).
#[must_use]
pub fn default_state_dir() -> Option<PathBuf> {
    std::env::var_os("STATE_DIRECTORY").map(PathBuf::from).filter(|made| made.is_absolute())
}

async fn check(group: Group, link: &Link, words: Words) {
    match group {
        Group::Check => FilesystemCheck::new(HostRoots::default(), words).run(link).await,
        Group::Disk | Group::Gpu => future::pending().await,
    }
}

impl Errand {
    fn plan(self) -> CrewPlan {
        let Self { group, client, settings, state_dir, trial } = self;
        CrewPlan {
            group,
            brief: Brief { roots: trial.roots(), settings },
            state_dir,
            socket: client.path().to_owned(),
            interval: trial.interval,
            deadline: trial.deadline,
        }
    }
}
