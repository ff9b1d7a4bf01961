//! `nodewell version`: ours, and the running agent's.

use clap::Args;
use nodewell_client::{Client, ClientError};
use nodewell_model::api::VersionView;
use serde::Serialize;

use super::{error::CommandError, out::Out, output::Output};

/// This program's version, and the running agent's.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  nodewell version
  nodewell version --json

As JSON and YAML: `nodewell`, and `nodewelld` (null while none runs).")]
pub(super) struct Version {
    #[command(flatten)]
    output: Output,
}

#[derive(Serialize)]
struct Versions {
    nodewell: &'static str,
    nodewelld: Option<VersionView>,
}

impl Version {
    pub(super) async fn run(self, client: &Client, out: &mut Out) -> Result<(), CommandError> {
        let nodewell = env!("CARGO_PKG_VERSION");
        let asked: Result<VersionView, ClientError> = client.get("/v1/version").await;
        if let Some(form) = self.output.document() {
            return out.document(form, &Versions { nodewell, nodewelld: asked.ok() });
        }
        out.line(&format!("nodewell  {nodewell}"))?;
        out.line(&match asked {
            Ok(agent) => format!("nodewelld {} (API {}: {})", agent.version, agent.api, agent.features.join(", ")),
            Err(error) => format!("nodewelld unknown: {error}"),
        })?;
        Ok(())
    }
}
