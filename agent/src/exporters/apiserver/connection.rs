//! The way to the API server: sends one request within its time, throws a connection away when it can no longer be
//! trusted, and takes up new credentials.

mod answer;
mod api_client;
mod call;
mod client_factory;
mod client_source;
mod credentials;
mod resolver;

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use hyper_util::client::legacy;
use nodewell_client::random;
use tokio::{
    sync::{Semaphore, watch},
    task::spawn_blocking,
    time::{sleep, timeout},
};

pub(crate) use answer::{AcceptedAnswer, FieldConflict, Fields, RequestError, parse_answer};
pub use api_client::{ApiClient, RequestBody};
pub use call::FIELD_MANAGER;
pub(crate) use call::{Call, seconds};
pub use client_source::ClientSource;

use super::stats::ApiStats;
use crate::identity::{Credentials, Files, stamps};
use client_factory::ClientFactory;
use credentials::open;
use resolver::Resolver;

/// Metadata only, where the server can; the plain object where it cannot. A whole Node may have 50 kB.
const ACCEPT_METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json";
/// A Node with its images stays far below this; more is not an API server.
const ANSWER_LIMIT_BYTES: usize = 4 << 20;

/// Reading the credentials waits for a disk, perhaps a dying one; past this it hangs.
const FILES_TIMEOUT: Duration = Duration::from_secs(10);

/// Once a server has been silent, a request is tried again so soon, and once more, on connections of their own while
/// the patient one waits: what takes connections and never answers (a balancer without servers) gives no other sign of
/// its recovery. Well below the two seconds that recovery may take.
const PROBE: Duration = Duration::from_millis(1500);

/// The connection, shared by all loops.
pub(super) struct Connection {
    client_source: ClientSource,
    request_timeout: Duration,
    stats: Arc<ApiStats>,
    state: Arc<Mutex<ClientState>>,
    /// At most one thread reads files: a hung disk must not collect threads.
    reader: Arc<Semaphore>,
    resolver: Resolver,
    /// Counts changes of the credentials on disk.
    pub(super) changes: watch::Sender<u64>,
}

/// A client and its number.
struct NumberedClient {
    client: ApiClient,
    generation: u64,
}

/// Whether something waits for the result of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Urgency {
    Normal,
    Urgent,
}

#[derive(Default)]
struct ClientState {
    /// What clients are made of, without reading anything again.
    factory: Option<Arc<ClientFactory>>,
    client: Option<ApiClient>,
    /// The number of the newest client: a late error of an older one does not end it.
    generation: u64,
    /// The last request was not answered in time.
    silent: bool,
    files: Files,
    /// The server does not know metadata-only answers.
    plain_answers: bool,
}

impl Connection {
    pub(super) fn new(client_source: impl Into<ClientSource>, request_timeout: Duration, stats: Arc<ApiStats>) -> Self {
        let client_source = client_source.into();
        let files = client_source.file().map(|file| (file.clone(), None)).into_iter().collect();
        let factory = client_source.client().map(|client| Arc::new(ClientFactory::given(client.clone())));
        let state = Arc::new(Mutex::new(ClientState { files, factory, ..ClientState::default() }));
        let reader = Arc::new(Semaphore::new(1));
        Self {
            client_source,
            request_timeout,
            stats,
            state,
            reader,
            resolver: Resolver::default(),
            changes: watch::Sender::new(0),
        }
    }

    /// Reads the credentials ahead of the first request. Where that fails, the request finds out and reports it.
    pub(super) async fn get_ready(&self) {
        let _ = self.client().await;
    }

    /// Sends `call` and reads the answer, all within the request timeout.
    pub(super) async fn send(&self, call: &Call) -> Result<AcceptedAnswer, RequestError> {
        self.send_as(call, Urgency::Normal).await
    }

    /// The same for what must get through as soon as a server answers again.
    pub(super) async fn send_urgently(&self, call: &Call) -> Result<AcceptedAnswer, RequestError> {
        self.send_as(call, Urgency::Urgent).await
    }

