//! The tables of the config file: every key with its default, what it takes, and what it is for.

use std::{path::PathBuf, time::Duration};

use nodewell_settings::{
    Key, Kind, Part, ReadKeys, Report, Section, Shown, Table,
    kind::{Bool, Count, Maybe, Path, Paths, Strings, Text, Time, TimeOrNone, Word},
    shown,
};

use super::{AGENTS, CLAIMS, Fencing, KdumpListen, LEASES, Leader, MetricsListen, PLUGINS, WEBHOOK};

/// More often locks accounts out, more seldom finds a dead BMC too late.
const PREFLIGHT_INTERVALS: Time = Time::from(Duration::from_mins(1)).to(Duration::from_hours(1));
/// One that is dead occupies its slot for 20 s; a question of an agent's is 30 MiB of memory.
const PREFLIGHT_CONCURRENCY: Count = Count(1..=256);
const LISTEN: Word<MetricsListen> =
    Word { takes: "an address and port, or \"off\"", read: str::parse, shown: MetricsListen::shown };
const KDUMP_LISTEN: Word<KdumpListen> =
    Word { takes: "an address with or without a port, or \"off\"", read: str::parse, shown: KdumpListen::shown };

/// What the files and the flags set, over what holds where they say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub dry_run: bool,
    pub namespace: String,
    pub kubeconfig: Option<PathBuf>,
    pub node_name: Option<String>,
    pub metrics_listen: MetricsListen,
    pub probes: Vec<String>,
    pub node_reaper_config: Option<PathBuf>,
    pub log_level: String,
    pub leader: Leader,
    pub(crate) etcd: EtcdTable,
    pub fencing: Fencing,
    pub(crate) kdump: KdumpTable,
    pub(crate) claims: ClaimsTable,
    pub(crate) external_remediation: ExternalRemediationTable,
    pub(crate) cluster_api: ClusterApiTable,
    pub(crate) webhook: WebhookTable,
    pub(crate) records: RecordsTable,
    pub(crate) audit: AuditTable,
    pub(crate) liveness: LivenessTable,
    pub(crate) approver: ApproverTable,
}

impl Settings {
    /// Every key, as it stands.
    #[must_use]
    pub fn shown(mut self) -> Vec<Shown> {
        let mut all = shown(&mut self);
        all.extend(Self::parts().into_iter().flat_map(|part| part.shown(&mut self)));
        all
    }

    fn parts() -> Vec<Part<Self>> {
        vec![
            Part::of(|it: &mut Self| &mut it.leader),
            Part::of(|it: &mut Self| &mut it.etcd),
            Part::of(|it: &mut Self| &mut it.fencing),
            Part::of(|it: &mut Self| &mut it.kdump),
            Part::of(|it: &mut Self| &mut it.claims),
            Part::of(|it: &mut Self| &mut it.external_remediation),
            Part::of(|it: &mut Self| &mut it.cluster_api),
            Part::of(|it: &mut Self| &mut it.webhook),
            Part::of(|it: &mut Self| &mut it.records),
            Part::of(|it: &mut Self| &mut it.audit),
            Part::of(|it: &mut Self| &mut it.liveness),
            Part::of(|it: &mut Self| &mut it.approver),
        ]
    }
}

impl Table for Settings {
    const NAME: &'static str = "the config";
    const ABOUT: &'static str = "What stands in no table.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("dry-run", |it| &mut it.dry_run, Bool)
                .help("Decides, reports and does nothing; false lets policies in mode Enforce act."),
            Self::key("namespace", |it| &mut it.namespace, Text)
                .help("Where ConfigMaps and Secrets of fencing and the agents' Leases are."),
            Self::key("kubeconfig", |it| &mut it.kubeconfig, Maybe(Path))
                .help("Who it is to the API server; the unit passes it in as a credential.")
                .example(r#""/etc/nodewell/controller.kubeconfig""#),
            Self::key("node-name", |it| &mut it.node_name, Maybe(Text))
                .help("The Node of this host; it never acts on that one.")
                .example(r#""control-plane-1""#),
            Self::key("metrics-listen", |it| &mut it.metrics_listen, LISTEN)
                .help("Where /metrics, /healthz and /readyz are."),
            Self::key("probes", |it| &mut it.probes, Probes)
                .help(
                    "What this host must reach, all of it, to act and to be trusted in what it reports of others: \
                     gateways of the nodes' and of the BMCs' network, each of them redundant.",
                )
                .example(r#"["10.0.0.1:443", "10.0.9.1:22"]"#),
            Self::key("node-reaper-config", |it| &mut it.node_reaper_config, Maybe(Path))
                .help("node-reaper's own configuration, read as a policy beside the others.")
                .example(r#""/etc/nodewell/node-reaper.yaml""#),
            Self::key("log-level", |it| &mut it.log_level, Text)
                .help("error, warn, info, debug or trace; NODEWELL_LOG sets the same."),
        ]
    }

    fn others() -> Vec<&'static str> {
        Self::parts().iter().map(|part| part.key).collect()
    }

    fn read_others(&mut self, section: Section<'_>, report: &mut Report<'_>) {
        Self::parts().iter().for_each(|part| part.read(self, section, report));
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dry_run: true,
            namespace: "nodewell".to_owned(),
            kubeconfig: None,
            node_name: None,
            metrics_listen: MetricsListen::default(),
            probes: Vec::new(),
            node_reaper_config: None,
            log_level: "info".to_owned(),
            leader: Leader::default(),
            etcd: EtcdTable::default(),
            fencing: Fencing::default(),
            kdump: KdumpTable::default(),
            claims: ClaimsTable::default(),
            external_remediation: ExternalRemediationTable::default(),
            cluster_api: ClusterApiTable::default(),
            webhook: WebhookTable::default(),
            records: RecordsTable::default(),
            audit: AuditTable::default(),
            liveness: LivenessTable::default(),
            approver: ApproverTable::default(),
        }
    }
}

