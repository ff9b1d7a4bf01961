//! Peers that stall, lie and talk nonsense: each costs one permit for a bounded time, and others are served.

use std::{sync::atomic::Ordering, time::Duration};

use tokio::{
    io::AsyncWriteExt,
    net::UnixStream,
    time::{Instant, timeout},
};

use super::{
    super::{Counters, SocketLimits},
    fixture::{DEADLINE, Fixture, code, event, read_all, read_until},
};

const SHORT: Duration = Duration::from_millis(200);

fn short() -> SocketLimits {
    SocketLimits { head_timeout: SHORT, body_timeout: SHORT, write_timeout: SHORT, ..SocketLimits::default() }
}

async fn until_broken(counters: &Counters, count: u64) {
    let broken = async {
        while counters.broken.load(Ordering::Relaxed) < count {
            tokio::task::yield_now().await;
        }
    };
    timeout(DEADLINE, broken).await.expect("the connection ends in time");
}

#[tokio::test]
async fn a_head_that_never_ends_ends_the_connection() {
    let fixture = Fixture::start(short());
    let start = Instant::now();
    let mut stream = fixture.connect().await;
    stream.write_all(b"GET /v1/status HTTP/1.1\r\nX-Slow: 1\r\n").await.unwrap();
    read_all(&mut stream).await;
    assert!(start.elapsed() >= SHORT);
    assert_eq!(fixture.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn a_connection_without_a_word_ends() {
    let fixture = Fixture::start(short());
    assert_eq!(read_all(&mut fixture.connect().await).await, "");
}

#[tokio::test]
async fn an_idle_connection_ends_after_its_answer() {
    let fixture = Fixture::start(short());
    let answer = fixture.exchange(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await;
    assert_eq!(code(&answer), 200);
}

#[tokio::test]
async fn a_body_that_never_comes_is_answered() {
    let fixture = Fixture::start(short());
    let head = "POST /v1/clear HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    let answer = fixture.exchange(head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
}

#[tokio::test]
async fn a_declared_gigabyte_is_rejected_unread() {
    let fixture = Fixture::start(SocketLimits::default());
    let head =
        "POST /v1/clear HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1073741824\r\n\r\n";
    let answer = fixture.exchange(head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 ") && answer.contains("longer than 65536 bytes"), "{answer}");
}

#[tokio::test]
async fn a_chunked_flood_is_cut_off() {
    let fixture = Fixture::start(SocketLimits::default());
    let mut request =
        b"POST /v1/clear HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
            .to_vec();
    for _ in 0..20 {
        request.extend(b"2000\r\n");
        request.extend([b' '; 0x2000]);
        request.extend(b"\r\n");
    }
    let answer = fixture.exchange(&request).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn garbage_is_rejected_and_harms_no_client() {
    let fixture = Fixture::start(SocketLimits::default());
    let binary: Vec<u8> = (0..=255).cycle().take(5000).collect();
    for garbage in [&binary[..], b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\r\n\r\n"] {
        let answer = fixture.exchange(garbage).await;
        assert!(answer.is_empty() || code(&answer) >= 400, "{answer}");
        assert_eq!(fixture.get("/healthz").await.0, 200);
    }
}

#[tokio::test]
async fn a_head_without_bounds_is_rejected() {
    let fixture = Fixture::start(SocketLimits::default());
    let mut head = b"GET /healthz HTTP/1.1\r\nX-Long: ".to_vec();
    head.resize(100_000, b'a');
    assert_eq!(code(&fixture.exchange(&head).await), 431);
}

#[tokio::test]
async fn a_half_closed_request_is_no_harm() {
    let fixture = Fixture::start(SocketLimits::default());
    let mut stream = fixture.connect().await;
    stream.write_all(b"GET /heal").await.unwrap();
    stream.shutdown().await.unwrap();
    read_all(&mut stream).await;
    assert_eq!(fixture.get("/healthz").await.0, 200);
}

#[tokio::test]
async fn a_reader_that_stalls_loses_its_connection() {
    let fixture = Fixture::start(short());
    // More than any socket buffer takes.
    fixture.shared_state.events().extend((1..=4000).map(event));
    let mut stalled = fixture.connect().await;
    stalled.write_all(b"GET /v1/events?limit=4000 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    read_until(&mut stalled, "200 OK").await;
    assert_eq!(fixture.get("/healthz").await.0, 200);
    until_broken(&fixture.counters, 1).await;
}

#[tokio::test]
async fn a_follower_that_does_not_read_is_dropped() {
    let fixture = Fixture::start(short());
    fixture.shared_state.events().extend((1..=4000).map(event));
    let mut stalled = fixture.connect().await;
    stalled.write_all(b"GET /v1/events?follow=true&after=0 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    read_until(&mut stalled, "200 OK").await;
    until_broken(&fixture.counters, 1).await;
}

#[tokio::test]
async fn a_quiet_follower_stays_connected() {
    let fixture = Fixture::start(short());
    let mut follower = fixture.connect().await;
    follower.write_all(b"GET /v1/events?follow HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    read_until(&mut follower, "\r\n\r\n").await;
    // An idle connection that came later is gone by now; the follower is not.
    read_all(&mut fixture.connect().await).await;
    fixture.shared_state.events().extend([event(1)]);
    read_until(&mut follower, r#"{"id":1,"#).await;
}

#[tokio::test]
async fn the_thirty_third_connection_learns_why_it_must_go() {
    let fixture = Fixture::start(SocketLimits::default());
    let mut held: Vec<UnixStream> = Vec::new();
    for _ in 0..32 {
        let mut stream = fixture.connect().await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        read_until(&mut stream, "200 OK").await;
        held.push(stream);
    }
    let answer = fixture.exchange(b"").await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("all 32 connections"), "{answer}");
    assert_eq!(fixture.counters.refused.all.load(Ordering::Relaxed), 1);

    held.pop();
    let free = async { while fixture.get("/healthz").await.0 != 200 {} };
    timeout(DEADLINE, free).await.expect("a closed connection makes room");
}

#[tokio::test]
async fn a_thousand_connects_leave_nothing_behind() {
    let fixture = Fixture::start(SocketLimits::default());
    for _ in 0..1000 {
        drop(fixture.connect().await);
    }
    assert_eq!(fixture.get("/healthz").await.0, 200);
}

/// It never has two at once: that one ends is seen after the next has come.
#[tokio::test]
async fn a_client_with_one_connection_after_the_other_is_always_answered() {
    let limits = SocketLimits { connections: 2, reserved: 0, connections_per_peer: 1, ..SocketLimits::default() };
    let fixture = Fixture::start(limits);
    for number in 0..200 {
        let mut stream = fixture.connect().await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        let answer = read_until(&mut stream, "\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 200 "), "{number}: {answer}");
    }
}

#[tokio::test]
async fn a_connection_over_a_limit_is_answered_whatever_it_has_sent() {
    let limits = SocketLimits { connections: 1, reserved: 0, ..SocketLimits::default() };
    let fixture = Fixture::start(limits);
    let _holds = fixture.connect().await;
    // The first waits for a moment, and the second has no room to wait.
    for mut stream in [fixture.connect().await, fixture.connect().await] {
        // It may be hung up on while it still talks.
        let _ = stream.write_all(&[b'x'; 20_000]).await;
        let answer = read_all(&mut stream).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("Retry-After: 1"), "{answer}");
        assert!(answer.contains("all 1 connections") && answer.contains("[socket] connections"), "{answer}");
    }
}
