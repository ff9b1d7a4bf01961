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
use nodewell_tls::TlsGuard;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
    sync::Semaphore,
    time::timeout,
};

/// A scraper or two, probes, and a person with curl.
const CONNECTION_LIMIT: usize = 8;
const HEADER_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection's whole life: a scrape takes milliseconds.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(30);
/// The content type of an exposition.
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Binds the address.
///
/// # Errors
/// The operating system's; a taken port, most likely, which is not fatal to a daemon.
pub async fn bind(address: SocketAddr) -> std::io::Result<TcpListener> {
    TcpListener::bind(address).await
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
            tokio::time::sleep(Duration::from_millis(100)).await;
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
