//! `[limits]`: from where on something is a problem, and from where on it is not any more.

use std::{path::PathBuf, time::Duration};

use crate::probe::settings::{INTERVAL, enabled, interval};
use nodewell_settings::{
    Key, Kind, Report, Schema, Section, Table,
    kind::{Bool, Number, Paths, Time},
};
use serde::{Deserialize, Serialize};

/// Two levels, so that what wavers around one of them is reported once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Levels {
    /// At this or above it is a problem.
    pub high: u32,
    /// Below this it is over.
    pub low: u32,
}

/// The values of the table.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LimitsSettings {
    pub enabled: bool,
    pub interval: Duration,
    pub for_duration: Duration,
    pub keep_firing_for: Duration,
    pub conntrack_percent: Levels,
    pub conntrack_drops: u32,
    pub file_handles_percent: Levels,
    pub tasks_percent: Levels,
    pub memory_pressure_percent: Levels,
    pub cpu_pressure_percent: Levels,
    pub io_pressure_percent: Levels,
    pub swap_pages_per_second: Levels,
    pub zombies: Levels,
    pub blocked_tasks: Levels,
    pub leaks: bool,
    pub oom_kills_per_hour: u32,
    pub certificates: Vec<PathBuf>,
    pub certificate_days: u32,
}

const MINUTE: Duration = Duration::from_mins(1);
/// What is waited for longer is a report and no alarm.
const WAITS: Time = Time::ANY.to(Duration::from_hours(24));

/// Where kubelets and control planes store what expires. The kubelet's own self-signed `kubelet.crt` is none of them:
/// no client checks it.
const CERTIFICATES: [&str; 15] = [
    "/var/lib/kubelet/pki/kubelet-client-current.pem",
    "/var/lib/kubelet/pki/kubelet-server-current.pem",
    "/etc/kubernetes/kubelet.conf",
    "/etc/kubernetes/admin.conf",
    "/etc/kubernetes/controller-manager.conf",
    "/etc/kubernetes/scheduler.conf",
    "/etc/kubernetes/pki/apiserver.crt",
    "/etc/kubernetes/pki/apiserver-etcd-client.crt",
    "/etc/kubernetes/pki/apiserver-kubelet-client.crt",
    "/etc/kubernetes/pki/front-proxy-client.crt",
    "/etc/kubernetes/pki/etcd/server.crt",
    "/etc/kubernetes/pki/etcd/peer.crt",
    "/etc/kubernetes/pki/ca.crt",
    "/var/lib/rancher/k3s/agent/client-kubelet.crt",
    "/var/lib/rancher/rke2/agent/client-kubelet.crt",
];

impl Levels {
    #[must_use]
    pub const fn new(high: u32, low: u32) -> Self {
        Self { high, low }
    }
}

impl Table for LimitsSettings {
    const NAME: &'static str = "[limits]";
    const ABOUT: &'static str = "What the kernel gives out, what grows, what expires. Pairs are levels: at the first it begins, below the second it is over.";

