//! `nodewell doctor`: what this machine lets the agent see and do, and the advice for what it does not.

mod agent;
mod check;
mod check_processes;
mod cluster;
mod host;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use nodewell_client::Client;
use nodewell_model::Name;
use nodewell_rules::shipped;

use super::{
    error::{CommandError, found},
    out::Out,
    output::Output,
    render::Look,
};
use crate::{
    config::{Config, Flags, node_name},
    daemon::load_rules,
    identity::{NOTES, Way},
};
use check::{Check, CheckVerdict, shown, summary};
use cluster::Cluster;
use host::Host;

/// What this machine lets the agent see and do, each with advice.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell doctor
  sudo nodewell doctor --kubeconfig /etc/kubernetes/kubelet.conf --node-name $(hostname)
  nodewell doctor --json | jq '.[] | select(.verdict != \"ok\")'

Run it as the user the agent runs as: what is asked is what that user may do.
As JSON and YAML: an array of {name, verdict, detail, advice}.

Exit codes: 0 nothing failed (warnings are no failure); 1 a check failed.")]
pub(super) struct Doctor {
    #[command(flatten)]
    output: Output,
    /// The agent's config file [default: /etc/nodewell/nodewell.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The way to the API server [default: the config's].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// This node's name in the cluster [default: the config's, else the host name in lower case].
    #[arg(long, value_name = "NAME", value_parser = node_name::parse)]
    node_name: Option<String>,
    /// Another Node of the cluster, to see that it is out of reach (a dry run).
    #[arg(long, value_name = "NAME")]
    other_node: Option<String>,
}

impl Doctor {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<ExitCode, CommandError> {
        let (output, other_node) = (self.output, self.other_node);
        let flags =
            Flags { config: self.config, kubeconfig: self.kubeconfig, node_name: self.node_name, ..Flags::default() };
        let checks = examine(&flags, other_node, client).await;
        let failed = checks.iter().any(|check| check.verdict == CheckVerdict::Fail);
        let written = match output.document() {
            Some(form) => out.document(form, &checks),
            None => print(&checks, out),
        };
        found(ExitCode::from(u8::from(failed)), written)
    }
}

fn print(checks: &[Check], out: &mut Out) -> Result<(), CommandError> {
    let look = Look::of_stdout();
    checks.iter().try_for_each(|check| out.text(&shown(check, look)))?;
    Ok(out.line(&summary(checks))?)
}

/// Looks at what the agent would see if it were started with these flags.
async fn examine(flags: &Flags, other_node: Option<String>, client: &Client) -> Vec<Check> {
    let mut checks = Vec::new();
    let config = Config::load(flags).unwrap_or_else(|diagnostics| {
        let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
        checks.push(Check::fail("config", messages.join("; "), "mend it, and look again with `nodewell check`"));
        // The rest is examined as if there were no config file.
        Config::of_flags(flags)
    });
    checks.extend(Host { kmsg: config.kmsg.path.clone(), ..Host::this() }.examine());
    checks.extend(agent::examine(client, &config).await);
    checks.extend(left_by_root(&config.identity.folder));
    match Way::of(&config).now() {
        Some(kubeconfig) => {
            let conditions = conditions_of(&config);
            let cluster = Cluster { kubeconfig, node: config.node_name, other_node, conditions };
            checks.extend(cluster.examine().await);
        }
        None => checks.push(Check::ok("API server", "not asked: no kubeconfig can be read; try one with --kubeconfig")),
    }
    checks
}

/// The types that the agent writes with these rules; with rules that cannot be used, those that it has without any.
fn conditions_of(config: &Config) -> BTreeSet<Name> {
    let catalogue = load_rules(config).map_or_else(|_| shipped::own_conditions(), |rules| rules.conditions);
    catalogue.into_iter().map(|spec| spec.condition).collect()
}

/// What nodewell-identity.service could not do, as its last run logged it.
fn left_by_root(folder: &Path) -> Vec<Check> {
    let notes = fs::read_to_string(folder.join(NOTES)).unwrap_or_default();
    let advice = "see: journalctl -u nodewell-identity";
    notes.lines().map(|line| Check::warn("nodewell-identity", line, advice)).collect()
}
