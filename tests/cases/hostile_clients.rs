//! Whatever a client does to the socket: the agent's memory stays bounded, others are served, the log has one line
//! about it, and what the client held comes back. No case measures time: all wait for a state.

mod crowd;

use std::{
    fs,
    io::{ErrorKind, Read, Write},
    net::Shutdown,
    os::unix::net::UnixStream,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::Duration,
};

use nodewell_tests::{
    agent::{Agent, Plan},
    suite::{Need, Suite},
    wait::{until, until_within},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("hostile_clients")
        .case("heads_that_drip_cost_only_their_senders", heads_that_drip_cost_only_their_senders)
        .case("bodies_that_drip_are_cut_off", bodies_that_drip_are_cut_off)
        .case("who_never_reads_is_dropped", who_never_reads_is_dropped)
        .case("ten_thousand_connects_leave_nothing_behind", ten_thousand_connects_leave_nothing_behind)
        .case_with(&[Need::Root], "ten_thousand_that_stay_cost_only_their_user", crowd::ten_thousand_that_stay)
        .case_with(&[Need::Root], "one_more_than_a_peer_may_have_reads_which_limit", crowd::one_more_reads_which_limit)
        .case("half_closed_requests_are_answered_or_dropped", half_closed_requests_are_answered_or_dropped)
        .case("a_gigabyte_is_refused_unread", a_gigabyte_is_refused_unread)
        .case("an_endless_body_is_cut_off", an_endless_body_is_cut_off)
        .case("garbage_is_refused_in_words", garbage_is_refused_in_words)
        .case("floods_of_headers_are_refused", floods_of_headers_are_refused)
        .case("a_thousand_requests_at_once_are_answered_in_order", a_thousand_requests_at_once_are_answered_in_order);
}

/// Fewer than the agent takes in all, so that there is room for others.
const CROWD: usize = 20;
/// What a crowd may cost: its buffers and bodies, what the allocator does not give back, and code that had not run
/// before.
const GROWTH_LIMIT_KIB: u64 = 16 * 1024;
/// A transition there and back, and a reserve: no line for each client.
const LOG_LINES: usize = 6;
/// The agent gives a client ten seconds for most things; a busy machine takes longer to notice.
const LONG: Duration = Duration::from_secs(60);

/// Runs `attack` on an agent that another client is using, and looks at what is left of it.
fn survives(attack: impl FnOnce(&Agent) + Send) {
    let agent = Plan::default().start();
    (0..50).for_each(|_| assert!(is_served(&agent)));
    assert_eq!(agent.post("/v1/status", r#"{"source":"another"}"#).code(), 200);
    let (memory, lines) = (peak_kib(&agent), agent.log().lines().count());
    let (over, asked) = (AtomicBool::new(false), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                until("another client is served", || is_served(&agent).then_some(()));
                asked.fetch_add(1, Ordering::Relaxed);
                // It is there to be served, not to compete with the attack.
                thread::sleep(Duration::from_millis(20));
            }
        });
        // Also when the attack panics: the scope waits for the other client.
        let _end = End(&over);
        attack(&agent);
        let before = asked.load(Ordering::Relaxed);
        until("another client is served still", || (asked.load(Ordering::Relaxed) > before + 1).then_some(()));
    });
    everything_came_back(&agent);
    let grown = peak_kib(&agent).saturating_sub(memory);
    assert!(grown <= GROWTH_LIMIT_KIB, "its memory grew by {grown} KiB");
    let output = agent.log().lines().skip(lines).map(str::to_owned).collect::<Vec<_>>();
    assert!(output.len() <= LOG_LINES, "{} lines: {:#?}", output.len(), &output[..LOG_LINES]);
}

struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn is_served(agent: &Agent) -> bool {
    agent.get("/healthz").is_some_and(|answer| answer.status == 200)
}

/// As many connections as before are to be had at the same time.
fn everything_came_back(agent: &Agent) {
    until_within(LONG, "all connections are free again", || {
        let mut held = Vec::new();
        for _ in 0..CROWD + 4 {
            let mut stream = connect(agent);
            stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").ok()?;
            let mut start = [0; 12];
            stream.read_exact(&mut start).ok()?;
            (start == *b"HTTP/1.1 200").then(|| held.push(stream))?;
        }
        Some(())
    });
}

