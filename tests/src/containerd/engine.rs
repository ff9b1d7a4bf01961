//! A containerd that loads images and runs containers, in namespaces of its own: what it mounts and starts is gone with
//! it, however it ends, and there is no registry that it could ask.

use std::{
    ffi::OsString,
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{self, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};
use tempfile::TempDir;

use crate::{
    cli::Outcome,
    leftovers,
    process::{Process, bounded},
    wait::{found_within, until},
};

/// No command of a case takes so long.
const LIMIT: Duration = Duration::from_secs(120);
/// The end of all its processes, and of what started them.
const END: Duration = Duration::from_secs(10);
/// The first that containerd can use here: layers, or copies where those cannot be mounted.
const SNAPSHOTTERS: [&str; 2] = ["overlayfs", "native"];
const SNAPSHOTTER_TYPE: &str = "io.containerd.snapshotter.v1";
/// Of containerd's, in which it has its images and containers.
const NAMESPACE: &str = "nodewell";
const OWN_NAMESPACES: [&str; 7] =
    ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=slave"];
/// The sockets of its shims, its FIFOs and runc's states have fixed paths below /run. The shell stays, and reaps what
/// has lost its parent.
const SCRIPT: &str = r#"export PATH="$PATH:/usr/sbin:/sbin"
mount -t tmpfs -o mode=0755 run /run || exit 1
containerd --config "$1"
exit $?"#;

/// All of it ends when it is dropped.
#[derive(Debug)]
pub struct Engine {
    process: Process,
    /// The first process of its namespaces, as this machine numbers it.
    leader: u32,
    snapshotter: &'static str,
    folder: TempDir,
}

/// Why there can be none here.
#[must_use]
pub fn unmet() -> Option<String> {
    let programs = [("ctr", "containerd"), ("containerd-shim-runc-v2", "containerd"), ("runc", "runc")];
    let is_missing = |(name, _): &(&str, &str)| {
        !["/usr/bin", "/usr/sbin"].iter().any(|folder| Path::new(folder).join(name).exists())
    };
    let missing = programs.into_iter().find(is_missing);
    let missing = missing.map(|(name, package)| format!("needs {name} (Debian's package {package})"));
    super::unmet().or(missing).or_else(|| Engine::start().err())
}

impl Engine {
    /// One that listens.
    ///
    /// # Errors
    /// If it works with no kind of snapshots here.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn start() -> Result<Self, String> {
        let folder = leftovers::folder("engine");
        let config = folder.path().join("config.toml");
        fs::write(&config, configuration(folder.path())).unwrap();
        let mut argv: Vec<OsString> = OWN_NAMESPACES.map(OsString::from).to_vec();
        argv.extend(["sh", "-c", SCRIPT, "sh"].map(OsString::from));
        argv.push(config.into_os_string());
        let log = folder.path().join("log");
        let mut process = Process::start(&argv, &log).unwrap();
        let socket = socket(folder.path());
        let leader = until("containerd listens", || {
            assert!(process.ended().is_none(), "containerd: {}", fs::read_to_string(&log).unwrap_or_default());
            let _connected = UnixStream::connect(&socket).ok()?;
            leader_of(process.pid())
        });
        let mut engine = Self { process, leader, snapshotter: "", folder };
        engine.snapshotter = engine.usable_snapshotter()?;
        Ok(engine)
    }

    fn usable_snapshotter(&self) -> Result<&'static str, String> {
        let listed = self.ctr(&["plugins", "ls"]);
        let is_usable = |name: &&str| listed.stdout.lines().any(|line| is_usable_plugin(line, SNAPSHOTTER_TYPE, name));
        let found = SNAPSHOTTERS.into_iter().find(is_usable);
        found.ok_or_else(|| format!("needs a containerd with {} here: {listed:?}", SNAPSHOTTERS.join(" or ")))
    }

    /// Loads what is in `archive`; gives the names of all images that it has then.
    ///
    /// # Panics
    /// If it is refused.
    #[must_use]
    pub fn import(&self, archive: &Path) -> Vec<String> {
        let archive = archive.to_str().expect("a path of ours is text");
        let imported = self.ctr(&["images", "import", "--snapshotter", self.snapshotter, archive]);
        assert_eq!(imported.code, 0, "{imported:?}");
        self.ctr(&["images", "ls", "--quiet"]).stdout.lines().map(str::to_owned).collect()
    }

    /// Runs a container of `image` to its end: these words, or what the image says.
    ///
    /// # Panics
    /// If nothing can be run.
    #[must_use]
    pub fn run(&self, image: &str, words: &[&str]) -> Outcome {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let id = format!("nodewell-{}-{}", process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // Without a path for its cgroup runc makes one below our own, and nothing is left of it.
        let fixed = ["run", "--rm", "--snapshotter", self.snapshotter, "--cgroup", "", image, id.as_str()];
        self.ctr(&[&fixed[..], words].concat())
    }

    /// `ctr`, as its administrator calls it.
    fn ctr(&self, words: &[&str]) -> Outcome {
        let mut command = bounded(LIMIT, "nsenter");
        command.args(["--mount", "--pid", "--target", &self.leader.to_string(), "--", "ctr", "--address"]);
        command.arg(socket(self.folder.path())).args(["--namespace", NAMESPACE]).args(words);
        command.stdin(Stdio::null()).output().unwrap().into()
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // While what started it is there, the number is the leader's, whose end is the end of all in its namespace.
        if self.process.ended().is_none() {
            let _ = kill(Pid::from_raw(self.leader.cast_signed()), Signal::SIGKILL);
            let _ = found_within(END, || self.process.ended());
        }
    }
}

fn socket(folder: &Path) -> PathBuf {
    folder.join("containerd.sock")
}

fn configuration(folder: &Path) -> String {
    format!(
        "version = 2\nroot = {:?}\nstate = {:?}\ndisabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\n\
         address = {:?}\n",
        folder.join("root"),
        folder.join("state"),
        socket(folder),
    )
}

/// A line of `ctr plugins ls`: type, name, platforms, state.
fn is_usable_plugin(line: &str, kind: &str, name: &str) -> bool {
    let words: Vec<&str> = line.split_whitespace().collect();
    words.first() == Some(&kind) && words.get(1) == Some(&name) && words.last() == Some(&"ok")
}

/// The one child of what made its namespaces.
fn leader_of(starter: u32) -> Option<u32> {
    let children = fs::read_to_string(format!("/proc/{starter}/task/{starter}/children")).ok()?;
    children.split_whitespace().next()?.parse().ok()
}
