//! The check processes where no service manager starts them: children of the agent, started again when they end.

mod spawner;

use std::{
    ffi::OsStr,
    fmt::Display,
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::{Duration, Instant},
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_faults::message;
use tokio::{
    process::{Child, Command},
    sync::watch,
};

use crate::{
    check_process::{Group, PROGRAM},
    config::Flags,
    monitors::{
        ledger_sender::{LedgerSender, Report},
        own_event::own_event,
    },
    runtime::Stop,
};

pub use spawner::Spawner;

const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// A check process that ran for so long does not end because of how it was started: the pause starts over.
const STEADY: Duration = Duration::from_secs(60);
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
        let mut pause = FIRST_PAUSE;
        while !self.stop.is_set() {
            let began = Instant::now();
            let started = tokio::select! {
                started = self.start(group) => started,
                () = self.stop.requested() => return,
            };
            let how = match started {
                Ok(child) => match self.wait(group, child).await {
                    Some(status) => status.to_string(),
                    None => return,
                },
                Err(error) => format!("cannot be started: {error}"),
            };
            if began.elapsed() > STEADY {
                pause = FIRST_PAUSE;
            }
            self.report_end(group, &how, pause).await;
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = self.stop.requested() => {}
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// The program beside this one: after an upgrade that of the next version, which reports over the socket all the
    /// same. It ends with us, however we end.
    async fn start(&self, group: Group) -> io::Result<Child> {
        let program = std::env::current_exe()?.with_file_name(PROGRAM);
        let mut command = Command::new(&program);
        command.arg0(PROGRAM).args(["run", group.as_str(), "--socket"]).arg(&self.socket);
        command.arg("--parent").arg(std::process::id().to_string());
        self.add_flags(&mut command);
        if let Some(state_dir) = &self.state_dir {
            command.arg("--state-dir").arg(state_dir.join("hardware"));
        }
        for name in OWN_ENVIRONMENT {
            command.env_remove(name);
        }
        // A group of its own: Ctrl-C at a terminal is for us, and we stop it in our own time.
        command.stdin(Stdio::null()).process_group(0);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", program.display()));
        self.spawner.spawn(command).await.map_err(named)
    }

    fn add_flags(&self, command: &mut Command) {
        let Flags { config, rules, npd_config, node_name, releases_of, .. } = &self.flags;
        let one = |name: &'static str, value: &OsStr| [name.into(), value.to_owned()];
        let config = config.iter().map(|file| one("--config", file.as_os_str()));
        let rules = rules.iter().map(|folder| one("--rules", folder.as_os_str()));
        let npd_config = npd_config.iter().map(|file| one("--npd-config", file.as_os_str()));
        let node_name = node_name.iter().map(|name| one("--node-name", name.as_ref()));
        let releases_of = releases_of.iter().map(|socket| one("--releases-of", socket.as_os_str()));
        command.args(config.chain(rules).chain(npd_config).chain(node_name).chain(releases_of).flatten());
    }

    /// How it ended, or `None` after the stop.
    async fn wait(&mut self, group: Group, mut child: Child) -> Option<ExitStatus> {
        self.reloads.mark_unchanged();
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

fn signal(child: &Child, signal: Signal) {
    if let Some(pid) = child.id() {
        // It has not been waited for: the pid is still its own.
        let _ = kill(Pid::from_raw(pid.cast_signed()), signal);
    }
}
