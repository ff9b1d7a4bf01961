//! A running `nodewelld` with everything it needs in a folder of its own.

use std::{
    ffi::{OsStr, OsString},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitStatus,
    thread,
};

use hyper::{Method, StatusCode};
use nix::sys::signal::Signal;
use nodewell_model::view::{ConditionView, DaemonView, EventView, NodeView};
use tempfile::TempDir;

use crate::{
    cli::{Outcome, binary, nodewell},
    http::{Answer, over_socket, over_tcp},
    kmsg::FakeKmsg,
    process::Process,
    wait::until,
};

/// How many events the agent stores for those who look later.
pub const EVENTS_KEPT: usize = 4096;
const USUAL_METRICS_PORT: u16 = 20259;

/// How the agent is to be started.
#[derive(Debug)]
pub struct Plan {
    dir: TempDir,
    node: String,
    kmsg: FakeKmsg,
    flags: Vec<OsString>,
    kubeconfig: Option<PathBuf>,
    finds_identity: bool,
    device: Option<PathBuf>,
    wrapper: Vec<OsString>,
    metrics_port: Option<u16>,
}

impl Default for Plan {
    fn default() -> Self {
        Self::new("test-node")
    }
}

impl Plan {
    /// Standalone, with a made-up kernel log and the shipped rules.
    ///
    /// # Panics
    /// If there is no place for temporary files.
    #[must_use]
    pub fn new(node: &str) -> Self {
        let dir = TempDir::with_prefix("nodewell-test-").unwrap();
        let kmsg = FakeKmsg::file(&dir.path().join("kmsg"));
        // What /etc has on this machine must not matter.
        let own = |key: &str, folder: &str| format!("{key} = {:?}\n", dir.path().join(folder));
        // Each check process is a process more; the cases that are about them ask for them.
        let base =
            own("rules-override-dir", "rules.d") + &own("monitors-dir", "monitors.d") + "check-processes = \"none\"\n";
        fs::write(dir.path().join("nodewell.toml"), base).unwrap();
        let metrics_port = Some(nodewell_kit::free_port());
        let node = node.to_owned();
        let (flags, wrapper) = (Vec::new(), Vec::new());
        Self { dir, node, kmsg, flags, kubeconfig: None, finds_identity: false, device: None, wrapper, metrics_port }
    }