/// The most that was ever resident.
fn peak_kib(agent: &Agent) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", agent.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn connect(agent: &Agent) -> UnixStream {
    // The queue of a socket may be full for a moment.
    let stream = until("the agent's socket takes a connection", || UnixStream::connect(agent.socket()).ok());
    stream.set_read_timeout(Some(LONG)).unwrap();
    stream.set_write_timeout(Some(LONG)).unwrap();
    stream
}

fn post(length: &str) -> String {
    format!(
        "POST /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
    )
}

/// Sends `bytes` and reads the whole answer; a client that is cut off reads what was sent before.
fn exchange(agent: &Agent, bytes: &[u8]) -> String {
    let mut stream = connect(agent);
    // The agent may answer and hang up before it has read everything.
    let _ = stream.write_all(bytes);
    hear(&mut stream)
}

fn hear(stream: &mut UnixStream) -> String {
    let mut answer = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
            Err(error) => panic!("the agent neither answers nor hangs up: {error}"),
        }
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// A crowd that sends `start` and then byte after byte, until it is cut off; what it heard.
fn crowd_drips(agent: &Agent, start: &str) -> Vec<String> {
    thread::scope(|scope| {
        let drips: Vec<_> = (0..CROWD)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = connect(agent);
                    stream.write_all(start.as_bytes()).unwrap();
                    let mut hearing = stream.try_clone().unwrap();
                    let heard = thread::spawn(move || hear(&mut hearing));
                    // A pause between two bytes is what the attack is; nothing is decided by it.
                    while stream.write_all(b"a").is_ok() && !heard.is_finished() {
                        thread::sleep(Duration::from_millis(100));
                    }
                    heard.join().unwrap()
                })
            })
            .collect();
        drips.into_iter().map(|drip| drip.join().unwrap()).collect()
    })
}

fn heads_that_drip_cost_only_their_senders() {
    survives(|agent| {
        for heard in crowd_drips(agent, "GET /healthz HTTP/1.1\r\nX: ") {
            assert!(!heard.contains(" 200 "), "{heard}");
        }
    });
}

fn bodies_that_drip_are_cut_off() {
    survives(|agent| {
        for heard in crowd_drips(agent, &post("Content-Length: 60000")) {
            assert!(heard.starts_with("HTTP/1.1 408 "), "{heard}");
        }
    });
}

fn who_never_reads_is_dropped() {
    survives(|agent| {
        let mut deaf: Vec<UnixStream> = (0..CROWD).map(|_| connect(agent)).collect();
        for stream in &mut deaf {
            stream.set_nonblocking(true).unwrap();
            while stream.write_all(&b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50)).is_ok() {}
        }
        for stream in &mut deaf {
            until_within(LONG, "the agent hangs up on who does not read", || {
                let error = stream.write_all(b"G").err()?;
                (error.kind() == ErrorKind::BrokenPipe).then_some(())
            });
        }
    });
}

fn ten_thousand_connects_leave_nothing_behind() {
    survives(|agent| {
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for number in 0..2_500 {
                        let mut stream = connect(agent);
                        // Some send something before they go; most do not.
                        if number % 10 == 0 {
                            let _ = stream.write_all(b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n");
                        }
                    }
                });
            }
        });
    });
}

/// A client that closes its own side may be on its way out: it may get an answer, and does not keep its connection.
fn half_closed_requests_are_answered_or_dropped() {
    let whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".to_vec();
    let cut = (post("Content-Length: 100") + "{\"source\":").into_bytes();
    let requests = [whole, cut, b"GET /heal".to_vec(), Vec::new()];
    survives(|agent| {
        for request in requests.iter().cycle().take(4 * CROWD) {
            let mut stream = connect(agent);
            stream.write_all(request).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let heard = hear(&mut stream);
            let answered = ["HTTP/1.1 200 ", "HTTP/1.1 400 "].iter().any(|start| heard.starts_with(start));
            assert!(heard.is_empty() || answered, "{heard}");
        }
    });
}

fn a_gigabyte_is_refused_unread() {
    survives(|agent| {
        for _ in 0..CROWD {
            let heard = exchange(agent, post("Content-Length: 1073741824").as_bytes());
            assert!(heard.starts_with("HTTP/1.1 413 "), "{heard}");
        }
    });
}

