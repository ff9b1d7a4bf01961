//! docs/openapi.yaml and the agent agree: every route and code, field by field.

use std::process::Command;

use hyper::Method;
use nodewell_tests::{
    agent::Agent,
    http::over_socket,
    openapi::OpenApi,
    suite::{Need, Suite},
};
use serde_json::{Value, json};

use crate::{
    lines::OOPS,
    report_api::{agent, plan, raid},
};

pub(crate) fn list(suite: &mut Suite) {
    suite
        .behaviour("openapi")
        .case("every_route_is_described", every_route_is_described)
        .case("real_answers_are_as_described", real_answers_are_as_described)
        .case_with(&[Need::Root], "rejections_are_as_described", rejections_are_as_described)
        .case("what_is_described_is_taken", what_is_described_is_taken);
}

fn every_route_is_described() {
    let agent = agent();
    let everything = agent.get("/nowhere").unwrap().json()["error"].as_str().unwrap().to_owned();
    let (_, routes) = everything.split_once("there are: ").unwrap();
    let mut served: Vec<&str> = routes.split(", ").collect();
    let described: Vec<String> =
        OpenApi::of_docs().operations().iter().map(|(method, path)| format!("{method} {path}")).collect();
    let mut described: Vec<&str> = described.iter().map(String::as_str).collect();
    served.sort_unstable();
    described.sort_unstable();
    assert_eq!(served, described);
}

/// An agent with a bit of everything in its account.
fn busy() -> Agent {
    let agent = agent();
    agent.kmsg().write(OOPS);
    agent.wait_event("KernelOops");
    let event = json!({"severity": "info", "timestamp": "2026-11-21T02:00:00Z", "reason": "RaidSeen", "message": "m", "subject": "md0"});
    let hardware =
        json!([{"class": "RAID arrays", "total": 2, "states": {"degraded": 1}}, {"class": "disks", "total": 4}]);
    let unsure = json!([{"source": "raid", "conditions": [raid("True", "md0")], "events": [event], "hardware": hardware},
                        {"source": "raid", "conditions": [raid("Unknown", "md0")]}]);
    assert_eq!(agent.post("/v1/status", &unsure.to_string()).code(), 200);
    agent
}

fn real_answers_are_as_described() {
    let (agent, api) = (busy(), OpenApi::of_docs());
    let held = raid("True", "md0");
    let many: Vec<Value> = (0..300).map(|n| json!({"source": format!("s{n}")})).collect();
    let subjects: Vec<Value> = (0..260).map(|n| raid("True", &format!("m{n}"))).collect();
    let (half, rest) = subjects.split_at(130);
    let in_an_hour = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    for (method, target, body, code) in [
        ("GET", "/v1/version", Value::Null, 200),
        ("GET", "/v1/status", Value::Null, 200),
        ("GET", "/v1/conditions", Value::Null, 200),
        ("GET", "/v1/problems", Value::Null, 200),
        ("GET", "/v1/events", Value::Null, 200),
        ("GET", "/v1/events?after=x", Value::Null, 400),
        ("GET", "/v1/daemons", Value::Null, 200),
        ("GET", "/v1/inventory", Value::Null, 200),
        ("GET", "/healthz", Value::Null, 200),
        ("GET", "/readyz", Value::Null, 200),
        ("POST", "/v1/status", json!({"source": "raid", "conditions": [held]}), 200),
        ("POST", "/v1/status", json!([{"source": "raid"}]), 200),
        ("POST", "/v1/status", json!({"source": 3}), 400),
        ("POST", "/v1/status", json!({"source": "b", "conditions": half}), 200),
        ("POST", "/v1/status", json!({"source": "b", "conditions": rest}), 409),
        ("POST", "/v1/status", json!(many), 413),
        ("POST", "/v1/clear", json!({"condition": "RaidProblem"}), 200),
        ("POST", "/v1/clear", json!({"condition": "Nope"}), 400),
        ("POST", "/v1/forget", json!({"daemon": "kernel-monitor"}), 400),
        ("POST", "/v1/forget", json!({"daemon": "gone@root"}), 404),
        ("POST", "/v1/forget", json!({"daemon": "b@root"}), 200),
        ("POST", "/v1/mute", json!({"reason": "A", "until": in_an_hour, "why": "w", "by": "alice"}), 200),
        ("GET", "/v1/status", Value::Null, 200),
        ("POST", "/v1/mute", json!({"reason": "A", "until": "2020-01-01T00:00:00Z", "why": "w"}), 400),
        ("POST", "/v1/unmute", json!({"reason": "A"}), 200),
        ("POST", "/v1/unmute", json!({"reason": "A"}), 404),
        ("POST", "/v1/ack", json!({"reason": "KernelOops", "why": "w", "by": "alice"}), 200),
        ("GET", "/v1/status", Value::Null, 200),
        ("GET", "/v1/problems", Value::Null, 200),
        ("POST", "/v1/ack", json!({"reason": "KernelOops", "why": "w"}), 409),
        ("POST", "/v1/ack", json!({"reason": "A", "why": "w"}), 404),
        ("POST", "/v1/ack", json!({"reason": "KernelOops", "why": ""}), 400),
        ("POST", "/v1/unack", json!({"reason": "KernelOops"}), 200),
        ("POST", "/v1/unack", json!({"reason": "KernelOops"}), 404),
        ("POST", "/v1/inject", json!({"reason": "KernelOops"}), 200),
        ("POST", "/v1/inject", json!({"reason": "Nope"}), 400),
    ] {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let answer =
            over_socket(&agent.socket(), Method::from_bytes(method.as_bytes()).unwrap(), target, &body).unwrap();
        assert_eq!(answer.code(), code, "{method} {target} {}", answer.body);
        let path = target.split('?').next().unwrap();
        let errors = api.errors_of_answer(method, path, code, &answer.json());
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(answer.retry_after.is_some(), api.wants_retry_after(method, path, code));
    }
}

