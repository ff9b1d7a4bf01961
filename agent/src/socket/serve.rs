//! The accept loop: a permit for each connection, its peer's identity, and HTTP/1.1 on it until it ends.

use std::{
    convert::Infallible,
    future::Future,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::{UnixListener, UnixStream},
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    Api, Counters, Limits,
    peer::Peer,
    permits::{Full, Permit, Permits},
    route,
    stream::TimedStream,
};

/// What one connection may buffer for a request head, and read ahead of a body.
const READ_BUFFER_BYTES: usize = 16 * 1024;
/// What connections may still say once the agent stops: the last answers, and a follower's last events.
const STOP_GRACE: Duration = Duration::from_millis(250);
/// After a failed accept (no descriptor left): long enough not to spin, short enough not to be noticed.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves `api` on `listener` until `stop` ends.
pub async fn serve(
    listener: UnixListener,
    api: Api,
    (limits, counters): (Limits, Arc<Counters>),
    stop: impl Future<Output = ()>,
) {
    let server = Arc::new(Server {
        permits: Permits::new(limits.clone(), api.owner, Arc::clone(&counters)),
        api,
        limits,
        counters,
    });
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => server.admit(stream, &mut connections),
                Err(error) => {
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    // Whoever is not done by then is cut off with the set.
    let _ = timeout(STOP_GRACE, async { while connections.join_next().await.is_some() {} }).await;
}

struct Server {
    api: Api,
    limits: Limits,
    permits: Permits,
    counters: Arc<Counters>,
}

impl Server {
    fn admit(self: &Arc<Self>, stream: UnixStream, connections: &mut JoinSet<()>) {
        // A peer that is gone already has no identity, and needs no answer.
        let Ok(peer) = Peer::of(&stream) else { return };
        match self.permits.take(peer) {
            Ok(permit) => {
                connections.spawn(Arc::clone(self).converse(stream, peer, permit));
            }
            Err(full) => turn_away(&stream, full),
        }
    }

    async fn converse(self: Arc<Self>, stream: UnixStream, peer: Peer, _permit: Permit) {
        let io = TokioIo::new(TimedStream::new(stream, self.limits.write_timeout));
        let service = service_fn(|request: hyper::Request<Incoming>| async {
            self.counters.requests.fetch_add(1, Ordering::Relaxed);
            Ok::<_, Infallible>(route::answer(&self.api, &self.limits, peer, request).await)
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.head_timeout)
            .max_buf_size(READ_BUFFER_BYTES)
            .serve_connection(io, service);
        if let Err(error) = connection.await {
            self.counters.broken.fetch_add(1, Ordering::Relaxed);
            tracing::debug!(uid = peer.uid, %error, "a connection broke");
        }
    }
}

/// Says why in one write, which a fresh socket always has room for, and hangs up.
fn turn_away(stream: &UnixStream, full: Full) {
    let (status, error) = match full {
        Full::All => ("503 Service Unavailable", "the agent has no connection left; try again in a moment"),
        Full::User => ("429 Too Many Requests", "this user has too many connections open; close some"),
    };
    let body = format!("{{\"error\":\"{error}\"}}\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let _ = stream.try_write(answer.as_bytes());
}