    fn keys() -> Vec<Key<Self>> {
        vec![
            enabled(|it| &mut it.enabled),
            interval(|it| &mut it.interval, INTERVAL),
            Self::key("for", |it| &mut it.for_duration, WAITS)
                .help("For how long a level has to be high before it counts."),
            Self::key("keep-firing-for", |it| &mut it.keep_firing_for, WAITS)
                .help("For how long a level has to be low before it is over."),
            Self::key("conntrack-percent", |it| &mut it.conntrack_percent, LevelsTo(100))
                .help("Of the table's maximum."),
            Self::key("conntrack-drops", |it| &mut it.conntrack_drops, Number(1..=100_000_000))
                .help("Packets that connection tracking threw away within ten minutes; over at half of it."),
            Self::key("file-handles-percent", |it| &mut it.file_handles_percent, LevelsTo(100))
                .help("Of what the kernel opens at most."),
            Self::key("tasks-percent", |it| &mut it.tasks_percent, LevelsTo(100))
                .help("Of the PIDs, threads and tasks of a cgroup that there may be."),
            Self::key("memory-pressure-percent", |it| &mut it.memory_pressure_percent, LevelsTo(100))
                .help("Of the last five minutes in which no task went on for want of memory."),
            Self::key("cpu-pressure-percent", |it| &mut it.cpu_pressure_percent, LevelsTo(100))
                .help("Of the last five minutes in which some task waited for a CPU."),
            Self::key("io-pressure-percent", |it| &mut it.io_pressure_percent, LevelsTo(100))
                .help("Of the last five minutes in which no task went on for want of a disk."),
            Self::key("swap-pages-per-second", |it| &mut it.swap_pages_per_second, LevelsTo(100_000_000))
                .help("Pages that go in each direction, in and out."),
            Self::key("zombies", |it| &mut it.zombies, LevelsTo(1000)).help("Of one parent."),
            Self::key("blocked-tasks", |it| &mut it.blocked_tasks, LevelsTo(1000))
                .help("Tasks that wait in the kernel."),
            Self::key("leaks", |it| &mut it.leaks, Bool).help("Whether growth over a day is looked for: of the kernel's memory, open files, the node's daemons."),
            Self::key("oom-kills-per-hour", |it| &mut it.oom_kills_per_hour, Number(1..=100_000)).help("Of one pod."),
            Self::key("certificates", |it| &mut it.certificates, Paths { absolute: true })
                .help("PEM files, or kubeconfigs with a certificate in them; unset, the kubelet's and the control plane's.")
                .example(r#"["/var/lib/kubelet/pki/kubelet-client-current.pem"]"#),
            Self::key("certificate-days", |it| &mut it.certificate_days, Number(1..=3650))
                .help("A certificate is reported so many days before its end, or with a twelfth of its life left if that is less."),
        ]
    }
}

/// `[90, 80]`: where it begins, and where it ends; each is this at most.
struct LevelsTo(u32);

impl Kind for LevelsTo {
    type Of = Levels;

    fn read(&self, section: Section<'_>, key: &'static str, report: &mut Report<'_>) -> Option<Levels> {
        let errors = report.count();
        let numbers = section.numbers(key, 1..=self.0, report);
        let refusal = match numbers[..] {
            _ if report.count() > errors => return None,
            [high, low] if low <= high => return Some(Levels { high, low }),
            [high, low] => {
                format!("{key:?} begins at {high} and would end below {low}: the first is the higher one")
            }
            _ => format!("{key:?} takes two numbers: [where it begins, where it ends]"),
        };
        report.error(section.position(key), refusal);
        None
    }

    fn shown(&self, Levels { high, low }: &Levels) -> Option<String> {
        Some(format!("[{high}, {low}]"))
    }

    fn takes(&self) -> String {
        format!("two numbers from 1 to {}", self.0)
    }

    fn schema(&self) -> Schema {
        Schema::list(Number(1..=self.0).schema(), 2..=2)
    }
}

impl Default for LimitsSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: MINUTE,
            for_duration: 2 * MINUTE,
            keep_firing_for: 5 * MINUTE,
            conntrack_percent: Levels::new(90, 80),
            conntrack_drops: 1000,
            file_handles_percent: Levels::new(90, 80),
            tasks_percent: Levels::new(90, 80),
            memory_pressure_percent: Levels::new(20, 10),
            cpu_pressure_percent: Levels::new(95, 80),
            io_pressure_percent: Levels::new(60, 40),
            swap_pages_per_second: Levels::new(2000, 500),
            zombies: Levels::new(100, 50),
            blocked_tasks: Levels::new(10, 5),
            leaks: true,
            oom_kills_per_hour: 5,
            certificates: CERTIFICATES.iter().map(PathBuf::from).collect(),
            certificate_days: 30,
        }
    }
}
