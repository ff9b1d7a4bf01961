//! The agent's configuration: `nodewell.toml`, then `nodewell.toml.d/*.toml`, then flags; later ones win key by key.
//!
//! Each table is a type whose default is what holds where no file says anything, and whose keys are declared beside it
//! ([`nodewell_settings::Table`]); the files are read over it in their order.

use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};
use nodewell_checks::repair::RepairSettings;
use nodewell_model::{ConditionSpec, Mute, Name};
use nodewell_rules::{LoadPlan, Prose, RulesFrom, plugin::PluginMonitor, shipped};
use nodewell_settings::{
    DeTable, Diagnostic, Set, Table,
    files::{config_files, config_text},
    nearest::nearest,
};

use crate::exporters::ExporterSettings;

pub use apiserver::{ApiserverSettings, TakeOver};
pub use entries::Entry;
pub use flags::Flags;
pub use grant::{Grant, Grantee, Types};
pub use identity::{IdentityConfig, IdentityMode};
#[cfg(test)]
pub(crate) use kubelet::KUBECONFIGS;
pub use kubelet::kubelet_kubeconfigs;
pub use lease::{LeaseConfig, LeaseMode};
pub use metrics_address::MetricsAddress;
pub use mute::ConfiguredMute;
pub use socket::{SocketConfig, SocketLimits};
pub use sources::{JournalConfig, KERNEL_LOG, KmsgConfig};
pub use statistics::StatisticsConfig;

mod apiserver;
mod entries;
pub mod flags;
mod grant;
mod hash;
mod identity;
mod kubelet;
mod lease;
mod metrics_address;
mod mute;
pub mod node_name;
mod rate;
mod socket;
mod sources;
mod statistics;
mod tables;

/// Where the config is looked for unless `--config` names another path; its absence is no error.
pub const DEFAULT_CONFIG: &str = "/etc/nodewell/nodewell.toml";
/// What a rule file has, and a config has not.
const RULE_TABLES: [&str; 5] = ["rule", "condition", "source", "plugin", "override"];
/// Where the package stores state.
pub const STATE_DIR: &str = "/var/lib/nodewell";

/// The configuration.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    pub node_name: String,
    /// The same as the operator names it.
    pub(crate) named: Option<String>,
    /// A label of every metric.
    pub cluster: Option<String>,
    /// No API server.
    pub standalone: bool,
    pub kubeconfig: Option<PathBuf>,
    pub socket: SocketConfig,
    /// `None`: no directory was named, and there is no default one that we may write to.
    pub state_dir: Option<PathBuf>,
    pub metrics_address: MetricsAddress,
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
    pub checks: nodewell_checks::Settings,
    /// For `nodewell-checks repair`.
    pub repair: RepairSettings,
    pub exporters: ExporterSettings,
    /// Which other users may report, in the order of the files.
    pub grants: Vec<Grant>,
    /// Which problems are muted, in the order of the files.
    pub mutes: Vec<ConfiguredMute>,
}

impl Default for Config {
    /// What holds where no file says anything; the node's name and where state is are not found out yet.
    fn default() -> Self {
        Self {
            node_name: String::new(),
            named: None,
            cluster: None,
            standalone: false,
            kubeconfig: None,
            socket: SocketConfig::default(),
            state_dir: None,
            metrics_address: MetricsAddress::default(),
            rules: Vec::new(),
            rules_override_dir: "/etc/nodewell/rules.d".into(),
            npd_config: Vec::new(),
            monitors_dir: "/etc/nodewell/monitors.d".into(),
            kubelet_dir: "/var/lib/kubelet".into(),
            check_processes: CheckProcesses::default(),
            kmsg: KmsgConfig::default(),
            journal: JournalConfig::default(),
            apiserver: ApiserverSettings::default(),
            identity: IdentityConfig::default(),
            checks: nodewell_checks::Settings::default(),
            repair: RepairSettings::default(),
            exporters: ExporterSettings::default(),
            grants: Vec::new(),
            mutes: Vec::new(),
        }
    }
}

/// Which process starts `nodewell-checks run NAME`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckProcesses {
    /// The service manager if one runs us, else we ourselves.
    #[default]
    Auto,
    Spawn,
    None,
}

impl Config {
    /// Reads everything there is. All errors of all files are returned at once.
    pub fn load(flags: &Flags) -> Result<Self, Vec<Diagnostic>> {
        Self::load_with_origins(flags).map(|(config, _)| config)
    }

    /// The same, and which line of which file set each key; of several the last one holds.
    pub fn load_with_origins(flags: &Flags) -> Result<(Self, Vec<Set>), Vec<Diagnostic>> {
        let mut config = Self::default();
        let (files, mut diagnostics) = config_files(flags.config.as_deref(), Path::new(DEFAULT_CONFIG));
        let mut set = Vec::new();
        for file in files {
            match config.read_file(&file) {
                Ok(more) => set.extend(more),
                Err(found) => diagnostics.extend(found),
            }
        }
        if !diagnostics.is_empty() {
            return Err(diagnostics);
        }
        flags.apply(&mut config);
        Ok((config.resolved(), set))
    }

