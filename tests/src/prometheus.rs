//! A real Prometheus on loopback with a data folder of its own, and promtool.

use std::{
    ffi::OsString,
    fs,
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

use hyper::StatusCode;
use nodewell_kit::free_port;
use serde_json::Value;
use tempfile::TempDir;

use crate::{http::over_tcp, process::Process, wait::until};

/// Why this machine cannot run what needs Debian's package `prometheus`.
#[must_use]
pub fn unmet() -> Option<String> {
    let runs =
        |program: &str| Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    let missing =
        ["prometheus", "promtool"].into_iter().find(|program| !runs(program).is_ok_and(|status| status.success()));
    missing.map(|program| format!("needs {program} (Debian's package prometheus)"))
}

/// What promtool printed, and whether it was content.
#[derive(Debug)]
pub struct PromtoolOutput {
    pub content: bool,
    pub output: String,
}

/// `promtool ARGS` with `input` on its standard input.
///
/// # Panics
/// If it cannot be run.
#[must_use]
pub fn promtool(args: &[&str], input: &str) -> PromtoolOutput {
    let mut command = Command::new("promtool");
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    PromtoolOutput { content: output.status.success(), output: String::from_utf8_lossy(&text).into_owned() }
}

/// A running server; it is gone when it is dropped.
#[derive(Debug)]
pub struct Prometheus {
    address: String,
    folder: TempDir,
    _process: Process,
}

impl Prometheus {
    /// Scrapes `target` every second as the job `nodewell`, with our own alerts loaded.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn scraping(target: &str, rules: &Path) -> Self {
        Self::start(&format!(
            "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: [{:?}]\nscrape_configs:\n\
             - {{ job_name: nodewell, static_configs: [{{ targets: [{target:?}] }}] }}\n",
            rules.display()
        ))
    }

    /// Runs with this configuration, in YAML.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn start(config: &str) -> Self {
        let folder = TempDir::with_prefix("nodewell-prometheus-").unwrap();
        let address = format!("127.0.0.1:{}", free_port());
        fs::write(folder.path().join("prometheus.yml"), config).unwrap();
        let flag = |name: &str, value: &str| OsString::from(format!("--{name}={value}"));
        let path = |name: &str| folder.path().join(name).display().to_string();
        let argv = [
            OsString::from("prometheus"),
            flag("config.file", &path("prometheus.yml")),
            flag("storage.tsdb.path", &path("data")),
            flag("web.listen-address", &address),
        ];
        let process = Process::start(&argv, &folder.path().join("log")).unwrap();
        Self { address, folder, _process: process }
    }

    /// The samples of an instant query: labels and value of each. None while it does not answer.
    #[must_use]
    pub fn query(&self, expression: &str) -> Vec<(Value, f64)> {
        let encoded: String = expression.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = over_tcp(&self.address, &format!("/api/v1/query?query={encoded}"));
        let Some(answer) = answer.filter(|answer| answer.status == StatusCode::OK) else { return Vec::new() };
        let samples = answer.json()["data"]["result"].as_array().cloned().unwrap_or_default();
        let sample = |sample: &Value| Some((sample["metric"].clone(), sample["value"][1].as_str()?.parse().ok()?));
        samples.iter().filter_map(sample).collect()
    }

    /// Waits until a query has an answer.
    ///
    /// # Panics
    /// If it never has; the server's log is shown.
    #[must_use]
    pub fn wait(&self, expression: &str) -> Vec<(Value, f64)> {
        until(&format!("Prometheus knows {expression}; its log is {}", self.folder.path().display()), || {
            Some(self.query(expression)).filter(|samples| !samples.is_empty())
        })
    }
}
