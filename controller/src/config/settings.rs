//! One config file, or the flags: what was set, key by key.

use std::{
    ops::RangeInclusive,
    path::{Path, PathBuf},
    time::Duration,
};

use toml::de::DeTable;

use super::{
    ClusterApi, Diagnostic, Etcd, KdumpListen, MetricsListen, WebhookFiles,
    reader::{Report, Section},
};

/// A config of more than this is not one.
const FILE_LIMIT_BYTES: u64 = 1024 * 1024;

/// More often locks accounts out, more seldom finds a dead BMC too late.
const PREFLIGHT_INTERVAL: RangeInclusive<Duration> = Duration::from_secs(60)..=Duration::from_secs(3600);
/// One that is dead occupies its slot for 20 s; a question of an agent's is 30 MiB of memory.
const PREFLIGHT_CONCURRENCY: RangeInclusive<usize> = 1..=256;

/// What one file, or the flags, set; `None` where it sets nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    pub dry_run: Option<bool>,
    pub namespace: Option<String>,
    pub kubeconfig: Option<PathBuf>,
    pub node_name: Option<String>,
    pub metrics_listen: Option<MetricsListen>,
    pub probes: Option<Vec<String>>,
    pub node_reaper_config: Option<PathBuf>,
    pub log_level: Option<String>,
    pub lease_namespace: Option<String>,
    pub lease: Option<String>,
    pub identity: Option<String>,
    pub lease_duration: Option<Duration>,
    pub renew_deadline: Option<Duration>,
    pub retry: Option<Duration>,
    pub etcd: Option<Etcd>,
    pub agents_folder: Option<PathBuf>,
    pub preflight_interval: Option<Duration>,
    pub preflight_concurrency: Option<usize>,
    pub secrets_folder: Option<PathBuf>,
    pub ca_file: Option<PathBuf>,
    pub plugins: Option<Vec<PathBuf>>,
    pub liveness: Option<bool>,
    pub approver: Option<bool>,
    pub approver_kubeconfig: Option<PathBuf>,
    pub deny_forged: Option<bool>,
    pub kdump_listen: Option<KdumpListen>,
    pub claims: Option<bool>,
    pub claims_namespace: Option<String>,
    pub external_remediation: Option<bool>,
    pub cluster_api: Option<ClusterApi>,
    pub webhook_listen: Option<MetricsListen>,
    pub webhook_files: Option<WebhookFiles>,
    pub keep_ended: Option<Duration>,
    pub audit_file: Option<PathBuf>,
}

/// Every key: the table (empty for the file itself) and the name.
pub const KEYS: &[(&str, &[&str])] = &[
    ("", TOP),
    ("leader", LEADER),
    ("etcd", ETCD),
    ("fencing", FENCING),
    ("liveness", LIVENESS),
    ("approver", APPROVER),
    ("kdump", KDUMP),
    ("claims", CLAIMS),
    ("external-remediation", EXTERNAL_REMEDIATION),
    ("cluster-api", CLUSTER_API),
    ("webhook", WEBHOOK),
    ("records", RECORDS),
    ("audit", AUDIT),
];
const TOP: &[&str] = &[
    "dry-run",
    "namespace",
    "kubeconfig",
    "node-name",
    "metrics-listen",
    "probes",
    "node-reaper-config",
    "log-level",
    "leader",
    "etcd",
    "fencing",
    "liveness",
    "approver",
    "kdump",
    "claims",
    "external-remediation",
    "cluster-api",
    "webhook",
    "records",
    "audit",
];
const LEADER: &[&str] = &["namespace", "lease", "identity", "duration", "renew-deadline", "retry"];
const ETCD: &[&str] = &["endpoints", "ca", "cert", "key"];
const FENCING: &[&str] =
    &["agents-folder", "plugins", "preflight-interval", "preflight-concurrency", "secrets-folder", "ca-file"];
const LIVENESS: &[&str] = &["enabled"];
const APPROVER: &[&str] = &["enabled", "kubeconfig", "deny-forged"];
const KDUMP: &[&str] = &["listen"];
const CLAIMS: &[&str] = &["enabled", "namespace"];
const EXTERNAL_REMEDIATION: &[&str] = &["enabled"];
const CLUSTER_API: &[&str] = &["kubeconfig", "namespace", "cluster"];
const WEBHOOK: &[&str] = &["listen", "cert", "key"];
const RECORDS: &[&str] = &["keep-ended"];
const AUDIT: &[&str] = &["file"];

