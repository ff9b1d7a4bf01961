//! `pause` and `resume`: the kill switch of the whole cluster.

use clap::Args;
use nodewell_reconcile::api_error::ApiError;
use serde_json::json;

use super::{CommandError, Global, asker, error::print};
use crate::kube::{FIELD_MANAGER, Manager, PAUSE_CONFIG_MAP};

/// Begin nothing more, on no node, until `resume`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Pause {
    /// Why; it is stored in the ConfigMap with your name
    #[arg(value_name = "REASON", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Go on after `pause`.
#[derive(Debug, Args)]
#[command(after_help = RESUME_EXAMPLES)]
pub(super) struct Resume {}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller pause \"the BMC network is rebuilt\"
  touch /etc/nodewell/pause                   on its host, without an API server

It makes the ConfigMap nodewell-pause in the controller's namespace, which is
read right before each irreversible act.";
const RESUME_EXAMPLES: &str = "\
Examples:
  nodewell-controller resume                 policies go on where they were

What else may stop it, `nodewell-controller plan` shows.";

impl Pause {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (config, cluster) = global.cluster().await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/{PAUSE_CONFIG_MAP}", config.namespace);
        let reason = asker::signed(cluster.wire(), &self.reason).await;
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": PAUSE_CONFIG_MAP },
            "data": { "reason": reason },
        });
        // An apply also where it is made: a role can then name it.
        let manager = Manager { name: FIELD_MANAGER, force: true };
        cluster.wire().apply(&path, manager, &body).await.map_err(CommandError::of("ConfigMap nodewell-pause"))?;
        print("paused: nothing is begun any more; `nodewell-controller resume` goes on\n")
    }
}

impl Resume {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (config, cluster) = global.cluster().await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/{PAUSE_CONFIG_MAP}", config.namespace);
        match cluster.wire().delete(&path, &json!({}), None).await {
            Ok(()) => print("resumed; files such as /etc/nodewell/pause still pause\n"),
            Err(ApiError::NotFound) => print("nothing was paused by the ConfigMap nodewell-pause\n"),
            Err(error) => Err(CommandError::of("ConfigMap nodewell-pause")(error)),
        }
    }
}
