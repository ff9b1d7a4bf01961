//! A real journal: `systemd-journald` of the machine's own package in a mount namespace of its own, which outlives it.

use std::{
    ffi::OsString,
    fs,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
    process::Command,
};

use nix::{sys::signal::Signal, unistd::geteuid};
use tempfile::TempDir;

use crate::{process::Process, wait::until};

const JOURNALD: &str = "/lib/systemd/systemd-journald";
/// Stored where Node Problem Detector's configs look (on a tmpfs), nothing held back, and the machine's kernel log left
/// alone.
const SETTINGS: &str = "[Journal]\nStorage=persistent\nRateLimitBurst=0\nForwardToSyslog=no\nReadKMsg=no\nAudit=no\n";
const SCRIPT: &str = r#"
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal &&
mount -t tmpfs tmpfs /var/log && mkdir /var/log/journal && touch /run/systemd/journal/flushed &&
mount --bind "$1" /etc/systemd/journald.conf && touch /run/nodewell-journal && exec sleep infinity
"#;
/// It comes last: a test that finds it finds everything mounted.
const MARK: &str = "/run/nodewell-journal";

/// A running journald.
#[derive(Debug)]
pub struct Journal {
    journald: Process,
    /// Holds the namespace, so that a journal without a journald is still there.
    namespace: Process,
    dir: TempDir,
}

impl Journal {
    /// Starts it and waits until it listens.
    ///
    /// # Panics
    /// If it does not.
    #[must_use]
    pub fn start() -> Self {
        let dir = TempDir::with_prefix("nodewell-journal-").unwrap();
        let settings = dir.path().join("journald.conf");
        fs::write(&settings, SETTINGS).unwrap();
        let argv = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"];
        let mut argv: Vec<OsString> = argv.map(OsString::from).to_vec();
        argv.push(settings.into_os_string());
        let mut namespace = Process::start(&argv, &dir.path().join("namespace.log")).unwrap();
        let mark = inside(&namespace, MARK);
        until("the journal's namespace is ready", || {
            assert!(namespace.ended().is_none(), "no namespace: {}", text_of(dir.path(), "namespace.log"));
            mark.exists().then_some(())
        });
        let journald = journald(&namespace, dir.path());
        let journal = Self { journald, namespace, dir };
        journal.wait_listening();
        journal
    }

    /// What to put before a command that is to see this journal as the machine's.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        enter(&self.namespace)
    }

    /// Ends journald by `signal` and starts another. What is sent in between is refused: no systemd holds the socket.
    pub fn restart(&mut self, signal: Signal) {
        self.end(signal);
        self.begin();
    }

    /// Ends journald by `signal`.
    pub fn end(&mut self, signal: Signal) {
        self.journald.signal(signal);
        let _ = self.journald.wait();
    }

    /// Starts another once it has ended.
    pub fn begin(&mut self) {
        self.journald = journald(&self.namespace, self.dir.path());
        self.wait_listening();
    }

    /// SIGSTOP: it takes nothing any more, and what is sent fills its socket.
    pub fn hang(&self) {
        self.journald.signal(Signal::SIGSTOP);
    }

    /// SIGCONT.
    pub fn go_on(&self) {
        self.journald.signal(Signal::SIGCONT);
    }

    /// `journalctl ARGS`; what it wrote.
    ///
    /// # Panics
    /// If it fails.
    pub fn journalctl(&self, args: &[&str]) -> String {
        let mut argv = self.enter();
        argv.push("journalctl".into());
        argv.extend(args.iter().map(OsString::from));
        let output = Command::new(&argv[0]).args(&argv[1..]).output().unwrap();
        assert!(output.status.success(), "journalctl {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Archives the files that are being written, and removes all archived ones.
    pub fn rotate_and_vacuum(&self) {
        self.journalctl(&["--rotate"]);
        self.journalctl(&["--vacuum-files=1"]);
    }

    /// One entry by the native protocol, as this process.
    ///
    /// # Panics
    /// If journald does not take it.
    pub fn send(&self, fields: &[(&str, &str)]) {
        let mut entry = Vec::new();
        for (name, value) in fields {
            entry.extend(format!("{name}\n").bytes());
            entry.extend(u64::try_from(value.len()).unwrap().to_le_bytes());
            entry.extend(format!("{value}\n").bytes());
        }
        UnixDatagram::unbound().unwrap().send_to(&entry, self.socket()).unwrap();
    }

    /// The socket inside the namespace, seen from outside.
    fn socket(&self) -> PathBuf {
        inside(&self.namespace, "/run/systemd/journal/socket")
    }

    fn wait_listening(&self) {
        until("journald listens", || UnixDatagram::unbound().unwrap().connect(self.socket()).ok());
    }
}

fn enter(namespace: &Process) -> Vec<OsString> {
    let target = format!("--mount=/proc/{}/ns/mnt", namespace.pid());
    vec!["nsenter".into(), target.into(), "--".into()]
}

fn inside(namespace: &Process, path: &str) -> PathBuf {
    format!("/proc/{}/root{path}", namespace.pid()).into()
}

fn journald(namespace: &Process, folder: &Path) -> Process {
    let mut argv = enter(namespace);
    argv.push(JOURNALD.into());
    Process::start(&argv, &folder.join("journald.log")).unwrap()
}

fn text_of(folder: &Path, log: &str) -> String {
    fs::read_to_string(folder.join(log)).unwrap_or_default()
}

/// Why this machine cannot have one.
#[must_use]
pub fn unmet() -> Option<String> {
    if !geteuid().is_root() {
        return Some("needs root, for a mount namespace".to_owned());
    }
    let missing = [JOURNALD, "/usr/bin/unshare", "/usr/bin/nsenter", "/etc/machine-id", "/etc/systemd/journald.conf"]
        .into_iter()
        .find(|path| !Path::new(path).exists())?;
    Some(format!("needs {missing} (Debian's systemd and util-linux)"))
}
