//! The agent's configuration: `nodewell.toml`, then `nodewell.toml.d/*.toml`, then flags; later ones win key by key.
//!
//! Reading makes [`Settings`], in which everything may be missing; [`Config`] has the defaults, written once here.

use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::{Path, PathBuf},
    time::Duration,
};

use nix::unistd::{AccessFlags, access};
use nodewell_client::DEFAULT_SOCKET;
use nodewell_model::{ConditionSpec, Name};
use nodewell_rules::{Diagnostic, LoadPlan, RulesFrom, plugin::PluginMonitor};

pub use flags::Flags;
pub use grant::{Grant, Grantee, Types};
#[cfg(test)]
pub(crate) use kubelet::KUBECONFIGS;
pub use kubelet::kubelet_kubeconfigs;
pub use lease::{LeaseConfig, LeaseMode};
pub use settings::{CheckProcesses, IdentityMode, MetricsAddress, Settings};
pub use socket::SocketLimits;

pub mod flags;
mod grant;
mod kubelet;
mod lease;
pub mod node_name;
pub mod settings;
mod socket;

/// Where the config is looked for unless `--config` names another path; its absence is no error.
pub const DEFAULT_CONFIG: &str = "/etc/nodewell/nodewell.toml";
/// Where the package stores state.
pub const STATE_DIR: &str = "/var/lib/nodewell";
/// The kernel log, unless `[kmsg] path` or `--kmsg` names another.
pub const KERNEL_LOG: &str = "/dev/kmsg";
/// Where the package installs the rules. Without that folder the built-in copy of the same rules is used.
const INSTALLED_RULES: &str = "/usr/share/nodewell/rules";

/// The resolved configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub node_name: String,
    /// No API server.
    pub standalone: bool,
    pub kubeconfig: Option<PathBuf>,
    pub socket: PathBuf,
    /// `None`: no directory was named, and there is no default one that we may write to.
    pub state_dir: Option<PathBuf>,
    pub metrics_address: Option<SocketAddr>,
    pub rules: Vec<PathBuf>,
    pub rules_override_dir: PathBuf,
    pub npd_config: Vec<PathBuf>,
    pub monitors_dir: PathBuf,
    pub kubelet_dir: PathBuf,
    pub check_processes: CheckProcesses,
    pub kmsg: KmsgConfig,
    pub journal: JournalConfig,
    pub apiserver: ApiserverSettings,
    pub identity: IdentityConfig,
    /// For the check processes.
    pub hardware: nodewell_hardware::Settings,
    pub checks: nodewell_checks::Settings,
    /// For `nodewelld repair`.
    pub repair: nodewell_checks::repair::RepairSettings,
    /// Whether the node's own figures are among the metrics.
    pub statistics: bool,
    pub socket_limits: SocketLimits,
    /// Which other users may report, in the order of the files.
    pub grants: Vec<Grant>,
}

/// `[kmsg]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KmsgConfig {
    pub path: PathBuf,
    /// Syslog facilities that are believed. The kernel's own is 0; user space cannot write under it.
    pub facilities: Vec<u32>,
    /// Events from before the start are reported if they are younger than this.
    pub lookback: Duration,
}

/// `[journal]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JournalConfig {
    pub enabled: bool,
    /// `None`: the system's own journal.
    pub directory: Option<PathBuf>,
    pub lookback: Duration,
}

/// When conditions of our types are taken from another writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeOver {
    Never,
    /// It has not written for so long: a Node Problem Detector that was removed.
    AfterSilence(Duration),
    AtOnce,
}

impl Default for TakeOver {
    /// Three periods of Node Problem Detector and of ourselves.
    fn default() -> Self {
        Self::AfterSilence(Duration::from_mins(15))
    }
}

/// `[apiserver]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiserverSettings {
    pub event_namespace: String,
    /// How often the Node is written while nothing changes (KEP-589).
    pub heartbeat: Duration,
    pub take_over: TakeOver,
    pub lease: LeaseConfig,
}

/// `[identity]`: the agent's identity on the API server, where no kubeconfig is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdentityConfig {
    pub mode: IdentityMode,
    /// `None`: where distributions store it.
    pub kubelet_kubeconfig: Option<PathBuf>,
    /// Asks for certificates in place of the kubelet's.
    pub bootstrap_kubeconfig: Option<PathBuf>,
    /// What is asked for; the cluster's signer may give less.
    pub certificate_lifetime: Duration,
    /// Where the agent finds what is meant for it.
    pub folder: PathBuf,
}

