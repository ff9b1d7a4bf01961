//! A served socket with a shared state full of everything, and raw conversations with it.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_model::{
    ConditionStatus, EventRecord, Name, Origin, Severity,
    api::{InjectAnswer, InjectRequest},
    view::{
        ApiserverState, ApiserverView, ConditionView, ConfigurationView, DaemonState, DaemonView, NodeView, ProblemView,
    },
};
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    sync::mpsc,
    task::JoinHandle,
    time::timeout,
};

use super::super::{Access, Api, Counters, Grants, Injector, SocketLimits, bind, serve};
use crate::shared_state::{Command, SharedState};

pub(super) const DEADLINE: Duration = Duration::from_secs(10);

pub(super) struct Fixture {
    pub(super) path: PathBuf,
    pub(super) shared_state: SharedState,
    pub(super) commands: mpsc::Receiver<Command>,
    pub(super) counters: Arc<Counters>,
    _folder: TempDir,
    _server: JoinHandle<()>,
}

/// Knows one rule.
pub(super) struct OneRule;

impl Injector for OneRule {
    fn check_of(&self, reason: &Name) -> Option<&'static str> {
        (reason.as_str() == "Ext4Error").then_some("filesystem-writable")
    }

    fn prepare(&self, request: &InjectRequest) -> Result<InjectAnswer, String> {
        if request.reason.as_str() != "KernelOops" {
            return Err(format!("no rule has the reason {}", request.reason));
        }
        Ok(InjectAnswer {
            line: "nodewell-inject 0123: BUG: kernel NULL pointer dereference".to_owned(),
            kmsg: "/dev/kmsg".to_owned(),
            reason: request.reason.clone(),
            condition: Some(Name::fixed("KernelUnhealthy")),
            severity: Severity::Critical,
            expires_secs: 10,
            clears_secs: 60,
        })
    }
}

impl Fixture {
    pub(super) fn start(limits: SocketLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nodewell.sock");
        let (shared_state, commands) = SharedState::new("node-1");
        let counters = Arc::new(Counters::default());
        let api = api(&shared_state);
        let listener = bind(&path).unwrap();
        let server = tokio::spawn(serve(listener, api, limits, Arc::clone(&counters), std::future::pending()));
        Self { path, shared_state, commands, counters, _folder: folder, _server: server }
    }

    /// With an account that has every field in use.
    pub(super) fn full() -> Self {
        let fixture = Self::start(SocketLimits::default());
        fixture.shared_state.publish(view());
        fixture.shared_state.set_apiserver(view().apiserver);
        fixture.shared_state.set_configuration(ConfigurationView {
            hash: "sha256:0a".to_owned(),
            rules_hash: "sha256:0b".to_owned(),
            loaded: at("2026-11-21T01:00:00Z"),
        });
        fixture.shared_state.events().extend([event(1), event(2)]);
        fixture
    }

    pub(super) async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.path).await.unwrap()
    }

    /// Everything the agent answers to `bytes` until it hangs up.
    pub(super) async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // A peer that is hung up on while it still talks reads its answer all the same.
        let _ = stream.write_all(bytes).await;
        read_all(&mut stream).await
    }

    pub(super) async fn get(&self, target: &str) -> (u16, serde_json::Value) {
        self.ask("GET", target, "", "").await
    }

    pub(super) async fn post(&self, target: &str, body: &str) -> (u16, serde_json::Value) {
        self.ask("POST", target, "Content-Type: application/json\r\n", body).await
    }

    pub(super) async fn ask(&self, method: &str, target: &str, head: &str, body: &str) -> (u16, serde_json::Value) {
        let length = body.len();
        let answer = self
            .exchange(
                format!(
                    "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}Content-Length: {length}\r\n\r\n{body}"
                )
                .as_bytes(),
            )
            .await;
        (code(&answer), serde_json::from_str(body_of(&answer)).unwrap_or_default())
    }
}

pub(super) fn api(shared_state: &SharedState) -> Api {
    api_with(shared_state, Grants::default())
}

pub(super) fn api_with(shared_state: &SharedState, grants: Grants) -> Api {
    let grants = tokio::sync::watch::Sender::new(Arc::new(grants)).subscribe();
    let access = Access { grants, rate: SocketLimits::default().rate };
    Api::new(shared_state.clone(), Arc::new(OneRule), access, &["events-follow", "clear", "inject"])
}

