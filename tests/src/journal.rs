//! A real journal: `systemd-journald` of the machine's own package in a mount namespace of its own.

use std::{
    ffi::OsString,
    fs,
    os::unix::net::UnixDatagram,
    path::{Path, PathBuf},
};

use nix::unistd::geteuid;
use tempfile::TempDir;

use crate::{process::Process, wait::until};

const JOURNALD: &str = "/lib/systemd/systemd-journald";
/// Kept where Node Problem Detector's configs look (on a tmpfs), nothing held back, and the machine's kernel log left alone.
const SETTINGS: &str = "[Journal]\nStorage=persistent\nRateLimitBurst=0\nForwardToSyslog=no\nReadKMsg=no\nAudit=no\n";
const SCRIPT: &str = r#"
mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal /run/log/journal &&
mount -t tmpfs tmpfs /var/log && mkdir /var/log/journal && touch /run/systemd/journal/flushed &&
mount --bind "$1" /etc/systemd/journald.conf && exec "$2"
"#;

/// A running journald; its namespace ends with it.
#[derive(Debug)]
pub struct Journal {
    process: Process,
    _dir: TempDir,
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
        let words = ["unshare", "--mount", "--propagation", "private", "sh", "-c", SCRIPT, "sh"];
        let mut argv: Vec<OsString> = words.map(OsString::from).to_vec();
        argv.extend([settings.into_os_string(), JOURNALD.into()]);
        let log = dir.path().join("journald.log");
        let process = Process::start(&argv, &log).unwrap();
        let journal = Self { process, _dir: dir };
        until("journald listens", || UnixDatagram::unbound().unwrap().connect(journal.socket()).ok());
        journal
    }

    /// What to put before a command that is to see this journal as the machine's.
    #[must_use]
    pub fn enter(&self) -> Vec<OsString> {
        let target = format!("--mount=/proc/{}/ns/mnt", self.process.pid());
        vec!["nsenter".into(), target.into(), "--".into()]
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
        format!("/proc/{}/root/run/systemd/journal/socket", self.process.pid()).into()
    }
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