    /// Builds a new client if the kubeconfig or a file it names changed on disk; returns whether it did. A file that is
    /// half written costs nothing: the old client stays until a new one can be built.
    pub(super) async fn refresh(&self) -> bool {
        let ClientSource::Kubeconfig(kubeconfig) = &self.client_source else { return false };
        let before = self.state().files.clone();
        let paths: Vec<PathBuf> = before.keys().cloned().collect();
        let Ok(after) = self.read_files(move || Ok(stamps(paths))).await else { return false };
        if before == after {
            return false;
        }
        self.state().files = after;
        match self.connect().await {
            Ok(_) => tracing::info!(kubeconfig = %kubeconfig.display(), "credentials changed on disk"),
            Err(error) => {
                tracing::warn!(%error, "the credentials changed on disk and cannot be used yet");
                // They are looked at again, changed or not.
                self.state().files.values_mut().for_each(|stamp| *stamp = None);
            }
        }
        self.changes.send_modify(|count| *count += 1);
        true
    }

    async fn send_as(&self, call: &Call, urgency: Urgency) -> Result<AcceptedAnswer, RequestError> {
        match self.ask(call, urgency).await {
            Err(RequestError::Rejected { code: 406 | 415, .. }) if self.ask_plainly() => self.ask(call, urgency).await,
            // Rotated on disk since the last look, most likely.
            Err(RequestError::Unauthorized(_)) if self.refresh().await => self.ask(call, urgency).await,
            answer => answer,
        }
    }

    async fn ask(&self, call: &Call, urgency: Urgency) -> Result<AcceptedAnswer, RequestError> {
        let probing = urgency == Urgency::Urgent && self.state().silent;
        let patient = async { self.once(call, self.client().await?, self.request_timeout).await };
        if !probing {
            return patient.await;
        }
        tokio::select! {
            answer = patient => answer,
            answer = self.probe(call, PROBE) => answer,
            answer = self.probe(call, PROBE * 3) => answer,
        }
    }

    /// The same on a connection of its own, begun a little later, and again as long as no server accepts connections. A
    /// request that was sent is waited for: otherwise a server that is only slow would work in vain, and never be done.
    async fn probe(&self, call: &Call, after: Duration) -> Result<AcceptedAnswer, RequestError> {
        // Not all nodes at once.
        sleep(after.mul_f64(1.0 + f64::from(random() as u8) / 1024.0)).await;
        loop {
            let fresh = self.state().renewed();
            if let Some(fresh) = fresh {
                match self.once(call, fresh, self.request_timeout).await {
                    Err(RequestError::Unreachable(_) | RequestError::Unanswered(_)) => {}
                    answer => return answer,
                }
            }
            sleep(PROBE).await;
        }
    }

    async fn once(
        &self,
        call: &Call,
        numbered: NumberedClient,
        limit: Duration,
    ) -> Result<AcceptedAnswer, RequestError> {
        let NumberedClient { client, generation } = numbered;
        let request = self.request(call)?;
        let answer = timeout(limit, exchange(&client, request)).await;
        self.state().record_answer(answer.is_ok(), generation);
        let late = |_| Err(RequestError::Unanswered(format!("no answer within {limit:?}")));
        let (code, outcome) = answer.unwrap_or_else(late).unwrap_or_else(|error| (0, Err(error)));
        self.stats.count(call.kind, code);
        outcome
    }

    fn request(&self, call: &Call) -> Result<Request<RequestBody>, RequestError> {
        let accept = if call.whole_answer || self.state().plain_answers { "application/json" } else { ACCEPT_METADATA };
        Request::builder()
            .method(if call.kind.creates() { Method::POST } else { Method::PATCH })
            .uri(&call.path)
            .header(CONTENT_TYPE, call.content_type)
            .header(ACCEPT, accept)
            .header(USER_AGENT, concat!("nodewell/", env!("CARGO_PKG_VERSION")))
            .body(RequestBody::from(call.body.clone()))
            .map_err(|error| RequestError::Rejected { code: 400, message: error.to_string() })
    }

    fn ask_plainly(&self) -> bool {
        !std::mem::replace(&mut self.state().plain_answers, true)
    }

    async fn client(&self) -> Result<NumberedClient, RequestError> {
        let known = self.state().known();
        match known {
            Some(known) => Ok(known),
            // They may be being read already, for a caller that does not wait for them any more.
            None => self.read_credentials(ClientState::known).await,
        }
    }

    /// Reads the credentials; until that works the client that there was stays.
    async fn connect(&self) -> Result<NumberedClient, RequestError> {
        self.read_credentials(|_| None).await
    }

