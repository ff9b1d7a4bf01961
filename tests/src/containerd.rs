//! A real containerd with its own folders and socket, for questions over the Container Runtime Interface. It runs no
//! container, so it needs no runc; what it mounts is for the moment in which it unpacks an image. [`engine::Engine`] runs
//! them.

pub mod engine;

use std::{
    ffi::OsString,
    fs,
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
};

use nix::sys::signal::Signal;
use tempfile::TempDir;

use crate::{process::Process, wait::until};

const PROGRAM: &str = "/usr/bin/containerd";

/// Killed when dropped.
#[derive(Debug)]
pub struct Containerd {
    process: Option<Process>,
    folder: TempDir,
}

/// Why there can be none here.
#[must_use]
pub fn unmet() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("needs root, for containerd".to_owned());
    }
    (!Path::new(PROGRAM).exists()).then(|| format!("needs {PROGRAM} (Debian's containerd)"))
}

impl Containerd {
    /// One that listens.
    ///
    /// # Panics
    /// If it does not come up.
    #[must_use]
    pub fn start() -> Self {
        let folder = TempDir::new().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let config = format!(
            "version = 2\nroot = {:?}\nstate = {:?}\n[grpc]\naddress = {:?}\n[plugins.\"io.containerd.grpc.v1.cri\"]\n\
             disable_tcp_service = true\nstream_server_port = \"0\"\n",
            path("root"),
            path("state"),
            path("containerd.sock"),
        );
        fs::write(folder.path().join("config.toml"), config).unwrap();
        let mut one = Self { process: None, folder };
        one.start_again();
        one
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("containerd.sock")
    }

    /// SIGTERM, as systemd stops it.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.signal(Signal::SIGTERM);
            process.wait();
        }
    }

    /// Starts it where it was before.
    ///
    /// # Panics
    /// If it does not come up.
    pub fn start_again(&mut self) {
        let argv: Vec<OsString> =
            vec![PROGRAM.into(), "--config".into(), self.folder.path().join("config.toml").into_os_string()];
        self.process = Some(Process::start(&argv, &self.folder.path().join("log")).unwrap());
        until("containerd listens", || UnixStream::connect(self.socket()).ok());
    }

    /// SIGSTOP: it listens, and answers nothing.
    pub fn hang(&self) {
        self.signal(Signal::SIGSTOP);
    }

    /// SIGCONT.
    pub fn go_on(&self) {
        self.signal(Signal::SIGCONT);
    }

    fn signal(&self, signal: Signal) {
        if let Some(process) = &self.process {
            process.signal(signal);
        }
    }
}