    /// The agent's folder; it is gone when the agent is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.dir.path()
    }

    /// Its made-up kernel log.
    #[must_use]
    pub fn kmsg(&self) -> &FakeKmsg {
        &self.kmsg
    }

    /// Writes a file into the agent's folder and gives its path.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// More for the end of the configuration file.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn config(self, toml: &str) -> Self {
        let mut file = fs::File::options().append(true).open(self.dir.path().join("nodewell.toml")).unwrap();
        file.write_all(toml.as_bytes()).unwrap();
        self
    }

    /// These rules and no others, as `rules/test.toml`.
    #[must_use]
    pub fn rules(self, toml: &str) -> Self {
        self.file("rules/test.toml", toml);
        let folder = self.dir.path().join("rules");
        self.flag("--rules", folder)
    }

    /// One more flag with its value.
    #[must_use]
    pub fn flag(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.flags.extend([name.into(), value.as_ref().to_owned()]);
        self
    }

    /// Not standalone, but with this kubeconfig.
    #[must_use]
    pub fn kubeconfig(self, path: PathBuf) -> Self {
        Self { kubeconfig: Some(path), ..self }
    }

    /// Not standalone: it looks for an identity as `[identity]` of its configuration specifies.
    #[must_use]
    pub fn with_identity(self) -> Self {
        Self { finds_identity: true, ..self }
    }

    /// Another kernel log than the made-up one.
    #[must_use]
    pub fn kernel_log(self, path: impl Into<PathBuf>) -> Self {
        Self { device: Some(path.into()), ..self }
    }

    /// A FIFO in place of the file.
    #[must_use]
    pub fn with_fifo(mut self) -> Self {
        self.kmsg = FakeKmsg::fifo(&self.dir.path().join("kmsg-fifo"));
        self
    }

    /// A command that starts the agent, such as `nsenter` or `setpriv` with its arguments.
    #[must_use]
    pub fn wrapped_in(self, wrapper: Vec<OsString>) -> Self {
        Self { wrapper, ..self }
    }

    /// Its metrics are where they are by default, which is for one agent alone.
    #[must_use]
    pub fn with_usual_metrics_address(self) -> Self {
        Self { metrics_port: None, ..self }
    }

    /// Starts it and waits until it answers on its socket.
    ///
    /// # Panics
    /// If it ends or does not answer; its log is shown.
    #[must_use]
    pub fn start(self) -> Agent {
        let process = self.spawn();
        let mut agent = Agent { plan: self, process };
        agent.wait_ready();
        agent
    }

    /// Starts it and waits for nothing: for one that may not live long enough to answer.
    ///
    /// # Panics
    /// If it cannot be started.
    #[must_use]
    pub fn launch(&self) -> Process {
        self.spawn()
    }

    /// The command line without the program: for runs that are to end by themselves.
    #[must_use]
    pub fn args(&self) -> Vec<OsString> {
        let path = |name: &str| self.dir.path().join(name).into_os_string();
        let device = self.device.as_deref().unwrap_or(self.kmsg.path());
        let mut args: Vec<OsString> = vec!["--config".into(), path("nodewell.toml")];
        args.extend(["--node-name".into(), self.node.clone().into()]);
        args.extend(["--socket".into(), path("socket"), "--state-dir".into(), path("state")]);
        if self.metrics_port.is_some() {
            args.extend(["--metrics-address".into(), self.metrics_address().into()]);
        }
        args.extend(["--kmsg".into(), device.into()]);
        match &self.kubeconfig {
            Some(kubeconfig) => args.extend(["--kubeconfig".into(), kubeconfig.into()]),
            None if self.finds_identity => {}
            None => args.push("--standalone".into()),
        }
        args.extend(self.flags.iter().cloned());
        args
    }

    fn metrics_address(&self) -> String {
        format!("127.0.0.1:{}", self.metrics_port.unwrap_or(USUAL_METRICS_PORT))
    }

    fn log(&self) -> PathBuf {
        self.dir.path().join("nodewelld.log")
    }

    fn spawn(&self) -> Process {
        let mut argv = self.wrapper.clone();
        argv.push(binary("nodewelld").into_os_string());
        argv.extend(self.args());
        Process::start(&argv, &self.log()).unwrap()
    }
}

/// A running agent. Killed when dropped; its log is shown if the test fails.
#[derive(Debug)]
pub struct Agent {
    plan: Plan,
    process: Process,
}

impl Agent {
    /// Its made-up kernel log.
    #[must_use]
    pub fn kmsg(&self) -> &FakeKmsg {
        &self.plan.kmsg
    }

