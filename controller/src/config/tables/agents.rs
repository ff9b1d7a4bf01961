//! The nodes' agents: those that went silent, and their certificates.

use std::path::PathBuf;

use nodewell_settings::{
    Key, Table,
    kind::{Bool, Maybe, Path},
};

/// `[liveness]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LivenessTable {
    pub(crate) enabled: bool,
}

impl Table for LivenessTable {
    const NAME: &'static str = "[liveness]";
    const ABOUT: &'static str = "Conditions of agents that went silent turn Unknown until they return. See \
                                 docs/agent-liveness.md.";

    fn keys() -> Vec<Key<Self>> {
        vec![Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether they do.")]
    }
}

impl Default for LivenessTable {
    fn default() -> Self {
        Self { enabled: true }
    }
}

/// `[approver]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ApproverTable {
    pub(crate) enabled: bool,
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) deny_forged: bool,
}

impl Table for ApproverTable {
    const NAME: &'static str = "[approver]";
    const ABOUT: &'static str = "Approves certificates of `nodewell enroll` by a strict rule; else a person does.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether it does."),
            Self::key("kubeconfig", |it| &mut it.kubeconfig, Maybe(Path))
                .help("Of an identity of its own, with the rights in rbac-approver.yaml and no others.")
                .example(r#""/run/credentials/nodewell-controller.service/approver""#),
            Self::key("deny-forged", |it| &mut it.deny_forged, Bool)
                .help("Whether to deny what no error produces, too; else that waits for a person."),
        ]
    }
}
