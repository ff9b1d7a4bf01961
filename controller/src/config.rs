//! The controller's configuration: `nodewell-controller.toml`, then `nodewell-controller.toml.d/*.toml`, then flags;
//! later ones win key by key. Each table has its keys and their defaults beside it.

mod listen;
mod tables;
#[cfg(test)]
mod tests;

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};

pub use nodewell_settings::Diagnostic;
use nodewell_settings::files::{config_files, config_text};
use nodewell_settings::read_text;
use nodewell_tls::MetricsTls;

pub use listen::{KdumpListen, MetricsListen};
pub use tables::Settings;

use crate::kube::KUBELET_LEASES;

/// Where the config is looked for if no flag names another; its absence is no error.
pub const DEFAULT_CONFIG: &str = "/etc/nodewell/nodewell-controller.toml";
/// Any of these files stops everything at once; the second outlives a boot.
pub const PAUSE_FILES: [&str; 2] = ["/run/nodewell-controller/pause", "/etc/nodewell/pause"];
/// Where distributions install fence agents.
pub const AGENTS: &str = "/usr/sbin";

/// Where medik8s' operators store their Leases of nodes.
pub const CLAIMS: &str = "medik8s-leases";
/// Where the controller's own Leases are, and no other client's.
pub const LEASES: &str = nodewell_remediation::api::LEADER_NAMESPACE;

/// Where the API server of this host asks about policies. An agent on the same host has the port before it, and the
/// controller's own metrics are at the one before that: packaging/pages/tests/ports.rs.
pub const WEBHOOK: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 20260));

/// See [`Leader::check`].
const SHORTEST_LEASE: Duration = Duration::from_secs(10);

/// The resolved configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Decides and reports, and does nothing. So until it is switched off.
    pub dry_run: bool,
    /// The cluster's name, for people and metrics.
    pub cluster: Option<String>,
    /// Of ConfigMaps, Secrets, agents' Leases and the controller's own.
    pub namespace: String,
    /// Nothing: what this machine offers.
    pub kubeconfig: Option<PathBuf>,
    /// This host's own Node, which it never acts on; nothing if it is none.
    pub node_name: Option<String>,
    pub leader: Leader,
    pub metrics_listen: Option<SocketAddr>,
    pub metrics_tls: MetricsTls,
    /// Addresses that this host must reach to be trusted in its judgement: `host:port`.
    pub probes: Vec<String>,
    /// Nothing: no control-plane node is ever touched, because it is not known whether etcd bears it.
    pub etcd: Option<Etcd>,
    pub fencing: Fencing,
    /// Conditions of agents that went silent turn Unknown; see docs/agent-liveness.md.
    pub liveness: bool,
    /// Nothing: a person approves the certificates of agents.
    pub approver: Option<Approver>,
    /// Where nodes report by UDP that they write a crash dump; nothing: no report is received.
    pub kdump_listen: Option<SocketAddr>,
    /// The namespace of other remediators' Leases; nothing: they are not asked for.
    pub claims_namespace: Option<String>,
    pub node_reaper_config: Option<PathBuf>,
    /// Requests of other remediators (`NodeFenceRemediation`) in this cluster are served. They are not until it is switched on.
    pub external_remediation: bool,
    /// Nothing: there is no management cluster whose requests are served.
    pub cluster_api: Option<ClusterApi>,
    /// Nothing: policies are not checked as they are written.
    pub webhook: Option<Webhook>,
    /// For how long a copy of a record that ended is kept; zero: none is made.
    pub keep_ended: Duration,
    /// Nothing: where the service manager has a folder for it.
    pub audit_file: Option<PathBuf>,
    /// As `NODEWELL_LOG` takes it.
    pub log_level: String,
}

/// `[leader]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leader {
    /// Of the Lease and of the hosts' reports; never one in which a node's Lease may be.
    pub namespace: String,
    pub lease: String,
    /// Who holds it; the host's name and a random part if none is configured.
    pub identity: Option<String>,
    /// Others wait for so long after the last renewal that they saw.
    pub duration: Duration,
    /// A leader that could not renew for so long stops.
    pub renew_deadline: Duration,
    pub retry: Duration,
}

/// `[etcd]`: how to ask for its members' health.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Etcd {
    pub endpoints: Vec<String>,
    pub ca: PathBuf,
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// `[fencing]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fencing {
    pub agents_folder: PathBuf,
    /// A node that could be fenced has its BMC asked once in so long.
    pub preflight_interval: Duration,
    /// BMCs that are asked at the same time.
    pub preflight_concurrency: usize,
    /// Nothing: passwords are in Secrets of the API server alone.
    pub secrets_folder: Option<PathBuf>,
    /// Authorities of the BMCs' certificates; nothing: the host's.
    pub ca_file: Option<PathBuf>,
    /// Programs, or folders of programs, that take machines away.
    pub plugins: Vec<PathBuf>,
}

/// `[cluster-api]`: the management cluster that has the Machines of this cluster's nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClusterApi {
    pub kubeconfig: PathBuf,
    /// Of the Machines, and of the requests for them.
    pub namespace: String,
    /// As Cluster API calls this cluster: one management cluster has Machines of many.
    pub cluster: String,
}

/// `[webhook]`: where the API server asks whether a policy can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub listen: SocketAddr,
    /// Nothing: a certificate of its own.
    pub files: Option<WebhookFiles>,
}

/// A certificate that another program renews.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookFiles {
    pub cert: PathBuf,
    pub key: PathBuf,
}

