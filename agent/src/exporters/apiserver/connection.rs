//! The way to the API server: builds the client from the kubeconfig, sends one request within its time, and throws the
//! connection away when it can no longer be trusted.

use std::{
    collections::BTreeMap,
    fs,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::TokioExecutor,
};
use kube::{
    Client, Config,
    client::{Body, ClientBuilder, ConfigExt},
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};
use tower::{BoxError, ServiceExt};

use super::{
    answer::{Failure, Taken, judge},
    stats::{ApiStats, Verb},
    way::Way,
};

/// Metadata only, where the server can; the plain object where it cannot. A whole Node may have 50 kB.
const ACCEPT_METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// A Node with its images stays far below this; more is not an API server.
const ANSWER_LIMIT_BYTES: usize = 4 << 20;

/// Reading the credentials waits for a disk, perhaps a dying one; past this it hangs.
const FILES_TIMEOUT: Duration = Duration::from_secs(10);

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) verb: Verb,
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
    /// More of the answer is wanted than its metadata.
    pub(super) whole_answer: bool,
}

/// The connection, shared by both lanes.
pub(super) struct Connection {
    way: Way,
    request_timeout: Duration,
    stats: Arc<ApiStats>,
    slot: Mutex<Slot>,
    /// At most one thread reads files: a hung disk must not collect threads.
    reader: Arc<Semaphore>,
}

#[derive(Default)]
struct Slot {
    client: Option<Client>,
    /// Counts the clients, so that a late failure does not throw a newer client away.
    generation: u64,
    stale: bool,
    files: Files,
    /// The server does not know metadata-only answers.
    plain_answers: bool,
}

/// When the kubeconfig and the files it names were last changed.
type Files = BTreeMap<PathBuf, Option<SystemTime>>;

impl Connection {
    pub(super) fn new(way: impl Into<Way>, request_timeout: Duration, stats: Arc<ApiStats>) -> Self {
        let way = way.into();
        let files = way.file().map(|file| (file.clone(), None)).into_iter().collect();
        let slot = Mutex::new(Slot { files, ..Slot::default() });
        Self { way, request_timeout, stats, slot, reader: Arc::new(Semaphore::new(1)) }
    }

    /// Sends `call` and reads the answer, all within the request timeout.
    pub(super) async fn send(&self, call: &Call) -> Result<Taken, Failure> {
        match self.once(call).await {
            Err(Failure::Refused { code: 406 | 415, .. }) if self.ask_plainly() => self.once(call).await,
            answer => answer,
        }
    }

    /// Builds a new client if the kubeconfig or a file it names changed on disk; says whether it did. A file that is
    /// half written costs nothing: the old client stays until a new one can be built.
    pub(super) async fn refresh(&self) -> bool {
        let Way::Kubeconfig(kubeconfig) = &self.way else { return false };
        let before = self.slot().files.clone();
        let paths: Vec<PathBuf> = before.keys().cloned().collect();
        let Ok(after) = self.read_files(move || Ok(stamps(paths))).await else { return false };
        if before == after {
            return false;
        }
        self.slot().files = after;
        match self.connect().await {
            Ok(_) => tracing::info!(kubeconfig = %kubeconfig.display(), "credentials changed on disk"),
            Err(error) => tracing::warn!(%error, "the credentials changed on disk and cannot be used yet"),
        }
        true
    }

    async fn once(&self, call: &Call) -> Result<Taken, Failure> {
        let (client, generation) = self.client().await?;
        let request = self.request(call)?;
        let answer = timeout(self.request_timeout, exchange(&client, request)).await;
        // No answer: every pooled connection may be as dead. 401: the credentials are, so the files are read again.
        if matches!(answer, Err(_) | Ok(Ok((401, _)))) {
            self.doubt(generation);
        }
        let late = |_| Err(Failure::Unreachable(format!("no answer within {:?}", self.request_timeout)));
        let (code, outcome) = answer.unwrap_or_else(late).unwrap_or_else(|failure| (0, Err(failure)));
        self.stats.count(call.verb, code);
        outcome
    }

    fn request(&self, call: &Call) -> Result<Request<Body>, Failure> {
        let method = if call.verb == Verb::CreateEvent { Method::POST } else { Method::PATCH };
        let accept = if call.whole_answer || self.slot().plain_answers { "application/json" } else { ACCEPT_METADATA };
        Request::builder()
            .method(method)
            .uri(&call.path)
            .header(CONTENT_TYPE, call.content_type)
            .header(ACCEPT, accept)
            .header(USER_AGENT, concat!("nodewell/", env!("CARGO_PKG_VERSION")))
            .body(Body::from(call.body.clone()))
            .map_err(|error| Failure::Refused { code: 400, message: error.to_string() })
    }

    fn ask_plainly(&self) -> bool {
        !std::mem::replace(&mut self.slot().plain_answers, true)
    }

    async fn client(&self) -> Result<(Client, u64), Failure> {
        let (known, stale) = self.known();
        match known {
            Some(known) if !stale => Ok(known),
            // Better a doubtful client than none, while the files cannot be read.
            Some(known) => Ok(self.connect().await.unwrap_or(known)),
            None => self.connect().await,
        }
    }

