//! The accept loop: a permit for each connection, its peer's identity, and HTTP/1.1 on it until it ends.

use std::{
    convert::Infallible,
    future::Future,
    mem,
    path::Path,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use hyper::{
    Method,
    body::Incoming,
    header::{CONNECTION, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use nodewell_sys::peer::Help;
use tokio::{
    net::{UnixListener, UnixStream},
    sync::watch,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Api, Counters, SocketLimits,
    answer::Answer,
    check_process_units,
    peer::{Host, Peer},
    permits::{Permit, Permits},
    queue::{Queue, Slot},
    route,
    stream::TimedStream,
    turn_away,
};

/// Where reports are sent.
const REPORTS: &str = "/v1/status";
/// What one connection may buffer for a request head, and read ahead of a body.
const READ_BUFFER_BYTES: usize = 16 * 1024;
/// How long connections still have once the agent stops: for the last answers, a follower's last events, and the first
/// request of a client that has connected and not come to asking.
const STOP_GRACE: Duration = Duration::from_secs(1);
/// Requests that were on their way when the stop began are still read on connections that were idle.
const LAST_CALL: Duration = Duration::from_millis(100);
/// After a failed accept (no descriptor left): long enough not to spin, short enough not to be noticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `api` on `listener` until `stop` ends. From then on no connection is accepted: a client that waits in the
/// backlog of an activated socket is the next process's. An accepted client gets an answer, and then the connection
/// ends.
pub async fn serve(
    listener: UnixListener,
    api: Api,
    limits: SocketLimits,
    counters: Arc<Counters>,
    stop: impl Future<Output = ()>,
) {
    let server = Arc::new(Server {
        permits: Permits::new(limits.clone(), super::owner(), check_process_units::users(), Arc::clone(&counters)),
        queue: Queue::new(&limits),
        host: Arc::new(Host::new(Path::new("/proc"), Help::PeerPidfd)),
        api,
        limits,
        counters,
    });
    let mut connections = JoinSet::new();
    let (stopping, _) = watch::channel(false);
    let mut stop = pin!(stop);
    let mut accepts = true;
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if !mem::replace(&mut accepts, true) {
                        tracing::info!("connections are accepted again");
                    }
                    server.admit(stream, &mut connections, stopping.subscribe());
                }
                Err(error) => {
                    // Once: it is tried ten times a second, for as long as it lasts.
                    if mem::replace(&mut accepts, false) {
                        tracing::warn!(%error, "cannot accept connections; clients wait");
                    }
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    // A client that connects from here on waits for the next agent, if systemd holds the socket too.
    drop(listener);
    stopping.send_replace(true);
    // A connection that is not done by then is cut off with the set.
    let _ = timeout(STOP_GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

struct Server {
    api: Api,
    limits: SocketLimits,
    permits: Permits,
    queue: Queue,
    host: Arc<Host>,
    counters: Arc<Counters>,
}

impl Server {
    fn admit(self: &Arc<Self>, stream: UnixStream, connections: &mut JoinSet<()>, stopping: watch::Receiver<bool>) {
        // A peer that is gone already has no identity, and needs no answer.
        let Ok(peer) = Peer::of(&stream, &self.host).map(Arc::new) else { return };
        match self.permits.take(&peer) {
            Ok(permit) => {
                connections.spawn(Arc::clone(self).converse(stream, peer, permit, stopping));
            }
            // It may only have come before the end of the connection that it follows.
            Err(full) => match self.queue.enter(peer.uid()) {
                Some(slot) => drop(connections.spawn(Arc::clone(self).wait(stream, peer, slot, stopping))),
                None => turn_away::at_once(&stream, &self.permits.refuse(&peer, full)),
            },
        }
    }

    async fn wait(self: Arc<Self>, stream: UnixStream, peer: Arc<Peer>, slot: Slot, stopping: watch::Receiver<bool>) {
        match self.permits.wait(&peer).await {
            Ok(permit) => {
                drop(slot);
                self.converse(stream, peer, permit, stopping).await;
            }
            Err(full) => turn_away::heard(stream, &self.permits.refuse(&peer, full)).await,
        }
    }

    async fn answer(&self, peer: &Arc<Peer>, request: hyper::Request<Incoming>) -> Answer {
        self.counters.requests.fetch_add(1, Ordering::Relaxed);
        let changes_something = request.method() == Method::POST;
        if changes_something {
            Arc::clone(peer).look().await;
        }
        let is_report = changes_something && request.uri().path() == REPORTS;
        let answer = route::answer(&self.api, &self.limits, peer, request).await;
        if is_report {
            self.counters.reports.count(answer.status());
        }
        answer
    }

    async fn converse(
        self: Arc<Self>,
        stream: UnixStream,
        peer: Arc<Peer>,
        _permit: Permit,
        stopping: watch::Receiver<bool>,
    ) {
        let served = AtomicBool::new(false);
        let io = TokioIo::new(TimedStream::new(stream, self.limits.write_timeout));
        let service = service_fn(|request: hyper::Request<Incoming>| async {
            served.store(true, Ordering::Relaxed);
            let answer = self.answer(&peer, request).await;
            Ok::<_, Infallible>(if *stopping.borrow() { last(answer) } else { answer })
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .max_buf_size(READ_BUFFER_BYTES)
            .serve_connection(io, service);
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            ended = &mut connection => ended,
            () = last_call(stopping.clone(), &served) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = ended {
            self.counters.broken.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(uid = peer.uid(), %error, "a connection broke");
        }
    }
}

/// Returns when connections that have nothing under way are to end.
async fn last_call(mut stopping: watch::Receiver<bool>, served: &AtomicBool) {
    // The sender goes away with all connections: that is the end as well.
    let _ = stopping.wait_for(|stopping| *stopping).await;
    sleep(LAST_CALL).await;
    // A client asks again by itself if a connection that it had used before is closed, and only then.
    if !served.load(Ordering::Relaxed) {
        sleep(STOP_GRACE).await;
    }
}

/// The last answer on its connection.
fn last(mut answer: Answer) -> Answer {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    answer
}
