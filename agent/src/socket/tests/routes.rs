//! Each route's answer, held to the golden files: their field names are a promise.

use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, body::Bytes};
use nodewell_client::Client;
use nodewell_ledger::Rejection;
use nodewell_model::{
    EventRecord, Name,
    api::{ClearedView, VersionView},
    view::DaemonState,
};
use nodewell_rules::Location;
use serde_json::{Value, json};

use crate::{
    config::{Grant, Grantee, Types},
    shared_state::{Command, EVENT_LOG_LIMIT},
};

use super::{
    super::{Grants, SocketLimits, peer::Peer, route},
    fixture::{Fixture, api, api_with, body_of, daemon, event, read_until, view},
};

/// Compares with `golden/NAME.json`; `UPDATE_GOLDEN=1` writes it.
fn assert_golden(name: &str, mut answer: Value) {
    for (field, shown) in [("version", "VERSION"), ("boot_id", "BOOT")] {
        if let Some(value) = answer.get_mut(field) {
            *value = Value::from(shown);
        }
    }
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/socket/golden/{name}.json"));
    let text = serde_json::to_string_pretty(&answer).unwrap() + "\n";
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, std::fs::read_to_string(&path).unwrap(), "{name}: field names are a promise to scripts");
}

#[tokio::test]
async fn every_answer_has_its_promised_shape() {
    let fixture = Fixture::full();
    for (target, golden) in [
        ("/v1/version", "version"),
        ("/v1/status", "status"),
        ("/v1/conditions", "conditions"),
        ("/v1/problems", "problems"),
        ("/v1/events", "events"),
        ("/v1/daemons", "daemons"),
        ("/v1/inventory", "inventory"),
        ("/healthz", "healthz"),
        ("/readyz", "readyz"),
    ] {
        let (code, answer) = fixture.get(target).await;
        assert_eq!(code, 200, "{target}");
        assert_golden(golden, answer);
    }
    let (code, answer) = fixture.post("/v1/inject", r#"{"reason":"KernelOops"}"#).await;
    assert_eq!(code, 200);
    assert_golden("inject", answer);
    let (code, answer) = fixture.get("/v2").await;
    assert_eq!(code, 404);
    assert_golden("not-found", answer);
}

#[tokio::test]
async fn the_account_of_rejections_has_its_promised_shape() {
    let fixture = Fixture::full();
    let (api, limits) = (api(&fixture.shared_state), SocketLimits::default());
    let ask = |peer: std::sync::Arc<Peer>, method, path| {
        let (api, limits) = (&api, &limits);
        async move {
            let request = Request::builder().method(method).uri(path).body(Full::new(Bytes::new())).unwrap();
            let answer = route::answer(api, limits, &peer, request).await;
            answer.into_body().collect().await.unwrap().to_bytes()
        }
    };
    ask(Peer::contained("docker-1.scope", 0), "POST", "/v1/inject").await;
    let answer = ask(Peer::user(1000), "GET", "/v1/status").await;
    let mut refused = serde_json::from_slice::<Value>(&answer).unwrap()["refused"].take();
    let last = refused[0]["last"].take();
    assert!(last.as_str().unwrap().parse::<jiff::Timestamp>().is_ok(), "{last}");
    assert_golden("refused", refused);
}

#[tokio::test]
async fn our_own_client_reads_it() {
    let fixture = Fixture::full();
    let client = Client::new(&fixture.path);
    let version: VersionView = client.get("/v1/version").await.unwrap();
    assert_eq!(version.version, env!("CARGO_PKG_VERSION"));
    let error = client.get::<Value>("/nowhere").await.unwrap_err();
    assert!(error.to_string().contains("GET /v1/status"), "{error}");
}

#[tokio::test]
async fn a_wrong_method_is_answered_with_the_right_one() {
    let fixture = Fixture::full();
    let answer = fixture.exchange(b"DELETE /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 405 ") && answer.contains("allow: GET, HEAD"), "{answer}");
    let (code, answer) = fixture.get("/v1/clear").await;
    assert_eq!((code, answer["error"].as_str().unwrap().starts_with("/v1/clear takes POST")), (405, true));
}