    async fn connect(&self) -> Result<(Client, u64), Failure> {
        let path = match &self.way {
            Way::Kubeconfig(path) => path.clone(),
            Way::Client(client) => return Ok((client.clone(), 0)),
        };
        let (files, opened) = self.read_files(move || Ok(open(&path))).await?;
        let mut slot = self.slot();
        // What could not be used is watched too: the file that is missing now is the one that will appear.
        slot.files = files;
        let client = opened?;
        slot.generation += 1;
        slot.stale = false;
        slot.client = Some(client.clone());
        Ok((client, slot.generation))
    }

    fn known(&self) -> (Option<(Client, u64)>, bool) {
        let slot = self.slot();
        (slot.client.clone().map(|client| (client, slot.generation)), slot.stale)
    }

    /// Another client shall take this one's place before the next request.
    fn doubt(&self, generation: u64) {
        let mut slot = self.slot();
        slot.stale |= slot.generation == generation;
    }

    /// Files may be on a disk that hangs: they are read on a thread of their own, and not waited for without end.
    async fn read_files<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let stuck = || Failure::Identity(format!("reading {} hangs", self.way));
        let acquired = timeout(FILES_TIMEOUT, self.reader.clone().acquire_owned()).await;
        let permit = acquired.map_err(|_| stuck())?.map_err(|_| stuck())?;
        let task = spawn_blocking(move || {
            let _permit = permit;
            read()
        });
        match timeout(FILES_TIMEOUT, task).await {
            Ok(joined) => joined.unwrap_or_else(|error| Err(Failure::Identity(error.to_string()))),
            Err(_) => Err(stuck()),
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the kubeconfig and what it names, and builds a client with connections of its own; the files are known even
/// where no client comes of them.
fn open(path: &PathBuf) -> (Files, Result<Client, Failure>) {
    // The stamps come first: a change while we read is then seen by the next look.
    let named = Kubeconfig::read_from(path).map(|kubeconfig| named_files(&kubeconfig)).unwrap_or_default();
    (stamps(named.into_iter().chain([path.clone()])), client_of(path))
}

fn client_of(path: &PathBuf) -> Result<Client, Failure> {
    let identity = |error: &dyn std::error::Error| Failure::Identity(format!("{}: {error}", path.display()));
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| identity(&error))?;
    let options = KubeConfigOptions::default();
    let runtime = tokio::runtime::Handle::current();
    let config =
        runtime.block_on(Config::from_custom_kubeconfig(kubeconfig, &options)).map_err(|error| identity(&error))?;
    if config.proxy_url.is_some() {
        return Err(Failure::Identity(format!("{}: proxy-url is not supported", path.display())));
    }
    stack(&config).map_err(|error| identity(&error))
}

/// Our own stack instead of kube's: that one leaves Nagle's algorithm on, which holds every second write back until the
/// server's delayed ACK (40 ms), retries 429 and 503 behind our back, and logs every failure as an error.
fn stack(config: &Config) -> kube::Result<Client> {
    let mut connector = HttpConnector::new();
    connector.enforce_http(false);
    connector.set_nodelay(true);
    let https = config.rustls_https_connector_with_connector(connector)?;
    let service: legacy::Client<_, Body> = legacy::Client::builder(TokioExecutor::new()).build(https);
    // The credentials' layer fails with boxed errors only.
    let builder = ClientBuilder::new(service.map_err(BoxError::from), config.default_namespace.clone());
    let builder = builder.with_layer(&config.extra_headers_layer()?);
    Ok(match config.auth_layer()? {
        Some(auth) => builder.with_layer(&auth).with_layer(&config.base_uri_layer()).build(),
        None => builder.with_layer(&config.base_uri_layer()).build(),
    })
}

fn named_files(kubeconfig: &Kubeconfig) -> Vec<PathBuf> {
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let users = users.flat_map(|user| [&user.client_certificate, &user.client_key, &user.token_file]);
    let clusters = kubeconfig.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref());
    let authorities = clusters.map(|cluster| &cluster.certificate_authority);
    users.chain(authorities).flatten().map(PathBuf::from).collect()
}

fn stamps(paths: impl IntoIterator<Item = PathBuf>) -> Files {
    let modified = |path: &PathBuf| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    paths.into_iter().map(|path| (path.clone(), modified(&path))).collect()
}

type Outcome = (u16, Result<Taken, Failure>);

async fn exchange(client: &Client, request: Request<Body>) -> Result<Outcome, Failure> {
    let response = client.send(request).await.map_err(|error| unreachable(&error))?;
    let (parts, body) = Response::into_parts(response);
    let body = Limited::new(body, ANSWER_LIMIT_BYTES).collect().await.map_err(|error| unreachable(&*error))?;
    let retry_after = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let code = parts.status.as_u16();
    Ok((code, judge(code, retry_after, &body.to_bytes())))
}

/// The whole chain: the outermost error only says that a service failed. Each cause is said once.
fn unreachable(error: &(dyn std::error::Error + 'static)) -> Failure {
    let mut words = String::new();
    let mut cause = Some(error.source().unwrap_or(error));
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words.push_str(if words.is_empty() { "" } else { ": " });
            words.push_str(&text);
        }
        cause = error.source();
    }
    Failure::Unreachable(words)
}

#[cfg(test)]
mod tests;
