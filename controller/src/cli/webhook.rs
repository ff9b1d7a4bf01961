//! `webhook`: the configuration by which the API server has policies checked as they are written.

use std::path::PathBuf;

use clap::Args;

use super::{CommandError, Global, error::print};
use crate::webhook::{NAME, manifest, published};

/// Print what has policies checked as they are written.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Webhook {
    /// Where the API servers reach a controller [default: https://127.0.0.1:PORT of [webhook] listen]
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The authority of the certificate that [webhook] names, instead of the controllers' own certificates
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  nodewell-controller webhook | kubectl apply -f -
  nodewell-controller webhook --url https://controllers.example.com:20260 \\
    --ca /etc/nodewell/webhook-ca.crt | kubectl apply -f -
  kubectl delete validatingwebhookconfiguration nodewell-policies

It prints a ValidatingWebhookConfiguration with the certificates of all hosts
that run a controller: apply it again when a host is added or installed again.
Every host with an API server needs a controller for the default URL; where
there is none, policies are stored unchecked, and their status shows what is
wrong.";

impl Webhook {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (config, cluster) = global.cluster().await?;
        let address = config.webhook.as_ref().map(|webhook| webhook.listen);
        let url = match (self.url, address) {
            (Some(url), _) => url.trim_end_matches('/').to_owned(),
            (None, Some(address)) => format!("https://127.0.0.1:{}", address.port()),
            (None, None) => {
                return Err(CommandError::Message("[webhook] listen is \"off\": name the others' URL by --url".into()));
            }
        };
        if !url.starts_with("https://") {
            return Err(CommandError::Message(format!("{url}: the API server calls webhooks by https:// alone")));
        }
        let bundle = match self.ca {
            Some(file) => std::fs::read_to_string(&file)
                .map_err(|error| CommandError::Message(format!("{}: cannot be read: {error}", file.display())))?,
            None => {
                let what = format!("ConfigMap {}/{NAME}", config.leader.namespace);
                let all = published(cluster.wire(), &config.leader.namespace).await.map_err(CommandError::of(&what))?;
                if all.is_empty() {
                    return Err(CommandError::Message(format!(
                        "{what} has no certificate: no controller has run yet that may write it; apply \
                         /usr/share/nodewell-controller/rbac.yaml, start the controllers and try again"
                    )));
                }
                all.into_values().collect()
            }
        };
        print(&format!("{:#}\n", manifest(&url, &bundle)))
    }
}
