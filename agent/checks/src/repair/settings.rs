//! `[repair]` and `[[repair.unit]]`: which units may be repaired for which condition, and how often at most.

use std::time::Duration;

use nodewell_model::Name;
use nodewell_settings::{
    Key, Report, Section, Table,
    kind::{Bool, Time},
    tables,
};

use super::unit;

/// `[repair]`; off unless the operator turns it on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairSettings {
    pub enabled: bool,
    pub grace_after_boot: Duration,
    pub min_interval: Duration,
    /// The fixed list: no other unit is ever touched.
    pub units: Vec<UnitRepair>,
    /// The operator has named them, in all files together; the first of those takes the place of the usual ones.
    pub are_named: bool,
}

/// `[[repair.unit]]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnitRepair {
    /// Its whole name: `containerd.service`.
    pub unit: String,
    pub condition: Name,
    /// None named: any.
    pub reasons: Vec<Name>,
    /// Whose reports count: whole names of problem daemons, `source@principal`. An external daemon's grant to report is
    /// no leave to restart.
    pub sources: Vec<String>,
    pub way: RepairMethod,
    /// Sent first, so that the program writes down what it is doing: `SIGUSR1` makes containerd and dockerd log all
    /// their goroutines.
    pub dump: Option<Signal>,
    /// For so long the problem must have been there.
    pub for_duration: Duration,
    /// Between two repairs of this unit; doubled with each further one within the window.
    pub cooldown: Duration,
    pub max_attempts: u32,
    pub window: Duration,
}

/// What is done to a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RepairMethod {
    /// `systemctl restart`.
    Restart,
    /// `systemctl kill --kill-whom=main`: the unit's own `Restart=` brings it back.
    Kill(Signal),
}

/// What may be sent to a unit's main process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    Abort,
    Hangup,
    Kill,
    Quit,
    Terminate,
    User1,
    User2,
}

/// The sources of reports on the services of the node: our own checks, as a service and as a child of the agent.
pub const OWN_SOURCES: [&str; 2] = ["services@nodewell-check.service", "services@root"];

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3600);

impl Table for RepairSettings {
    const NAME: &'static str = "[repair]";
    const ABOUT: &'static str = "Services that are restarted while a check reports that they are broken. `nodewell-checks repair --dry-run` shows what it would do.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether units are repaired."),
            Self::key("grace-after-boot", |it| &mut it.grace_after_boot, Time::ANY)
                .help("After a boot services are late for good reasons."),
            Self::key("min-interval", |it| &mut it.min_interval, Time::ANY)
                .help("Between any two repairs: what one does to the others has to show first."),
        ]
    }

    fn others() -> Vec<&'static str> {
        vec!["unit"]
    }

    fn read_others(&mut self, section: Section<'_>, report: &mut Report<'_>) {
        let named = tables(section, "unit", report).into_iter().filter_map(|table| unit::read(table, report));
        let named: Vec<UnitRepair> = named.collect();
        if !named.is_empty() && !std::mem::replace(&mut self.are_named, true) {
            self.units.clear();
        }
        self.units.extend(named);
    }
}

impl Default for RepairSettings {
    fn default() -> Self {
        Self {
            enabled: false,
            grace_after_boot: 10 * MINUTE,
            min_interval: 2 * MINUTE,
            units: usual_units(),
            are_named: false,
        }
    }
}

fn usual_units() -> Vec<UnitRepair> {
    let unit = |unit: &str, condition, reason: &'static str, dump| UnitRepair {
        condition: Name::fixed(condition),
        reasons: vec![Name::fixed(reason)],
        dump,
        ..UnitRepair::of(unit, Name::fixed(condition))
    };
    vec![
        unit("containerd.service", "ContainerRuntimeUnhealthy", "ContainerdUnhealthy", Some(Signal::User1)),
        unit("crio.service", "ContainerRuntimeUnhealthy", "CrioUnhealthy", None),
        unit("docker.service", "ContainerRuntimeUnhealthy", "DockerUnhealthy", Some(Signal::User1)),
        unit("kubelet.service", "KubeletUnhealthy", "KubeletUnhealthy", None),
    ]
}

impl UnitRepair {
    /// A restart of `unit` for any reason of `condition`, as often as is sensible if nothing else is configured.
    #[must_use]
    pub fn of(unit: &str, condition: Name) -> Self {
        Self {
            unit: unit.to_owned(),
            condition,
            reasons: Vec::new(),
            sources: OWN_SOURCES.map(str::to_owned).to_vec(),
            way: RepairMethod::Restart,
            dump: None,
            for_duration: 2 * MINUTE,
            cooldown: 5 * MINUTE,
            max_attempts: 3,
            window: 6 * HOUR,
        }
    }
}

impl Signal {
    pub const ALL: [Self; 7] =
        [Self::Abort, Self::Hangup, Self::Kill, Self::Quit, Self::Terminate, Self::User1, Self::User2];

    /// As `kill -l` writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abort => "SIGABRT",
            Self::Hangup => "SIGHUP",
            Self::Kill => "SIGKILL",
            Self::Quit => "SIGQUIT",
            Self::Terminate => "SIGTERM",
            Self::User1 => "SIGUSR1",
            Self::User2 => "SIGUSR2",
        }
    }

    /// The signal of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|signal| signal.as_str() == name)
    }

    /// Its number on every architecture that we are built for.
    #[must_use]
    pub fn number(self) -> i32 {
        let signal = match self {
            Self::Abort => nix::sys::signal::SIGABRT,
            Self::Hangup => nix::sys::signal::SIGHUP,
            Self::Kill => nix::sys::signal::SIGKILL,
            Self::Quit => nix::sys::signal::SIGQUIT,
            Self::Terminate => nix::sys::signal::SIGTERM,
            Self::User1 => nix::sys::signal::SIGUSR1,
            Self::User2 => nix::sys::signal::SIGUSR2,
        };
        signal as i32
    }
}
