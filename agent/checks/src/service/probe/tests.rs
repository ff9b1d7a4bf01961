//! Probes against endpoints of the tests' own, healthy and unhealthy. Where nothing answers, the clock is paused: it jumps to
//! the deadline.

use std::{future::Future, path::PathBuf};

use hyper::body::Bytes;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UnixListener, UnixStream},
};

use super::*;

const DEADLINE: Duration = Duration::from_secs(5);

/// Answers every connection with `bytes` and ends it.
async fn http_server(bytes: Vec<u8>) -> Target {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(&bytes).await;
        }
    });
    http_at(&format!("http://{address}/healthz"))
}

fn http_at(url: &str) -> Target {
    Target::Http(HttpTarget::parse(url).unwrap())
}

fn page(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

struct Socket {
    folder: TempDir,
}

impl Socket {
    fn new() -> Self {
        Self { folder: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Gives every connection to `serve`.
    fn serve<F: Future<Output = ()> + Send + 'static>(&self, serve: impl Fn(UnixStream) -> F + Send + 'static) {
        let listener = UnixListener::bind(self.path()).unwrap();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
    }
}

async fn down(target: &Target) -> Down {
    probe(target, DEADLINE).await.result.unwrap_err()
}

#[tokio::test]
async fn a_page_is_healthy_by_its_status_and_bad_words_are_shown() {
    let healthy = http_server(page("200 OK", "ok")).await;
    assert_eq!(probe(&healthy, DEADLINE).await.result, Ok(Up::default()));
    let words = "[+]ping ok\n[-]syncloop failed: reason withheld\n";
    let bad = down(&http_server(page("500 Internal Server Error", words)).await).await;
    assert_eq!(bad.kind, DownKind::Wrong);
    assert!(
        bad.message.ends_with("/healthz: answers 500 Internal Server Error: [-]syncloop failed: reason withheld"),
        "{}",
        bad.message
    );
}

#[tokio::test]
async fn an_older_version_is_asked_by_its_own_page() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/livez", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut request = [0; 1024];
            let length = stream.read(&mut request).await.unwrap();
            let is_old = request[..length].starts_with(b"GET /healthz ");
            let answer = if is_old { page("200 OK", "") } else { page("404 Not Found", "404 page not found") };
            stream.write_all(&answer).await.unwrap();
        }
    });
    let target = HttpTarget::parse(&url).unwrap();
    assert!(probe(&Target::Http(target.clone()), DEADLINE).await.result.is_err());
    let both = Target::Http(target.with_fallback("/healthz"));
    assert!(probe(&both, DEADLINE).await.result.is_ok());
}

#[tokio::test]
async fn a_body_or_head_without_end_is_read_only_so_far() {
    let mut endless = b"HTTP/1.1 500 No\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
    for _ in 0..1000 {
        endless.extend_from_slice(b"1000\r\n");
        endless.extend_from_slice(&[b'x'; 4096]);
        endless.extend_from_slice(b"\r\n");
    }
    let shown = down(&http_server(endless).await).await.message;
    assert!(shown.contains("500") && shown.len() < 400, "{} bytes", shown.len());
    let head = [b"HTTP/1.1 200 OK\r\nA: ".to_vec(), vec![b'x'; 1024 * 1024]].concat();
    assert_eq!(down(&http_server(head).await).await.kind, DownKind::Wrong);
}

#[tokio::test]
async fn what_does_not_speak_http_is_wrong() {
    for bytes in [b"SSH-2.0-OpenSSH_9.2\r\n".to_vec(), vec![0xff; 512], Vec::new()] {
        let wrong = down(&http_server(bytes).await).await;
        assert_eq!(wrong.kind, DownKind::Wrong);
        assert!(wrong.message.contains("no answer of HTTP"), "{}", wrong.message);
    }
}

#[tokio::test]
async fn no_listener_is_reported_at_once() {
    let listener = TcpListener::bind(("127.0.0.1", nodewell_kit::free_port())).await.unwrap();
    let address = listener.local_addr().unwrap();
    assert!(probe(&Target::Tcp(address), DEADLINE).await.result.is_ok());
    drop(listener);
    assert_eq!(down(&Target::Tcp(address)).await.kind, DownKind::Gone);
    let socket = Socket::new();
    for target in [Target::Unix(socket.path()), Target::Cri(socket.path()), Target::Docker(socket.path())] {
        let gone = down(&target).await;
        assert_eq!((gone.kind, gone.message.ends_with("/socket: there is no socket")), (DownKind::Gone, true));
    }
    let folder = down(&Target::Cri(socket.folder.path().to_owned())).await;
    assert!(folder.message.ends_with("is a directory, not a socket"), "{}", folder.message);
}

