//! Plug-in monitors: programs of other people that are run at intervals, and the native checks that stand for two
//! programs of Node Problem Detector. Data only; [`Task`] gives what runs them.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_model::{Name, Severity};

use crate::{Location, rule::Format};

/// The tasks of one problem daemon: a file of Node Problem Detector, or one native `[[plugin]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginMonitor {
    pub location: Location,
    pub format: Format,
    /// Its name as a problem daemon. Several monitors of one name are one daemon.
    pub source: Arc<str>,
    /// How many of its programs may run at once.
    pub concurrency: usize,
    /// Whether no condition is reported before the first run has ended.
    pub skip_initial: bool,
    /// Whether a message that changes while a problem lasts is a change of the problem.
    pub follows_message: bool,
    pub tasks: Vec<PluginTask>,
}

/// One thing to look at again and again, and what a bad result means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PluginTask {
    pub location: Location,
    /// How people call it: a native plug-in's name, or the reason and the program's name; unique in its source.
    pub name: String,
    pub task: Task,
    pub reason: Name,
    /// `None`: a bad result is an Event only.
    pub condition: Option<Name>,
    /// Of a problem; where the protocol distinguishes a warning from a problem, a warning is never more than `warn`.
    pub severity: Severity,
    /// What of the node it is about; `None`: the node as a whole.
    pub subject: Option<String>,
    pub interval: Duration,
    pub timeout: Duration,
    /// A message is cut to so many bytes, on a character's boundary.
    pub output_limit_bytes: usize,
    /// So many bad results in a row begin a problem.
    pub failures: u32,
    /// So many good results in a row end it.
    pub successes: u32,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Task {
    /// A program is run.
    Run {
        /// Absolute.
        path: PathBuf,
        args: Vec<String>,
        protocol: Protocol,
    },
    /// Node Problem Detector's health-checker is configured: looked at by our own check of services. No program is run.
    Health(HealthChecker),
}

/// What a program's exit status means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Node Problem Detector's: 0 is well, 1 is a problem, anything else is unknown. All of the output is the message.
    Npd,
    /// Nagios': 0 is well, 1 a warning, 2 critical, anything else unknown. The first line up to `|` is the message.
    Nagios,
}

/// What a health-checker's command line asks for. Its defaults are filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HealthChecker {
    pub component: Component,
    /// The unit's name, with its suffix, such as `kubelet.service`.
    pub unit: String,
    /// Whether the unit may be repaired, as its file has it. Ours repairs only what `[repair]` allows, too.
    pub repair: bool,
    /// Without the scheme `unix://`; absolute.
    pub cri_socket: PathBuf,
    pub cri_timeout: Duration,
    /// A unit that is up for less is not repaired.
    pub cooldown: Duration,
    /// How far back the unit's log is searched; zero: since its start.
    pub loopback: Duration,
    pub timeout: Duration,
    /// Too many matches of one in the unit's log are bad health, too.
    pub log_patterns: Vec<LogPattern>,
}

/// What a health-checker looks after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    Kubelet,
    KubeProxy,
    Docker,
    /// Any runtime behind a CRI socket.
    Cri,
}

/// `--log-pattern=COUNT:PATTERN`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPattern {
    pub count: u32,
    /// In our syntax; case counts for nothing.
    pub pattern: String,
}

impl Component {
    pub const ALL: [Self; 4] = [Self::Kubelet, Self::KubeProxy, Self::Docker, Self::Cri];

    /// Node Problem Detector's name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Docker => "docker",
            Self::Cri => "cri",
        }
    }
}

impl Protocol {
    /// The value in rule files.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Npd => "npd",
            Self::Nagios => "nagios",
        }
    }
}
