//! `hold` and `release`: the kill switch of the whole cluster.

use clap::Args;
use nodewell_reconcile::failure::Failure as Refusal;
use serde_json::json;

use super::{Failure, Global, asker, failure::print};
use crate::kube::{FIELD_MANAGER, HOLD_CONFIG_MAP, Manager};

/// Begin nothing more, on no node, until `release`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Hold {
    /// Why; it is stored in the ConfigMap with your name
    #[arg(value_name = "REASON", default_value = "", hide_default_value = true)]
    reason: String,
}

/// Go on after `hold`.
#[derive(Debug, Args)]
#[command(after_help = RELEASE_EXAMPLES)]
pub(super) struct Release {}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller hold \"the BMC network is rebuilt\"
  touch /etc/nodewell/hold                   on its host, without an API server

It makes the ConfigMap nodewell-hold in the controller's namespace, which is
read right before each irreversible act.";
const RELEASE_EXAMPLES: &str = "\
Examples:
  nodewell-controller release                policies go on where they were

What else may stop it, `nodewell-controller plan` says.";

impl Hold {
    pub(super) async fn run(self, global: &Global) -> Result<(), Failure> {
        let (config, cluster) = global.cluster().await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/{HOLD_CONFIG_MAP}", config.namespace);
        let reason = asker::signed(cluster.wire(), &self.reason).await;
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": HOLD_CONFIG_MAP }, "data": { "reason": reason },
        });
        // An apply also where it is made: a role can then name it.
        let manager = Manager { name: FIELD_MANAGER, force: true };
        cluster.wire().apply(&path, manager, &body).await.map_err(Failure::of("ConfigMap nodewell-hold"))?;
        print("held: nothing is begun any more; `nodewell-controller release` goes on\n")
    }
}

impl Release {
    pub(super) async fn run(self, global: &Global) -> Result<(), Failure> {
        let (config, cluster) = global.cluster().await?;
        let path = format!("/api/v1/namespaces/{}/configmaps/{HOLD_CONFIG_MAP}", config.namespace);
        match cluster.wire().delete(&path, &json!({}), None).await {
            Ok(()) => print("released; files such as /etc/nodewell/hold hold by themselves\n"),
            Err(Refusal::NotFound) => print("nothing was held by the ConfigMap nodewell-hold\n"),
            Err(refusal) => Err(Failure::of("ConfigMap nodewell-hold")(refusal)),
        }
    }
}
