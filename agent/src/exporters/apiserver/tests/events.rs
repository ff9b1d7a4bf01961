//! The events loop.

use nodewell_model::{BootId, EventRecord, Origin, Severity, view::ApiserverState};
use serde_json::json;

use super::*;
use crate::{exporters::apiserver::RequestKind, shared_state::EVENT_LOG_LIMIT};

pub(super) const EVENTS: &str = "POST /api/v1/namespaces/default/events";
pub(super) const COUNTS: &str = "PATCH /api/v1/namespaces/default/events/";

pub(super) fn record(id: u64, reason: &'static str) -> EventRecord {
    let boot_id = BootId::parse("000102030405060708090a0b0c0d0e0f").unwrap();
    EventRecord {
        id,
        origin: Origin::Kmsg { boot_id, sequence: id },
        boot_id: Some(boot_id),
        severity: Severity::Error,
        time: Timestamp::from_second(1_700_000_000 + i64::try_from(id).unwrap()).unwrap(),
        last_time: Timestamp::from_second(1_700_000_100 + i64::try_from(id).unwrap()).unwrap(),
        reason: Name::fixed(reason),
        message: format!("100 % of {id}"),
        subject: Some("sda".into()),
        source: "kernel-monitor".into(),
        pod_uid: None,
        from_peer: false,
        condition: None,
        count: 1,
        test: false,
    }
}

/// An exporter that has written a condition, and so learns the Node's UID.
fn bench(server: &Server) -> Bench {
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", ConditionStatus::False)]);
    bench
}

pub(super) async fn delivered(bench: &Bench) {
    let sent = |view: &ApiserverView| view.state == ApiserverState::Connected && view.undelivered == 0;
    bench.until("all delivered", sent).await;
}

#[tokio::test]
async fn an_event_names_the_node_and_has_its_own_times() {
    let server = Server::start().await;
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("one event", |server| server.events().len() == 1).await;
    let event = server.events().remove(0);
    let name = event["metadata"]["name"].as_str().unwrap();
    assert!(name.starts_with("n1.") && name.len() == "n1.".len() + 16, "{name}");
    let expected = json!({
        "apiVersion": "v1", "kind": "Event",
        "metadata": {"name": name, "namespace": "default"},
        "involvedObject": {"apiVersion": "v1", "kind": "Node", "name": "n1", "uid": "uid-1"},
        "type": "Warning", "reason": "IOError", "message": "sda: 100 % of 1",
        "source": {"component": "kernel-monitor", "host": "n1"},
        "reportingComponent": "nodewell", "reportingInstance": "n1",
        "firstTimestamp": "2023-11-14T22:13:21Z", "lastTimestamp": "2023-11-14T22:15:01Z", "count": 1,
    });
    assert_eq!(event, expected);
}

#[tokio::test]
async fn repetitions_become_a_count_on_the_same_event() {
    let server = Server::start().await;
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("one event", |server| server.events().len() == 1).await;
    bench.shared_state.events().extend((2..=1000).map(|id| EventRecord { count: 2, ..record(id, "IOError") }));
    server.until("counted", |server| server.events()[0]["count"] == 1999).await;
    assert_eq!(server.events().len(), 1);
    let patch = &server.seen(COUNTS)[0];
    assert_eq!(patch.content_type, "application/merge-patch+json");
    assert_eq!(server.events()[0]["message"], "sda: 100 % of 1000");
}

#[tokio::test]
async fn a_post_whose_answer_was_lost_makes_no_second_event() {
    let server = Server::start().await;
    let first = bench(&server);
    first.shared_state.events().extend([record(1, "IOError")]);
    server.until("one event", |server| server.events().len() == 1).await;
    let again = bench(&server);
    again.shared_state.events().extend([record(1, "IOError")]);
    server.until("asked twice", |server| server.seen(EVENTS).len() == 2).await;
    delivered(&again).await;
    assert_eq!((server.events().len(), again.stats.dropped_events()), (1, 0));
}

