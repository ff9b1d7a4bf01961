//! The tables of the config file: every key with its default, what it takes, and what it is for.

mod agents;
mod fencing;
mod history;
mod hosts;
mod peers;
mod webhook;

use std::path::PathBuf;

use nodewell_settings::{
    Key, Kind, Part, Places, Report, Schema, Section, Shown, Table,
    kind::{Bool, CLUSTER, Maybe, Path, Strings, Text, Word},
    shown,
};
use nodewell_tls::MetricsTls;

use self::{
    agents::{ApproverTable, LivenessTable},
    history::{AuditTable, RecordsTable},
    hosts::EtcdTable,
    peers::{ClaimsTable, ClusterApiTable, ExternalRemediationTable, KdumpTable},
    webhook::WebhookTable,
};
use super::{Fencing, Leader, MetricsListen};

const LISTEN: Word<MetricsListen> =
    Word { takes: "an address and port, or \"off\"", read: str::parse, shown: MetricsListen::shown };

/// What the files and the flags set, over what holds where they say nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub dry_run: bool,
    pub cluster: Option<String>,
    pub namespace: String,
    pub kubeconfig: Option<PathBuf>,
    pub node_name: Option<String>,
    pub metrics_listen: MetricsListen,
    pub metrics_tls: MetricsTls,
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
            Part::of(|it: &mut Self| &mut it.metrics_tls),
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
            Self::key("cluster", |it| &mut it.cluster, Maybe(CLUSTER))
                .help(
                    "The cluster's name: a label of every metric, and what `kubectl nodewell` shows; the agents' have \
                     the same.",
                )
                .example(r#""east-1""#),
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

    fn places_of(key: &str) -> Places {
        let tables = Self::parts().iter().filter_map(|part| part.name_if_it_has(key)).map(str::to_owned).collect();
        Places { top: Self::keys().iter().any(|known| known.name == key), tables }
    }

    fn read_others(&mut self, section: Section<'_>, report: &mut Report<'_>) {
        Self::parts().iter().for_each(|part| part.read(self, section, report));
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            dry_run: true,
            cluster: None,
            namespace: nodewell_remediation::api::NAMESPACE.to_owned(),
            kubeconfig: None,
            node_name: None,
            metrics_listen: MetricsListen::default(),
            metrics_tls: MetricsTls::default(),
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

    fn schema(&self) -> Schema {
        Schema::strings(Schema::Text(r"^[\s\S]+:\+?[0-9]+$"), 0..=usize::MAX)
    }
}
