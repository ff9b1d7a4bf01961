//! The answer to a connection over a limit.
//!
//! A socket that is closed with something unread in it resets the connection, and the client may lose the answer. So
//! what the client sends is read, for a moment.

use std::time::Duration;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::UnixStream,
    time::timeout,
};

use super::permits::Refusal;

/// How long a client has to send what it wanted to, and to hang up.
const LINGER: Duration = Duration::from_millis(250);
/// What is read of it at once.
const CHUNK_BYTES: usize = 4096;
/// More than a request may be.
const MOST_CHUNKS: usize = 32;

/// Answers in one write, which a fresh socket always has room for, and waits for the client to hang up.
pub(super) async fn heard(mut stream: UnixStream, refusal: &Refusal) {
    let _ = stream.try_write(answer(refusal).as_bytes());
    let _ = stream.shutdown().await;
    let drained = async {
        let mut chunk = [0; CHUNK_BYTES];
        for _ in 0..MOST_CHUNKS {
            if !matches!(stream.read(&mut chunk).await, Ok(1..)) {
                return;
            }
        }
    };
    let _ = timeout(LINGER, drained).await;
}

/// The same, with no time for the client.
pub(super) fn at_once(stream: &UnixStream, refusal: &Refusal) {
    let mut chunk = [0; CHUNK_BYTES];
    for _ in 0..MOST_CHUNKS {
        if !matches!(stream.try_read(&mut chunk), Ok(1..)) {
            break;
        }
    }
    let _ = stream.try_write(answer(refusal).as_bytes());
}

fn answer(refusal: &Refusal) -> String {
    let (status, error) = match refusal {
        Refusal::All { limit } => (
            "503 Service Unavailable",
            format!("all {limit} connections of the agent are in use ([socket] connections); try again in a moment"),
        ),
        Refusal::Peer { limit } => (
            "429 Too Many Requests",
            format!(
                "you have {limit} connections open, as many as one unit or user may \
                 ([socket] connections-per-peer); close some"
            ),
        ),
    };
    let body = format!("{}\n", serde_json::json!({ "error": error }));
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nRetry-After: 1\r\nConnection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tokio::net::UnixListener;

    use super::*;

    /// Both ends of a connection; the second is one that was accepted just now, as the agent's are.
    async fn connected() -> (UnixStream, UnixStream) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).unwrap();
        let (client, accepted) = tokio::join!(UnixStream::connect(&path), listener.accept());
        (client.unwrap(), accepted.unwrap().0)
    }

    /// Until it is hung up on.
    async fn read(mut client: UnixStream) -> String {
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        answer
    }

    /// The limit has the name that it has in the config.
    #[tokio::test]
    async fn who_is_turned_away_reads_which_limit_it_hit_and_when_to_come_back() {
        let all = "all 32 connections of the agent are in use ([socket] connections); try again in a moment";
        let peer = "you have 4 connections open, as many as one unit or user may ([socket] connections-per-peer); \
                    close some";
        for (refusal, status, error) in [
            (Refusal::All { limit: 32 }, "503 Service Unavailable", all),
            (Refusal::Peer { limit: 4 }, "429 Too Many Requests", peer),
        ] {
            let (client, stream) = connected().await;
            at_once(&stream, &refusal);
            drop(stream);
            let first = read(client).await;
            let (client, stream) = connected().await;
            let (second, ()) = tokio::join!(read(client), heard(stream, &refusal));
            for answer in [first, second] {
                let (head, body) = answer.split_once("\r\n\r\n").unwrap();
                let lines: Vec<&str> = head.split("\r\n").collect();
                assert_eq!(lines[0], format!("HTTP/1.1 {status}"));
                let length = format!("Content-Length: {}", body.len());
                for header in ["Content-Type: application/json", "Retry-After: 1", "Connection: close", &length] {
                    assert!(lines.contains(&header), "{header}: {answer}");
                }
                assert_eq!(serde_json::from_str::<Value>(body).unwrap(), json!({ "error": error }));
            }
        }
    }
}
