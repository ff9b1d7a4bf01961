//! One config file, read key by key: every error with its line, nothing assumed.

mod apiserver;
mod checks;
mod grant;
mod hardware;
mod identity;
mod rate;
mod repair;
mod socket;
mod statistics;

use std::{net::SocketAddr, path::PathBuf, str::FromStr, time::Duration};

use nodewell_rules::{
    Diagnostic,
    document::{DeTable, Report, Section, TableAt, tables},
};

use crate::config::{Grant, LeaseMode, TakeOver, node_name};
pub use checks::CheckSettings;
pub use hardware::HardwareSettings;
pub use identity::{IdentityMode, IdentitySettings};
pub use repair::RepairPart;
pub use socket::SocketSettings;
pub use statistics::StatisticsSettings;

/// A config of more than this is not one.
const FILE_LIMIT_BYTES: u64 = 1024 * 1024;

/// What one file or the flags set; `None` where a key is not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Settings {
    pub node_name: Option<String>,
    pub standalone: Option<bool>,
    pub kubeconfig: Option<PathBuf>,
    pub socket: SocketSettings,
    pub state_dir: Option<PathBuf>,
    pub metrics_address: Option<MetricsAddress>,
    pub rules: Option<Vec<PathBuf>>,
    pub rules_override_dir: Option<PathBuf>,
    pub npd_config: Option<Vec<PathBuf>>,
    pub monitors_dir: Option<PathBuf>,
    pub kubelet_dir: Option<PathBuf>,
    pub check_processes: Option<CheckProcesses>,
    pub kmsg_path: Option<PathBuf>,
    pub kmsg_facilities: Option<Vec<u32>>,
    pub kmsg_lookback: Option<Duration>,
    pub journal_enabled: Option<bool>,
    pub journal_directory: Option<PathBuf>,
    pub journal_lookback: Option<Duration>,
    pub event_namespace: Option<String>,
    pub heartbeat: Option<Duration>,
    pub take_over: Option<TakeOver>,
    pub lease: Option<LeaseMode>,
    pub lease_renew: Option<Duration>,
    pub identity: IdentitySettings,
    pub hardware: HardwareSettings,
    pub checks: CheckSettings,
    pub repair: RepairPart,
    pub statistics: StatisticsSettings,
    /// Of all files together: one more file never takes a grant away.
    pub grants: Vec<Grant>,
}

/// Which process starts `nodewelld monitor NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckProcesses {
    /// The service manager if one runs us, else we ourselves.
    #[default]
    Auto,
    Spawn,
    None,
}

impl CheckProcesses {
    const CHOICES: [(&str, Self); 3] = [("auto", Self::Auto), ("spawn", Self::Spawn), ("none", Self::None)];
}

/// An address, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsAddress {
    Off,
    At(SocketAddr),
}

impl MetricsAddress {
    #[must_use]
    pub fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Off => None,
            Self::At(address) => Some(address),
        }
    }
}

impl FromStr for MetricsAddress {
    type Err = String;
    fn from_str(word: &str) -> Result<Self, String> {
        if word == "off" {
            return Ok(Self::Off);
        }
        let wrong = |_| format!("{word:?} is neither \"off\" nor an address and port such as 127.0.0.1:20259");
        word.parse().map(Self::At).map_err(wrong)
    }
}

/// Reads `file`.
pub fn read(file: &std::path::Path) -> Result<Settings, Vec<Diagnostic>> {
    let unreadable = |error: String| vec![Diagnostic::of_file(file, format!("cannot read the config: {error}"))];
    let size = std::fs::metadata(file).map_err(|error| unreadable(error.to_string()))?.len();
    if size > FILE_LIMIT_BYTES {
        return Err(unreadable(format!("it has {size} bytes, more than {FILE_LIMIT_BYTES}")));
    }
    let text = std::fs::read_to_string(file).map_err(|error| unreadable(error.to_string()))?;
    parse(file, &text)
}

/// Whether `file` is a config rather than a rule file: it has keys of one and no table of the other.
#[must_use]
pub fn is_config(file: &std::path::Path) -> bool {
    let Ok(text) = std::fs::read_to_string(file) else { return false };
    let (document, _) = DeTable::parse_recoverable(&text);
    let has = |keys: &[&str]| document.get_ref().keys().any(|key| keys.contains(&&**key.get_ref()));
    has(TOP_KEYS) && !has(&["rule", "condition", "source"])
}

/// Reads the text of `file`.
pub fn parse(file: &std::path::Path, text: &str) -> Result<Settings, Vec<Diagnostic>> {
    let mut report = Report::new(file, text);
    let (document, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let message = error.message().lines().next().unwrap_or_default();
        report.error(error.span().map_or(0, |span| span.start), format!("not TOML: {message}"));
    }
    let settings = top(&document, &mut report);
    let (diagnostics, _) = report.finish();
    if diagnostics.is_empty() { Ok(settings) } else { Err(diagnostics) }
}

const TOP_KEYS: &[&str] = &[
    "node-name",
    "standalone",
    "kubeconfig",
    "socket",
    "state-dir",
    "metrics-address",
    "rules",
    "rules-override-dir",
    "npd-config",
    "monitors-dir",
    "kubelet-dir",
    "check-processes",
    "kmsg",
    "journal",
    "apiserver",
    "identity",
    "disk",
    "memory",
    "cpu",
    "pcie",
    "fabric",
    "gpu",
    "limits",
    "mounts",
    "clock",
    "network",
    "services",
    "service",
    "repair",
    "statistics",
    "grant",
];

