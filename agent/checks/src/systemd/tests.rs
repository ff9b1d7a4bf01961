//! The client against a bus of the tests' own: the other end of the same crate, which answers as systemd does, or not.

use std::{
    io::Write,
    os::unix::net::UnixListener,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tempfile::TempDir;
use tokio::task::JoinHandle;
use zbus::{
    Connection, Message, MessageStream, OwnedObjectPath, Variant, export::ordered_stream::OrderedStreamExt,
    message::Type,
};

use super::*;

/// What the tests' systemd does with calls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum FakeBehaviour {
    Answers,
    /// Answers the hello and then nothing.
    Hangs,
    /// Ends the connection at the first call.
    Drops,
    Denies,
    /// The bus is there, systemd is not.
    Missing,
    /// Numbers where strings should be.
    Strange,
}

struct FakeBus {
    folder: TempDir,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl FakeBus {
    fn start(behaviour: FakeBehaviour) -> Self {
        let folder = TempDir::new().unwrap();
        let listener = UnixListener::bind(folder.path().join("bus")).unwrap();
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::UnixListener::from_std(listener).unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counter.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(serve(stream.into_std().unwrap(), behaviour));
            }
        });
        Self { folder, connections, task }
    }

    fn manager(&self, deadline: Duration) -> Manager {
        Manager::at(&address(self.folder.path().join("bus")), deadline)
    }
}

impl Drop for FakeBus {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn address(path: PathBuf) -> String {
    format!("unix:path={}", path.display())
}

async fn serve(stream: std::os::unix::net::UnixStream, behaviour: FakeBehaviour) {
    let mut calls = nodewell_kit::serve_bus(stream).await;
    while let Some(Ok(call)) = calls.next().await {
        if call.message_type() != Type::MethodCall {
            continue;
        }
        if call.header().member().unwrap().as_str() == "Hello" {
            Connection::from(&calls).reply(&call.header(), &":1.1").await.unwrap();
        } else if behaviour == FakeBehaviour::Drops {
            return;
        } else if behaviour != FakeBehaviour::Hangs {
            answer(&calls, &call, behaviour).await;
        }
    }
}

async fn answer(calls: &MessageStream, call: &Message, behaviour: FakeBehaviour) {
    let (bus, header) = (Connection::from(calls), call.header());
    let error = match behaviour {
        FakeBehaviour::Denies => Some("org.freedesktop.DBus.Error.AccessDenied"),
        FakeBehaviour::Missing => Some("org.freedesktop.DBus.Error.ServiceUnknown"),
        _ => None,
    };
    if let Some(name) = error {
        return bus.reply_error(&header, name, &"said so").await.unwrap();
    }
    match header.member().unwrap().as_str() {
        "Get" => property(&bus, call, behaviour).await,
        "ListUnitsByNames" => {
            let (names,): (Vec<String>,) = call.body().deserialize().unwrap();
            let listed: Vec<_> = names.iter().map(|name| listing(name)).collect();
            bus.reply(&header, &listed).await.unwrap();
        }
        "KillUnit" => {
            let (name, who, signal): (String, String, i32) = call.body().deserialize().unwrap();
            match (name.as_str(), who.as_str(), signal) {
                ("kubelet.service", "main", 15) => bus.reply(&header, &()).await.unwrap(),
                _ => bus.reply_error(&header, "org.freedesktop.systemd1.NoSuchUnit", &"not loaded").await.unwrap(),
            }
        }
        "RestartUnit" => bus.reply(&header, &path("/org/freedesktop/systemd1/job/7")).await.unwrap(),
        other => panic!("{other}"),
    }
}

fn path(text: &str) -> OwnedObjectPath {
    OwnedObjectPath::try_from(text).unwrap()
}

fn listing(name: &str) -> super::unit::Listing {
    let word = str::to_owned;
    let job = (1, word("restart"), path("/org/freedesktop/systemd1/job/1"));
    let unit = path(&unit_path(name));
    (
        word(name),
        word("text"),
        word("loaded"),
        word("activating"),
        word("auto-restart"),
        word(""),
        unit,
        job.0,
        job.1,
        job.2,
    )
}

async fn property(bus: &Connection, call: &Message, behaviour: FakeBehaviour) {
    let header = call.header();
    assert_eq!(header.path().unwrap().as_str(), "/org/freedesktop/systemd1/unit/kubelet_2eservice");
    let (_, name): (String, String) = call.body().deserialize().unwrap();
    let value: Variant<'_> = match name.as_str() {
        _ if behaviour == FakeBehaviour::Strange => Variant::from(7.5_f64),
        "LoadState" => "loaded".into(),
        "ActiveState" => "failed".into(),
        "SubState" => "failed".into(),
        "Job" => Variant::from((0_u32, path("/"))),
        "ActiveEnterTimestampMonotonic" => 1_000_000_u64.into(),
        "StateChangeTimestampMonotonic" => 2_500_000_u64.into(),
        "Result" => "watchdog".into(),
        "MainPID" => 0_u32.into(),
        "WatchdogUSec" => 30_000_000_u64.into(),
        "WatchdogTimestampMonotonic" => 2_000_000_u64.into(),
        // systemd before 235.
        "NRestarts" => {
            return bus.reply_error(&header, "org.freedesktop.DBus.Error.UnknownProperty", &"no").await.unwrap();
        }
        other => panic!("{other}"),
    };
    bus.reply(&header, &value).await.unwrap();
}

