//! `nodewell doctor`: what this machine lets the agent see and do, and the remedy for what it does not.

mod agent;
mod check;
mod cluster;
mod host;

use std::{net::SocketAddr, path::PathBuf, process::ExitCode};

use clap::Args;
use nodewell_client::Client;

use super::{failure::Failure, out::Out, render::Look};
use check::{Check, Verdict, shown, summary};
use cluster::Cluster;
use host::Host;

/// What this machine lets the agent see and do, each with its remedy.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell doctor
  sudo nodewell doctor --kubeconfig /etc/kubernetes/kubelet.conf --node-name $(hostname)
  nodewell doctor --json | jq '.[] | select(.verdict != \"ok\")'

Run it as the user the agent runs as: what is asked is what that user may do.
Exit codes: 0 nothing failed (warnings are no failure); 1 a check failed.")]
pub(super) struct Doctor {
    /// As JSON: an array of {name, verdict, detail, remedy}.
    #[arg(long)]
    json: bool,
    /// Try this way to the API server as well.
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// This node's name in the cluster [default: the host name in lower case].
    #[arg(long, value_name = "NAME")]
    node_name: Option<String>,
    /// Where the agent's metrics are.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:20257")]
    metrics_address: SocketAddr,
    /// The kernel log.
    #[arg(long, value_name = "PATH", default_value = "/dev/kmsg")]
    kmsg: PathBuf,
}

impl Doctor {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<ExitCode, Failure> {
        let json = self.json;
        let checks = self.examine(client).await;
        let failed = checks.iter().any(|check| check.verdict == Verdict::Fail);
        if json {
            out.json(&checks)?;
        } else {
            let look = Look::of_stdout();
            checks.iter().try_for_each(|check| out.text(&shown(check, look)))?;
            out.line(&summary(&checks))?;
        }
        Ok(ExitCode::from(u8::from(failed)))
    }

    async fn examine(self, client: &Client) -> Vec<Check> {
        let mut checks = Host { kmsg: self.kmsg, ..Host::this() }.examine();
        checks.extend(agent::examine(client, self.metrics_address).await);
        match self.kubeconfig {
            Some(kubeconfig) => {
                let node = self.node_name.unwrap_or_else(host_name);
                checks.extend(Cluster { kubeconfig, node }.examine().await);
            }
            None => checks.push(Check::ok("API server", "not asked: name its kubeconfig with --kubeconfig")),
        }
        checks
    }
}

/// As the kubelet names a node that nobody named.
fn host_name() -> String {
    let name = nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    name.unwrap_or_else(|| "localhost".to_owned()).trim().to_lowercase()
}