    /// The same unless, by the time it is our turn to read, there is a client that will do. What was read is kept
    /// whether or not the caller still waits for it.
    async fn read_credentials(
        &self,
        will_do: fn(&mut ClientState) -> Option<NumberedClient>,
    ) -> Result<NumberedClient, RequestError> {
        let Some(path) = self.client_source.file().cloned() else { return self.state().new_client() };
        let (resolver, state) = (self.resolver.clone(), Arc::clone(&self.state));
        self.read_files(move || {
            let will_do = will_do(&mut locked(&state));
            if let Some(client) = will_do {
                return Ok(client);
            }
            let (files, opened) = open(&path, resolver);
            locked(&state).take_up(files, opened)
        })
        .await
    }

    /// Files may be on a disk that hangs: they are read on a thread of their own, and not waited for without end.
    async fn read_files<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> Result<T, RequestError> + Send + 'static,
    ) -> Result<T, RequestError> {
        let stuck = || RequestError::Credentials(format!("reading {} hangs", self.client_source));
        let acquired = timeout(FILES_TIMEOUT, self.reader.clone().acquire_owned()).await;
        let permit = acquired.map_err(|_| stuck())?.map_err(|_| stuck())?;
        let task = spawn_blocking(move || {
            let _permit = permit;
            read()
        });
        match timeout(FILES_TIMEOUT, task).await {
            Ok(joined) => joined.unwrap_or_else(|error| Err(RequestError::Credentials(error.to_string()))),
            Err(_) => Err(stuck()),
        }
    }

    fn state(&self) -> MutexGuard<'_, ClientState> {
        locked(&self.state)
    }
}

fn locked(state: &Mutex<ClientState>) -> MutexGuard<'_, ClientState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ClientState {
    /// What was read. What could not be used is watched too: the file that is missing now is the one that will appear.
    fn take_up(
        &mut self,
        files: Files,
        opened: Result<ClientFactory, RequestError>,
    ) -> Result<NumberedClient, RequestError> {
        self.files = files;
        self.factory = Some(Arc::new(opened?));
        self.new_client()
    }

    fn new_client(&mut self) -> Result<NumberedClient, RequestError> {
        self.renewed().ok_or_else(|| RequestError::Credentials("no client".to_owned()))
    }

    /// The client in use, or one with connections of its own where the last one was given up.
    fn known(&mut self) -> Option<NumberedClient> {
        match &self.client {
            Some(client) => Some(NumberedClient { client: client.clone(), generation: self.generation }),
            None => self.renewed(),
        }
    }

    /// A client with connections of its own; nothing is read for it.
    fn renewed(&mut self) -> Option<NumberedClient> {
        let client = self.factory.as_ref()?.client();
        self.generation += 1;
        self.client = Some(client.clone());
        Some(NumberedClient { client, generation: self.generation })
    }

    /// Without an answer every pooled connection may be as dead.
    fn record_answer(&mut self, answered: bool, generation: u64) {
        self.silent = !answered;
        if !answered && self.generation == generation {
            self.client = None;
        }
    }
}

/// A client for single questions, by credentials that do not change.
///
/// # Errors
/// What of them cannot be used.
pub(crate) fn client_of(credentials: &Credentials) -> Result<ApiClient, String> {
    let factory = ClientFactory::new(credentials, Resolver::default()).map_err(|error| error.to_string())?;
    Ok(factory.client())
}

type Outcome = (u16, Result<AcceptedAnswer, RequestError>);

async fn exchange(client: &ApiClient, request: Request<RequestBody>) -> Result<Outcome, RequestError> {
    let response = client.send(request).await.map_err(|error| unreachable(&*error))?;
    let (parts, body) = Response::into_parts(response);
    let body = Limited::new(body, ANSWER_LIMIT_BYTES).collect().await.map_err(|error| unreachable(&*error))?;
    let retry_after = parts.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let code = parts.status.as_u16();
    Ok((code, parse_answer(code, retry_after, &body.to_bytes())))
}

/// The whole chain, each cause once.
fn unreachable(error: &(dyn std::error::Error + 'static)) -> RequestError {
    let (mut message, mut never_sent) = (String::new(), false);
    let mut cause = Some(error);
    while let Some(error) = cause {
        never_sent |= error.downcast_ref().is_some_and(legacy::Error::is_connect);
        let text = error.to_string();
        if !message.contains(&text) {
            message.push_str(if message.is_empty() { "" } else { ": " });
            message.push_str(&text);
        }
        cause = error.source();
    }
    if never_sent { RequestError::Unreachable(message) } else { RequestError::Unanswered(message) }
}

#[cfg(test)]
mod tests;