    /// What the flags alone set.
    #[must_use]
    pub fn of_flags(flags: &Flags) -> Self {
        let mut config = Self::default();
        flags.apply(&mut config);
        config.resolved()
    }

    /// Reads one file over what is set.
    fn read_file(&mut self, file: &Path) -> Result<Vec<Set>, Vec<Diagnostic>> {
        let text = config_text(file).map_err(|diagnostic| vec![diagnostic])?;
        nodewell_settings::read_text(self, file, &text)
    }

    /// What the agent would say of a file with this text.
    pub(crate) fn errors_in(file: &Path, text: &str) -> Vec<Diagnostic> {
        nodewell_settings::read_text(&mut Self::default(), file, text).err().unwrap_or_default()
    }

    /// Whether `file` is a config rather than a rule file: it has keys of one, or some that are meant to be, and no
    /// table of the other. Without either its name decides.
    #[must_use]
    pub fn is_config(file: &Path) -> bool {
        let is_called = |path: &Path, name: &str| path.file_name().is_some_and(|found| found == name);
        let is_named = is_called(file, "nodewell.toml")
            || file.parent().is_some_and(|folder| is_called(folder, "nodewell.toml.d"));
        let Ok(text) = std::fs::read_to_string(file) else { return is_named };
        let (document, _) = DeTable::parse_recoverable(&text);
        let found: Vec<&str> = document.get_ref().keys().map(|key| &**key.get_ref()).collect();
        let keys: Vec<&str> = Self::keys().iter().map(|key| key.name).chain(Self::others()).collect();
        let is_meant = |key: &&str| nearest(key, keys.iter().copied()).is_some() && nearest(key, RULE_TABLES).is_none();
        let has_rules = found.iter().any(|key| RULE_TABLES.contains(key));
        // Keys of tables whose lines are missing.
        let are_of_tables = || !found.is_empty() && found.iter().all(|key| !Self::places_of(key).tables.is_empty());
        !has_rules && (is_named || found.iter().any(|key| keys.contains(key) || is_meant(key)) || are_of_tables())
    }

    /// What no file sets is found out, and what depends on other keys is made to fit.
    fn resolved(mut self) -> Self {
        self.node_name = self.named.take().unwrap_or_else(default_node_name);
        self.named = Some(self.node_name.clone());
        self.state_dir = self.state_dir.or_else(default_state_dir);
        Self::parts().iter().for_each(|part| part.resolve(&mut self));
        // The checks ask for the API server's name, which the agent's kubeconfig or the kubelet's has.
        let kubelets = kubelet_kubeconfigs(Path::new("/"), self.identity.kubelet_kubeconfig.as_deref());
        self.checks.network.kubeconfigs = self.kubeconfig.iter().cloned().chain(kubelets).collect();
        self
    }

    /// This config with the rule files, grants and mutes of `newer`, and whether anything else in `newer` differs.
    #[must_use]
    pub fn with_rules_of(&self, newer: &Self) -> (Self, bool) {
        let mut reloaded = self.clone();
        reloaded.rules.clone_from(&newer.rules);
        reloaded.rules_override_dir.clone_from(&newer.rules_override_dir);
        reloaded.npd_config.clone_from(&newer.npd_config);
        reloaded.monitors_dir.clone_from(&newer.monitors_dir);
        reloaded.grants.clone_from(&newer.grants);
        reloaded.mutes.clone_from(&newer.mutes);
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

    /// Everything that it names and `catalogue` does not have.
    #[must_use]
    pub fn beyond(&self, catalogue: &[ConditionSpec]) -> Vec<Diagnostic> {
        [self.grants_beyond(catalogue), self.mutes_beyond(catalogue)].concat()
    }

    /// Mutes of condition types that are not in `catalogue`: they would mute nothing.
    #[must_use]
    pub fn mutes_beyond(&self, catalogue: &[ConditionSpec]) -> Vec<Diagnostic> {
        let beyond = |mute: &ConfiguredMute| {
            let condition = mute.key.condition.as_ref()?;
            let is_known = catalogue.iter().any(|known| known.condition == *condition);
            let message = format!("[[mute]] names the condition {condition}, which no rule file has");
            (!is_known).then(|| Diagnostic::new(mute.at.clone(), message))
        };
        self.mutes.iter().filter_map(beyond).collect()
    }

    /// What the ledger is to mute; of two of the same problems the later one counts.
    #[must_use]
    pub fn active_mutes(&self) -> Vec<Mute> {
        self.mutes.iter().map(ConfiguredMute::to_mute).collect()
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
            prose: Prose::Whole,
            overrides,
            npd: self.npd_config.clone(),
            monitors_dir: Some(self.monitors_dir.clone()),
            xids: self.checks.gpu.xids.clone(),
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

/// Without the folder of the packages the built-in copy of the same rules is used.
fn shipped_rules() -> RulesFrom {
    let installed = Path::new(shipped::INSTALLED);
    if installed.is_dir() { RulesFrom::Dirs(vec![installed.to_owned()]) } else { RulesFrom::BuiltIn }
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