pub(super) async fn read_all(stream: &mut UnixStream) -> String {
    let mut answer = Vec::new();
    // A reset after the answer is how a closed connection with unread bytes looks.
    let _ = timeout(DEADLINE, stream.read_to_end(&mut answer)).await.expect("the agent hangs up in time");
    String::from_utf8(answer).unwrap()
}

/// Reads until `enough` is in what was read.
pub(super) async fn read_until(stream: &mut UnixStream, enough: &str) -> String {
    let mut answer = String::new();
    let reading = async {
        while !answer.contains(enough) {
            let mut buffer = [0; 4096];
            let count = stream.read(&mut buffer).await.unwrap();
            assert!(count > 0, "hung up after {answer:?}");
            answer.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
        }
    };
    timeout(DEADLINE, reading).await.expect("the agent answers in time");
    answer
}

pub(super) fn code(answer: &str) -> u16 {
    answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_default()
}

pub(super) fn body_of(answer: &str) -> &str {
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

fn at(time: &str) -> jiff::Timestamp {
    time.parse().unwrap()
}

pub(super) fn event(id: u64) -> EventRecord {
    EventRecord {
        id,
        origin: Origin::Line { number: id },
        boot_id: None,
        severity: Severity::Error,
        time: at("2026-11-21T02:00:00.5Z"),
        last_time: at("2026-11-21T02:00:01Z"),
        reason: Name::fixed("Ext4Error"),
        message: "EXT4-fs error (device sda1): ext4_find_entry".to_owned(),
        subject: Some("sda1".to_owned()),
        source: "kernel-monitor".to_owned(),
        pod_uid: None,
        from_peer: false,
        condition: (id > 1).then(|| Name::fixed("DiskUnhealthy")),
        count: id,
        test: id > 1,
    }
}

pub(super) fn view() -> NodeView {
    NodeView {
        node: "node-1".to_owned(),
        conditions: vec![
            ConditionView {
                condition: Name::fixed("DiskUnhealthy"),
                status: ConditionStatus::True,
                reason: Name::fixed("Ext4Error"),
                message: "EXT4-fs error (device sda1): ext4_find_entry".to_owned(),
                transition: at("2026-11-21T02:00:00Z"),
                problems: vec![problem()],
            }
            .into(),
            ConditionView {
                condition: Name::fixed("KernelDeadlock"),
                status: ConditionStatus::False,
                reason: Name::fixed("KernelHasNoDeadlock"),
                message: "kernel has no deadlock".to_owned(),
                transition: at("2026-11-20T00:00:00Z"),
                problems: Vec::new(),
            }
            .into(),
        ],
        daemons: vec![
            daemon("kernel-monitor", DaemonState::Running),
            DaemonView {
                reason: "LibraryMissing".to_owned(),
                message: "libsystemd.so.0 is not there; install libsystemd0".to_owned(),
                records: 0,
                ..daemon("journal-monitor", DaemonState::Blind)
            },
        ],
        apiserver: ApiserverView {
            state: ApiserverState::Failing,
            last_success: Some(at("2026-11-21T01:59:00Z")),
            message: "connection refused".to_owned(),
            undelivered: 3,
        },
        hardware: Vec::new(),
        refused: Vec::new(),
        mutes: Vec::new(),
        configuration: None,
    }
}

pub(super) fn daemon(name: &str, state: DaemonState) -> DaemonView {
    DaemonView {
        name: name.to_owned(),
        state,
        reason: String::new(),
        message: String::new(),
        records: 12,
        lost: 1,
        ttl_secs: None,
        silent_since: None,
        full: false,
    }
}

fn problem() -> ProblemView {
    ProblemView {
        id: "dc20e3fadc691ea0".to_owned(),
        reason: Name::fixed("Ext4Error"),
        subject: Some("sda1".to_owned()),
        severity: Severity::Error,
        since: at("2026-11-21T02:00:00Z"),
        last_seen: at("2026-11-21T02:10:00Z"),
        count: 7,
        message: "EXT4-fs error (device sda1): ext4_find_entry".to_owned(),
        source: "kernel-monitor".to_owned(),
        action: Some("check-filesystem".to_owned()),
        unconfirmed_since: Some(at("2026-11-21T02:20:00Z")),
        test: true,
        muted_until: None,
        false_positive: None,
    }
}
