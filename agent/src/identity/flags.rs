//! The command line of `nodewell identity`, and one run of it.

use std::{path::PathBuf, time::Duration};

use clap::Args;
use nodewell_settings::duration;

use super::provisioner::{Outcome, ProvisionError, Provisioner, Published};
use crate::config::{Config, Flags};

const EXAMPLES: &str = "\
Examples:
  nodewell identity                          hand over the kubelet's credentials, or this node's own
  nodewell identity --wait 5m                and wait so long for a request that is not approved yet

nodewell-identity.service runs it as root: at the agent's start, when the kubelet's credentials change, and every few
minutes. It hands /run/nodewell/identity/kubeconfig to the agent, which never reads root's files itself. What [identity]
in nodewell.toml says is done; what cannot be done is logged in one line, and tried again at the next run.

Exit codes: 0 done, or nothing to do; 64 wrong usage; 70 it cannot write its folders; 78 an error in the configuration.";

/// What to do, and with which configuration.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct IdentityFlags {
    /// The config file [default: /etc/nodewell/nodewell.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// This node's name in the cluster [default: the config's, else the host name in lower case]
    #[arg(long, value_name = "NAME")]
    pub node_name: Option<String>,
    /// Where state is saved; keys are in pki/ below it [default: the config's, else /var/lib/nodewell]
    #[arg(long, value_name = "DIR")]
    pub state_dir: Option<PathBuf>,
    /// How long to wait for a request to be approved
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = duration::parse)]
    pub wait: Duration,
    /// Look for kubelets below this folder
    #[arg(long, value_name = "DIR", default_value = "/", hide = true)]
    pub root: PathBuf,
}

impl IdentityFlags {
    /// The part of it that the config knows too.
    #[must_use]
    pub fn of_config(&self) -> Flags {
        Flags {
            config: self.config.clone(),
            node_name: self.node_name.clone(),
            state_dir: self.state_dir.clone(),
            ..Flags::default()
        }
    }

    /// One run; what is not as it should be is in the log.
    pub async fn run(&self, config: &Config) -> Result<(), ProvisionError> {
        let outcome = Provisioner::open(config, &self.root)?.run(self.wait).await?;
        log(&outcome);
        Ok(())
    }
}

fn log(outcome: &Outcome) {
    if outcome.is_news {
        outcome.notes.iter().for_each(|note| tracing::warn!("{note}"));
    }
    match &outcome.published {
        Published::Own { until } if outcome.changed => tracing::info!(%until, "the agent has an identity of its own"),
        Published::Kubelet { path } if outcome.changed => {
            tracing::info!(kubeconfig = %path.display(), "the agent has the kubelet's credentials");
        }
        Published::Nobody if outcome.changed => tracing::info!("the agent has no credentials any more"),
        _ => tracing::debug!(published = ?outcome.published, "nothing changed"),
    }
}
