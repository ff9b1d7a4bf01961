//! The controller's configuration: `nodewell-controller.toml`, then `nodewell-controller.toml.d/*.toml`, then flags;
//! later ones win key by key. The defaults are written once, here.

mod diagnostic;
mod listen;
mod reader;
mod settings;
#[cfg(test)]
mod tests;

use std::{
    net::{Ipv4Addr, SocketAddr, SocketAddrV4},
    path::{Path, PathBuf},
    time::Duration,
};

pub use diagnostic::Diagnostic;
pub use listen::{KdumpListen, MetricsListen};
pub use settings::{KEYS, Settings, parse};

use crate::kube::KUBELET_LEASES;

/// Where the config is looked for if no flag names another; its absence is no error.
pub const DEFAULT_CONFIG: &str = "/etc/nodewell/nodewell-controller.toml";
/// Any of these files stops everything at once; the second outlives a boot.
pub const PAUSE_FILES: [&str; 2] = ["/run/nodewell-controller/pause", "/etc/nodewell/pause"];
/// Where distributions install fence agents.
pub const AGENTS: &str = "/usr/sbin";
/// Where administrators put plug-ins of providers.
pub const PLUGINS: &str = "/usr/libexec/nodewell/reapers";

/// Where medik8s' operators store their Leases of nodes.
pub const CLAIMS: &str = "medik8s-leases";
/// Where the controller's own Leases are, and no other client's.
pub const LEASES: &str = "nodewell-controller";

/// Where the API server of this host asks about policies.
pub const WEBHOOK: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 20259));

/// See [`Leader::check`].
const SHORTEST_LEASE: Duration = Duration::from_secs(10);

