//! Reports while the agent works, hangs and stops: every accepted client is answered, whatever happens.

use std::{path::PathBuf, sync::Arc, time::Duration};

use nodewell_model::api::AcceptedView;
use tempfile::TempDir;
use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    sync::{mpsc, oneshot},
    task::JoinHandle,
    time::timeout,
};

use super::{
    super::{SocketLimits, bind, serve},
    fixture::{DEADLINE, api, body_of, read_all, read_until},
};
use crate::shared_state::{Command, SharedState};

struct Served {
    _folder: TempDir,
    path: PathBuf,
    commands: mpsc::Receiver<Command>,
    stop: oneshot::Sender<()>,
    server: JoinHandle<()>,
}

fn start() -> Served {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let (shared_state, commands) = SharedState::new("node-1");
    let (stop, stopped) = oneshot::channel::<()>();
    let listener = bind(&path).unwrap();
    let server = tokio::spawn(serve(listener, api(&shared_state), SocketLimits::default(), Arc::default(), async {
        _ = stopped.await
    }));
    Served { _folder: folder, path, commands, stop, server }
}

fn post(body: &str) -> Vec<u8> {
    let length = body.len();
    let head = "POST /v1/status HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    format!("{head}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

async fn report(path: &PathBuf) -> UnixStream {
    let mut stream = UnixStream::connect(path).await.unwrap();
    stream.write_all(&post(r#"{"source":"raid"}"#)).await.unwrap();
    stream
}

type Done = oneshot::Sender<Result<u64, nodewell_ledger::ReportRejection>>;

async fn asked(commands: &mut mpsc::Receiver<Command>) -> Done {
    match timeout(DEADLINE, commands.recv()).await.unwrap().unwrap() {
        Command::Report { done, .. } => done,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_the_ledger_took_is_answered_with_this_run_of_the_agent() {
    let mut served = start();
    let mut stream = report(&served.path).await;
    asked(&mut served.commands).await.send(Ok(0)).unwrap();
    let answer = read_until(&mut stream, "}\n").await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    let accepted: AcceptedView = serde_json::from_str(body_of(&answer)).unwrap();
    assert!(!accepted.durable && accepted.instance.len() == 16 && !accepted.principal.is_empty());
    // A promise to daemons: these names.
    let AcceptedView { instance, principal, .. } = accepted;
    let expected = format!("{{\"durable\":false,\"instance\":\"{instance}\",\"principal\":\"{principal}\"}}\n");
    assert_eq!(body_of(&answer), expected);
    let mut again = report(&served.path).await;
    asked(&mut served.commands).await.send(Ok(0)).unwrap();
    assert!(read_until(&mut again, "}\n").await.ends_with(&expected), "the same run, the same instance");
}

#[tokio::test]
async fn a_ledger_that_is_gone_is_a_503_with_a_time() {
    let mut served = start();
    let mut stream = report(&served.path).await;
    drop(asked(&mut served.commands).await);
    let answer = read_until(&mut stream, "}\n").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("retry-after: 1"), "{answer}");
}

#[tokio::test]
async fn a_report_under_way_is_answered_after_the_stop_began() {
    let mut served = start();
    let mut stream = report(&served.path).await;
    let done = asked(&mut served.commands).await;
    served.stop.send(()).unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    done.send(Ok(0)).unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 202 ") && answer.contains("connection: close"), "{answer}");
    timeout(DEADLINE, served.server).await.unwrap().unwrap();
}

#[tokio::test]
async fn what_was_sent_on_an_idle_connection_as_the_stop_began_is_answered() {
    let mut served = start();
    let mut stream = report(&served.path).await;
    asked(&mut served.commands).await.send(Ok(0)).unwrap();
    read_until(&mut stream, "}\n").await;
    // Nothing else runs between these two.
    served.stop.send(()).unwrap();
    stream.try_write(&post(r#"{"source":"raid"}"#)).unwrap();
    asked(&mut served.commands).await.send(Ok(0)).unwrap();
    let answer = read_all(&mut stream).await;
    assert!(answer.starts_with("HTTP/1.1 202 ") && answer.contains("connection: close"), "{answer}");
}

#[tokio::test]
async fn who_was_just_accepted_may_still_speak_and_no_other_client_is_accepted() {
    let mut served = start();
    let mut silent = UnixStream::connect(&served.path).await.unwrap();
    let mut idle = report(&served.path).await;
    asked(&mut served.commands).await.send(Ok(0)).unwrap();
    read_until(&mut idle, "}\n").await;
    served.stop.send(()).unwrap();
    silent.write_all(&post(r#"{"source":"raid"}"#)).await.unwrap();
    asked(&mut served.commands).await.send(Ok(0)).unwrap();
    let answer = read_all(&mut silent).await;
    assert!(answer.starts_with("HTTP/1.1 202 ") && answer.contains("connection: close"), "{answer}");
    assert_eq!(read_all(&mut idle).await, "", "an idle connection ends");
    assert!(UnixStream::connect(&served.path).await.is_err());
}
