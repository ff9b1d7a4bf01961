//! The client against sockets that are missing, shut, silent, rude and well-behaved.

use std::{os::unix::fs::PermissionsExt, path::PathBuf};

use nodewell_model::api::VersionView;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
};

use super::*;

/// Answers every connection with the same bytes and closes it.
fn server(answer: &'static [u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            read_head(&mut stream).await;
            stream.write_all(answer).await.unwrap();
        }
    });
    (folder, path)
}

async fn read_head(stream: &mut UnixStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
}

async fn version(path: PathBuf) -> Result<VersionView, ClientError> {
    Client::new(path).with_timeout(Duration::from_millis(200)).get("/v1/version").await
}

#[tokio::test]
async fn a_missing_socket_names_what_to_look_at() {
    let folder = tempfile::tempdir().unwrap();
    let error = version(folder.path().join("s")).await.unwrap_err();
    assert!(matches!(error, ClientError::NotRunning { .. }));
    assert!(error.to_string().contains("systemctl status nodewell"), "{error}");
}

#[tokio::test]
async fn a_socket_without_a_listener_is_not_running() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    assert!(matches!(version(path).await, Err(ClientError::NotRunning { .. })));
}

#[tokio::test]
async fn an_ordinary_user_gets_an_error_for_a_shut_socket() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o000)).unwrap();
    // Root walks through every mode, so the error is only checked where it is given.
    match version(path).await {
        Err(ClientError::Permission { .. } | ClientError::Timeout { .. }) => {}
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_silent_agent_is_a_timeout() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let _listener = UnixListener::bind(&path).unwrap();
    let error = version(path).await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { .. }));
    assert!(error.is_temporary());
}

#[tokio::test]
async fn a_good_answer_is_read() {
    let body =
        b"HTTP/1.1 200 OK\r\nContent-Length: 43\r\n\r\n{\"version\":\"1\",\"api\":\"v1\",\"features\":[\"a\"]}\n";
    let (_folder, path) = server(body);
    let version = version(path).await.unwrap();
    assert_eq!(version.features, ["a"]);
}

#[tokio::test]
async fn a_rejection_has_its_code_and_message() {
    let (_folder, path) = server(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 22\r\n\r\n{\"error\":\"root only\"} ");
    let error = version(path).await.unwrap_err();
    assert_eq!(error.to_string(), "root only (HTTP 403)");
}

#[tokio::test]
async fn another_program_behind_the_socket_is_noticed() {
    let (_folder, path) = server(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    assert!(matches!(version(path).await, Err(ClientError::BadAnswer { .. })));
    let (_folder, path) = server(b"220 smtp ready\r\n");
    assert!(matches!(version(path).await, Err(ClientError::Broken { .. })));
}

#[tokio::test]
async fn lines_are_put_together_across_chunks() {
    let (_folder, path) =
        server(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\na\nb\r\n4\r\nc\nd\n\r\n0\r\n\r\n");
    let mut lines = Client::new(path).follow("/v1/events?follow=true").await.unwrap();
    let mut got = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap() {
        got.push(line);
    }
    assert_eq!(got, ["a", "bc", "d"]);
}
