//! `abort`: no more of one node's remediation.

use clap::Args;
use nodewell_remediation::api::{ASKED_BY, GROUP, VERSION};
use serde_json::{Value, json};

use super::{CommandError, Global, asker, error::print};

/// Stop one node's remediation, and restore what is safe to restore
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Abort {
    /// The node
    #[arg(value_name = "NODE")]
    node: String,
    /// Why; it is shown in the record with your name
    #[arg(value_name = "REASON", default_value = "", hide_default_value = true)]
    reason: String,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller abort worker-7 \"its disk is changed\"

It sets spec.abort of the NodeFence: nothing irreversible is begun any more.
What is being done at that moment comes to its end; a machine that is off stays
off until its power is known. It cannot be undone: `kubectl delete nodefence
NODE` lets policies begin again.";

impl Abort {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (_, cluster) = global.cluster().await?;
        let node = &self.node;
        let path = format!("/apis/{GROUP}/{VERSION}/nodefences/{}", crate::kube::escaped(node));
        let what = format!("NodeFence {node}");
        let there: Option<Value> = cluster.wire().get(&path).await.map_err(CommandError::of(&what))?;
        if there.is_none() {
            return Err(CommandError::Message(format!(
                "nothing is under way for {node}: there is no NodeFence of that name"
            )));
        }
        let by = asker::signed(cluster.wire(), &self.reason).await;
        let patch = json!({ "metadata": { "annotations": { ASKED_BY: by } }, "spec": { "abort": true } });
        cluster.wire().merge::<Value>(&path, &patch).await.map_err(CommandError::of(&what))?;
        print(&format!("{node}: nothing irreversible is begun any more\n"))
    }
}
