//! The way of reports to the agent: one connection, which all reporters of a process take in turn. Where one is not
//! answered, the others do not wait for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use nodewell_model::{Status, api::AcceptedView};
use tokio::{
    sync::Mutex,
    task::yield_now,
    time::{Instant, timeout},
};

use crate::{Client, ClientError, connection::Connection};

/// Where reports go.
const TARGET: &str = "/v1/status";
/// A reporter whose last report was sent within this has more to come, most likely: its connection stays. The agent ends
/// one that is idle for 5 s, unless it is configured otherwise.
const SOON: Duration = Duration::from_secs(4);
/// So long does one wait for its turn, which comes within milliseconds as a rule. A stop leaves a second for the last
/// reports of all.
const TURN: Duration = Duration::from_millis(200);

/// The way to the agent for the reporters of one process. What several of them have to send at one moment goes over one
/// connection, and that ends with the last answer: a connection that stays idle until the agent ends it wakes both again.
/// Cheap to clone.
#[derive(Clone)]
pub struct Line(Arc<Shared>);

struct Shared {
    client: Client,
    connection: Mutex<Option<Connection>>,
    /// Reporters that send, or wait for their turn.
    senders: AtomicUsize,
}

/// One reporter's side of it.
pub(super) struct Link {
    line: Line,
    sent: Option<Instant>,
}

impl From<Client> for Line {
    fn from(client: Client) -> Self {
        Self(Arc::new(Shared { client, connection: Mutex::new(None), senders: AtomicUsize::new(0) }))
    }
}

impl Line {
    /// Asks the same agent.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Sends `body` and reads the answer. The connection ends with it, unless it `stays` or another reporter waits.
    async fn post(&self, body: Vec<u8>, stays: bool) -> Result<AcceptedView, ClientError> {
        let Shared { client, connection, senders } = &*self.0;
        let _counted = Counted::among(senders);
        let Ok(mut connection) = timeout(TURN, connection.lock()).await else {
            return client.within(exchange(client, &mut None, body, true)).await;
        };
        // Those that were woken together with this one are in line afterwards.
        yield_now().await;
        let is_last = !stays && senders.load(Ordering::Relaxed) == 1;
        client.within(exchange(client, &mut connection, body, is_last)).await
    }
}

impl Link {
    pub(super) fn new(line: Line) -> Self {
        Self { line, sent: None }
    }

    /// Sends `report` and reads the answer.
    pub(super) async fn send(&mut self, report: &Status) -> Result<AcceptedView, ClientError> {
        let body = serde_json::to_vec(report).map_err(ClientError::Request)?;
        let now = Instant::now();
        let is_busy = self.sent.replace(now).is_some_and(|sent| now - sent < SOON);
        self.line.post(body, is_busy).await
    }
}

/// An agent ends connections that were idle: one that turns out to be gone is no failure, the report has its id and may be
/// sent again.
async fn exchange(
    client: &Client,
    kept: &mut Option<Connection>,
    body: Vec<u8>,
    is_last: bool,
) -> Result<AcceptedView, ClientError> {
    if let Some(mut connection) = kept.take() {
        match client.post_on(&mut connection, TARGET, body.clone(), is_last).await {
            Err(ClientError::Broken { .. }) => {}
            answered => {
                *kept = reusable(connection, &answered, is_last);
                return answered;
            }
        }
    }
    let mut connection = Connection::open(&client.path).await?;
    let answered = client.post_on(&mut connection, TARGET, body, is_last).await;
    *kept = reusable(connection, &answered, is_last);
    answered
}

fn reusable(connection: Connection, answered: &Result<AcceptedView, ClientError>, is_last: bool) -> Option<Connection> {
    let is_whole = matches!(answered, Ok(_) | Err(ClientError::Status { .. }));
    (is_whole && !is_last).then_some(connection)
}

/// Counts one more until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn among(all: &'a AtomicUsize) -> Self {
        all.fetch_add(1, Ordering::Relaxed);
        Self(all)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