#[tokio::test(start_paused = true)]
async fn who_accepts_and_never_answers_costs_the_deadline_and_no_more() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let http = http_at(&format!("http://{}/", listener.local_addr().unwrap()));
    let socket = Socket::new();
    let _listener = std::os::unix::net::UnixListener::bind(socket.path()).unwrap();
    for target in [http, Target::Cri(socket.path()), Target::Docker(socket.path())] {
        let answer = probe(&target, DEADLINE).await;
        let silent = answer.result.unwrap_err();
        assert_eq!((silent.kind, answer.latency), (DownKind::NoAnswer, DEADLINE));
        assert!(silent.message.ends_with("no answer within 5 s"), "{}", silent.message);
    }
}

#[tokio::test]
async fn docker_is_asked_over_its_socket() {
    let socket = Socket::new();
    socket.serve(|mut stream| async move {
        let mut request = [0; 1024];
        let length = stream.read(&mut request).await.unwrap();
        assert!(request[..length].starts_with(b"GET /_ping HTTP/1.1\r\n"));
        stream.write_all(&page("200 OK", "OK")).await.unwrap();
    });
    assert!(probe(&Target::Docker(socket.path()), DEADLINE).await.result.is_ok());
}

#[tokio::test]
async fn a_cri_socket_that_speaks_something_else_is_wrong() {
    for bytes in [page("400 Bad Request", "no"), vec![0; 4096], b"\xff".repeat(100_000)] {
        let socket = Socket::new();
        socket.serve(move |mut stream| {
            let bytes = bytes.clone();
            async move {
                let _ = stream.write_all(&bytes).await;
            }
        });
        let wrong = down(&Target::Cri(socket.path())).await;
        assert_eq!(wrong.kind, DownKind::Wrong, "{}", wrong.message);
    }
}

/// What the tests' runtime answers to each method: a message, or a status.
type Scripted = Result<Vec<u8>, &'static str>;

async fn runtime(stream: UnixStream, version: Scripted, status: Scripted) {
    let mut server = h2::server::handshake(stream).await.unwrap();
    while let Some(Ok((request, mut respond))) = server.accept().await {
        assert_eq!(request.headers()["te"], "trailers");
        let reply = match request.uri().path() {
            "/runtime.v1.RuntimeService/Version" => version.clone(),
            "/runtime.v1.RuntimeService/Status" => status.clone(),
            other => panic!("{other}"),
        };
        let head = hyper::Response::builder().header("content-type", "application/grpc");
        match reply {
            Err(code) => {
                let head = head.header("grpc-status", code).header("grpc-message", "unknown service");
                respond.send_response(head.body(()).unwrap(), true).unwrap();
            }
            Ok(message) => {
                let mut body = respond.send_response(head.body(()).unwrap(), false).unwrap();
                let length = u32::try_from(message.len()).unwrap().to_be_bytes();
                body.send_data(Bytes::from([&[0], &length[..], &message].concat()), false).unwrap();
                let mut trailers = hyper::HeaderMap::new();
                trailers.insert("grpc-status", "0".parse().unwrap());
                body.send_trailers(trailers).unwrap();
            }
        }
    }
}

const VERSION: &[u8] = b"\x0a\x050.1.0\x12\x0acontainerd\x1a\x061.6.20\x22\x02v1";
/// RuntimeReady true, NetworkReady absent.
const READY: &[u8] = b"\x0a\x12\x0a\x10\x0a\x0cRuntimeReady\x10\x01";

async fn ask_runtime(version: Scripted, status: Scripted) -> Result<Up, Down> {
    let socket = Socket::new();
    socket.serve(move |stream| runtime(stream, version.clone(), status.clone()));
    probe(&Target::Cri(socket.path()), DEADLINE).await.result
}

#[tokio::test]
async fn a_runtime_reports_what_it_is_and_whether_it_is_ready() {
    let up = ask_runtime(Ok(VERSION.to_vec()), Ok(READY.to_vec())).await.unwrap();
    let runtime = up.runtime.unwrap();
    assert_eq!((runtime.name.as_str(), runtime.version.as_str(), runtime.not_ready), ("containerd", "1.6.20", None));
    let mut unready = READY.to_vec();
    *unready.last_mut().unwrap() = 0;
    let up = ask_runtime(Ok(VERSION.to_vec()), Ok(unready)).await.unwrap();
    assert!(up.runtime.unwrap().not_ready.is_some());
}

#[tokio::test]
async fn a_runtime_without_cri_or_with_a_strange_answer_is_down() {
    let message = |down: Result<Up, Down>| down.unwrap_err().message;
    let none = message(ask_runtime(Err("12"), Err("12")).await);
    assert!(none.ends_with("does not speak the Container Runtime Interface v1: unknown service"), "{none}");
    let broken = message(ask_runtime(Ok(VERSION.to_vec()), Err("13")).await);
    assert!(broken.contains("gRPC status 13"), "{broken}");
    let strange = message(ask_runtime(Ok(vec![0x0f; 40]), Ok(READY.to_vec())).await);
    assert!(strange.contains("its answer to Version cannot be read"), "{strange}");
    let huge = message(ask_runtime(Ok(VERSION.to_vec()), Ok(vec![0; 1024 * 1024])).await);
    assert!(huge.contains("more than 65536 bytes"), "{huge}");
}