fn an_endless_body_is_cut_off() {
    survives(|agent| {
        thread::scope(|scope| {
            for _ in 0..CROWD {
                scope.spawn(|| {
                    let mut stream = connect(agent);
                    stream.write_all(post("Transfer-Encoding: chunked").as_bytes()).unwrap();
                    let chunk = [&b"4000\r\n"[..], &[b' '; 0x4000], b"\r\n"].concat();
                    while stream.write_all(&chunk).is_ok() {}
                    let heard = hear(&mut stream);
                    assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 413 "), "{heard}");
                });
            }
        });
    });
}

fn garbage_is_refused_in_words() {
    let no_http: [&[u8]; 4] = [
        &[0; 5000],
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"\r\n\r\n\r\n\r\n",
    ];
    let nested = [b'['; 60_000];
    let objects = br#"{"source":"#.repeat(6_000);
    let digits = [&br#"{"source":"a","ttl":"#[..], &[b'9'; 30_000], b"}"].concat();
    let key = [&br#"{"source":"a",""#[..], &[b'k'; 60_000], br#"":1}"#].concat();
    let no_report: [(&[u8], &str); 9] = [
        (&nested, "sequence"),
        (&objects, "source"),
        (&digits, "ttl"),
        (br#"{"source":"a","ttl":1e999}"#, "ttl"),
        (br#"{"source":"a","ttl":-1}"#, "ttl"),
        (b"{\"source\":\"a\",\"id\":\"\xff\xfe\"}", "id"),
        (br#"{"source":"a","source":"b"}"#, "source"),
        (&key, "unknown field"),
        (br#"{"source":"a"} {"source":"b"}"#, "after the JSON value"),
    ];
    survives(|agent| {
        for bytes in no_http {
            let heard = exchange(agent, bytes);
            assert!(!heard.starts_with("HTTP/1.1 2"), "{heard}");
        }
        for (body, named) in no_report {
            let head = post(&format!("Content-Length: {}", body.len()));
            let heard = exchange(agent, &[head.as_bytes(), body].concat());
            assert!(heard.starts_with("HTTP/1.1 400 ") && heard.contains(named), "{named}: {heard}");
            assert!(heard.len() < 4096, "an answer of {} bytes", heard.len());
        }
    });
}

fn floods_of_headers_are_refused() {
    let many: String = (0..5_000).map(|n| format!("X-{n}: y\r\n")).collect();
    let long = "y".repeat(200_000);
    survives(|agent| {
        for _ in 0..CROWD {
            for head in [many.clone(), format!("X: {long}\r\n"), format!("{long}: x\r\n")] {
                let heard = exchange(
                    agent,
                    format!("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{head}\r\n").as_bytes(),
                );
                assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 4"), "{heard}");
            }
            let heard = exchange(agent, format!("GET /{long} HTTP/1.1\r\nHost: x\r\n\r\n").as_bytes());
            assert!(heard.is_empty() || heard.starts_with("HTTP/1.1 4"), "{heard}");
        }
    });
}

fn a_thousand_requests_at_once_are_answered_in_order() {
    survives(|agent| {
        let mut stream = connect(agent);
        let mut writing = stream.try_clone().unwrap();
        let request = |n: usize| {
            let (path, end) =
                (if n.is_multiple_of(2) { "v1/" } else { "healthz?" }, if n == 999 { "close" } else { "keep-alive" });
            format!("GET /{path}{n} HTTP/1.1\r\nHost: x\r\nConnection: {end}\r\n\r\n")
        };
        let all: String = (0..1_000).map(request).collect();
        let writer = thread::spawn(move || writing.write_all(all.as_bytes()).unwrap());
        let heard = hear(&mut stream);
        writer.join().unwrap();
        let codes: Vec<&str> = heard.match_indices("HTTP/1.1 ").map(|(at, _)| &heard[at + 9..at + 12]).collect();
        let expected: Vec<&str> = (0..1_000_u32).map(|n| if n.is_multiple_of(2) { "404" } else { "200" }).collect();
        assert_eq!(codes, expected);
    });
}