/// `[approver]`: who approves certificates of `nodewell enroll`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approver {
    /// Of an identity of its own, which can do nothing else.
    pub kubeconfig: PathBuf,
    /// Deny what no error produces; else that too waits for a person.
    pub deny_forged: bool,
}

impl Config {
    /// Reads `file`, or the default one if it is there, and the files beside it; what `flags` set overrides them. All
    /// errors of all files are reported at once.
    pub fn load(file: Option<&Path>, flags: impl FnOnce(&mut Settings)) -> Result<Self, Vec<Diagnostic>> {
        let (files, mut diagnostics) = config_files(file, Path::new(DEFAULT_CONFIG));
        let mut settings = Settings::default();
        for file in files {
            let read = config_text(&file).map_err(|diagnostic| vec![diagnostic]);
            let read = read.and_then(|text| read_text(&mut settings, &file, &text));
            diagnostics.extend(read.err().unwrap_or_default());
        }
        if !diagnostics.is_empty() {
            return Err(diagnostics);
        }
        flags(&mut settings);
        Self::resolved(settings).map_err(|diagnostic| vec![diagnostic])
    }

    /// What the tables mean together: only that can be wrong now.
    pub fn resolved(settings: Settings) -> Result<Self, Diagnostic> {
        let approver = approver(&settings)?;
        settings.leader.check(&settings.namespace)?;
        let Settings { etcd, cluster_api, webhook, claims, .. } = settings;
        let files = webhook.cert.zip(webhook.key).map(|(cert, key)| WebhookFiles { cert, key });
        Ok(Self {
            dry_run: settings.dry_run,
            cluster: settings.cluster,
            namespace: settings.namespace,
            kubeconfig: settings.kubeconfig,
            node_name: settings.node_name,
            leader: settings.leader,
            metrics_listen: settings.metrics_listen.address(),
            metrics_tls: settings.metrics_tls,
            probes: settings.probes,
            etcd: (|| Some(Etcd { endpoints: etcd.endpoints, ca: etcd.ca?, cert: etcd.cert?, key: etcd.key? }))(),
            fencing: settings.fencing,
            liveness: settings.liveness.enabled,
            approver,
            kdump_listen: settings.kdump.listen.address(),
            claims_namespace: claims.enabled.then_some(claims.namespace),
            node_reaper_config: settings.node_reaper_config,
            external_remediation: settings.external_remediation.enabled,
            cluster_api: (|| {
                let (kubeconfig, namespace) = (cluster_api.kubeconfig?, cluster_api.namespace?);
                Some(ClusterApi { kubeconfig, namespace, cluster: cluster_api.cluster? })
            })(),
            webhook: webhook.listen.address().map(|listen| Webhook { listen, files }),
            keep_ended: settings.records.keep_ended,
            audit_file: settings.audit.file,
            log_level: settings.log_level,
        })
    }
}

impl Leader {
    /// A leader stops before another may begin, and tries more than once before it stops.
    fn check(&self, agents: &str) -> Result<(), Diagnostic> {
        self.check_namespace(agents)?;
        let whole = self.duration.subsec_nanos() == 0;
        // What cannot be undone is begun only while enough of the Lease is left for it.
        if self.duration < SHORTEST_LEASE {
            let shortest = SHORTEST_LEASE.as_secs();
            let message =
                format!("[leader] duration {:?}: shorter than {shortest}s leaves no time to act", self.duration);
            return Err(of_all(message));
        }
        if self.retry * 2 < self.renew_deadline && self.renew_deadline < self.duration && whole {
            return Ok(());
        }
        Err(of_all(format!(
            "[leader] duration {:?}, renew-deadline {:?}, retry {:?}: the duration takes whole seconds and is longer \
             than the renew-deadline, which is longer than two retries; leave them out for 15s, 10s, 2s",
            self.duration, self.renew_deadline, self.retry
        )))
    }
}

impl Leader {
    /// Agents and kubelets write a Lease that is named like their Node: one named like the leader's would be the leader.
    fn check_namespace(&self, agents: &str) -> Result<(), Diagnostic> {
        if ![agents, KUBELET_LEASES].contains(&self.namespace.as_str()) {
            return Ok(());
        }
        Err(of_all(format!(
            "[leader] namespace is {:?}, where nodes have Leases of their own: a Node named {:?} would own the leader's; \
             leave it out for {LEASES:?}, which rbac.yaml makes",
            self.namespace, self.lease
        )))
    }
}

/// It has credentials of its own, or it is not switched on.
fn approver(settings: &Settings) -> Result<Option<Approver>, Diagnostic> {
    let table = &settings.approver;
    if !table.enabled {
        return Ok(None);
    }
    let Some(kubeconfig) = table.kubeconfig.clone() else {
        return Err(of_all(
            "[approver] is enabled and has no kubeconfig: name one of nodewell:approver (docs/agent-liveness.md)",
        ));
    };
    if settings.kubeconfig.as_ref() == Some(&kubeconfig) {
        return Err(of_all(format!(
            "[approver] and the controller have the same kubeconfig {}: what acts on nodes does not hand out \
             certificates; make a second identity (docs/agent-liveness.md)",
            kubeconfig.display()
        )));
    }
    Ok(Some(Approver { kubeconfig, deny_forged: table.deny_forged }))
}

/// Of what all files and flags mean together.
pub(crate) fn of_all(message: impl Into<String>) -> Diagnostic {
    Diagnostic::of_file("the configuration", message)
}
