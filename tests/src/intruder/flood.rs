//! What a hostile peer does to the socket, all at once and for as long as it may: reports that count, reports that do
//! not, what it has no right to, connections, drips, garbage, and answers that it never reads. It is one peer, and may
//! have four connections: with more of its own it would only shut itself out.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Read, Write},
    os::unix::net::UnixStream,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
    thread,
    time::{Duration, Instant},
};

use super::{END, FORBIDDEN, GRANTED, line};

/// As many as a report may have.
const EVENTS: usize = 64;
const CONDITIONS: usize = 16;
/// Opened and left at once; two more than it may have.
const CONNECTIONS: usize = 6;
/// More than are served and may wait: the last of them is turned away.
const CROWD: usize = 12;
/// How long it goes on with one way of holding a connection.
const HOLDS: Duration = Duration::from_secs(2);

/// What it was answered so far, by code.
static ANSWERS: Mutex<BTreeMap<u16, u64>> = Mutex::new(BTreeMap::new());

fn answers() -> MutexGuard<'static, BTreeMap<u16, u64>> {
    ANSWERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Until its input ends. Each line of it asks for the counts.
pub(super) fn run(socket: &Path, daemons: i32) {
    let socket = socket.to_owned();
    for kind in [junk, problems, trespasses, holds] {
        let socket = socket.clone();
        thread::spawn(move || {
            for round in 0.. {
                kind(&socket, round, daemons);
            }
        });
    }
    line(END);
    for _ in io::stdin().lines().map_while(Result::ok) {
        let counts = answers().iter().map(|(code, count)| format!("{code}={count}")).collect::<Vec<_>>().join(" ");
        line(&counts);
    }
}

/// What [`run`] has written.
pub(super) fn read_counts(line: &str) -> BTreeMap<u16, u64> {
    let count = |one: &str| {
        let (code, count) = one.split_once('=')?;
        Some((code.parse().ok()?, count.parse().ok()?))
    };
    line.split_whitespace().filter_map(count).collect()
}

/// Reads what comes, if anything does, and counts it. Hung up on in the middle it has the answer all the same.
fn hear(mut stream: &UnixStream) -> u16 {
    let mut answer = Vec::new();
    let _ = stream.set_read_timeout(Some(HOLDS));
    let _ = stream.read_to_end(&mut answer);
    let head = String::from_utf8_lossy(&answer);
    let code = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok()).unwrap_or(0);
    *answers().entry(code).or_default() += 1;
    code
}

/// Sends a request and reads what comes; refused, it comes back a moment later.
fn exchange(socket: &Path, bytes: &[u8]) {
    let code = UnixStream::connect(socket).map(|mut stream| {
        // It may be hung up on while it still talks.
        let _ = stream.write_all(bytes);
        hear(&stream)
    });
    if !matches!(code, Ok(200 | 202)) {
        thread::sleep(Duration::from_millis(10));
    }
}

fn post(path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn report(body: &str) -> Vec<u8> {
    post("/v1/status", body)
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
    exchange(socket, &report(&format!(r#"{{"source":"junk","events":[{all}]}}"#)));
}

/// Everything that it may hold, and more; of other reasons each time.
fn problems(socket: &Path, round: i32, daemons: i32) {
    let (daemon, generation) = (round % daemons, round / daemons);
    let mut all = String::new();
    for n in 0..CONDITIONS {
        let comma = if n > 0 { "," } else { "" };
        let _ = write!(
            all,
            r#"{comma}{{"type":"{GRANTED}","status":true,"reason":"Made{generation}x{n}","subject":"d{daemon}-{n}",
            "transition":"2026-11-21T02:00:00Z","message":"m"}}"#
        );
    }
    exchange(socket, &report(&format!(r#"{{"source":"d{daemon}","full":true,"conditions":[{all}]}}"#)));
}

/// What it has no right to: conditions of others, their ends, and silence about them. That its own type is well is for
/// it to say, and is about its own claims alone.
fn trespasses(socket: &Path, round: i32, _: i32) {
    let condition = |name: &str, status: bool| {
        format!(
            r#"{{"source":"d0","conditions":[{{"type":"{name}","status":{status},"reason":"Forged",
            "transition":"2026-11-21T02:00:00Z","message":"m"}}]}}"#
        )
    };
    let clear = |name: &str| format!(r#"{{"condition":"{name}"}}"#);
    let (path, body) = match round % 7 {
        0 => ("/v1/status", condition(FORBIDDEN, true)),
        1 => ("/v1/status", condition(FORBIDDEN, false)),
        2 => ("/v1/status", condition(GRANTED, false)),
        3 => ("/v1/clear", clear(FORBIDDEN)),
        4 => ("/v1/clear", clear(GRANTED)),
        5 => ("/v1/inject", r#"{"reason":"TestFault"}"#.to_owned()),
        _ => ("/v1/mute", r#"{"reason":"TestFault","until":"2099-01-01T00:00:00Z","why":"w"}"#.to_owned()),
    };
    exchange(socket, &post(path, &body));
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
    let crowd: Vec<UnixStream> = (0..CROWD).filter_map(|_| UnixStream::connect(socket).ok()).collect();
    if let Some(last) = crowd.last() {
        hear(last);
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
    exchange(socket, &report(&"[".repeat(60_000)));
}

fn never_reads(socket: &Path) {
    let Ok(mut stream) = UnixStream::connect(socket) else { return };
    let _ = stream.set_write_timeout(Some(HOLDS));
    while stream.write_all(&b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50)).is_ok() {}
}
