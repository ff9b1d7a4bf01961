//! A small scripted API server on loopback: records its requests, answers by its script, else as a friendly server.

mod friendly;

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes, body::Incoming, header::RETRY_AFTER, service::service_fn};
use hyper_util::rt::TokioIo;
use nodewell_kit::free_port;
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{JoinHandle, JoinSet},
    time::timeout,
};

/// No state of a test takes so long; reaching it is the failure.
pub(super) const DEADLINE: Duration = Duration::from_secs(20);

/// One request as it arrived.
#[derive(Debug, Clone)]
pub(super) struct ReceivedRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) content_type: String,
    pub(super) accept: String,
    pub(super) authorization: String,
    pub(super) body: Value,
    pub(super) at: Instant,
}

/// The scripted answer instead of the friendly one.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Status(u16, Value),
    RetryAfter(u16, u64),
    /// Not by the API server: a portal's or a proxy's.
    Page(u16, &'static str),
    /// The API server carries it out, and what stands in between swallows its answer.
    Swallowed(u16),
    /// Takes the request and never answers.
    Hang,
}

#[derive(Default)]
struct State {
    uid: String,
    seen: Vec<ReceivedRequest>,
    /// By a part of the path, or `METHOD part`.
    script: BTreeMap<String, VecDeque<Reply>>,
    events: BTreeMap<String, Value>,
    leases: BTreeMap<String, Value>,
    /// Of the newest write.
    version: u64,
    /// The Node's conditions; an admission policy may have changed them.
    conditions: Value,
    altered: Option<Value>,
    /// Conditions of these types are refused, with all that comes with them.
    refused: Vec<&'static str>,
    /// The manager `npd` has the status and the heartbeat of the condition of this type.
    of_npd: Option<&'static str>,
    /// Of the newest write of the Node.
    node_version: u64,
    /// With the next force another client writes the Node first.
    overtaken: bool,
}

#[derive(Clone)]
struct Shared {
    state: Arc<Mutex<State>>,
    version: Arc<watch::Sender<u64>>,
}

pub(super) struct Server {
    shared: Shared,
    address: SocketAddr,
    task: Option<JoinHandle<()>>,
    pub(super) folder: tempfile::TempDir,
}

impl Server {
    pub(super) async fn start() -> Self {
        let state = State { uid: "uid-1".into(), ..State::default() };
        let shared = Shared { state: Arc::new(Mutex::new(state)), version: Arc::new(watch::Sender::new(0)) };
        let listener = TcpListener::bind(("127.0.0.1", free_port())).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = Some(tokio::spawn(serve(listener, shared.clone())));
        let server = Self { shared, address, task, folder: tempfile::tempdir().unwrap() };
        server.write_kubeconfig("secret-1");
        server
    }

    pub(super) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// Renamed into place, as tools that rotate credentials do.
    pub(super) fn write_kubeconfig(&self, token: &str) {
        let text = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": format!("http://{}", self.address)}}],
            "users": [{"name": "u", "user": {"token": token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        });
        replace(&self.kubeconfig(), &text.to_string());
    }

    /// Closes the port and every connection.
    pub(super) async fn stop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
            let _ = task.await;
        }
    }

    pub(super) async fn start_again(&mut self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        self.task = Some(tokio::spawn(serve(listener, self.shared.clone())));
    }

    /// The next requests whose `METHOD path` contains `part` get these answers.
    pub(super) fn script(&self, part: &str, replies: impl IntoIterator<Item = Reply>) {
        self.shared.state.lock().unwrap().script.entry(part.to_owned()).or_default().extend(replies);
    }

    pub(super) fn clear_script(&self) {
        self.shared.state.lock().unwrap().script.clear();
    }

    pub(super) fn set_uid(&self, uid: &str) {
        self.shared.state.lock().unwrap().uid = uid.to_owned();
    }

    /// From now on the Node has these, whatever is written: a mutating admission policy.
    pub(super) fn alter(&self, conditions: Option<Value>) {
        self.shared.state.lock().unwrap().altered = conditions;
    }

    /// As a server restored from a backup: versions start again, and what was written since is gone.
    pub(super) fn restore(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.version = 0;
        state.leases.clear();
    }

    /// As the garbage collector and impatient people do.
    pub(super) fn delete_leases(&self) {
        self.shared.state.lock().unwrap().leases.clear();
    }

    /// Another version than the one that was left.
    pub(super) fn touch_lease(&self) {
        let mut state = self.shared.state.lock().unwrap();
        state.leases.values_mut().for_each(|lease| lease["metadata"]["resourceVersion"] = "5000".into());
    }

    pub(super) fn lease(&self) -> Option<Value> {
        self.shared.state.lock().unwrap().leases.get("n1").cloned()
    }

    pub(super) fn give_to_npd(&self, condition: &'static str) {
        self.shared.state.lock().unwrap().of_npd = Some(condition);
    }

    /// Another client writes the Node between the next look and the force that follows it.
    pub(super) fn overtake(&self) {
        self.shared.state.lock().unwrap().overtaken = true;
    }

    /// As an admission policy does, which looks at dry runs too.
    pub(super) fn refuse(&self, conditions: &[&'static str]) {
        self.shared.state.lock().unwrap().refused = conditions.to_vec();
    }

    /// All requests whose `METHOD path` contains `part`.
    pub(super) fn seen(&self, part: &str) -> Vec<ReceivedRequest> {
        let state = self.shared.state.lock().unwrap();
        state.seen.iter().filter(|seen| format!("{} {}", seen.method, seen.path).contains(part)).cloned().collect()
    }

    /// The Events in the order of their names.
    pub(super) fn events(&self) -> Vec<Value> {
        self.shared.state.lock().unwrap().events.values().cloned().collect()
    }

    /// Waits until `reached` holds, looking after every request.
    pub(super) async fn until(&self, what: &str, reached: impl Fn(&Self) -> bool) {
        let mut version = self.shared.version.subscribe();
        let wait = async {
            while !reached(self) {
                version.changed().await.unwrap();
            }
        };
        timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("{what}: {:#?}", self.seen("")));
    }
}