#[tokio::test]
async fn events_of_an_outage_go_out_in_order_when_the_server_is_back() {
    let mut server = Server::start().await;
    let bench = bench(&server);
    delivered(&bench).await;
    server.stop().await;
    let reasons = ["KernelOops", "IOError", "TaskHung", "AtaError"];
    let records = |from: usize| (from..from + 2).map(|n| record(n as u64 + 1, reasons[n]));
    bench.shared_state.events().extend(records(0));
    bench.until("failing", |view| view.state == ApiserverState::Failing && view.undelivered == 2).await;
    bench.shared_state.events().extend(records(2));
    server.start_again().await;
    server.until("all", |server| server.events().len() == 4).await;
    let sent: Vec<_> = server.seen(EVENTS).iter().map(|seen| seen.body["reason"].clone()).collect();
    assert_eq!(sent, reasons);
    assert_eq!(server.seen(EVENTS)[0].body["firstTimestamp"], "2023-11-14T22:13:21Z", "their own time");
    delivered(&bench).await;
}

/// Behind a portal, a proxy that blocks, and one that sends elsewhere: each for a while.
#[tokio::test]
async fn what_answers_in_place_of_the_server_has_taken_nothing() {
    for page in [
        Reply::Page(200, "<html>log in to the Wi-Fi</html>"),
        Reply::Page(201, "{}"),
        Reply::Page(302, ""),
        Reply::Page(403, "<html>blocked</html>"),
        Reply::Page(404, "not found"),
    ] {
        let server = Server::start().await;
        for what in [EVENTS, "/nodes/"] {
            server.script(what, std::iter::repeat_n(page.clone(), 1000));
        }
        let bench = bench(&server);
        bench.shared_state.events().extend([record(1, "IOError")]);
        let view = bench.until("failing", |view| view.state == ApiserverState::Failing).await;
        assert!(view.message.contains("something answers in place of the API server"), "{page:?} {view:?}");
        server.clear_script();
        server.until("the event", |server| server.events().len() == 1).await;
        delivered(&bench).await;
        assert_eq!(bench.stats.dropped_events(), 0, "{page:?}");
    }
}

/// A proxy that knows no such method refuses nothing in the server's name.
#[tokio::test]
async fn no_event_is_lost_to_a_proxys_own_refusal() {
    let server = Server::start().await;
    server.script(EVENTS, std::iter::repeat_n(Reply::Page(405, "<html>Method Not Allowed</html>"), 3));
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError"), record(2, "AtaError")]);
    server.until("both events", |server| server.events().len() == 2).await;
    delivered(&bench).await;
    assert_eq!((bench.answers(405), bench.stats.dropped_events()), (3, 0));
}

#[tokio::test]
async fn forbidden_events_do_not_stop_conditions() {
    let server = Server::start().await;
    server.script(EVENTS, std::iter::repeat_n(Reply::Status(403, json!({"message": "no"})), 1000));
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    let view = bench.until("failing", |view| view.state == ApiserverState::Failing).await;
    assert!(view.message.contains("grant `create` and `patch` on `events` in namespace \"default\""), "{view:?}");
    bench.set(&[("A", ConditionStatus::True)]);
    server
        .until("the condition", |server| {
            server.seen("/nodes/").last().unwrap().body["status"]["conditions"][0]["status"] == "True"
        })
        .await;
    server.clear_script();
    delivered(&bench).await;
}

#[tokio::test]
async fn forbidden_conditions_do_not_stop_events() {
    let server = Server::start().await;
    server.script("/nodes/", std::iter::repeat_n(Reply::Status(403, json!({"message": "no"})), 1000));
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("the event", |server| server.events().len() == 1).await;
    assert_eq!(server.events()[0]["involvedObject"]["uid"], "n1");
    assert_eq!(bench.shared_state.view().apiserver.state, ApiserverState::Failing);
}

#[tokio::test]
async fn a_node_created_again_gets_events_of_its_own() {
    let server = Server::start().await;
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("one event", |server| server.events().len() == 1).await;
    server.set_uid("uid-2");
    delivered(&bench).await;
    let before = bench.shared_state.view().apiserver.last_success;
    bench.set(&[("A", ConditionStatus::True)]);
    bench.until("the answer was read", |view| view.last_success > before).await;
    bench.shared_state.events().extend([EventRecord { subject: Some("sdb".into()), ..record(2, "IOError") }]);
    server.until("the second event", |server| server.events().len() == 2).await;
    let uids: Vec<_> = server.seen(EVENTS).iter().map(|seen| seen.body["involvedObject"]["uid"].clone()).collect();
    assert_eq!(uids, ["uid-1", "uid-2"]);
}