/// What `curl` with these arguments is answered, with its code and whether the answer has a `Retry-After`.
fn curl(agent: &Agent, before: &[&str], args: &[&str]) -> (u16, Value, bool) {
    let command = [before, &["curl", "-sS", "-i", "--max-time", "20"], args].concat();
    let output = Command::new(command[0])
        .args(&command[1..])
        .arg("--unix-socket")
        .arg(agent.socket())
        .arg("http://localhost/v1/status")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (head, body) = text.rsplit_once("\r\n\r\n").unwrap_or_else(|| panic!("{output:?}"));
    let code = head.lines().rfind(|line| line.starts_with("HTTP/1.1 ")).unwrap()[9..12].parse().unwrap();
    (code, serde_json::from_str(body).unwrap(), head.to_ascii_lowercase().contains("retry-after: "))
}

fn rejections_are_as_described() {
    let agent = plan("[socket]\nrate = \"1/m\"\nburst = 2\nbody-timeout = \"200ms\"\n").start();
    let folder = agent.socket().parent().unwrap().to_owned();
    std::fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let api = OpenApi::of_docs();
    let json = ["-H", "Content-Type: application/json"];
    let heartbeat = [&json[..], &["-d", r#"{"source":"raid"}"#]].concat();
    let other_user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];
    let unfinished = [&json[..], &["-H", "Content-Length: 50", "-d", "{"]].concat();
    for (before, args, code) in [
        (&other_user[..], &heartbeat[..], 403),
        (&[], &["-H", "Content-Type: text/plain", "-d", "x"], 415),
        (&[], &unfinished, 408),
        (&[], &heartbeat, 429),
    ] {
        let (got, body, comes_back) = curl(&agent, before, args);
        assert_eq!(got, code, "{body}");
        let errors = api.errors_of_answer("POST", "/v1/status", code, &body);
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(comes_back, api.wants_retry_after("POST", "/v1/status", code), "{code}");
    }
    let account = agent.get("/v1/status").unwrap().json();
    assert!(account["refused"].as_array().is_some_and(|refused| !refused.is_empty()));
    assert!(api.errors_of_answer("GET", "/v1/status", 200, &account).is_empty());
}

/// Bodies that the description lets through are read; those that it refuses are refused.
fn what_is_described_is_taken() {
    let (agent, api) = (agent(), OpenApi::of_docs());
    let full = raid("True", "md0");
    let event = |field: &str, value: Value| {
        let mut event =
            json!({"severity": "info", "timestamp": "2026-11-21T02:00:00Z", "reason": "RaidSeen", "message": "m"});
        event[field] = value;
        json!({"source": "raid", "events": [event]})
    };
    let with = |field: &str, value: Value| {
        let mut condition = full.clone();
        condition[field] = value;
        json!({"source": "raid", "conditions": [condition]})
    };
    for body in [
        with("status", json!(true)),
        with("status", json!("yes")),
        with("action", json!("replace-disk")),
        with("action", json!("kick-it")),
        with("severity", json!("critical")),
        with("severity", json!("warning")),
        with("subject", json!("")),
        with("subject", json!("x".repeat(257))),
        with("colour", json!("red")),
        with("reason", json!("")),
        event("subject", json!("md0")),
        event("seen_by", json!("kernel-monitor")),
        event("seen_by", json!(3)),
        event("seen", json!("kernel-monitor")),
        json!({"source": "raid", "ttl": 0}),
        json!({"source": "raid", "ttl": 86_400, "id": "x", "full": true, "last": false}),
        json!({"source": "raid", "id": ""}),
        json!({"source": ""}),
        json!({}),
        json!([{"source": "raid"}, {}]),
        json!("raid"),
    ] {
        let described = api.errors_of_request("POST", "/v1/status", &body).is_empty();
        let answer = agent.post("/v1/status", &body.to_string());
        let code = if described { 200 } else { 400 };
        assert_eq!(answer.code(), code, "{body}: {}", answer.body);
    }
}
