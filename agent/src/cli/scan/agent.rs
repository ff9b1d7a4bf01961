//! The agent of one scan: `nodewelld` with a socket and a state of its own, which are gone with it.

use std::{
    env, fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use nodewell_client::random;
use tokio::{
    process::{Child, Command},
    time::timeout,
};

use crate::cli::error::{CommandError, SOFTWARE};

/// How long it may take to stop its check processes.
const GRACE: Duration = Duration::from_secs(10);
/// What a service manager set for the program that started us. It would make the agent a service, with that one's state.
const OF_A_SERVICE: [&str; 8] = [
    "NOTIFY_SOCKET",
    "WATCHDOG_USEC",
    "WATCHDOG_PID",
    "LISTEN_PID",
    "LISTEN_FDS",
    "LISTEN_FDNAMES",
    "STATE_DIRECTORY",
    "JOURNAL_STREAM",
];

/// A running `nodewelld` that nothing else knows of.
pub(super) struct ScanAgent {
    child: Child,
    /// Gone after the process that uses it.
    folder: Folder,
}

impl ScanAgent {
    /// Starts it with a config of the user's. What is released beside `release_socket` it lets alone.
    pub(super) fn start(config: Option<&Path>, release_socket: &Path) -> Result<Self, CommandError> {
        let folder = Folder::new().map_err(|error| failed("make a folder for its socket", &error))?;
        let log = fs::File::create(folder.log()).map_err(|error| failed("write its log", &error))?;
        let program = program();
        let mut command = Command::new(&program);
        command.args(["--standalone", "--metrics-address", "off", "--socket"]).arg(folder.socket());
        command.arg("--state-dir").arg(folder.0.join("state"));
        command.arg("--releases-of").arg(release_socket);
        // However we end, it does: this thread, which starts it, is our main one.
        command.arg("--parent").arg(std::process::id().to_string());
        command.args(config.iter().flat_map(|file| [Path::new("--config"), file]));
        OF_A_SERVICE.iter().for_each(|name| _ = command.env_remove(name));
        let output = log.try_clone().map_err(|error| failed("write its log", &error))?;
        let child = command.stdin(Stdio::null()).stdout(output).stderr(log).kill_on_drop(true).spawn();
        let child = child.map_err(|error| failed(&format!("start {}", program.display()), &error))?;
        Ok(Self { child, folder })
    }

    pub(super) fn socket(&self) -> PathBuf {
        self.folder.socket()
    }

    /// What it wrote last, if it has ended by itself.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        let log = fs::read_to_string(self.folder.log()).unwrap_or_default();
        let last: Vec<&str> = log.lines().rev().take(5).collect();
        let last: Vec<&str> = last.into_iter().rev().collect();
        Some(format!("{status}\n{}", last.join("\n")))
    }

    /// Stops it as a service manager does: it stops its check processes.
    pub(super) async fn stop(mut self) {
        let pid = self.child.id().and_then(|id| i32::try_from(id).ok());
        if let Some(pid) = pid {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        // What does not end in time is killed with the last of this.
        let _ = timeout(GRACE, self.child.wait()).await;
    }
}

fn failed(what: &str, error: &io::Error) -> CommandError {
    CommandError::new(SOFTWARE, format!("cannot {what}: {error}"))
}

/// The one that lies beside this program, else the one of the path.
fn program() -> PathBuf {
    let beside = env::current_exe().ok().map(|this| this.with_file_name("nodewelld"));
    beside.filter(|program| program.is_file()).unwrap_or_else(|| PathBuf::from("nodewelld"))
}

/// Ours alone, and gone at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> io::Result<Self> {
        let folder = env::temp_dir().join(format!("nodewell-scan-{:016x}", random()));
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    fn socket(&self) -> PathBuf {
        self.0.join("socket")
    }

    fn log(&self) -> PathBuf {
        self.0.join("log")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in a folder of temporary files goes with a reboot.
        let _ = fs::remove_dir_all(&self.0);
    }
}