/// `host:port` each: an address without a port can be reached by nothing we may send.
struct Probes;

impl Kind for Probes {
    type Of = Vec<String>;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Vec<String>> {
        let probes = Strings.read(section, key, report)?;
        let is_whole = |probe: &&String| {
            probe.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
        };
        if let Some(wrong) = probes.iter().find(|probe| !is_whole(probe)) {
            let refusal = format!("the probe {wrong:?} is not host:port, such as \"10.0.0.1:443\"");
            report.error(section.position(key), refusal);
        }
        Some(probes)
    }

    fn shown(&self, value: &Vec<String>) -> Option<String> {
        Strings.shown(value)
    }

    fn takes(&self) -> String {
        "a list of host:port".to_owned()
    }
}

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
    pub(super) endpoints: Vec<String>,
    pub(super) ca: Option<PathBuf>,
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
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

impl Table for Fencing {
    const NAME: &'static str = "[fencing]";
    const ABOUT: &'static str = "How often a BMC is asked whether its node could be fenced, and how many at once: \
                                 docs/fence-accounts.md has what that costs.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("agents-folder", |it| &mut it.agents_folder, Path).help("Where fence agents are."),
            Self::key("preflight-interval", |it| &mut it.preflight_interval, PREFLIGHT_INTERVALS)
                .help("A node that could be fenced has its BMC asked once in so long."),
            Self::key("preflight-concurrency", |it| &mut it.preflight_concurrency, PREFLIGHT_CONCURRENCY)
                .help("BMCs that are asked at the same time."),
            Self::key("secrets-folder", |it| &mut it.secrets_folder, Maybe(Path))
                .help(
                    "Passwords of BMCs in files of this host, each named like its Secret; drop-ins pass them in with \
                     LoadCredential=.",
                )
                .example(r#""/run/credentials/nodewell-controller.service""#),
            Self::key("ca-file", |it| &mut it.ca_file, Maybe(Path))
                .help("Who has signed the BMCs' certificates, if it is no authority of this host's.")
                .example(r#""/etc/nodewell/bmc-ca.pem""#),
            Self::key("plugins", |it| &mut it.plugins, Paths { absolute: false })
                .help("Programs, or folders of programs, that take machines away."),
        ]
    }
}

impl Default for Fencing {
    fn default() -> Self {
        Self {
            agents_folder: AGENTS.into(),
            preflight_interval: Duration::from_mins(10),
            preflight_concurrency: 16,
            secrets_folder: None,
            ca_file: None,
            plugins: vec![PLUGINS.into()],
        }
    }
}

/// `[kdump]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct KdumpTable {
    pub(super) listen: KdumpListen,
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
    pub(super) enabled: bool,
    pub(super) namespace: String,
}

impl Table for ClaimsTable {
    const NAME: &'static str = "[claims]";
    const ABOUT: &'static str = "Nodes that other controllers remediate (medik8s: NodeHealthCheck, NodeMaintenance): \
                                 their Leases are honoured, and taken while this controller remediates a node. See \
                                 docs/remediation.md.";

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
    pub(super) enabled: bool,
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
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) namespace: Option<String>,
    pub(super) cluster: Option<String>,
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

/// `[webhook]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebhookTable {
    pub(super) listen: MetricsListen,
    pub(super) cert: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
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

/// `[records]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordsTable {
    pub(super) keep_ended: Duration,
}

impl Table for RecordsTable {
    const NAME: &'static str = "[records]";
    const ABOUT: &'static str = "What is left of what was done.";

    fn keys() -> Vec<Key<Self>> {
        let help = "For how long a copy of a record that ended is kept (NODE-ended-xxxxxxxx).";
        vec![Self::key("keep-ended", |it| &mut it.keep_ended, TimeOrNone).help(help)]
    }
}

impl Default for RecordsTable {
    fn default() -> Self {
        Self { keep_ended: Duration::from_hours(24) }
    }
}

/// `[audit]`
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct AuditTable {
    pub(super) file: Option<PathBuf>,
}

impl Table for AuditTable {
    const NAME: &'static str = "[audit]";
    const ABOUT: &'static str = "A line for each act that cannot be taken back and each change of a record, beside the \
                                 journal's.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("file", |it| &mut it.file, Maybe(Path))
                .help("If unset, where the unit has a folder for it.")
                .example(r#""/var/log/nodewell-controller/audit.jsonl""#),
        ]
    }
}

/// `[liveness]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LivenessTable {
    pub(super) enabled: bool,
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
    pub(super) enabled: bool,
    pub(super) kubeconfig: Option<PathBuf>,
    pub(super) deny_forged: bool,
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