#[tokio::test]
async fn head_answers_without_a_body() {
    let fixture = Fixture::full();
    let answer = fixture.exchange(b"HEAD /v1/status HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert_eq!(body_of(&answer), "");
}

#[tokio::test]
async fn readiness_names_who_is_missing() {
    let fixture = Fixture::start(SocketLimits::default());
    let (code, answer) = fixture.get("/readyz").await;
    assert_eq!((code, &answer["waiting"][0]), (503, &json!("the ledger has not given its first account yet")));

    let mut account = view();
    account.daemons.push(daemon("raid-monitor", DaemonState::Dead));
    fixture.shared_state.publish(account);
    let (code, answer) = fixture.get("/readyz").await;
    assert_eq!((code, &answer["waiting"][0]), (503, &json!("raid-monitor ended")));
    assert_eq!(fixture.get("/healthz").await.0, 503);

    let mut account = view();
    account.daemons.push(daemon("raid-monitor", DaemonState::Starting));
    account.daemons.push(daemon("others@unit", DaemonState::Stale));
    fixture.shared_state.publish(account);
    assert_eq!((fixture.get("/readyz").await.0, fixture.get("/healthz").await.0), (503, 200));

    let mut account = view();
    account.daemons.push(daemon("raid-monitor", DaemonState::Blind));
    fixture.shared_state.publish(account);
    assert_eq!((fixture.get("/readyz").await.0, fixture.get("/healthz").await.0), (200, 200));
}

fn ids(answer: &Value) -> Vec<u64> {
    answer.as_array().unwrap().iter().map(|event| event["id"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn events_are_paged_forward_and_cut_to_the_newest() {
    let fixture = Fixture::start(SocketLimits::default());
    fixture.shared_state.events().extend((1..=10).map(event));
    for (target, expected) in [
        ("/v1/events", (1..=10).collect()),
        ("/v1/events?limit=2", vec![9, 10]),
        ("/v1/events?after=3&limit=2", vec![4, 5]),
        ("/v1/events?after=10", vec![]),
        ("/v1/events?after=99&limit=1", vec![1]),
        ("/v1/events?limit=0", vec![]),
    ] {
        assert_eq!(ids(&fixture.get(target).await.1), expected, "{target}");
    }
}

/// What a flood of peers has left between is shown by position, whatever the ids are.
#[tokio::test]
async fn the_newest_are_counted_where_ids_are_missing() {
    let fixture = Fixture::start(SocketLimits::default());
    let log = fixture.shared_state.events();
    log.extend((1..=3).map(event));
    let peers = |id| EventRecord { source: "d@uid:7".into(), from_peer: true, ..event(id) };
    log.extend((4..=2 * EVENT_LOG_LIMIT as u64).map(peers));
    let newest = ids(&fixture.get(&format!("/v1/events?limit={EVENT_LOG_LIMIT}")).await.1);
    assert_eq!((newest.len(), &newest[..3]), (EVENT_LOG_LIMIT, &[1, 2, 3][..]));
    log.extend([event(20_000), event(30_000)]);
    assert_eq!(ids(&fixture.get("/v1/events?limit=2").await.1), [20_000, 30_000]);
}

#[tokio::test]
async fn bad_parameters_are_named() {
    let fixture = Fixture::start(SocketLimits::default());
    for (target, word) in [
        ("/v1/events?limit=-1", "`limit` takes a number"),
        ("/v1/events?after=x", "`after` takes an event's id"),
        ("/v1/events?follow=maybe", "`follow` takes true or false"),
        ("/v1/events?since=1", "unknown parameter \"since\""),
    ] {
        let (code, answer) = fixture.get(target).await;
        assert_eq!(code, 400);
        assert!(answer["error"].as_str().unwrap().contains(word), "{answer}");
    }
}

#[tokio::test]
async fn a_follower_gets_old_events_then_new_ones() {
    let fixture = Fixture::start(SocketLimits::default());
    fixture.shared_state.events().extend((1..=3).map(event));
    let mut lines = Client::new(&fixture.path).follow("/v1/events?follow=true&after=1").await.unwrap();
    for id in [2, 3, 4] {
        if id == 4 {
            fixture.shared_state.events().extend([event(4)]);
        }
        let line: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        assert_eq!(line["id"], id);
    }
}

#[tokio::test]
async fn a_follower_without_after_starts_now() {
    let fixture = Fixture::start(SocketLimits::default());
    fixture.shared_state.events().extend((1..=3).map(event));
    let mut stream = fixture.connect().await;
    tokio::io::AsyncWriteExt::write_all(&mut stream, b"GET /v1/events?follow HTTP/1.1\r\nHost: x\r\n\r\n")
        .await
        .unwrap();
    let head = read_until(&mut stream, "\r\n\r\n").await;
    assert!(head.contains("transfer-encoding: chunked"), "{head}");
    fixture.shared_state.events().extend([event(4)]);
    let line = read_until(&mut stream, "}\n").await;
    assert!(line.contains(r#"{"id":4,"#), "{line}");
}

#[tokio::test]
async fn clear_asks_the_ledger() {
    let mut fixture = Fixture::full();
    let mut commands = std::mem::replace(&mut fixture.commands, tokio::sync::mpsc::channel(1).1);
    tokio::spawn(async move {
        let Command::Clear { request, awaited, done } = commands.recv().await.unwrap() else {
            panic!("another command");
        };
        let asked = (request.condition.as_str(), request.reason, request.subject.as_deref());
        assert_eq!(asked, ("DiskUnhealthy", None, Some("sda1")));
        assert_eq!(request.evidence.as_deref(), Some("it was\u{fffd} replaced"));
        assert_eq!(request.if_unchanged_since.unwrap().count, 7);
        assert!(awaited("nodewell-disk.service") && !awaited("raid.service"));
        let view = ClearedView {
            cleared: 2,
            durable: false,
            given_up: vec!["raid@raid.service".to_owned()],
            awaited: vec!["raid@root".to_owned()],
        };
        done.send(Some((view, 0))).unwrap();
    });
    let body = r#"{"condition":"DiskUnhealthy","subject":"sda1","evidence":"it was\u0007 replaced",
        "if_unchanged_since":{"count":7,"last_seen":"2026-11-21T02:10:00Z"}}"#;
    let (code, answer) = fixture.post("/v1/clear", body).await;
    assert_eq!(code, 202, "nothing is saved here");
    assert_golden("clear", answer);
}

#[tokio::test]
async fn what_is_declared_nowhere_is_not_muted() {
    let mut fixture = Fixture::full();
    let mut commands = std::mem::replace(&mut fixture.commands, tokio::sync::mpsc::channel(1).1);
    tokio::spawn(async move {
        let Some(Command::Mute { done, .. }) = commands.recv().await else { panic!("another command") };
        let unknown = Rejection::UnknownCondition(Name::fixed("Nonsense"));
        done.send(Err(unknown)).unwrap_or_else(|_| panic!("no one waits"));
    });
    let until = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(1);
    let request = format!(r#"{{"reason":"A","condition":"Nonsense","until":"{until}","why":"w"}}"#);
    let (code, answer) = fixture.post("/v1/mute", &request).await;
    assert_eq!(code, 400, "as a clear has it: {answer}");
    assert!(answer["error"].as_str().unwrap().starts_with("there is no condition Nonsense; there are: "), "{answer}");
}

#[tokio::test]
async fn what_is_declared_nowhere_is_not_cleared() {
    let mut fixture = Fixture::full();
    let mut commands = std::mem::replace(&mut fixture.commands, tokio::sync::mpsc::channel(1).1);
    tokio::spawn(async move {
        let Some(Command::Clear { done, .. }) = commands.recv().await else { panic!("another command") };
        done.send(None).unwrap();
    });
    let (code, answer) = fixture.post("/v1/clear", r#"{"condition":"Nonsense"}"#).await;
    assert_eq!(code, 400);
    let error = answer["error"].as_str().unwrap();
    assert!(error.starts_with("there is no condition Nonsense; there are: DiskUnhealthy, KernelDeadlock"), "{error}");
}

#[tokio::test]
async fn what_is_cleared_by_a_grant_names_its_peer() {
    let mut fixture = Fixture::full();
    let mut commands = std::mem::replace(&mut fixture.commands, tokio::sync::mpsc::channel(1).1);
    let grant = Grant {
        to: Grantee::User(7),
        written: String::new(),
        conditions: Types::Only(Vec::new()),
        reasons: None,
        events: false,
        clear: Types::All,
        interval: None,
        burst: None,
        on_stale: None,
        at: Location { file: "nodewell.toml".into(), line: 1 },
    };
    let (api, limits) = (api_with(&fixture.shared_state, Grants::new(&[grant])), SocketLimits::default());
    for (user, expected) in [(7, Some("uid:7")), (0, None)] {
        let request = Request::post("/v1/clear").header("Content-Type", "application/json");
        let request = request.body(Full::new(Bytes::from(r#"{"condition":"DiskUnhealthy"}"#))).unwrap();
        let peer = Peer::user(user);
        let answer = route::answer(&api, &limits, &peer, request);
        let ledger = async {
            let Some(Command::Clear { request, done, .. }) = commands.recv().await else { panic!("another command") };
            done.send(Some((ClearedView::default(), 0))).unwrap();
            request.peer
        };
        let (answer, named) = tokio::join!(answer, ledger);
        assert_eq!((answer.status(), named.as_deref()), (StatusCode::ACCEPTED, expected));
    }
}

#[tokio::test]
async fn the_answer_to_a_bad_body_names_the_wrong_field() {
    let fixture = Fixture::full();
    for (body, word) in [
        ("", "the body: EOF"),
        ("[]", "the body: "),
        ("{}", "missing field `condition`"),
        (r#"{"condition":"disk unhealthy"}"#, "field `condition`: \"disk unhealthy\" is not CamelCase"),
        (r#"{"condition":"DiskUnhealthy","all":true}"#, "unknown field `all`, expected one of `condition`"),
        (r#"{"condition":"DiskUnhealthy"} x"#, "after the JSON value"),
    ] {
        let (code, answer) = fixture.post("/v1/clear", body).await;
        assert_eq!(code, 400, "{body}");
        assert!(answer["error"].as_str().unwrap().contains(word), "{body}: {answer}");
    }
}

#[test]
fn a_conditions_time_under_another_name_is_answered_with_its_field() {
    for name in ["since", "lastTransitionTime"] {
        let body = format!(
            r#"{{"source":"a","conditions":[{{"type":"RaidProblem","status":true,"{name}":"2026-11-21T02:00:00Z",
            "reason":"R","message":"m"}}]}}"#
        );
        let error = crate::socket::report::read(body.as_bytes()).unwrap_err();
        let (start, end) =
            (format!("field `conditions[0].{name}`: unknown field"), "a condition's time is in `transition`");
        assert!(error.starts_with(&start) && error.ends_with(end), "{error}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_json_by_its_own_header_is_rejected() {
    let fixture = Fixture::full();
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    for head in ["", form] {
        let (code, answer) = fixture.ask("POST", "/v1/clear", head, "{}").await;
        assert_eq!(code, 415);
        assert!(answer["error"].as_str().unwrap().contains("application/json"), "{answer}");
    }
}

#[tokio::test]
async fn an_unknown_reason_is_not_injected() {
    let (code, answer) = Fixture::full().post("/v1/inject", r#"{"reason":"Nonsense"}"#).await;
    assert_eq!((code, &answer["error"]), (400, &json!("no rule has the reason Nonsense")));
}

#[tokio::test]
async fn an_ordinary_user_reads_and_changes_nothing() {
    let fixture = Fixture::full();
    let (api, limits) = (api(&fixture.shared_state), SocketLimits::default());
    let stranger = Peer::user(u32::MAX - 1);
    for (method, target, code) in [("GET", "/v1/status", 200), ("POST", "/v1/clear", 403), ("POST", "/v1/inject", 403)]
    {
        let request = Request::builder().method(method).uri(target).body(Full::new(Bytes::new())).unwrap();
        let answer = route::answer(&api, &limits, &stranger, request).await;
        assert_eq!(answer.status(), StatusCode::from_u16(code).unwrap(), "{target}");
    }
}
