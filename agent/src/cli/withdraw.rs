//! `nodewell withdraw`: takes our conditions off the Node, because the agent leaves this machine.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use nodewell_settings::duration;
use serde_json::json;

use super::{
    error::{CONFIG, CommandError, SOFTWARE},
    out::Out,
    output::Output,
};
use crate::{
    config::{Config, Flags, node_name},
    exporters::apiserver::{self, ApiserverConfig},
    identity::Way,
};

/// Take the agent's conditions off the Node; removing the package does it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo nodewell withdraw
  sudo nodewell withdraw --kubeconfig /etc/kubernetes/kubelet.conf --node-name worker-7

Only what this agent wrote goes; the conditions of the kubelet and of others
stay. Stop the agent and its sockets before, or it writes them again:
`systemctl stop 'nodewell*'`. Without a cluster there is nothing to do.
As JSON and YAML: {node, withdrawn}; false without a cluster.")]
pub(super) struct Withdraw {
    /// How long the API server may take.
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = duration::parse)]
    timeout: Duration,
    /// The agent's config file [default: /etc/nodewell/nodewell.toml, if it exists].
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// The way to the API server [default: the config's].
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// This node's name in the cluster [default: the config's, else the host name in lower case].
    #[arg(long, value_name = "NAME", value_parser = node_name::parse)]
    node_name: Option<String>,
    #[command(flatten)]
    output: Output,
}

impl Withdraw {
    pub(super) async fn run(self, out: &mut Out) -> Result<(), CommandError> {
        let (timeout, output) = (self.timeout, self.output);
        let flags =
            Flags { config: self.config, kubeconfig: self.kubeconfig, node_name: self.node_name, ..Flags::default() };
        let config = Config::load(&flags).map_err(|diagnostics| {
            let messages: Vec<String> = diagnostics.iter().map(ToString::to_string).collect();
            CommandError::new(CONFIG, messages.join("\n"))
        })?;
        let Some(kubeconfig) = Way::of(&config).now() else {
            return match output.document() {
                Some(form) => out.document(form, &json!({"node": config.node_name, "withdrawn": false})),
                None => Ok(out.line("no API server is configured: there is nothing to withdraw")?),
            };
        };
        let node = config.node_name;
        let exporter = ApiserverConfig { request_timeout: timeout, ..ApiserverConfig::new(kubeconfig, &node) };
        let late =
            |_| CommandError::new(SOFTWARE, format!("the conditions of Node {node:?} stay: no answer in {timeout:?}"));
        let withdrawn = tokio::time::timeout(timeout, apiserver::withdraw(&exporter)).await.map_err(late)?;
        withdrawn.map_err(|error| CommandError::new(SOFTWARE, error.to_string()))?;
        match output.document() {
            Some(form) => out.document(form, &json!({"node": node, "withdrawn": true})),
            None => Ok(out.line(&format!("Node {node} has no condition of this agent any more"))?),
        }
    }
}