#[tokio::test]
async fn an_event_the_server_refuses_is_dropped_counted_and_blocks_nothing() {
    for code in [400, 410, 413, 422] {
        let server = Server::start().await;
        server.script(EVENTS, [Reply::Status(code, json!({"message": "bad"}))]);
        let mut bench = bench(&server);
        bench.shared_state.events().extend([EventRecord { count: 5, ..record(1, "IOError") }, record(2, "AtaError")]);
        server.until("the next one", |server| server.events().len() == 1).await;
        assert_eq!((server.events()[0]["reason"].as_str(), bench.stats.dropped_events()), (Some("AtaError"), 5));
        bench.stop().await;
    }
}

#[tokio::test]
async fn rejected_events_are_reported_until_one_is_taken() {
    let server = Server::start().await;
    server.script(EVENTS, [Reply::Status(422, json!({"message": "too long"}))]);
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    let refused = |view: &ApiserverView| view.state == ApiserverState::Failing && view.undelivered == 0;
    let view = bench.until("the rejection is reported", refused).await;
    assert_eq!(view.message, "the newest Event is lost: the API server refused it (422): too long");
    bench.set(&[("A", ConditionStatus::True)]);
    server.until("conditions go on", |server| server.seen("/nodes/").len() >= 2).await;
    bench.shared_state.events().extend([record(2, "AtaError")]);
    server.until("the next one", |server| server.events().len() == 1).await;
    delivered(&bench).await;
}

#[tokio::test]
async fn every_passing_error_is_tried_again_until_the_event_is_there() {
    let replies = [
        Reply::Status(401, json!({})),
        Reply::Status(404, json!({"message": "namespaces \"default\" not found"})),
        Reply::RetryAfter(429, 0),
        Reply::Status(500, json!({})),
        Reply::RetryAfter(503, 0),
        Reply::Status(409, json!({"reason": "Conflict"})),
    ];
    let server = Server::start().await;
    server.script(EVENTS, replies);
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("the event", |server| server.events().len() == 1).await;
    delivered(&bench).await;
    let created: u64 =
        bench.stats.requests().iter().filter(|(kind, ..)| *kind == RequestKind::CreateEvent).map(|r| r.2).sum();
    assert_eq!((created, bench.stats.dropped_events()), (7, 0));
}

#[tokio::test]
async fn an_event_that_expired_on_the_server_is_made_again() {
    let server = Server::start().await;
    let bench = bench(&server);
    bench.shared_state.events().extend([record(1, "IOError")]);
    server.until("one event", |server| server.events().len() == 1).await;
    delivered(&bench).await;
    server.script(COUNTS, [Reply::Status(404, json!({"message": "no such event"}))]);
    server.script(EVENTS, [Reply::Status(201, json!({}))]);
    bench.shared_state.events().extend([record(2, "IOError")]);
    server.until("made again", |server| server.seen(EVENTS).len() == 2).await;
    assert_eq!(server.seen(EVENTS)[1].body["count"], 2);
}

#[tokio::test]
async fn what_fell_out_of_the_ring_before_we_came_is_counted() {
    let server = Server::start().await;
    let (shared_state, _commands) = SharedState::new("n1");
    let in_the_ring = EVENT_LOG_LIMIT as u64;
    shared_state.events().extend((1..=100 + in_the_ring).map(|id| record(id, "IOError")));
    let bench = bench(&server);
    bench.shared_state.events().extend(shared_state.events().since(0, EVENT_LOG_LIMIT));
    server.until("the event", |server| server.events().len() == 1).await;
    delivered(&bench).await;
    assert_eq!((server.events()[0]["count"].as_u64(), bench.stats.dropped_events()), (Some(in_the_ring), 100));
}

#[tokio::test]
async fn ids_that_go_on_from_an_earlier_run_are_no_loss() {
    let server = Server::start().await;
    let bench = bench(&server);
    bench.shared_state.events().extend([record(101, "IOError"), record(205, "IOError")]);
    server.until("counted", |server| server.events().first().is_some_and(|event| event["count"] == 2)).await;
    assert_eq!(bench.stats.dropped_events(), 0);
}

#[tokio::test]
async fn an_event_just_before_the_end_is_still_sent() {
    let server = Server::start().await;
    let mut bench = bench(&server);
    delivered(&bench).await;
    bench.shared_state.events().extend([record(1, "AgentStopped")]);
    bench.stop().await;
    assert_eq!(server.events().len(), 1);
}
