//! `nodewell status`: the account of this node, once or until interrupted.

mod outage;
mod watch;

use std::{
    io::{self, Write},
    process::ExitCode,
    time::Duration,
};

use clap::Args;
use jiff::Timestamp;
use nodewell_client::{Client, ClientError};
use nodewell_model::view::NodeView;
use tokio::time::sleep;

use self::outage::Outage;
use super::{
    error::{CommandError, found},
    health::{Account, NodeHealth},
    out::Out,
    output::Output,
    render::{Extent, Look, status_table},
};

/// Ages grow by the second; asking costs the agent well under a millisecond.
const WATCH_EVERY: Duration = Duration::from_secs(1);

/// What is wrong with this node: its conditions, their problems, and which monitors are blind.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell status
  nodewell status --all
  nodewell status --watch
  nodewell status --problems -o yaml
  nodewell status --exit-code >/dev/null || echo 'node-1 needs a look'
  nodewell status --json | jq -r '.conditions[] | select(.status == \"True\") | .type'

True means that the problem is there. Unknown means that no monitor for it can see.
What is well is one line; --all and -o wide list it, and show hashes of configuration
and rules: on nodes with one version of nodewell, equal ones are the same. With
--watch -o json each change is one object a line; where no agent answers any more,
and where one answers again, is a line on stderr each. With --problems -o json
`healthy` counts what is left out.

Exit codes: 0 shown, whatever the conditions are; with --exit-code 0 only if all of
them are False, 1 if one is True, else 2 if one is Unknown; 69 no agent answers.")]
pub(super) struct Status {
    #[command(flatten)]
    output: Output,
    /// What is well, too, each on its line.
    #[arg(long, short, conflicts_with = "problems")]
    all: bool,
    /// Only what is wrong or unknown, in every form of --output.
    #[arg(long)]
    problems: bool,
    /// Go on until interrupted: on a terminal as a screen with the newest events, else on each change.
    #[arg(long, short)]
    watch: bool,
    /// Exit with 1 on a problem, with 2 if something is unknown.
    #[arg(long, conflicts_with = "watch")]
    exit_code: bool,
}

impl Status {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<ExitCode, CommandError> {
        if self.watch {
            let is_screen = self.output.document().is_none() && watch::is_usable();
            return if is_screen { watch::run(&self, client).await } else { self.follow(client, out).await };
        }
        let view: NodeView = client.get("/v1/status").await?;
        let code = if self.exit_code { NodeHealth::of(&view).exit_code() } else { ExitCode::SUCCESS };
        let account = self.wanted(view);
        let written = match self.output.document() {
            Some(form) => out.document(form, &account),
            None => out.text(&status_table(&account, self.extent(), Look::of_stdout())).map_err(CommandError::from),
        };
        found(code, written)
    }

    fn wanted(&self, view: NodeView) -> Account {
        if self.problems { Account::without_healthy(view) } else { Account::whole(view) }
    }

    fn extent(&self) -> Extent {
        match (self.output.is_wide(), self.all) {
            (true, _) => Extent::Wide,
            (false, true) => Extent::All,
            (false, false) => Extent::Folded,
        }
    }

    /// What is shown where all is listed.
    fn listed(&self) -> Extent {
        if self.output.is_wide() { Extent::Wide } else { Extent::All }
    }

    /// For programs and files: the whole account on each change. An agent that goes away later is waited for, and that
    /// is reported where it disturbs no reader.
    async fn follow(self, client: &Client, out: &mut Out) -> Result<ExitCode, CommandError> {
        let mut shown: Option<Account> = None;
        let mut outage = Outage::default();
        let mut asked: Result<NodeView, ClientError> = Ok(client.get("/v1/status").await?);
        loop {
            let news = match asked.map(|view| self.wanted(view)) {
                Ok(account) => {
                    if shown.as_ref() != Some(&account) {
                        self.write(&account, out)?;
                        shown = Some(account);
                    }
                    outage.over(Timestamp::now())
                }
                Err(error) if error.is_temporary() => outage.goes_on(&error.to_string(), Timestamp::now()),
                Err(error) => return Err(error.into()),
            };
            // With stderr gone as well, there is nowhere left to write to.
            news.iter().for_each(|line| drop(writeln!(io::stderr(), "nodewell: {line}")));
            sleep(WATCH_EVERY).await;
            asked = client.get("/v1/status").await;
        }
    }

    fn write(&self, account: &Account, out: &mut Out) -> Result<(), CommandError> {
        if let Some(form) = self.output.document() {
            out.row(form, account)?;
        } else {
            out.text(&status_table(account, self.extent(), Look::PLAIN))?;
            out.line("")?;
        }
        Ok(out.flush()?)
    }
}
