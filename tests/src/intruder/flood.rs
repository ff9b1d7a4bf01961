//! What a hostile peer does to the socket, all at once and for as long as it may: reports that count, reports that do not,
//! connections, drips, garbage, and answers that it never reads. It is one peer, and may have four connections: with more of
//! its own it would only shut itself out.

use std::{
    fmt::Write as _,
    io::{Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    thread,
    time::{Duration, Instant},
};

/// As many as a report may have.
const EVENTS: usize = 64;
const CONDITIONS: usize = 16;
/// Opened and left at once; two more than it may have.
const CONNECTIONS: usize = 6;
/// How long it goes on with one way of holding a connection.
const HOLDS: Duration = Duration::from_secs(2);

/// Until its input ends.
pub(super) fn run(socket: &Path, daemons: i32) {
    let socket = socket.to_owned();
    for kind in [junk, problems, holds] {
        let socket = socket.clone();
        thread::spawn(move || {
            for round in 0.. {
                kind(&socket, round, daemons);
            }
        });
    }
    super::under_way();
}

/// Sends a request and reads what comes, if anything does; refused, it comes back a moment later.
fn exchange(socket: &Path, bytes: &[u8]) {
    let answered = UnixStream::connect(socket).and_then(|mut stream| {
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(bytes)?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer.starts_with(b"HTTP/1.1 200"))
    });
    if !answered.unwrap_or(false) {
        thread::sleep(Duration::from_millis(10));
    }
}

fn post(body: &str) -> Vec<u8> {
    format!(
        "POST /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Events that were never seen before, each as grave as it can be.
fn junk(socket: &Path, round: i32, _: i32) {
    let mut all = String::new();
    for n in 0..EVENTS {
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            all,
            r#"{comma}{{"severity":"critical","timestamp":"2026-11-21T02:00:00Z","reason":"Junk{round}x{n}","message":"m"}}"#
        );
    }
    exchange(socket, &post(&format!(r#"{{"source":"junk","events":[{all}]}}"#)));
}

/// Everything that it may hold, and more; of other reasons each time.
fn problems(socket: &Path, round: i32, daemons: i32) {
    let (daemon, generation) = (round % daemons, round / daemons);
    let mut all = String::new();
    for n in 0..CONDITIONS {
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            all,
            r#"{comma}{{"type":"TestUnhealthy","status":true,"reason":"Made{generation}x{n}","subject":"d{daemon}-{n}",
            "transition":"2026-11-21T02:00:00Z","message":"m"}}"#
        );
    }
    exchange(socket, &post(&format!(r#"{{"source":"d{daemon}","full":true,"conditions":[{all}]}}"#)));
}

/// One way after the other.
fn holds(socket: &Path, round: i32, _: i32) {
    match round % 4 {
        0 => connects(socket),
        1 => drips(socket),
        2 => garbage(socket, round),
        _ => never_reads(socket),
    }
}

fn connects(socket: &Path) {
    for _ in 0..200 {
        let held: Vec<_> = (0..CONNECTIONS).map(|_| UnixStream::connect(socket)).collect();
        drop(held);
    }
}

fn drips(socket: &Path) {
    let Ok(mut stream) = UnixStream::connect(socket) else { return };
    let begun = Instant::now();
    let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nX: ");
    while begun.elapsed() < HOLDS && stream.write_all(b"a").is_ok() {
        thread::sleep(Duration::from_millis(100));
    }
}

fn garbage(socket: &Path, round: i32) {
    let bytes: Vec<u8> = (0..4096_i32).map(|n| (n.wrapping_mul(round).wrapping_add(n >> 3) & 0xff) as u8).collect();
    exchange(socket, &bytes);
    exchange(socket, &post(&"[".repeat(60_000)));
}

fn never_reads(socket: &Path) {
    let Ok(mut stream) = UnixStream::connect(socket) else { return };
    let _ = stream.set_write_timeout(Some(HOLDS));
    while stream.write_all(&b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50)).is_ok() {}
}