const SOON: Duration = Duration::from_millis(300);
const LATE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_unit_is_read_also_from_a_systemd_that_does_not_count_restarts() {
    let bus = FakeBus::start(FakeBehaviour::Answers);
    let unit = bus.manager(LATE).unit("kubelet.service").await.unwrap();
    assert_eq!((unit.load, unit.active, unit.has_job), (LoadState::Loaded, ActiveState::Failed, false));
    assert_eq!((unit.active_since.as_millis(), unit.state_since.as_millis()), (1000, 2500));
    assert_eq!((unit.result.as_deref(), unit.restarts, unit.main_pid), (Some("watchdog"), None, None));
    let watchdog = Watchdog { last: Duration::from_secs(2), within: Duration::from_secs(30) };
    assert_eq!(unit.watchdog, Some(watchdog));
}

#[tokio::test]
async fn many_units_are_one_call_on_one_connection() {
    let bus = FakeBus::start(FakeBehaviour::Answers);
    let manager = bus.manager(LATE);
    for _ in 0..3 {
        let listed = manager.units(&["a.service", "b.service"]).await.unwrap();
        assert_eq!(listed[1].name, "b.service");
        assert_eq!((listed[0].active, listed[0].job.as_deref()), (ActiveState::Activating, Some("restart")));
    }
    assert_eq!(bus.connections.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_restart_and_a_signal_return_the_answer_of_systemd() {
    let bus = FakeBus::start(FakeBehaviour::Answers);
    let manager = bus.manager(LATE);
    assert_eq!(manager.restart("kubelet.service").await.unwrap(), "/org/freedesktop/systemd1/job/7");
    manager.kill("kubelet.service", KillWhom::Main, 15).await.unwrap();
    let unknown = manager.kill("other.service", KillWhom::All, 9).await;
    assert!(matches!(unknown, Err(BusError::NoSuchUnit { .. })), "{unknown:?}");
}

#[tokio::test]
async fn refusals_are_distinguished() {
    let denied = FakeBus::start(FakeBehaviour::Denies).manager(LATE).restart("a.service").await;
    let expected = BusError::Denied { method: "RestartUnit", message: "said so".to_owned() };
    assert_eq!(denied, Err(expected));
    let bus = FakeBus::start(FakeBehaviour::Missing);
    assert!(bus.manager(LATE).units(&["a.service"]).await.unwrap_err().is_absent());
    let bus = FakeBus::start(FakeBehaviour::Strange);
    let strange = bus.manager(LATE).unit("kubelet.service").await;
    assert!(matches!(strange, Err(BusError::Unexpected { .. })), "{strange:?}");
}

#[tokio::test]
async fn a_bus_that_is_not_there_or_speaks_something_else_is_an_answer() {
    let folder = TempDir::new().unwrap();
    let at = |name: &str| Manager::at(&address(folder.path().join(name)), SOON);
    assert!(at("nothing").units(&["a.service"]).await.unwrap_err().is_absent());
    std::fs::create_dir(folder.path().join("folder")).unwrap();
    let no_socket = at("folder").units(&["a.service"]).await;
    assert!(matches!(no_socket, Err(BusError::Unreachable { .. })), "{no_socket:?}");
    let listener = UnixListener::bind(folder.path().join("garbage")).unwrap();
    let thread = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.write_all(&[0xff; 4096]);
    });
    let garbage = at("garbage").units(&["a.service"]).await;
    assert!(matches!(garbage, Err(BusError::Unreachable { .. } | BusError::NoAnswer { .. })), "{garbage:?}");
    thread.join().unwrap();
}

#[tokio::test]
async fn a_bus_that_hangs_is_given_up_and_connected_again() {
    let bus = FakeBus::start(FakeBehaviour::Hangs);
    // Long enough for a busy machine to connect within it.
    let after = Duration::from_secs(3);
    let manager = bus.manager(after);
    for _ in 0..2 {
        let silent = manager.units(&["a.service"]).await;
        assert_eq!(silent, Err(BusError::NoAnswer { method: "ListUnitsByNames", after }));
    }
    assert_eq!(bus.connections.load(Ordering::Relaxed), 2);
    // Accepts, by its queue, and never answers.
    let folder = TempDir::new().unwrap();
    let _listener = UnixListener::bind(folder.path().join("bus")).unwrap();
    let mute = Manager::at(&address(folder.path().join("bus")), SOON).units(&["a.service"]).await;
    assert!(matches!(mute, Err(BusError::NoAnswer { .. })), "{mute:?}");
}

#[tokio::test]
async fn a_bus_that_restarts_is_found_again() {
    let bus = FakeBus::start(FakeBehaviour::Drops);
    let manager = bus.manager(LATE);
    let broken = manager.units(&["a.service"]).await;
    assert!(matches!(broken, Err(BusError::Broken { .. })), "{broken:?}");
    let socket = bus.folder.path().join("bus");
    bus.task.abort();
    std::fs::remove_file(&socket).unwrap();
    let FakeBus { folder: other, .. } = &FakeBus::start(FakeBehaviour::Answers);
    std::os::unix::fs::symlink(other.path().join("bus"), &socket).unwrap();
    assert_eq!(manager.units(&["a.service"]).await.unwrap().len(), 1);
}
