//! Who else remediates, and who else is heard: nodes that write crash dumps, medik8s, Cluster API.

use std::path::PathBuf;

use nodewell_settings::{
    Key, ReadKeys, Report, Table,
    kind::{Bool, Maybe, Path, Text, Word},
};

use crate::config::{CLAIMS, KdumpListen};

const KDUMP_LISTEN: Word<KdumpListen> =
    Word { takes: "an address with or without a port, or \"off\"", read: str::parse, shown: KdumpListen::shown };

/// `[kdump]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KdumpTable {
    pub(crate) listen: KdumpListen,
}

impl Table for KdumpTable {
    const NAME: &'static str = "[kdump]";
    const ABOUT: &'static str = "Where nodes report by UDP that they write a crash dump (fence_kdump's protocol, port \
                                 7410). No sender is authenticated there; a message only ever delays. See \
                                 docs/fence-agents.md.";

    fn keys() -> Vec<Key<Self>> {
        vec![Self::key("listen", |it| &mut it.listen, KDUMP_LISTEN).help("An address of this host.")]
    }
}

impl Default for KdumpTable {
    fn default() -> Self {
        Self { listen: KdumpListen::Off }
    }
}

/// `[claims]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClaimsTable {
    pub(crate) enabled: bool,
    pub(crate) namespace: String,
}

impl Table for ClaimsTable {
    const NAME: &'static str = "[claims]";
    const ABOUT: &'static str = "Nodes that other controllers remediate (medik8s: NodeHealthCheck, NodeMaintenance): \
                                 their Leases are honoured, and taken while this controller remediates a node. See \
                                 docs/external-remediation.md.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether they are."),
            Self::key("namespace", |it| &mut it.namespace, Text).help("Where they are."),
        ]
    }
}

impl Default for ClaimsTable {
    fn default() -> Self {
        Self { enabled: true, namespace: CLAIMS.to_owned() }
    }
}

/// `[external-remediation]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExternalRemediationTable {
    pub(crate) enabled: bool,
}

impl Table for ExternalRemediationTable {
    const NAME: &'static str = "[external-remediation]";
    const ABOUT: &'static str = "Requests of other remediators (NodeFenceRemediation) in this cluster: medik8s' \
                                 NodeHealthCheck. It needs the rights in rbac-external-remediation.yaml. See \
                                 docs/external-remediation.md.";

    fn keys() -> Vec<Key<Self>> {
        vec![Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether they are served.")]
    }
}

/// `[cluster-api]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ClusterApiTable {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) namespace: Option<String>,
    pub(crate) cluster: Option<String>,
}

impl Table for ClusterApiTable {
    const NAME: &'static str = "[cluster-api]";
    const ABOUT: &'static str =
        "Serves requests of Cluster API's MachineHealthCheck for the Machines of this cluster. All three or none.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("kubeconfig", |it| &mut it.kubeconfig, Maybe(Path))
                .help("An identity in the management cluster.")
                .example(r#""/run/credentials/nodewell-controller.service/management""#),
            Self::key("namespace", |it| &mut it.namespace, Maybe(Text))
                .help("Of the Machines there.")
                .example(r#""default""#),
            Self::key("cluster", |it| &mut it.cluster, Maybe(Text))
                .help("As Cluster API calls this cluster.")
                .example(r#""prod""#),
        ]
    }

    /// Without the cluster's name a Machine of another cluster could be taken for a node of this one.
    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        if !["kubeconfig", "namespace", "cluster"].iter().all(|key| read.section.has(key)) {
            report.error(read.section.at, "[cluster-api] takes all of kubeconfig, namespace and cluster");
        }
    }
}