/// Reads `file`.
pub(super) fn read(file: &Path) -> Result<Settings, Vec<Diagnostic>> {
    let unreadable = |error: String| vec![Diagnostic::of_file(file, format!("cannot be read: {error}"))];
    let size = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
    if size > FILE_LIMIT_BYTES {
        return Err(unreadable(format!("it has {size} bytes, more than {FILE_LIMIT_BYTES}")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    parse(file, &text)
}

/// Reads the text of `file`; every error in it is reported.
pub fn parse(file: &Path, text: &str) -> Result<Settings, Vec<Diagnostic>> {
    let mut report = Report::new(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let message = error.message().lines().next().unwrap_or_default();
        report.error(&error.span().unwrap_or_default(), format!("not TOML: {message}"));
    }
    let settings = top(document.get_ref(), &mut report);
    let diagnostics = report.finish();
    if diagnostics.is_empty() { Ok(settings) } else { Err(diagnostics) }
}

fn top(table: &DeTable<'_>, report: &mut Report<'_>) -> Settings {
    let file = Section::new("the config", table, TOP, report);
    let mut settings = Settings {
        dry_run: file.boolean("dry-run", report),
        namespace: file.string("namespace", report),
        kubeconfig: file.string("kubeconfig", report).map(PathBuf::from),
        node_name: file.string("node-name", report),
        metrics_listen: metrics_listen(file, report),
        probes: probes(file, report),
        node_reaper_config: file.string("node-reaper-config", report).map(PathBuf::from),
        log_level: file.string("log-level", report),
        etcd: etcd(file, report),
        ..Settings::default()
    };
    leader(file, &mut settings, report);
    fencing(file, &mut settings, report);
    agents(file, &mut settings, report);
    peers(file, &mut settings, report);
    external(file, &mut settings, report);
    webhook(file, &mut settings, report);
    history(file, &mut settings, report);
    settings
}

fn metrics_listen(file: Section<'_>, report: &mut Report<'_>) -> Option<MetricsListen> {
    let word = file.string("metrics-listen", report)?;
    word.parse().map_err(|error: String| report.error(&file.span("metrics-listen"), error)).ok()
}

/// `host:port` each: an address without a port can be reached by nothing we may send.
fn probes(file: Section<'_>, report: &mut Report<'_>) -> Option<Vec<String>> {
    let probes = file.strings("probes", report)?;
    let is_whole = |probe: &&String| {
        probe.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    };
    if let Some(wrong) = probes.iter().find(|probe| !is_whole(probe)) {
        report.error(&file.span("probes"), format!("the probe {wrong:?} is not host:port, such as \"10.0.0.1:443\""));
    }
    Some(probes)
}

fn leader(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    let Some(table) = file.table("leader", report) else { return };
    let section = Section::new("[leader]", table, LEADER, report);
    settings.lease_namespace = section.string("namespace", report);
    settings.lease = section.string("lease", report);
    settings.identity = section.string("identity", report);
    settings.lease_duration = section.duration("duration", report);
    settings.renew_deadline = section.duration("renew-deadline", report);
    settings.retry = section.duration("retry", report);
}

/// All four or none: what is half set is an error, not a default.
fn etcd(file: Section<'_>, report: &mut Report<'_>) -> Option<Etcd> {
    let table = file.table("etcd", report)?;
    let section = Section::new("[etcd]", table, ETCD, report);
    let endpoints = section.strings("endpoints", report).filter(|endpoints| !endpoints.is_empty());
    let mut path = |key| section.string(key, report).map(PathBuf::from);
    let (ca, cert, key) = (path("ca"), path("cert"), path("key"));
    let whole = (|| Some(Etcd { endpoints: endpoints?, ca: ca?, cert: cert?, key: key? }))();
    if whole.is_none() {
        report.error(&file.span("etcd"), "[etcd] takes all of endpoints, ca, cert and key");
    }
    whole
}

fn fencing(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    let Some(table) = file.table("fencing", report) else { return };
    let section = Section::new("[fencing]", table, FENCING, report);
    settings.agents_folder = section.string("agents-folder", report).map(PathBuf::from);
    let plugins = section.strings("plugins", report);
    settings.plugins = plugins.map(|plugins| plugins.into_iter().map(PathBuf::from).collect());
    settings.preflight_interval = section.duration("preflight-interval", report);
    if settings.preflight_interval.is_some_and(|interval| !PREFLIGHT_INTERVAL.contains(&interval)) {
        report.error(&section.span("preflight-interval"), "preflight-interval is from \"1m\" to \"1h\"");
    }
    settings.secrets_folder = section.string("secrets-folder", report).map(PathBuf::from);
    settings.ca_file = section.string("ca-file", report).map(PathBuf::from);
    settings.preflight_concurrency = section.count("preflight-concurrency", PREFLIGHT_CONCURRENCY, report);
}

fn agents(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    if let Some(table) = file.table("liveness", report) {
        settings.liveness = Section::new("[liveness]", table, LIVENESS, report).boolean("enabled", report);
    }
    let Some(table) = file.table("approver", report) else { return };
    let section = Section::new("[approver]", table, APPROVER, report);
    settings.approver = section.boolean("enabled", report);
    settings.approver_kubeconfig = section.string("kubeconfig", report).map(PathBuf::from);
    settings.deny_forged = section.boolean("deny-forged", report);
}

/// What arrives from others: nodes that write crash dumps, and other remediators.
fn peers(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    if let Some(table) = file.table("kdump", report) {
        let section = Section::new("[kdump]", table, KDUMP, report);
        let listen = section.string("listen", report).map(|word| word.parse());
        settings.kdump_listen = listen.and_then(|parsed: Result<KdumpListen, String>| {
            parsed.map_err(|error| report.error(&section.span("listen"), error)).ok()
        });
    }
    let Some(table) = file.table("claims", report) else { return };
    let section = Section::new("[claims]", table, CLAIMS, report);
    settings.claims = section.boolean("enabled", report);
    settings.claims_namespace = section.string("namespace", report);
}

/// Remediators that ask this one to fence a node. Of the management cluster all three or none: without the cluster's name a
/// Machine of another cluster could be taken for a node of this one.
fn external(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    if let Some(table) = file.table("external-remediation", report) {
        let section = Section::new("[external-remediation]", table, EXTERNAL_REMEDIATION, report);
        settings.external_remediation = section.boolean("enabled", report);
    }
    let Some(table) = file.table("cluster-api", report) else { return };
    let section = Section::new("[cluster-api]", table, CLUSTER_API, report);
    let mut text = |key| section.string(key, report);
    let (kubeconfig, namespace, cluster) = (text("kubeconfig"), text("namespace"), text("cluster"));
    settings.cluster_api =
        (|| Some(ClusterApi { kubeconfig: kubeconfig?.into(), namespace: namespace?, cluster: cluster? }))();
    if settings.cluster_api.is_none() {
        report.error(&file.span("cluster-api"), "[cluster-api] takes all of kubeconfig, namespace and cluster");
    }
}

/// What is left of what was done.
fn history(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    if let Some(table) = file.table("records", report) {
        settings.keep_ended = Section::new("[records]", table, RECORDS, report).duration("keep-ended", report);
    }
    if let Some(table) = file.table("audit", report) {
        settings.audit_file = Section::new("[audit]", table, AUDIT, report).string("file", report).map(PathBuf::from);
    }
}

/// Both files or none: a certificate without its key is an error, not one of our own.
fn webhook(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    let Some(table) = file.table("webhook", report) else { return };
    let section = Section::new("[webhook]", table, WEBHOOK, report);
    let listen = section.string("listen", report).map(|word| word.parse());
    settings.webhook_listen = listen.and_then(|parsed: Result<MetricsListen, String>| {
        parsed.map_err(|error| report.error(&section.span("listen"), error)).ok()
    });
    let mut path = |key| section.string(key, report).map(PathBuf::from);
    settings.webhook_files = match (path("cert"), path("key")) {
        (Some(cert), Some(key)) => Some(WebhookFiles { cert, key }),
        (None, None) => None,
        _ => {
            report.error(&file.span("webhook"), "[webhook] takes both of cert and key, or neither");
            None
        }
    };
}

impl Settings {
    /// Both merged; where both set a key, `later` wins.
    #[must_use]
    pub fn merged(self, later: Self) -> Self {
        Self {
            dry_run: later.dry_run.or(self.dry_run),
            namespace: later.namespace.or(self.namespace),
            kubeconfig: later.kubeconfig.or(self.kubeconfig),
            node_name: later.node_name.or(self.node_name),
            metrics_listen: later.metrics_listen.or(self.metrics_listen),
            probes: later.probes.or(self.probes),
            node_reaper_config: later.node_reaper_config.or(self.node_reaper_config),
            log_level: later.log_level.or(self.log_level),
            lease_namespace: later.lease_namespace.or(self.lease_namespace),
            lease: later.lease.or(self.lease),
            identity: later.identity.or(self.identity),
            lease_duration: later.lease_duration.or(self.lease_duration),
            renew_deadline: later.renew_deadline.or(self.renew_deadline),
            retry: later.retry.or(self.retry),
            etcd: later.etcd.or(self.etcd),
            agents_folder: later.agents_folder.or(self.agents_folder),
            preflight_interval: later.preflight_interval.or(self.preflight_interval),
            preflight_concurrency: later.preflight_concurrency.or(self.preflight_concurrency),
            secrets_folder: later.secrets_folder.or(self.secrets_folder),
            ca_file: later.ca_file.or(self.ca_file),
            plugins: later.plugins.or(self.plugins),
            liveness: later.liveness.or(self.liveness),
            approver: later.approver.or(self.approver),
            approver_kubeconfig: later.approver_kubeconfig.or(self.approver_kubeconfig),
            deny_forged: later.deny_forged.or(self.deny_forged),
            kdump_listen: later.kdump_listen.or(self.kdump_listen),
            claims: later.claims.or(self.claims),
            claims_namespace: later.claims_namespace.or(self.claims_namespace),
            external_remediation: later.external_remediation.or(self.external_remediation),
            cluster_api: later.cluster_api.or(self.cluster_api),
            webhook_listen: later.webhook_listen.or(self.webhook_listen),
            webhook_files: later.webhook_files.or(self.webhook_files),
            keep_ended: later.keep_ended.or(self.keep_ended),
            audit_file: later.audit_file.or(self.audit_file),
        }
    }
}
