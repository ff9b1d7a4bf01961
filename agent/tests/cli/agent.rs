//! An agent that knows what a test lets it know.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::net::UnixListener,
    path::Path,
    thread,
};

/// A condition, as the socket shows it.
fn condition(name: &str, status: &str, reason: &str, message: &str) -> String {
    format!(
        r#"{{"type":"{name}","status":"{status}","reason":"{reason}","message":"{message}",
            "transition":"2026-11-21T02:00:00Z","problems":[]}}"#
    )
}

pub(crate) fn healthy() -> String {
    condition("KernelDeadlock", "False", "KernelHasNoDeadlock", "kernel has no deadlock")
}

pub(crate) fn sick() -> String {
    condition("DiskUnhealthy", "True", "IOError", "I/O error, dev sdb")
}

pub(crate) fn unknown() -> String {
    condition("GpuUnhealthy", "Unknown", "MonitorStale", "gpu: no report any more")
}

const EVENTS: &str = r#"[{"id":1,"severity":"warn","timestamp":"2026-11-21T02:00:00Z","reason":"OOMKilling",
    "message":"a task was killed","source":"kernel-monitor","count":1}]"#;

/// Answers what is asked on `socket` with these conditions and an event, until the test ends.
pub(crate) fn agent(socket: &Path, conditions: &[String]) {
    let status = format!(
        r#"{{"node":"node-1","conditions":[{}],"daemons":[],"apiserver":{{"state":"disabled","last_success":null}}}}"#,
        conditions.join(",")
    );
    let listener = UnixListener::bind(socket).unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let status = status.clone();
            thread::spawn(move || answer(stream, &status));
        }
    });
}

fn answer(mut stream: std::os::unix::net::UnixStream, status: &str) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let asked = lines.next().and_then(Result::ok).unwrap_or_default();
    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
    let body = if asked.contains("/v1/events") { EVENTS } else { status };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    // A program that has ended reads nothing.
    let _ = stream.write_all((head + body).as_bytes());
}