impl Config {
    /// Reads everything there is. All errors of all files are returned at once.
    pub fn load(flags: &Flags) -> Result<Self, Vec<Diagnostic>> {
        let mut settings = Settings::default();
        let (files, mut diagnostics) = files(flags);
        for file in files {
            match settings::read(&file) {
                Ok(read) => settings = settings.merged(read),
                Err(found) => diagnostics.extend(found),
            }
        }
        if diagnostics.is_empty() { Ok(Self::resolved(settings.merged(flags.settings()))) } else { Err(diagnostics) }
    }

    /// What the flags alone set.
    #[must_use]
    pub fn of_flags(flags: &Flags) -> Self {
        Self::resolved(flags.settings())
    }

    /// The defaults, each replaced by what is set.
    fn resolved(settings: Settings) -> Self {
        let checks = checks(&settings);
        let metrics =
            settings.metrics_address.unwrap_or(MetricsAddress::At(SocketAddr::from((Ipv4Addr::LOCALHOST, 20259))));
        Self {
            node_name: settings.node_name.unwrap_or_else(default_node_name),
            standalone: settings.standalone.unwrap_or(false),
            kubeconfig: settings.kubeconfig,
            socket_limits: settings.socket.limits(),
            socket: settings.socket.path.unwrap_or_else(|| DEFAULT_SOCKET.into()),
            state_dir: settings.state_dir.or_else(default_state_dir),
            metrics_address: metrics.address(),
            rules: settings.rules.unwrap_or_default(),
            rules_override_dir: settings.rules_override_dir.unwrap_or_else(|| "/etc/nodewell/rules.d".into()),
            npd_config: settings.npd_config.unwrap_or_default(),
            monitors_dir: settings.monitors_dir.unwrap_or_else(|| "/etc/nodewell/monitors.d".into()),
            kubelet_dir: settings.kubelet_dir.unwrap_or_else(|| "/var/lib/kubelet".into()),
            check_processes: settings.check_processes.unwrap_or_default(),
            kmsg: KmsgConfig {
                path: settings.kmsg_path.unwrap_or_else(|| KERNEL_LOG.into()),
                facilities: settings.kmsg_facilities.unwrap_or_else(|| vec![0]),
                lookback: settings.kmsg_lookback.unwrap_or(DEFAULT_LOOKBACK),
            },
            journal: JournalConfig {
                enabled: settings.journal_enabled.unwrap_or(true),
                directory: settings.journal_directory,
                lookback: settings.journal_lookback.unwrap_or(DEFAULT_LOOKBACK),
            },
            apiserver: ApiserverSettings {
                event_namespace: settings.event_namespace.unwrap_or_else(|| "default".to_owned()),
                heartbeat: settings.heartbeat.unwrap_or(Duration::from_mins(5)),
                take_over: settings.take_over.unwrap_or_default(),
                lease: lease(settings.lease, settings.lease_renew),
            },
            identity: settings.identity.resolved(),
            hardware: settings.hardware.resolved(),
            checks,
            repair: settings.repair.resolved(),
            statistics: settings.statistics.enabled.unwrap_or(true),
            grants: settings.grants,
        }
    }

    /// This config with the rule files and grants of `newer`, and whether anything else in `newer` differs.
    #[must_use]
    pub fn with_rules_of(&self, newer: &Self) -> (Self, bool) {
        let mut reloaded = self.clone();
        reloaded.rules.clone_from(&newer.rules);
        reloaded.rules_override_dir.clone_from(&newer.rules_override_dir);
        reloaded.npd_config.clone_from(&newer.npd_config);
        reloaded.monitors_dir.clone_from(&newer.monitors_dir);
        reloaded.grants.clone_from(&newer.grants);
        let differs = reloaded != *newer;
        (reloaded, differs)
    }

    /// Grants of condition types that are not in `catalogue`: such reports would be refused all the same.
    #[must_use]
    pub fn grants_beyond(&self, catalogue: &[ConditionSpec]) -> Vec<Diagnostic> {
        let is_known = |name: &Name| catalogue.iter().any(|known| known.condition == *name);
        let beyond = |grant: &Grant| {
            let unknown: Vec<&str> = grant.named().filter(|name| !is_known(name)).map(Name::as_str).collect();
            let message = format!(
                "the grant names {}, which no rule file has; declare it by [[condition]] in a file of {}",
                unknown.join(", "),
                self.rules_override_dir.display()
            );
            (!unknown.is_empty()).then(|| Diagnostic::new(grant.at.clone(), message))
        };
        self.grants.iter().filter_map(beyond).collect()
    }

