//! What is done in a machine from outside: programs that run there, files, its agent's socket.

use std::{
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
};

use hyper::{Method, StatusCode};
use nodewell_model::view::{ConditionView, DaemonState, DaemonView, EventView, NodeView};

use super::{LONG, boot};
use crate::{
    cli::Outcome,
    http::{Answer, over_socket},
    process::bounded,
    wait::{until, until_within},
};

/// No program that a case runs in a machine takes so long.
const LIMIT: Duration = Duration::from_secs(300);

/// The check processes' services, each with the names under which it reports: what the package enables.
const CHECKS: [(&str, &[&str]); 3] = [
    ("nodewell-check.service", &["check", "mounts", "services"]),
    ("nodewell-disk.service", &["disk"]),
    ("nodewell-gpu.service", &["gpu"]),
];

/// The way into a machine that is on.
#[derive(Debug, Clone, Copy)]
pub struct Inside {
    leader: u32,
    /// When it was started: once it has ended, another process may have its number.
    started: Option<u64>,
}

impl Inside {
    pub(super) fn of(leader: u32) -> Self {
        Self { leader, started: start_time(leader) }
    }

    /// Whether the machine is on.
    #[must_use]
    pub fn is_alive(self) -> bool {
        self.started.is_some() && start_time(self.leader) == self.started
    }

    /// PID 1 of the machine, as this machine numbers it.
    #[must_use]
    pub fn leader(self) -> u32 {
        self.leader
    }

    /// Where its root lies, seen from outside; nothing is found or made there once it has ended.
    #[must_use]
    pub fn path(&self, inside: &str) -> PathBuf {
        // No process has the number 0.
        let leader = if self.is_alive() { self.leader } else { 0 };
        PathBuf::from(format!("/proc/{leader}/root{inside}"))
    }

    /// Runs a program inside to its end, as root but outside of its cgroups: to the agent it is a stranger.
    ///
    /// # Panics
    /// If it cannot be started. In a machine that has ended nothing is run, and fails.
    #[must_use]
    pub fn run<A: AsRef<OsStr>>(&self, argv: impl IntoIterator<Item = A>) -> Outcome {
        if !self.is_alive() {
            return Outcome { code: -1, stdout: String::new(), stderr: "the machine has ended".to_owned() };
        }
        self.command(argv).stdin(Stdio::null()).output().unwrap().into()
    }

    /// Runs a shell script inside that must succeed; gives what it wrote.
    ///
    /// # Panics
    /// If it fails.
    #[track_caller]
    pub fn sh(&self, script: &str) -> String {
        let outcome = self.run(["sh", "-c", script]);
        assert_eq!(outcome.code, 0, "{script}\n{}{}", outcome.stdout, outcome.stderr);
        outcome.stdout.trim_end().to_owned()
    }

    /// Runs a shell script as a service of its own named `unit`, with these further properties (`User=daemon`): the
    /// kernel reports which user it is.
    #[must_use]
    pub fn as_unit(&self, unit: &str, properties: &[&str], script: &str) -> Outcome {
        let mut argv = vec!["systemd-run", "--quiet", "--pipe", "--wait", "--collect"];
        let unit = format!("--unit={unit}");
        argv.push(&unit);
        argv.extend(properties.iter().flat_map(|property| ["--property", property]));
        argv.extend(["sh", "-c", script]);
        self.run(argv)
    }

    /// One property of a unit, as `systemctl show` has it.
    #[must_use]
    pub fn property(&self, unit: &str, name: &str) -> String {
        self.sh(&format!("systemctl show --property {name} --value {unit}"))
    }

    /// Waits until a property of a unit has this value.
    #[track_caller]
    pub fn wait_property(&self, unit: &str, name: &str, value: &str) {
        until_within(LONG, &format!("{unit}: {name}={value}"), || (self.property(unit, name) == value).then_some(()));
    }

    /// The agent's main process, as this machine numbers it; 0 if it does not run.
    #[must_use]
    pub fn agent_pid(&self) -> u32 {
        self.main_pid("nodewell.service").unwrap_or(0)
    }

    /// The main process of a unit, as this machine numbers it, if it runs.
    ///
    /// # Panics
    /// If systemd gives no number.
    #[must_use]
    pub fn main_pid(&self, unit: &str) -> Option<u32> {
        let inside: u32 = self.property(unit, "MainPID").parse().unwrap();
        (inside != 0).then(|| boot::pid_outside(self.leader, inside)).flatten()
    }

    /// One request to the agent's socket; `None` if nothing answers.
    #[must_use]
    pub fn ask(&self, target: &str) -> Option<Answer> {
        over_socket(&self.socket(), Method::GET, target, "")
    }

