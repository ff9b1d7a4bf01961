//! Policies are checked as they are written.

use std::path::PathBuf;

use nodewell_settings::{
    Key, ReadKeys, Report, Table,
    kind::{Maybe, Path},
};

use super::LISTEN;
use crate::config::{MetricsListen, WEBHOOK};

/// `[webhook]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebhookTable {
    pub(crate) listen: MetricsListen,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl Table for WebhookTable {
    const NAME: &'static str = "[webhook]";
    const ABOUT: &'static str = "Where the API server of this host asks whether a policy can be read before it is stored; \
                                 see docs/remediation-policies.md.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("listen", |it| &mut it.listen, LISTEN).help("An address that the API server reaches."),
            Self::key("cert", |it| &mut it.cert, Maybe(Path))
                .help("A certificate of another authority; if unset, its own.")
                .example(r#""/run/credentials/nodewell-controller.service/webhook-cert""#),
            Self::key("key", |it| &mut it.key, Maybe(Path))
                .help("Of that certificate.")
                .example(r#""/run/credentials/nodewell-controller.service/webhook-key""#),
        ]
    }

    /// Both files or none: a certificate without its key is an error, not one of our own.
    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        if read.section.has("cert") != read.section.has("key") {
            report.error(read.section.at, "[webhook] takes both of cert and key, or neither");
        }
    }
}

impl Default for WebhookTable {
    fn default() -> Self {
        Self { listen: MetricsListen::At(WEBHOOK), cert: None, key: None }
    }
}