pub(super) fn replace(path: &Path, text: &str) {
    let patch = path.with_extension("patch");
    std::fs::write(&patch, text).unwrap();
    std::fs::rename(patch, path).unwrap();
}

async fn serve(listener: TcpListener, shared: Shared) {
    // Dropping the set on abort closes the connections too.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(connection(stream, shared.clone()));
    }
}

async fn connection(stream: TcpStream, shared: Shared) {
    let service = service_fn(|request| answer(request, shared.clone()));
    let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn answer(request: Request<Incoming>, shared: Shared) -> Result<Response<Full<Bytes>>, Infallible> {
    let seen = read(request).await;
    let (reply, friendly) = {
        let mut state = shared.state.lock().unwrap();
        state.seen.push(seen.clone());
        let reply = state.scripted(&seen);
        let is_carried_out = matches!(reply, None | Some(Reply::Swallowed(_)));
        let friendly = if is_carried_out { state.friendly(&seen) } else { (0, Value::Null) };
        (reply, friendly)
    };
    shared.version.send_modify(|version| *version += 1);
    let (code, body, retry_after) = match reply {
        None => (friendly.0, genuine(friendly.0, friendly.1), None),
        Some(Reply::Status(code, body)) => (code, genuine(code, body), None),
        Some(Reply::RetryAfter(code, secs)) => (code, genuine(code, json!({"message": "later"})), Some(secs)),
        Some(Reply::Page(code, text)) => (code, text.to_owned(), None),
        Some(Reply::Swallowed(code)) => (code, String::new(), None),
        Some(Reply::Hang) => std::future::pending().await,
    };
    let mut response = Response::builder().status(code);
    if let Some(secs) = retry_after {
        response = response.header(RETRY_AFTER, secs);
    }
    Ok(response.body(Full::from(body)).unwrap())
}

/// With what shows that an API server says it: every object has a UID, and every refusal is a Status.
fn genuine(code: u16, mut body: Value) -> String {
    if code >= 400 {
        body["kind"] = "Status".into();
    } else if body["metadata"]["uid"].is_null() {
        body["metadata"]["uid"] = "uid-of-an-object".into();
    }
    body.to_string()
}

async fn read(request: Request<Incoming>) -> ReceivedRequest {
    let header = |name: &str| request.headers().get(name).map_or("", |v| v.to_str().unwrap()).to_owned();
    ReceivedRequest {
        method: request.method().to_string(),
        path: request.uri().to_string(),
        content_type: header("content-type"),
        accept: header("accept"),
        authorization: header("authorization"),
        at: Instant::now(),
        body: serde_json::from_slice(&request.into_body().collect().await.unwrap().to_bytes()).unwrap(),
    }
}

impl State {
    fn scripted(&mut self, seen: &ReceivedRequest) -> Option<Reply> {
        let line = format!("{} {}", seen.method, seen.path);
        self.script.iter_mut().find(|(part, _)| line.contains(part.as_str()))?.1.pop_front()
    }
}
