//! A real Alertmanager on loopback with a data folder of its own.

use std::{
    ffi::OsString,
    fs,
    process::{Command, Stdio},
};

use hyper::StatusCode;
use nodewell_kit::free_port;
use tempfile::TempDir;

use crate::{http::over_tcp, process::Process, wait::until};

/// As Debian's package calls it, and as the project does.
const PROGRAMS: [&str; 2] = ["prometheus-alertmanager", "alertmanager"];

/// Why this machine cannot run what needs Debian's package `prometheus-alertmanager`.
#[must_use]
pub fn unmet() -> Option<String> {
    let is_there = program().is_some() && runs("amtool");
    (!is_there).then(|| "needs Alertmanager and amtool (Debian's package prometheus-alertmanager)".to_owned())
}

fn program() -> Option<&'static str> {
    PROGRAMS.into_iter().find(|program| runs(program))
}

fn runs(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// A running server; it is gone when it is dropped.
#[derive(Debug)]
pub struct Alertmanager {
    address: String,
    // Ends before its folder goes.
    _process: Process,
    _folder: TempDir,
}

impl Alertmanager {
    /// Runs alone with this configuration, in YAML, and waits until it takes alerts.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(config: &str) -> Self {
        let folder = TempDir::with_prefix("nodewell-alertmanager-").unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        fs::write(folder.path().join("alertmanager.yaml"), config).unwrap();
        let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let path = |name: &str| folder.path().join(name).display().to_string();
        let argv = [
            OsString::from(program().expect("the case needs it")),
            flag("config.file", &path("alertmanager.yaml")),
            flag("storage.path", &path("data")),
            flag("web.listen-address", &address),
            // No peers: it would listen on every address for them.
            flag("cluster.listen-address", ""),
        ];
        let process = Process::start(&argv, &folder.path().join("log")).unwrap();
        let is_ready = || over_tcp(&address, "/-/ready").filter(|answer| answer.status == StatusCode::OK);
        until(&format!("Alertmanager is ready; its log is {}", path("log")), is_ready);
        Self { address, _process: process, _folder: folder }
    }

    /// Where Prometheus sends alerts.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }
}
