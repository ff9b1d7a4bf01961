//! The server: HTTP/1.1 for a few connections at once, each for a bounded time. What it answers is the program's.

use std::{convert::Infallible, net::SocketAddr, rc::Rc, sync::Arc, time::Duration};

use http_body_util::Full;
use hyper::{
    Request, Response, StatusCode,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use nodewell_time::Backoff;
use nodewell_tls::TlsGuard;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
    time::{sleep, timeout},
};

/// A scraper or two, probes, and a person with curl.
const CONNECTION_LIMIT: usize = 8;
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection's whole life: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Between two tries to bind an address that another process has.
const PAUSES: Backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(30));
/// The content type of an exposition.
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Binds the address.
///
/// # Errors
/// The operating system's; a taken port, most likely, which is not fatal to a daemon.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
}

/// Binds the address once the other process has let go of it; it was tried a moment ago. The first pause is a second,
/// the longest 30 s.
pub async fn bind_later(address: SocketAddr) -> TcpListener {
    let mut pauses = PAUSES;
    loop {
        sleep(pauses.pause()).await;
        if let Ok(listener) = bind(address).await {
            return listener;
        }
    }
}

/// Serves until dropped; with a guard over TLS alone, and to those that it lets in. Needs a `LocalSet`.
pub async fn serve<A>(listener: TcpListener, guard: Option<TlsGuard>, answer: impl Fn(Request<Incoming>) -> A + 'static)
where
    A: Future<Output = Response<Full<Bytes>>> + 'static,
{
    let permits = Arc::new(Semaphore::new(CONNECTION_LIMIT));
    let (guard, answer) = (guard.map(Rc::new), Rc::new(answer));
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors, most likely: some come back when a connection ends.
            sleep(Duration::from_millis(100)).await;
            continue;
        };
        let (guard, answer) = (guard.clone(), Rc::clone(&answer));
        tokio::task::spawn_local(async move {
            let served = async {
                let stream: Box<dyn Stream> = match guard {
                    None => Box::new(stream),
                    Some(guard) => match guard.let_in(stream).await {
                        Some(stream) => Box::new(stream),
                        None => return,
                    },
                };
                converse(stream, &*answer).await;
            };
            // A scraper that hangs up or stalls is its own problem.
            let _ = timeout(CONNECTION_TIMEOUT, served).await;
            drop(permit);
        });
    }
}

/// A connection with TLS or without. Of hyper's server the program has some ten kilobytes for each type of stream.
trait Stream: AsyncRead + AsyncWrite + Unpin {}

impl<S: AsyncRead + AsyncWrite + Unpin> Stream for S {}

async fn converse<A>(stream: Box<dyn Stream>, answer: &impl Fn(Request<Incoming>) -> A)
where
    A: Future<Output = Response<Full<Bytes>>>,
{
    let service = service_fn(|request| {
        let answer = answer(request);
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIMEOUT)
        .serve_connection(TokioIo::new(stream), service);
    let _ = connection.await;
}

/// An answer with a body of the content type `kind`.
#[must_use]
pub fn answer(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use nodewell_kit::free_port;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_taken_address_is_bound_once_it_is_free() {
        let address = SocketAddr::from(([127, 0, 0, 1], free_port()));
        let other = bind(address).await.unwrap();
        let mut ours = pin!(bind_later(address));
        assert!(timeout(Duration::from_mins(10), &mut ours).await.is_err(), "it is taken");
        drop(other);
        let listener = timeout(Duration::from_secs(31), ours).await.unwrap();
        assert_eq!(listener.local_addr().unwrap(), address);
    }
}