fn top(document: &toml::Spanned<DeTable<'_>>, report: &mut Report<'_>) -> Settings {
    let file = Section::new("the config", TableAt { table: document.get_ref(), at: 0 }, TOP_KEYS, report);
    let mut settings = Settings {
        node_name: node_name(file, report),
        standalone: file.boolean("standalone", report),
        kubeconfig: path(file, "kubeconfig", report),
        socket: socket::read(file, report),
        state_dir: path(file, "state-dir", report),
        metrics_address: metrics_address(file, report),
        rules: paths(file, "rules", report),
        rules_override_dir: path(file, "rules-override-dir", report),
        npd_config: paths(file, "npd-config", report),
        monitors_dir: path(file, "monitors-dir", report),
        kubelet_dir: path(file, "kubelet-dir", report),
        check_processes: file.choice("check-processes", &CheckProcesses::CHOICES, report),
        ..Settings::default()
    };
    kmsg(file, &mut settings, report);
    journal(file, &mut settings, report);
    apiserver::read(file, &mut settings, report);
    settings.identity = identity::read(file, report);
    settings.hardware = hardware::read(file, report);
    settings.checks = checks::read(file, report);
    settings.repair = repair::read(file, report);
    settings.statistics = statistics::read(file, report);
    let grants = tables(file, "grant", report).into_iter();
    settings.grants = grants.filter_map(|table| grant::read(table, report)).collect();
    settings
}

fn kmsg(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    let Some(table) = file.table("kmsg", report) else { return };
    let section = Section::new("[kmsg]", table, &["path", "facilities", "lookback"], report);
    settings.kmsg_path = path(section, "path", report);
    settings.kmsg_lookback = section.duration_or_none("lookback", report);
    if section.has("facilities") {
        let numbers = section.numbers("facilities", 0..=23, report);
        settings.kmsg_facilities = Some(numbers);
    }
}

fn journal(file: Section<'_>, settings: &mut Settings, report: &mut Report<'_>) {
    let Some(table) = file.table("journal", report) else { return };
    let section = Section::new("[journal]", table, &["enabled", "directory", "lookback"], report);
    settings.journal_enabled = section.boolean("enabled", report);
    settings.journal_directory = path(section, "directory", report);
    settings.journal_lookback = section.duration_or_none("lookback", report);
}

fn node_name(file: Section<'_>, report: &mut Report<'_>) -> Option<String> {
    let word = file.string("node-name", report)?;
    node_name::parse(word.text).map_err(|error| report.error(word.at, format!("\"node-name\": {error}"))).ok()
}

fn metrics_address(file: Section<'_>, report: &mut Report<'_>) -> Option<MetricsAddress> {
    let word = file.string("metrics-address", report)?;
    word.text.parse().map_err(|error: String| report.error(word.at, error)).ok()
}

fn path(section: Section<'_>, key: &str, report: &mut Report<'_>) -> Option<PathBuf> {
    section.string(key, report).map(|word| word.text.into())
}

fn paths(section: Section<'_>, key: &str, report: &mut Report<'_>) -> Option<Vec<PathBuf>> {
    let value = section.value(key)?;
    // An empty list is valid here: it removes what another file named.
    if value.get_ref().as_array().is_some_and(|items| items.is_empty()) {
        return Some(Vec::new());
    }
    Some(section.strings(key, report).into_iter().map(|word| word.text.into()).collect())
}

impl Settings {
    /// Both merged; `later` overrides.
    #[must_use]
    pub fn merged(self, later: Self) -> Self {
        Self {
            node_name: later.node_name.or(self.node_name),
            standalone: later.standalone.or(self.standalone),
            kubeconfig: later.kubeconfig.or(self.kubeconfig),
            socket: self.socket.merged(later.socket),
            state_dir: later.state_dir.or(self.state_dir),
            metrics_address: later.metrics_address.or(self.metrics_address),
            rules: later.rules.or(self.rules),
            rules_override_dir: later.rules_override_dir.or(self.rules_override_dir),
            npd_config: later.npd_config.or(self.npd_config),
            monitors_dir: later.monitors_dir.or(self.monitors_dir),
            kubelet_dir: later.kubelet_dir.or(self.kubelet_dir),
            check_processes: later.check_processes.or(self.check_processes),
            kmsg_path: later.kmsg_path.or(self.kmsg_path),
            kmsg_facilities: later.kmsg_facilities.or(self.kmsg_facilities),
            kmsg_lookback: later.kmsg_lookback.or(self.kmsg_lookback),
            journal_enabled: later.journal_enabled.or(self.journal_enabled),
            journal_directory: later.journal_directory.or(self.journal_directory),
            journal_lookback: later.journal_lookback.or(self.journal_lookback),
            event_namespace: later.event_namespace.or(self.event_namespace),
            heartbeat: later.heartbeat.or(self.heartbeat),
            take_over: later.take_over.or(self.take_over),
            lease: later.lease.or(self.lease),
            lease_renew: later.lease_renew.or(self.lease_renew),
            identity: self.identity.merged(later.identity),
            hardware: self.hardware.merged(later.hardware),
            checks: self.checks.merged(later.checks),
            repair: self.repair.merged(later.repair),
            statistics: self.statistics.merged(later.statistics),
            grants: self.grants.into_iter().chain(later.grants).collect(),
        }
    }
}
