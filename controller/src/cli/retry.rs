//! `retry`: has a record tried again that was given up.

use clap::Args;
use jiff::Timestamp;
use nodewell_remediation::api::{ASKED_BY, GROUP, RETRY, VERSION};
use serde_json::{Value, json};

use super::{CommandError, Global, asker, error::print};

/// Try a quarantined record again
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Retry {
    /// The node
    #[arg(value_name = "NODE")]
    node: String,
    /// Why; it is shown in the record with your name
    #[arg(value_name = "REASON", default_value = "", hide_default_value = true)]
    reason: String,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller retry worker-7 \"the BMC has its address again\"

It gives the NodeFence a new value of the annotation nodewell.dev/retry, which
takes the role nodewell:fencer. The power is read before anything is done.";

impl Retry {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (_, cluster) = global.cluster().await?;
        let node = &self.node;
        let path = format!("/apis/{GROUP}/{VERSION}/nodefences/{}", crate::kube::escaped(node));
        let by = asker::signed(cluster.wire(), &self.reason).await;
        let annotations = json!({ RETRY: Timestamp::now().to_string(), ASKED_BY: by });
        let patch = json!({ "metadata": { "annotations": annotations } });
        cluster.wire().merge::<Value>(&path, &patch).await.map_err(CommandError::of(&format!("NodeFence {node}")))?;
        print(&format!("{node}: tried again, if it was given up\n"))
    }
}
