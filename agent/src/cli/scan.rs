//! `nodewell scan`: one look at this machine where no agent runs, by one that ends with the look.

mod agent;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use clap::Args;
use nodewell_client::{Client, ClientError};
use nodewell_model::{
    ConditionStatus, Name,
    view::{ConditionView, DaemonState, DaemonView, NodeView},
};
use nodewell_rules::duration;
use tokio::{
    select,
    signal::{
        ctrl_c,
        unix::{SignalKind, signal},
    },
    time::{Instant, sleep},
};

use self::agent::ScanAgent;
use super::{
    error::{CommandError, SOFTWARE},
    health::{Account, NodeHealth},
    out::Out,
    output::Output,
    render::{Extent, Look, status_table},
};
use crate::{
    check_process::Group,
    config::{CheckProcesses, Config, Flags},
};

const LOOKS_APART: Duration = Duration::from_millis(200);
/// Each is a daemon, by its own name.
const GROUPS: [Group; 3] = [Group::Check, Group::Disk, Group::Gpu];

/// Look at this machine once without an agent that runs all the time, and show what `nodewell status` would.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell scan
  sudo nodewell scan -o json | jq '.conditions[] | select(.status != \"False\")'
  sudo nodewell scan --exit-code --settle 20s

It starts a nodewelld with a socket and a state of its own, waits until every monitor
has looked and nothing has changed for a while, and stops it. Nothing is reported to
any API server, and an agent that runs here is not disturbed. What takes time to be
seen is not found: a rate, a limit that is passed for minutes, three failures in a row.
The kernel log is read from the boot on. Plug-ins are run, as the agent does.

Exit codes: 0 looked, whatever was found; with --exit-code as in `nodewell status`;
70 nodewelld could not be started.")]
pub(super) struct Scan {
    #[command(flatten)]
    output: Output,
    /// What is well, too, each on its line.
    #[arg(long, short)]
    all: bool,
    /// Exit with 1 on a problem, with 2 if something is unknown.
    #[arg(long)]
    exit_code: bool,
    /// For how long nothing may change before the look ends.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = duration::parse)]
    settle: Duration,
    /// The look ends after this; what has not been seen by then is unknown.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    timeout: Duration,
    /// The config file, as nodewelld takes it [default: /etc/nodewell/nodewell.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Scan {
    pub(super) async fn run(self, out: &mut Out) -> Result<ExitCode, CommandError> {
        let mut agent = ScanAgent::start(self.config.as_deref())?;
        let mut terminate = signal(SignalKind::terminate()).map_err(CommandError::runtime)?;
        let looked = select! {
            looked = self.look(&mut agent) => looked.map(Some),
            _ = ctrl_c() => Ok(None),
            _ = terminate.recv() => Ok(None),
        };
        agent.stop().await;
        match looked? {
            Some(view) => self.show(&view, out),
            // Interrupted.
            None => Ok(ExitCode::from(130)),
        }
    }

    fn show(&self, view: &NodeView, out: &mut Out) -> Result<ExitCode, CommandError> {
        let extent = match (self.output.is_wide(), self.all) {
            (true, _) => Extent::Wide,
            (false, true) => Extent::All,
            (false, false) => Extent::Folded,
        };
        match self.output.document() {
            Some(form) => out.document(form, view)?,
            None => out.text(&status_table(&Account::whole(view.clone()), extent, Look::of_stdout()))?,
        }
        Ok(if self.exit_code { NodeHealth::of(view).exit_code() } else { ExitCode::SUCCESS })
    }

    /// The account once it has settled, or what there is at the end of the time.
    async fn look(&self, agent: &mut ScanAgent) -> Result<NodeView, CommandError> {
        let client = Client::new(agent.socket());
        let expected = self.expected();
        let deadline = Instant::now() + self.timeout;
        let mut last: Option<NodeView> = None;
        let mut since = Instant::now();
        loop {
            match client.get::<NodeView>("/v1/status").await {
                Ok(view) => {
                    if !last.as_ref().is_some_and(|last| is_same(last, &view)) || is_starting(&view, &expected) {
                        since = Instant::now();
                    }
                    last = Some(view);
                }
                Err(error) => self.absent(agent, error)?,
            }
            let is_over = Instant::now() >= deadline;
            if let Some(view) = last.take_if(|_| is_over || since.elapsed() >= self.settle) {
                return Ok(view);
            }
            if is_over {
                return Err(CommandError::new(SOFTWARE, "nodewelld did not answer in time; see --timeout"));
            }
            sleep(LOOKS_APART).await;
        }
    }

    /// The check processes that it starts, which report over its socket. With a config that has errors it ends by itself.
    fn expected(&self) -> Vec<&'static str> {
        let flags = Flags { config: self.config.clone(), ..Flags::default() };
        match Config::load(&flags).map(|config| config.check_processes) {
            Ok(CheckProcesses::None) | Err(_) => Vec::new(),
            Ok(CheckProcesses::Auto | CheckProcesses::Spawn) => GROUPS.map(Group::as_str).to_vec(),
        }
    }

    /// It has not bound its socket yet, or never will.
    fn absent(&self, agent: &mut ScanAgent, error: ClientError) -> Result<(), CommandError> {
        if let Some(end) = agent.ended() {
            return Err(CommandError::new(SOFTWARE, format!("nodewelld ended: {end}")));
        }
        if error.is_temporary() { Ok(()) } else { Err(error.into()) }
    }
}

/// Whether a monitor has not looked yet: one that is known, or one of `expected`.
fn is_starting(view: &NodeView, expected: &[&str]) -> bool {
    let source = |daemon: &DaemonView| daemon.name.split('@').next().unwrap_or_default().to_owned();
    let known: Vec<String> = view.daemons.iter().filter(|daemon| daemon.is_external()).map(source).collect();
    view.conditions.is_empty()
        || expected.iter().any(|name| known.iter().all(|known| known != name))
        || view.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting)
        || view.conditions.iter().any(|condition| condition.reason.as_str() == "MonitorStarting")
}

/// Whether nothing was found in between. Records are counted all the time, and problems again and again.
fn is_same(one: &NodeView, other: &NodeView) -> bool {
    let daemons = |view: &NodeView| -> Vec<(String, DaemonState)> {
        view.daemons.iter().map(|daemon| (daemon.name.clone(), daemon.state)).collect()
    };
    let problems = |view: &NodeView| -> Vec<String> {
        view.conditions.iter().flat_map(|one| &one.problems).map(|problem| problem.id.clone()).collect()
    };
    let statuses = |view: &NodeView| -> Vec<(Name, ConditionStatus, Name)> {
        let of = |one: &ConditionView| (one.condition.clone(), one.status, one.reason.clone());
        view.conditions.iter().map(|one| of(one)).collect()
    };
    let is_found = problems(one) == problems(other) && statuses(one) == statuses(other);
    is_found && daemons(one) == daemons(other) && one.hardware == other.hardware
}

#[cfg(test)]
mod tests;