/// The resolved configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Decides and reports, and does nothing. So until it is switched off.
    pub dry_run: bool,
    /// Of ConfigMaps, Secrets, agents' Leases and the controller's own.
    pub namespace: String,
    /// Nothing: what this machine offers.
    pub kubeconfig: Option<PathBuf>,
    /// This host's own Node, which it never acts on; nothing if it is none.
    pub node_name: Option<String>,
    pub leader: Leader,
    pub metrics_listen: Option<SocketAddr>,
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
    /// Reads `file`, or the default one if it is there, and the files beside it; `flags` override them. All errors of
    /// all files are reported at once.
    pub fn load(file: Option<&Path>, flags: Settings) -> Result<Self, Vec<Diagnostic>> {
        let (files, mut diagnostics) = files(file);
        let mut merged = Settings::default();
        for file in files {
            match settings::read(&file) {
                Ok(read) => merged = merged.merged(read),
                Err(found) => diagnostics.extend(found),
            }
        }
        if !diagnostics.is_empty() {
            return Err(diagnostics);
        }
        Self::resolved(merged.merged(flags)).map_err(|diagnostic| vec![diagnostic])
    }

    /// The defaults, each with what was configured otherwise. Only what the keys mean together can be wrong now.
    pub fn resolved(settings: Settings) -> Result<Self, Diagnostic> {
        let approver = approver(&settings)?;
        let listen =
            settings.metrics_listen.unwrap_or(MetricsListen::At(SocketAddr::from((Ipv4Addr::LOCALHOST, 20258))));
        let namespace = settings.namespace.unwrap_or_else(|| "nodewell".to_owned());
        let leader = Leader {
            namespace: settings.lease_namespace.unwrap_or_else(|| LEASES.to_owned()),
            lease: settings.lease.unwrap_or_else(|| "nodewell-controller".to_owned()),
            identity: settings.identity,
            // client-go's own numbers, which are well known.
            duration: settings.lease_duration.unwrap_or(Duration::from_secs(15)),
            renew_deadline: settings.renew_deadline.unwrap_or(Duration::from_secs(10)),
            retry: settings.retry.unwrap_or(Duration::from_secs(2)),
        };
        leader.check(&namespace)?;
        Ok(Self {
            dry_run: settings.dry_run.unwrap_or(true),
            namespace,
            kubeconfig: settings.kubeconfig,
            node_name: settings.node_name,
            leader,
            metrics_listen: listen.address(),
            probes: settings.probes.unwrap_or_default(),
            etcd: settings.etcd,
            fencing: Fencing {
                agents_folder: settings.agents_folder.unwrap_or_else(|| AGENTS.into()),
                preflight_interval: settings.preflight_interval.unwrap_or(Duration::from_secs(600)),
                preflight_concurrency: settings.preflight_concurrency.unwrap_or(16),
                secrets_folder: settings.secrets_folder,
                ca_file: settings.ca_file,
                plugins: settings.plugins.unwrap_or_else(|| vec![PLUGINS.into()]),
            },
            liveness: settings.liveness.unwrap_or(true),
            approver,
            kdump_listen: settings.kdump_listen.and_then(KdumpListen::address),
            claims_namespace: settings
                .claims
                .unwrap_or(true)
                .then(|| settings.claims_namespace.unwrap_or_else(|| CLAIMS.into())),
            node_reaper_config: settings.node_reaper_config,
            external_remediation: settings.external_remediation.unwrap_or_default(),
            cluster_api: settings.cluster_api,
            webhook: settings
                .webhook_listen
                .unwrap_or(MetricsListen::At(WEBHOOK))
                .address()
                .map(|listen| Webhook { listen, files: settings.webhook_files }),
            keep_ended: settings.keep_ended.unwrap_or(Duration::from_secs(24 * 3600)),
            audit_file: settings.audit_file,
            log_level: settings.log_level.unwrap_or_else(|| "info".to_owned()),
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
            return Err(Diagnostic::of_all(message));
        }
        if self.retry * 2 < self.renew_deadline && self.renew_deadline < self.duration && whole {
            return Ok(());
        }
        Err(Diagnostic::of_all(format!(
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
        Err(Diagnostic::of_all(format!(
            "[leader] namespace is {:?}, where nodes have Leases of their own: a Node named {:?} would own the leader's; \
             leave it out for {LEASES:?}, which rbac.yaml makes",
            self.namespace, self.lease
        )))
    }
}

/// It has credentials of its own, or it is not switched on.
fn approver(settings: &Settings) -> Result<Option<Approver>, Diagnostic> {
    if !settings.approver.unwrap_or_default() {
        return Ok(None);
    }
    let Some(kubeconfig) = settings.approver_kubeconfig.clone() else {
        return Err(Diagnostic::of_all(
            "[approver] is enabled and has no kubeconfig: name one of nodewell:approver (docs/agent-liveness.md)",
        ));
    };
    if settings.kubeconfig.as_ref() == Some(&kubeconfig) {
        return Err(Diagnostic::of_all(format!(
            "[approver] and the controller have the same kubeconfig {}: what acts on nodes does not hand out \
             certificates; make a second identity (docs/agent-liveness.md)",
            kubeconfig.display()
        )));
    }
    Ok(Some(Approver { kubeconfig, deny_forged: settings.deny_forged.unwrap_or_default() }))
}

/// The file, and those of its folder in the order of their names.
fn files(named: Option<&Path>) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let main = named.unwrap_or(Path::new(DEFAULT_CONFIG));
    let mut files = Vec::new();
    if named.is_some() || main.exists() {
        files.push(main.to_owned());
    }
    let mut folder = main.as_os_str().to_owned();
    folder.push(".d");
    let folder = PathBuf::from(folder);
    let entries = match std::fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (files, Vec::new()),
        Err(error) => return (files, vec![Diagnostic::of_file(&folder, format!("cannot be read: {error}"))]),
    };
    let paths = entries.flatten().map(|entry| entry.path());
    let mut more: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "toml")).collect();
    more.sort();
    files.extend(more);
    (files, Vec::new())
}
