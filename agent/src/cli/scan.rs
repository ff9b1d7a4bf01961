//! `nodewell scan`: one look at this machine where no agent runs, by one that ends with the look.

mod agent;
mod expected;

use std::{
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use nodewell_client::{Client, ClientError};
use nodewell_model::{
    ConditionStatus, Name,
    view::{ConditionView, DaemonState, NodeView},
};
use nodewell_settings::duration;
use tokio::{
    select,
    time::{Instant, sleep},
};

use self::{
    agent::ScanAgent,
    expected::{Expected, Missing, mark, warnings},
};
use super::{
    error::{CommandError, SOFTWARE, found},
    health::{Account, NodeHealth},
    out::Out,
    output::Output,
    render::{Extent, Look, status_table},
    signals::Signals,
};

/// What one look cannot know.
const BESIDE: &str = "an agent runs here; what it has found over time, and what daemons have reported to it, is in \
                      `nodewell status`";
/// Of an agent that hangs no answer is waited for.
const BESIDE_ANSWERS: Duration = Duration::from_secs(1);
const LOOKS_APART: Duration = Duration::from_millis(200);

/// Look at this machine once without an agent that runs all the time, and show what `nodewell status` would.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell scan
  sudo nodewell scan -o json | jq '.conditions[] | select(.status != \"False\")'
  sudo nodewell scan --exit-code --settle 20s

It starts a nodewelld with a socket and a state of its own, waits until every monitor,
check and plug-in has looked at all that it watches and nothing has changed for a while,
and stops it. Nothing is reported to any API server, and an agent that runs here is not
disturbed. Devices that `nodewell release` has released stay released. What takes time to
be seen is not found: a rate, a limit that is passed for minutes, three failures in a row.
The kernel log is read from the boot on. Plug-ins are run, as the agent does.

Exit codes: 0 looked, whatever was found; with --exit-code as in `nodewell status`, and 2
also if something has not looked at all that it watches; 70 nodewelld could not be
started; 129 to 143 ended by a signal.")]
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
    /// The look ends after this; what has not looked by then is named on stderr, and is unknown.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration::parse)]
    timeout: Duration,
    /// The config file, as nodewelld takes it [default: /etc/nodewell/nodewell.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
}

impl Scan {
    /// `client` is of the agent that runs all the time: beside its socket devices are released.
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<ExitCode, CommandError> {
        // From before there is something to stop.
        let mut signals = Signals::new()?;
        let expected = Expected::new(self.config.as_deref(), client.path());
        let running = Client::new(client.path()).with_timeout(BESIDE_ANSWERS);
        let is_beside = running.get::<serde::de::IgnoredAny>("/v1/version").await.is_ok();
        let mut agent = ScanAgent::start(self.config.as_deref(), client.path())?;
        let looked = select! {
            looked = self.look(&mut agent, &expected) => looked.map(Ok),
            code = signals.recv() => Ok(Err(code)),
        };
        agent.stop().await;
        match looked? {
            Ok(view) => {
                if is_beside {
                    drop(writeln!(io::stderr(), "nodewell: {BESIDE}"));
                }
                self.show(view, &expected, out)
            }
            Err(code) => Ok(ExitCode::from(code)),
        }
    }

    fn show(&self, mut view: NodeView, expected: &Expected, out: &mut Out) -> Result<ExitCode, CommandError> {
        let missing = expected.missing(&view);
        let code = if self.exit_code { health(&view, &missing).exit_code() } else { ExitCode::SUCCESS };
        mark(&mut view, &missing);
        // With stderr gone as well, there is nowhere left to write to.
        warnings(&missing).iter().for_each(|line| drop(writeln!(io::stderr(), "nodewell: {line}")));
        let written = self.write(&Account::whole(view), out);
        found(code, written)
    }

    fn write(&self, account: &Account, out: &mut Out) -> Result<(), CommandError> {
        let extent = match (self.output.is_wide(), self.all) {
            (true, _) => Extent::Wide,
            (false, true) => Extent::All,
            (false, false) => Extent::Folded,
        };
        match self.output.document() {
            Some(form) => out.document(form, account),
            None => Ok(out.text(&status_table(account, extent, Look::of_stdout()))?),
        }
    }

    /// The account once it has settled, or what there is at the end of the time.
    async fn look(&self, agent: &mut ScanAgent, expected: &Expected) -> Result<NodeView, CommandError> {
        let client = Client::new(agent.socket());
        let deadline = Instant::now() + self.timeout;
        let mut last: Option<NodeView> = None;
        let mut since = Instant::now();
        loop {
            match client.get::<NodeView>("/v1/status").await {
                Ok(view) => {
                    if !last.as_ref().is_some_and(|last| is_same(last, &view)) || expected.is_awaited(&view) {
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

    /// It has not bound its socket yet, or never will.
    fn absent(&self, agent: &mut ScanAgent, error: ClientError) -> Result<(), CommandError> {
        if let Some(end) = agent.ended() {
            return Err(CommandError::new(SOFTWARE, format!("nodewelld ended: {end}")));
        }
        if error.is_temporary() { Ok(()) } else { Err(error.into()) }
    }
}

/// What was not looked at is not known to be well.
fn health(view: &NodeView, missing: &[Missing]) -> NodeHealth {
    match NodeHealth::of(view) {
        NodeHealth::Healthy if !missing.is_empty() => NodeHealth::Unknown,
        health => health,
    }
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