    /// What it was started with.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Everything it has logged so far.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.plan.log()).unwrap_or_default()
    }

    /// `GET` on its socket; `None` if it does not answer.
    #[must_use]
    pub fn get(&self, target: &str) -> Option<Answer> {
        over_socket(&self.plan.dir.path().join("socket"), Method::GET, target, "")
    }

    /// `POST` on its socket.
    ///
    /// # Panics
    /// If it does not answer.
    #[must_use]
    pub fn post(&self, target: &str, body: &str) -> Answer {
        over_socket(&self.plan.dir.path().join("socket"), Method::POST, target, body).expect("the agent answers")
    }

    /// The whole account.
    #[must_use]
    pub fn view(&self) -> NodeView {
        self.read("/v1/status")
    }

    /// One condition of the catalogue.
    #[must_use]
    pub fn condition(&self, name: &str) -> Option<ConditionView> {
        self.view().conditions.iter().find(|one| one.condition.as_str() == name).map(|one| ConditionView::clone(one))
    }

    /// Waits until condition `name` has `status` (`True`, `False`, `Unknown`).
    pub fn wait_condition(&self, name: &str, status: &str) -> ConditionView {
        until(&format!("{name} is {status}"), || {
            self.condition(name).filter(|condition| condition.status.as_str() == status)
        })
    }

    /// The events with this reason, newest last.
    #[must_use]
    pub fn events(&self, reason: &str) -> Vec<EventView> {
        let events: Vec<EventView> = self.read(&format!("/v1/events?limit={EVENTS_KEPT}"));
        events.into_iter().filter(|event| event.reason.as_str() == reason).collect()
    }

    /// Waits for an event with this reason; gives the newest.
    pub fn wait_event(&self, reason: &str) -> EventView {
        until(&format!("an event {reason}"), || self.events(reason).pop())
    }

    /// One monitor.
    #[must_use]
    pub fn daemon(&self, name: &str) -> Option<DaemonView> {
        self.view().daemons.into_iter().find(|daemon| daemon.name == name)
    }

    /// `GET /metrics`.
    #[must_use]
    pub fn metrics(&self) -> String {
        until("/metrics answers", || over_tcp(&self.plan.metrics_address(), "/metrics")).body
    }

    /// Where Prometheus finds it.
    #[must_use]
    pub fn metrics_address(&self) -> String {
        self.plan.metrics_address()
    }

    /// Where it listens.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.plan.dir.path().join("socket")
    }

    /// `nodewell ARGS --socket ITS-SOCKET`.
    #[must_use]
    pub fn nodewell(&self, args: &[&str]) -> Outcome {
        let socket = self.plan.dir.path().join("socket");
        nodewell(args.iter().map(OsString::from).chain(["--socket".into(), socket.into_os_string()]))
    }

    /// SIGHUP: reads its rules and configuration again.
    pub fn reload(&self) {
        self.process.signal(Signal::SIGHUP);
    }

    /// SIGSTOP; returns once every thread has stopped.
    pub fn pause(&self) {
        self.process.signal(Signal::SIGSTOP);
        let tasks = format!("/proc/{}/task", self.pid());
        let is_stopped = |task: fs::DirEntry| {
            let stat = fs::read_to_string(task.path().join("stat")).unwrap_or_default();
            stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('T'))
        };
        until("every thread has stopped", || {
            fs::read_dir(&tasks).ok()?.filter_map(Result::ok).all(is_stopped).then_some(())
        });
    }

    /// SIGCONT.
    pub fn resume(&self) {
        self.process.signal(Signal::SIGCONT);
    }

    /// SIGTERM, and how it ended.
    pub fn stop(&mut self) -> ExitStatus {
        self.process.signal(Signal::SIGTERM);
        self.process.wait()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Kills it and starts it again with everything as it was.
    pub fn restart(&mut self) {
        self.process.kill();
        self.process = self.plan.spawn();
        self.wait_ready();
    }

    /// Asks it to stop, lets `meanwhile` happen, and starts it again once it has ended.
    pub fn stop_and_start(&mut self, meanwhile: impl FnOnce()) {
        self.process.signal(Signal::SIGTERM);
        meanwhile();
        let ended = self.process.wait();
        assert!(ended.success(), "{ended}");
        self.process = self.plan.spawn();
        self.wait_ready();
    }

    fn wait_ready(&mut self) {
        let healthy = |status: StatusCode| status == StatusCode::OK;
        until("nodewelld answers /readyz", || {
            assert!(self.process.ended().is_none(), "nodewelld ended by itself");
            self.get("/readyz").filter(|answer| healthy(answer.status))
        });
    }

    fn read<T: serde::de::DeserializeOwned>(&self, target: &str) -> T {
        let answer = self.get(target).unwrap_or_else(|| panic!("{target}: no answer"));
        assert_eq!(answer.status, StatusCode::OK, "{target}: {}", answer.body);
        serde_json::from_str(&answer.body).unwrap_or_else(|error| panic!("{target}: {error} in {}", answer.body))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.process.kill();
        if thread::panicking() {
            eprintln!("--- nodewelld of {} logged:\n{}---", self.plan.dir.path().display(), self.log());
        }
    }
}