    /// Which rules to load from where.
    #[must_use]
    pub fn load_plan(&self) -> LoadPlan {
        // `--rules` replaces both the shipped rules and what the administrator put beside them.
        let (rules, overrides) = if self.rules.is_empty() {
            (shipped_rules(), Some(self.rules_override_dir.clone()))
        } else {
            (RulesFrom::Dirs(self.rules.clone()), None)
        };
        LoadPlan {
            rules,
            overrides,
            npd: self.npd_config.clone(),
            monitors_dir: Some(self.monitors_dir.clone()),
            xids: self.hardware.gpu.xids.clone(),
        }
    }

    /// The plug-ins of Node Problem Detector's files, without any rule of ours. The agent reports errors in these
    /// files.
    #[must_use]
    pub fn plugin_monitors(&self) -> Vec<PluginMonitor> {
        let plan = LoadPlan { rules: RulesFrom::Dirs(Vec::new()), overrides: None, ..self.load_plan() };
        nodewell_rules::load(&plan).set.plugins
    }
}

/// The checks ask for the API server's name, which the agent's kubeconfig or the kubelet's has.
fn checks(settings: &Settings) -> nodewell_checks::Settings {
    let mut checks = settings.checks.clone().resolved();
    let kubelets = kubelet_kubeconfigs(Path::new("/"), settings.identity.kubelet_kubeconfig.as_deref());
    checks.network.kubeconfigs = settings.kubeconfig.iter().cloned().chain(kubelets).collect();
    checks
}

fn lease(mode: Option<LeaseMode>, renew: Option<Duration>) -> LeaseConfig {
    let default = LeaseConfig::default();
    LeaseConfig { mode: mode.unwrap_or(default.mode), renew: renew.unwrap_or(default.renew), ..default }
}

/// As long as Node Problem Detector's stock configs look back.
const DEFAULT_LOOKBACK: Duration = Duration::from_mins(5);

fn shipped_rules() -> RulesFrom {
    let installed = Path::new(INSTALLED_RULES);
    if installed.is_dir() { RulesFrom::Dirs(vec![installed.to_owned()]) } else { RulesFrom::BuiltIn }
}

/// Whether a rule file came with the program.
#[must_use]
pub fn is_shipped(rule_file: &Path) -> bool {
    rule_file.starts_with(INSTALLED_RULES) || rule_file.starts_with(nodewell_rules::shipped::FOLDER)
}

/// The config file and its drop-ins, in the order in which they are read, and why the drop-ins cannot be listed.
fn files(flags: &Flags) -> (Vec<PathBuf>, Vec<Diagnostic>) {
    let main = flags.config.clone().unwrap_or_else(|| DEFAULT_CONFIG.into());
    let mut folder = main.clone().into_os_string();
    folder.push(".d");
    // A file that was named must be there; the default one may be missing, if that can be seen.
    let first = (flags.config.is_some() || main.try_exists().unwrap_or(true)).then_some(main);
    let drop_ins = drop_ins(Path::new(&folder));
    let unreadable = |error| Diagnostic::of_file(Path::new(&folder), format!("this folder cannot be read: {error}"));
    let diagnostics = drop_ins.as_ref().err().map(unreadable);
    (first.into_iter().chain(drop_ins.unwrap_or_default()).collect(), diagnostics.into_iter().collect())
}

/// A folder that is not there is an empty one. One that may not be listed is not: what it sets would be lost.
fn drop_ins(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut paths = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    Ok(paths)
}

/// What the service manager has made for us (`StateDirectory=`), or what an earlier installation has left.
fn default_state_dir() -> Option<PathBuf> {
    let made = std::env::var_os("STATE_DIRECTORY").map(PathBuf::from).filter(|made| made.is_absolute());
    made.or_else(|| {
        let usual = PathBuf::from(STATE_DIR);
        access(&usual, AccessFlags::W_OK | AccessFlags::X_OK).is_ok().then_some(usual)
    })
}

/// As the kubelet does it: the host's name in lower case (`nodeutil.GetHostname`).
fn default_node_name() -> String {
    let from_environment = std::env::var("NODE_NAME").ok().filter(|name| !name.is_empty());
    let host = || nix::unistd::gethostname().ok().and_then(|name| name.into_string().ok());
    from_environment.or_else(host).map_or_else(|| "localhost".to_owned(), |name| name.trim().to_lowercase())
}

#[cfg(test)]
mod tests;
