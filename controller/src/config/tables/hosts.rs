//! The hosts of the control plane: which of them acts, and how etcd is asked.

use std::{path::PathBuf, time::Duration};

use nodewell_settings::{
    Key, ReadKeys, Report, Table,
    kind::{Maybe, Path, Strings, Text, Time},
};

use crate::config::{LEASES, Leader};

impl Table for Leader {
    const NAME: &'static str = "[leader]";
    const ABOUT: &'static str = "Which of the control-plane hosts acts.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("namespace", |it| &mut it.namespace, Text).help(
                "Of the controller's own Leases alone: where agents have theirs, a Node could be named like the leader's.",
            ),
            Self::key("lease", |it| &mut it.lease, Text).help("The name of the leader's Lease."),
            Self::key("identity", |it| &mut it.identity, Maybe(Text))
                .help("Who holds it; if unset, the host's name and a random part.")
                .example(r#""control-plane-1""#),
            Self::key("duration", |it| &mut it.duration, Time::ANY)
                .help("Others wait for so long after the last renewal that they saw."),
            Self::key("renew-deadline", |it| &mut it.renew_deadline, Time::ANY)
                .help("A leader that could not renew for so long stops."),
            Self::key("retry", |it| &mut it.retry, Time::ANY).help("How often it is renewed, and asked for."),
        ]
    }
}

impl Default for Leader {
    fn default() -> Self {
        Self {
            namespace: LEASES.to_owned(),
            lease: "nodewell-controller".to_owned(),
            identity: None,
            // client-go's own numbers, which are well known.
            duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// `[etcd]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EtcdTable {
    pub(crate) endpoints: Vec<String>,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) cert: Option<PathBuf>,
    pub(crate) key: Option<PathBuf>,
}

impl Table for EtcdTable {
    const NAME: &'static str = "[etcd]";
    const ABOUT: &'static str = "How to ask etcd for its quorum: every member. Without it no control-plane node is ever \
                                 touched. The key is root's alone; a drop-in passes it in: \
                                 LoadCredential=etcd-key:/etc/kubernetes/pki/etcd/healthcheck-client.key.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("endpoints", |it| &mut it.endpoints, Strings)
                .help("All members.")
                .example(r#"["https://10.0.0.1:2379", "https://10.0.0.2:2379", "https://10.0.0.3:2379"]"#),
            Self::key("ca", |it| &mut it.ca, Maybe(Path))
                .help("Who has signed their certificates.")
                .example(r#""/etc/kubernetes/pki/etcd/ca.crt""#),
            Self::key("cert", |it| &mut it.cert, Maybe(Path))
                .help("What they know this host by.")
                .example(r#""/etc/kubernetes/pki/etcd/healthcheck-client.crt""#),
            Self::key("key", |it| &mut it.key, Maybe(Path))
                .help("Of that certificate.")
                .example(r#""/run/credentials/nodewell-controller.service/etcd-key""#),
        ]
    }

    /// All four or none: what is half set is an error, not a default.
    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        let is_whole = ["endpoints", "ca", "cert", "key"].iter().all(|key| read.section.has(key));
        if !is_whole || self.endpoints.is_empty() {
            report.error(read.section.at, "[etcd] takes all of endpoints, ca, cert and key");
        }
    }
}
