//! Connections of the double: reads requests, lets them go wrong as scripted, logs them, answers.

use std::{
    future::pending,
    io,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex},
};

use http_body_util::{BodyExt, Full};
use hyper::{
    Request, Response,
    body::{Bytes, Incoming},
    header::{CONTENT_TYPE, RETRY_AFTER},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use jiff::Timestamp;
use nix::{
    libc,
    sys::socket::{setsockopt, sockopt},
};
use tokio::task::{JoinHandle, JoinSet};

use super::{
    faults::{Fault, LoggedRequest, Script},
    request::{Asked, User},
    routes,
    status::{Reply, scripted, unauthorized},
    store::Store,
};
use crate::{runtime::runtime, wait::until};

/// What all connections share; it outlives a stop.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    pub(crate) store: Mutex<Store>,
    pub(crate) faults: Mutex<Script>,
    pub(crate) log: Mutex<Vec<LoggedRequest>>,
}

/// The connection ends without an answer.
#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("broken by script")
    }
}

impl std::error::Error for Broken {}

/// A child that another thread is starting may have a copy of the listener that was here before, until it runs its program.
pub(crate) fn listen(address: SocketAddr) -> TcpListener {
    let listener = until("its port is free", || match TcpListener::bind(address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => None,
        bound => Some(bound.unwrap()),
    });
    listener.set_nonblocking(true).unwrap();
    listener
}

/// Serves until the task is aborted; its connections end with it.
pub(crate) fn spawn(listener: TcpListener, shared: Arc<Shared>) -> JoinHandle<()> {
    runtime().spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(serve(stream, Arc::clone(&shared)));
            while connections.try_join_next().is_some() {}
        }
    })
}

async fn serve(stream: tokio::net::TcpStream, shared: Arc<Shared>) {
    let stream = stream.into_std().unwrap();
    // A second descriptor of the same socket, by which a request can have its connection reset.
    let socket = Arc::new(stream.try_clone().unwrap());
    let stream = tokio::net::TcpStream::from_std(stream).unwrap();
    let service = service_fn(move |request| {
        let (shared, socket) = (Arc::clone(&shared), Arc::clone(&socket));
        async move {
            match handle(&shared, request).await {
                Ok(reply) => Ok(response(&reply)),
                Err(broken) => {
                    // Closed with a linger of nothing, TCP sends RST.
                    setsockopt(&*socket, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 }).unwrap();
                    Err(broken)
                }
            }
        }
    });
    // A broken connection is the client's to complain about.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

async fn handle(shared: &Shared, request: Request<Incoming>) -> Result<Reply, Broken> {
    let user = User::from_headers(request.headers());
    let fault = match &user {
        Some(User::Admin) => None,
        _ => shared.faults.lock().unwrap().draw(request.uri().path()),
    };
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Broken)?.to_bytes();
    let answer = |user: &Option<User>| match user {
        Some(user) => {
            let asked = Asked::new(user.clone(), &parts, body.clone());
            routes::answer(&mut shared.store.lock().unwrap(), &asked)
        }
        None => unauthorized(),
    };
    let reply = match fault {
        None => Some(answer(&user)),
        Some(Fault::Status { code, retry_after }) => Some(scripted(code, retry_after)),
        Some(Fault::LostAnswer) => {
            answer(&user);
            None
        }
        Some(Fault::Hang | Fault::Reset) => None,
    };
    if user != Some(User::Admin) {
        shared.log.lock().unwrap().push(LoggedRequest {
            time: Timestamp::now(),
            user: user.as_ref().map(User::name).unwrap_or_default(),
            verb: parts.method.to_string(),
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            content_type: header(&parts.headers),
            code: reply.as_ref().map_or(0, |reply| reply.code.as_u16()),
        });
    }
    if fault == Some(Fault::Hang) {
        pending::<()>().await;
    }
    reply.ok_or(Broken)
}

fn header(headers: &hyper::HeaderMap) -> String {
    headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
}

fn response(reply: &Reply) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::from(reply.body.to_string()));
    *response.status_mut() = reply.code;
    response.headers_mut().insert(CONTENT_TYPE, "application/json".parse().unwrap());
    if let Some(seconds) = reply.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}