    /// The agent's socket, seen from outside.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.path("/run/nodewell/nodewell.sock")
    }

    /// All conditions, if the agent answers: it may be starting, or have as many connections as it takes.
    #[must_use]
    pub fn conditions(&self) -> Option<Vec<ConditionView>> {
        Some(self.view()?.conditions.into_iter().map(std::sync::Arc::unwrap_or_clone).collect())
    }

    /// Whether all of the agent's monitors and check processes have looked once: what its status shows is true from
    /// then on. A check process is not listed before its first report, which may be a mere sign of life.
    #[must_use]
    pub fn has_looked(&self) -> bool {
        let Some(view) = self.view().filter(|view| !is_starting(view)) else { return false };
        CHECKS.iter().all(|(unit, names)| have_reported(&view, unit, names) || self.is_ruled_out(unit))
    }

    /// Whether a unit cannot run here by its own conditions: that of GPUs without a driver, that of disks without the
    /// rights. Of one that was not tried yet nothing is known.
    fn is_ruled_out(&self, unit: &str) -> bool {
        self.property(unit, "ConditionResult") == "no" && self.property(unit, "ConditionTimestampMonotonic") != "0"
    }

    fn view(&self) -> Option<NodeView> {
        serde_json::from_str(&self.ask("/v1/status")?.body).ok()
    }

    /// One condition, if the agent answers and has it.
    #[must_use]
    pub fn condition(&self, name: &str) -> Option<ConditionView> {
        self.conditions()?.into_iter().find(|one| one.condition.as_str() == name)
    }

    /// Waits until condition `name` has `status`.
    #[track_caller]
    pub fn wait_condition(&self, name: &str, status: &str) -> ConditionView {
        until(&format!("{name} is {status}"), || {
            self.condition(name).filter(|condition| condition.status.as_str() == status)
        })
    }

    /// The agent's events with this reason, oldest first.
    #[must_use]
    pub fn events(&self, reason: &str) -> Vec<EventView> {
        // Seen from here, all clients from outside are one peer, which may have its connections in use already.
        let answer = self.ask("/v1/events").filter(|answer| answer.status == StatusCode::OK);
        let answer = answer.map_or_else(|| "[]".to_owned(), |answer| answer.body);
        let events: Vec<EventView> = serde_json::from_str(&answer).unwrap();
        events.into_iter().filter(|event| event.reason.as_str() == reason).collect()
    }

    /// Writes a file inside, with its folders.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn write(&self, inside: &str, content: impl AsRef<[u8]>) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// Writes a program to `inside` that every user may execute.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn program(&self, inside: &str, text: &str) {
        let path = self.path(inside);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        nodewell_kit::write_program(&path, 0o755, text);
    }

    /// Copies a file of ours to `inside`.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn copy(&self, from: &Path, inside: &str) {
        // Not by ourselves: it may be a program (see `nodewell_kit::write_program`).
        let copied = Command::new("cp").args([from.as_os_str(), self.path(inside).as_os_str()]).status();
        assert!(copied.unwrap().success(), "{} cannot be copied to {inside}", from.display());
    }

    /// Copies a folder of ours to `inside`, for every user to read.
    ///
    /// # Panics
    /// If it cannot be copied.
    pub fn copy_folder(&self, from: &Path, inside: &str) {
        let copied = Command::new("cp").arg("-a").args([from.as_os_str(), self.path(inside).as_os_str()]).status();
        assert!(copied.unwrap().success());
        self.sh(&format!("chmod -R a+rX {inside}"));
    }

    fn command<A: AsRef<OsStr>>(&self, argv: impl IntoIterator<Item = A>) -> Command {
        let mut command = bounded(LIMIT, "nsenter");
        command.args(["--all", "--target", &self.leader.to_string(), "--"]).args(argv);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("LC_ALL", "C.UTF-8");
        command
    }
}

/// Whether one of the agent's monitors has not looked once, or a condition waits for who watches it. Check processes
/// that were not heard of are not missed.
#[must_use]
pub fn is_starting(view: &NodeView) -> bool {
    view.conditions.is_empty()
        || view.conditions.iter().any(|condition| condition.reason.as_str() == "MonitorStarting")
        || view.daemons.iter().any(|daemon| daemon.state == DaemonState::Starting)
}

/// Whether each of `names` has sent a full report from `unit`, and runs: all that it watches was looked at. One that
/// has stopped, and whose conditions stay for a while, has a message.
fn have_reported(view: &NodeView, unit: &str, names: &[&str]) -> bool {
    let is_at_work = |one: &DaemonView| one.full && one.state == DaemonState::Running && one.message.is_empty();
    let has_reported = |name: String| view.daemons.iter().any(|daemon| daemon.name == name && is_at_work(daemon));
    names.iter().all(|name| has_reported(format!("{name}@{unit}")))
}

/// When a process was started, in ticks since the kernel was: field 22 of proc(5)'s `stat`, behind a name that may have
/// spaces and brackets in it.
fn start_time(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}
