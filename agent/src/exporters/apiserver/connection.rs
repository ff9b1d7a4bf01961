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
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER},
};
use kube::{
    Client, Config,
    client::Body,
    config::{KubeConfigOptions, Kubeconfig},
};
use tokio::{sync::Semaphore, task::spawn_blocking, time::timeout};

use super::{
    answer::{Failure, Taken, judge},
    stats::{ApiStats, Verb},
};

/// Metadata only, where the server can; the plain object where it cannot. A whole Node may have 50 kB.
const ACCEPT_METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// A Node with its images stays far below this; more is not an API server.
const ANSWER_LIMIT_BYTES: usize = 4 << 20;

/// One request.
#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) verb: Verb,
    pub(super) path: String,
    pub(super) content_type: &'static str,
    pub(super) body: Vec<u8>,
}

/// The connection, shared by both lanes.
pub(super) struct Connection {
    kubeconfig: PathBuf,
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
    files: Files,
    /// The server does not know metadata-only answers.
    plain_answers: bool,
}

/// When the kubeconfig and the files it names were last changed.
type Files = BTreeMap<PathBuf, Option<SystemTime>>;

impl Connection {
    pub(super) fn new(kubeconfig: PathBuf, request_timeout: Duration, stats: Arc<ApiStats>) -> Self {
        let files = Files::from([(kubeconfig.clone(), None)]);
        let slot = Mutex::new(Slot { files, ..Slot::default() });
        Self { kubeconfig, request_timeout, stats, slot, reader: Arc::new(Semaphore::new(1)) }
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
        let before = self.slot().files.clone();
        let paths: Vec<PathBuf> = before.keys().cloned().collect();
        let Ok(after) = self.read_files(move || Ok(stamps(paths))).await else { return false };
        if before == after {
            return false;
        }
        self.slot().files = after;
        match self.connect().await {
            Ok(_) => tracing::info!(kubeconfig = %self.kubeconfig.display(), "credentials changed on disk"),
            Err(error) => tracing::warn!(%error, "the credentials changed on disk and cannot be used yet"),
        }
        true
    }

    async fn once(&self, call: &Call) -> Result<Taken, Failure> {
        let (client, generation) = self.client().await?;
        let request = self.request(call)?;
        let answer = timeout(self.request_timeout, exchange(&client, request))
            .await
            .unwrap_or_else(|_| Err(Failure::Unreachable(format!("no answer within {:?}", self.request_timeout))));
        let (code, outcome) = match answer {
            Ok((code, outcome)) => (code, outcome),
            Err(failure) => (0, Err(failure)),
        };
        self.stats.count(call.verb, code);
        // No answer: the pooled connection may be dead. 401: the credentials are, so the files are read again.
        if matches!(outcome, Err(Failure::Unreachable(_) | Failure::Unauthorized(_))) {
            self.discard(generation);
        }
        outcome
    }

    fn request(&self, call: &Call) -> Result<Request<Body>, Failure> {
        let method = if call.verb == Verb::CreateEvent { Method::POST } else { Method::PATCH };
        let accept = if self.slot().plain_answers { "application/json" } else { ACCEPT_METADATA };
        Request::builder()
            .method(method)
            .uri(&call.path)
            .header(CONTENT_TYPE, call.content_type)
            .header(ACCEPT, accept)
            .body(Body::from(call.body.clone()))
            .map_err(|error| Failure::Refused { code: 400, message: error.to_string() })
    }

    fn ask_plainly(&self) -> bool {
        !std::mem::replace(&mut self.slot().plain_answers, true)
    }

    async fn client(&self) -> Result<(Client, u64), Failure> {
        if let Some(known) = self.known() {
            return Ok(known);
        }
        self.connect().await
    }

    async fn connect(&self) -> Result<(Client, u64), Failure> {
        let path = self.kubeconfig.clone();
        let (client, files) = self.read_files(move || open(&path)).await?;
        let mut slot = self.slot();
        slot.generation += 1;
        slot.files = files;
        slot.client = Some(client.clone());
        Ok((client, slot.generation))
    }

    fn known(&self) -> Option<(Client, u64)> {
        let slot = self.slot();
        // An exec plug-in says how long its credential is good for.
        let client = slot.client.clone().filter(|c| c.valid_until().is_none_or(|end| end > jiff::Timestamp::now()))?;
        Some((client, slot.generation))
    }

    fn discard(&self, generation: u64) {
        let mut slot = self.slot();
        if slot.generation == generation {
            slot.client = None;
        }
    }

    /// Files may be on a disk that hangs: they are read on a thread of their own, and not waited for without end.
    async fn read_files<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let stuck = || Failure::Identity(format!("reading {} hangs", self.kubeconfig.display()));
        let acquired = timeout(self.request_timeout, self.reader.clone().acquire_owned()).await;
        let permit = acquired.map_err(|_| stuck())?.map_err(|_| stuck())?;
        let task = spawn_blocking(move || {
            let _permit = permit;
            read()
        });
        match timeout(self.request_timeout, task).await {
            Ok(joined) => joined.unwrap_or_else(|error| Err(Failure::Identity(error.to_string()))),
            Err(_) => Err(stuck()),
        }
    }

    fn slot(&self) -> MutexGuard<'_, Slot> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the kubeconfig and what it names, and builds a client with connections of its own.
fn open(path: &PathBuf) -> Result<(Client, Files), Failure> {
    let identity = |error: &dyn std::error::Error| Failure::Identity(format!("{}: {error}", path.display()));
    // The stamps come first: a change while we read is then seen by the next look.
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| identity(&error))?;
    let files = stamps(named_files(&kubeconfig).into_iter().chain([path.clone()]));
    let kubeconfig = Kubeconfig::read_from(path).map_err(|error| identity(&error))?;
    let options = KubeConfigOptions::default();
    let runtime = tokio::runtime::Handle::current();
    let mut config =
        runtime.block_on(Config::from_custom_kubeconfig(kubeconfig, &options)).map_err(|error| identity(&error))?;
    // Retries are our own: theirs hide 429 and 503 from us.
    config.default_retry = false;
    let client = Client::try_from(config).map_err(|error| identity(&error))?;
    Ok((client, files))
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

/// The whole chain: the outermost error only says that a service failed.
fn unreachable(error: &(dyn std::error::Error + 'static)) -> Failure {
    let chain = std::iter::successors(Some(error), |error| error.source());
    let mut words: Vec<String> = chain.map(ToString::to_string).collect();
    words.dedup();
    Failure::Unreachable(words.join(": "))
}
