//! `nodewell-checks repair`: restarts units of a fixed list while they are reported as broken, and not too often. A service
//! of its own, off unless the configuration turns it on: the agent itself has no right to do this.
//!
//! It reads the agent's problems, decides ([`nodewell_checks::repair`]), saves what it is going to do, collects what
//! helps a person, acts through systemd, and reports all of it as Events. One repair at a time.

mod evidence;
mod executor;
mod flags;
mod history;
mod recorder;
mod watch;

use std::{io, path::PathBuf, time::Duration};

use nodewell_checks::{
    repair::{RepairSettings, decide_all},
    systemd::Manager,
};
use nodewell_client::{Client, ClientError};
use nodewell_model::api::ConditionProblem;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};

use crate::runtime::notify;

pub use flags::RepairFlags;

use executor::RepairExecutor;
use history::HistoryFile;
use watch::Watch;

/// How often it looks.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// What it is to do.
#[derive(Debug)]
pub struct Setup {
    pub settings: RepairSettings,
    pub client: Client,
    pub manager: Manager,
    /// Its history and what it collects; `None`: nothing is repaired.
    pub state_dir: Option<PathBuf>,
    pub journal: Option<PathBuf>,
}

/// Why it cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum RepairError {
    #[error("signals cannot be listened to: {0}")]
    Signals(io::Error),
    #[error("{path}: {error}; repairs are counted there, so nothing is repaired without it")]
    State { path: PathBuf, error: io::Error },
    #[error("nowhere to count repairs: name one with --state-dir, or run it as nodewell-repair.service")]
    NoState,
    #[error("another nodewell-checks repair works with {0}")]
    Taken(PathBuf),
    #[error("the agent cannot be asked: {0}")]
    Agent(ClientError),
}

/// Looks and repairs until SIGTERM or SIGINT. A repair under way is finished by systemd without us.
pub async fn run(setup: Setup) -> Result<(), RepairError> {
    let mut terminate = signal(SignalKind::terminate()).map_err(RepairError::Signals)?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(RepairError::Signals)?;
    if !setup.settings.enabled {
        tracing::info!("repairs are off: [repair] enabled = true turns them on");
        notify::ready();
        notify::notify(&[notify::NotifyState::Status("off: [repair] enabled = true turns it on")]);
        tokio::select! {
            () = notify::feed_watchdog() => {}
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        return Ok(());
    }
    let file = HistoryFile::open(setup.state_dir.as_deref().ok_or(RepairError::NoState)?)?;
    let mut rounds = Rounds { watch: Watch::default(), executor: RepairExecutor::new(&setup, file), setup };
    notify::ready();
    tokio::select! {
        () = rounds.run() => {}
        () = notify::feed_watchdog() => {}
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    notify::stopping();
    rounds.executor.finish().await;
    Ok(())
}

/// What would be done now, a line for each unit; nothing is done.
pub async fn plan(setup: &Setup) -> Result<Vec<String>, RepairError> {
    let history = setup.state_dir.as_deref().map(history::read).transpose()?.unwrap_or_default();
    let problems = problems(&setup.client).await.map_err(RepairError::Agent)?;
    let now = watch::now();
    let seen = Watch::by_their_age(&now).look(&setup.settings, &setup.manager, &problems, &now).await;
    let decisions = decide_all(&setup.settings, &seen, &history, &now);
    Ok(setup.settings.units.iter().zip(&decisions).map(|(unit, decision)| recorder::line(unit, decision)).collect())
}

async fn problems(client: &Client) -> Result<Vec<ConditionProblem>, ClientError> {
    client.get("/v1/problems").await
}

/// Look after look.
struct Rounds {
    setup: Setup,
    watch: Watch,
    executor: RepairExecutor,
}

impl Rounds {
    async fn run(&mut self) {
        loop {
            match problems(&self.setup.client).await {
                Ok(problems) => self.round(&problems).await,
                Err(error) => self.blind(&error),
            }
            sleep(LOOK_EVERY).await;
        }
    }

    async fn round(&mut self, problems: &[ConditionProblem]) {
        let now = watch::now();
        let settings = &self.setup.settings;
        let seen = self.watch.look(settings, &self.setup.manager, problems, &now).await;
        let decisions = decide_all(settings, &seen, self.executor.history(), &now);
        for ((unit, decision), seen) in settings.units.iter().zip(decisions).zip(&seen) {
            self.executor.execute(&self.setup, unit, decision, seen.problem.as_ref()).await;
        }
        self.executor.round_is_over();
    }

    /// Without the agent it is not known what is wrong: what was seen so far has to be seen again.
    fn blind(&mut self, error: &ClientError) {
        self.watch = Watch::default();
        self.executor.blind(error);
    }
}
