//! The check processes where no service manager starts them: children of the agent, started again when they end.

use std::{
    ffi::{OsStr, OsString},
    fmt::Display,
    io,
    path::{Path, PathBuf},
    pin::pin,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_faults::message;
use nodewell_time::Backoff;
use tokio::{
    process::{Child, Command},
    sync::watch,
};

use crate::{
    check_process::{Group, has_gpu_driver},
    config::Flags,
    monitors::{
        ledger_sender::{LedgerSender, Report},
        own_event::own_event,
    },
    runtime::{Spawner, Stop, pace, program::CHECKS},
};

/// A check process that ran for so long does not end because of how it was started: the pause starts over.
const STEADY: Duration = Duration::from_secs(60);
/// A start of so long waits for a disk.
const LONG_START: Duration = Duration::from_secs(10);
/// How often to look for a driver that is not there.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// How long a check process may take for its last report after SIGTERM. The agent takes 5 s for its own stop, and the
/// ledger receives reports only in the first half of them.
const GRACE: Duration = Duration::from_secs(2);
/// Variables that systemd set for the agent; its children do not get them.
const OWN_ENVIRONMENT: [&str; 6] =
    ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// Starts check processes of one agent.
#[derive(Debug, Clone)]
pub struct Children {
    /// The agent's socket.
    pub socket: PathBuf,
    /// The agent's command line: its check processes read the same rules.
    pub flags: Flags,
    /// Changes when the agent has read its rules again.
    pub reloads: watch::Receiver<()>,
    /// Where the agent stores its state; check processes have a folder in it.
    pub state_dir: Option<PathBuf>,
    pub spawner: Spawner,
    /// For the Event that a check process ended.
    pub ledger_sender: LedgerSender,
    pub stop: Stop,
}

impl Children {
    /// Runs the check process of `group` until the stop, and starts it again when it ends.
    pub async fn supervise(mut self, group: Group) {
        let mut pauses = Backoff::new(Duration::from_secs(1), Duration::from_secs(60));
        while !self.stop.is_set() {
            tokio::select! {
                () = driver_is_there(group) => {}
                () = self.stop.requested() => return,
            }
            // What is read again from here on is news for the child.
            self.reloads.mark_unchanged();
            let started = tokio::select! {
                started = self.start(group) => started,
                () = self.stop.requested() => return,
            };
            let began = Instant::now();
            let how = match started {
                Ok(child) => match self.wait(group, child).await {
                    Some(status) => status.to_string(),
                    None => return,
                },
                Err(error) => format!("cannot be started: {error}"),
            };
            if began.elapsed() > STEADY {
                pauses.reset();
            }
            let pause = pauses.pause();
            self.report_end(group, &how, pause).await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.requested() => {}
            }
        }
    }

    /// It ends with us, however we end.
    async fn start(&self, group: Group) -> io::Result<Child> {
        let arguments = self.arguments(group);
        let prepare = move |program: &Path| {
            let mut command = Command::new(program);
            command.arg0(CHECKS).args(arguments);
            for name in OWN_ENVIRONMENT {
                command.env_remove(name);
            }
            // A group of its own: Ctrl-C at a terminal is for us, and we stop it in our own time.
            command.stdin(Stdio::null()).process_group(0);
            command
        };
        let mut started = pin!(self.spawner.spawn(prepare));
        tokio::select! {
            started = &mut started => return started,
            () = tokio::time::sleep(LONG_START) => {}
        }
        tracing::error!(
            check_process = group.as_str(),
            "check process is still being started: its program cannot be read"
        );
        started.await
    }

    fn arguments(&self, group: Group) -> Vec<OsString> {
        let Flags { config, rules, npd_config, node_name, releases_of, .. } = &self.flags;
        let one = |name: &'static str, value: &OsStr| [name.into(), value.to_owned()];
        let socket = one("--socket", self.socket.as_os_str());
        let parent = one("--parent", std::process::id().to_string().as_ref());
        let config = config.iter().map(|file| one("--config", file.as_os_str()));
        let rules = rules.iter().map(|folder| one("--rules", folder.as_os_str()));
        let npd_config = npd_config.iter().map(|file| one("--npd-config", file.as_os_str()));
        let node_name = node_name.iter().map(|name| one("--node-name", name.as_ref()));
        let releases_of = releases_of.iter().map(|socket| one("--releases-of", socket.as_os_str()));
        let state_dir = self.state_dir.iter().map(|folder| one("--state-dir", folder.join("hardware").as_os_str()));
        let flags = [socket, parent].into_iter().chain(config).chain(rules).chain(npd_config).chain(node_name);
        let flags = flags.chain(releases_of).chain(state_dir).flatten();
        ["run".into(), group.as_str().into()].into_iter().chain(flags).collect()
    }

    /// How it ended, or `None` after the stop.
    async fn wait(&mut self, group: Group, mut child: Child) -> Option<ExitStatus> {
        loop {
            tokio::select! {
                // Only this task waits for it, so there is always an answer.
                status = child.wait() => return Some(status.unwrap_or_default()),
                () = self.stop.requested() => break,
                // Others have nothing to read again.
                Ok(()) = self.reloads.changed(), if group == Group::Check => signal(&child, Signal::SIGHUP),
            }
        }
        signal(&child, Signal::SIGTERM);
        if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
            tracing::warn!("a check process did not end in time and is killed");
        }
        None
    }

    async fn report_end(&self, group: Group, how: &dyn Display, pause: Duration) {
        let (check_process, pause_secs) = (group.as_str(), pause.as_secs());
        tracing::error!(check_process, %how, pause_secs, "check process ended unasked, will restart");
        let message =
            message("CheckProcessEnded", &[("check", &check_process), ("status", &how), ("pause", &pause_secs)]);
        // No condition: the check process reports those of what it watches itself.
        let event = own_event("check-processes", "CheckProcessEnded", message);
        self.ledger_sender.send(Report::Finding(Box::new(event))).await;
    }
}

/// GPUs are asked through their drivers: a process that waits for one takes memory for nothing.
async fn driver_is_there(group: Group) {
    while group == Group::Gpu && !has_gpu_driver(Path::new("/sys")) {
        pace::sleep_until(pace::next(tokio::time::Instant::now(), LOOK_EVERY)).await;
    }
}

fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = child.id() {
        // It has not been waited for: the pid is still its own.
        let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
    }
}
