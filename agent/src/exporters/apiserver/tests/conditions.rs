//! The conditions loop.

use nix::sys::inotify::{AddWatchFlags, InitFlags, Inotify};
use nodewell_model::view::ApiserverState;
use serde_json::{Value, json};

use super::{
    server::{ReceivedRequest, replace},
    *,
};
use crate::config::TakeOver;
use ConditionStatus::{False, True};

const NODE: &str = "PATCH /api/v1/nodes/n1/status";

fn conditions(seen: &ReceivedRequest) -> Vec<(String, String)> {
    let word = |condition: &Value, key: &str| condition[key].as_str().unwrap_or("-").to_owned();
    let list = seen.body["status"]["conditions"].as_array().unwrap();
    list.iter().map(|condition| (word(condition, "type"), word(condition, "status"))).collect()
}

fn last(server: &Server) -> Vec<(String, String)> {
    server.seen(NODE).last().map(conditions).unwrap_or_default()
}

fn has_status(server: &Server, name: &str, status: &str) -> bool {
    last(server).contains(&(name.to_owned(), status.to_owned()))
}

#[tokio::test]
async fn conditions_go_out_by_one_apply_and_ask_for_metadata_only() {
    let server = Server::start().await;
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", False), ("B", True)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    let seen = &server.seen(NODE)[0];
    assert_eq!(seen.content_type, "application/apply-patch+yaml");
    assert_eq!(seen.accept, "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json");
    assert_eq!(seen.authorization, "Bearer secret-1");
    assert!(seen.path.contains("fieldManager=nodewell&force=false"));
    assert_eq!(conditions(seen), [("A".into(), "False".into()), ("B".into(), "True".into())]);
    assert_eq!(server.seen("").len(), server.seen(NODE).len(), "no read before the write");
}

#[tokio::test]
async fn a_change_a_clearing_and_a_dropped_condition_reach_the_node() {
    let server = Server::start().await;
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", False), ("B", False)]);
    server.until("both", |server| last(server).len() == 2).await;
    bench.set(&[("A", True), ("B", False)]);
    server.until("raised", |server| has_status(server, "A", "True")).await;
    bench.set(&[("A", False), ("B", False)]);
    server.until("cleared", |server| has_status(server, "A", "False")).await;
    bench.set(&[("A", False)]);
    server.until("dropped", |server| last(server).len() == 1).await;
}

#[tokio::test]
async fn a_heartbeat_moves_only_the_heartbeat() {
    let server = Server::start().await;
    let heartbeat = Duration::from_millis(30);
    let bench = Bench::start(ApiserverConfig { heartbeat, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    server.until("three applies", |server| server.seen(NODE).len() >= 3).await;
    let without_heartbeat = |seen: &ReceivedRequest| {
        let mut condition = seen.body["status"]["conditions"][0].clone();
        assert!(condition["lastHeartbeatTime"].take().is_string());
        condition
    };
    let seen = server.seen(NODE);
    assert_eq!(without_heartbeat(&seen[0]), without_heartbeat(&seen[2]));
}

#[tokio::test]
async fn a_server_that_is_down_is_seen_and_its_return_is_used_at_once() {
    let mut server = Server::start().await;
    server.stop().await;
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", True)]);
    let view = bench.until("failing", |view| view.state == ApiserverState::Failing).await;
    assert!(view.message.contains("cannot reach the API server") && view.message.contains("refused"), "{view:?}");
    server.start_again().await;
    bench.until("connected", |view| view.state == ApiserverState::Connected && view.message.is_empty()).await;
    assert!(has_status(&server, "A", "True"));
}

#[tokio::test]
async fn a_half_open_server_costs_one_timeout_and_the_connection() {
    let server = Server::start().await;
    server.script(NODE, [Reply::Hang]);
    let request_timeout = Duration::from_millis(300);
    let bench = Bench::start(ApiserverConfig { request_timeout, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert!(bench.answers(0) >= 1 && bench.answers(200) == 1, "{:?}", bench.stats.requests());
}

#[tokio::test]
async fn other_writers_are_reported_and_not_fought() {
    let server = Server::start().await;
    let cause = |field: &str| {
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"npd\" with subresource \"status\" using v1",
            "field": format!(".status.conditions[type=\"A\"].{field}")})
    };
    let causes = ["status", "reason", "message", "lastTransitionTime", "lastHeartbeatTime"].map(cause);
    let conflict = json!({"reason": "Conflict", "details": {"causes": causes}});
    server.script(NODE, [Reply::Status(409, conflict)]);
    let mut bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", True), ("B", True)]);
    let view = bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert!(view.message.contains("A is also written by \"npd\""), "{view:?}");
    assert_eq!(last(&server), [("A".into(), "-".into()), ("B".into(), "True".into())]);
    let notice = Notice::ConditionConflict { condition: Name::fixed("A"), manager: "npd".into() };
    assert_eq!(bench.notices.recv().await, Some(notice));
}

#[tokio::test]
async fn a_writer_that_has_gone_silent_is_taken_over_from() {
    let server = Server::start().await;
    server.give_to_npd("A");
    server.alter(Some(json!([{"type": "A", "status": "False", "lastHeartbeatTime": "2026-01-02T03:04:05Z"}])));
    let (heartbeat, silence) = (Duration::from_millis(30), Duration::from_millis(200));
    let take_over = TakeOver::AfterSilence(silence);
    let mut bench = Bench::start(ApiserverConfig { heartbeat, take_over, ..config(server.kubeconfig()) });
    bench.set(&[("A", True), ("B", True)]);
    let condition = Name::fixed("A");
    let conflict = Notice::ConditionConflict { condition: condition.clone(), manager: "npd".into() };
    assert_eq!(bench.notices.recv().await, Some(conflict));
    assert_eq!(bench.notices.recv().await, Some(Notice::ConditionTakenOver { condition, silence }));
    server.alter(None);
    bench.until("no conflict", |view| view.message.is_empty()).await;
    let forced = server.seen("force=true");
    assert_eq!(
        forced.iter().map(conditions).collect::<Vec<_>>(),
        [vec![("A".into(), "Unknown".into()), ("B".into(), "True".into())]]
    );
    assert!(forced[0].at - server.seen("force=false")[1].at >= silence, "not before");
    // What is wanted follows, and the heartbeats after it force nothing and report nothing.
    let after = server.seen(NODE).len() + 3;
    server.until("heartbeats", |server| server.seen(NODE).len() >= after).await;
    assert_eq!(last(&server), [("A".into(), "True".into()), ("B".into(), "True".into())]);
    assert_eq!((server.seen("force=true").len(), bench.notices.try_recv().ok()), (1, None));
}

/// Not a heartbeat later: by then it may have come back.
#[tokio::test]
async fn a_take_over_follows_the_look_that_shows_the_silence() {
    let server = Server::start().await;
    server.give_to_npd("A");
    server.alter(Some(json!([{"type": "A", "status": "False", "lastHeartbeatTime": "2026-01-02T03:04:05Z"}])));
    let (heartbeat, silence) = (Duration::from_secs(1), Duration::from_millis(500));
    let take_over = TakeOver::AfterSilence(silence);
    let bench = Bench::start(ApiserverConfig { heartbeat, take_over, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    server.until("taken over", |server| !server.seen("force=true").is_empty()).await;
    let forced = server.seen("force=true").remove(0);
    let look = server.seen("force=false").into_iter().rfind(|seen| seen.at < forced.at).unwrap();
    assert_eq!(look.accept, "application/json", "a whole answer");
    assert!(forced.at - look.at < heartbeat / 2, "{:?}", forced.at - look.at);
}

#[tokio::test]
async fn a_node_that_changes_between_the_look_and_the_take_over_is_looked_at_again() {
    let server = Server::start().await;
    server.give_to_npd("A");
    server.overtake();
    server.alter(Some(json!([{"type": "A", "status": "False", "lastHeartbeatTime": "2026-01-02T03:04:05Z"}])));
    let (heartbeat, silence) = (Duration::from_millis(30), Duration::from_millis(100));
    let take_over = TakeOver::AfterSilence(silence);
    let mut bench = Bench::start(ApiserverConfig { heartbeat, take_over, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    let taken = Notice::ConditionTakenOver { condition: Name::fixed("A"), silence };
    while bench.notices.recv().await != Some(taken.clone()) {}
    let forced = server.seen("force=true");
    assert_eq!(forced.len(), 2);
    let between = |at| forced[0].at < at && at < forced[1].at;
    assert!(server.seen("force=false").iter().any(|seen| between(seen.at)), "not in a loop: the next look decides");
}

/// It may have been carried out: then the Node shows what nothing should show.
#[tokio::test]
async fn a_take_over_without_an_answer_is_followed_by_what_is_wanted() {
    let server = Server::start().await;
    server.give_to_npd("A");
    server.script("force=true", [Reply::Swallowed(502)]);
    server.alter(Some(json!([{"type": "A", "status": "False", "lastHeartbeatTime": "2026-01-02T03:04:05Z"}])));
    let (heartbeat, silence) = (Duration::from_secs(1), Duration::from_secs(1));
    let take_over = TakeOver::AfterSilence(silence);
    let bench = Bench::start(ApiserverConfig { heartbeat, take_over, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    server.until("taken over", |server| !server.seen("force=true").is_empty()).await;
    server.alter(None);
    let forced_at = server.seen("force=true")[0].at;
    server
        .until("what is wanted", |server| {
            has_status(server, "A", "True") && server.seen(NODE).last().unwrap().at > forced_at
        })
        .await;
    assert!(server.seen(NODE).last().unwrap().at - forced_at < heartbeat, "at once");
}

#[tokio::test]
async fn refused_credentials_are_read_again_from_disk() {
    let server = Server::start().await;
    server.script(NODE, std::iter::repeat_n(Reply::Status(401, json!({"message": "Unauthorized"})), 1000));
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", True)]);
    bench.until("failing", |view| view.message.contains("401")).await;
    server.write_kubeconfig("secret-2");
    server.until("new token", |server| server.seen(NODE).last().unwrap().authorization == "Bearer secret-2").await;
    server.clear_script();
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
}

#[tokio::test]
async fn new_credentials_are_used_without_a_rejection() {
    let server = Server::start().await;
    let heartbeat = Duration::from_millis(30);
    let bench = Bench::start(ApiserverConfig { heartbeat, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    server.write_kubeconfig("secret-2");
    server.until("new token", |server| server.seen(NODE).last().unwrap().authorization == "Bearer secret-2").await;
    assert_eq!(bench.answers(401), 0);
}

#[tokio::test]
async fn the_credentials_are_read_while_monitors_start() {
    let server = Server::start().await;
    let kubeconfig = server.kubeconfig();
    let inotify = Inotify::init(InitFlags::IN_CLOEXEC).unwrap();
    inotify.add_watch(&kubeconfig, AddWatchFlags::IN_CLOSE_NOWRITE).unwrap();
    let never = Duration::from_secs(3600);
    let waits =
        ApiserverConfig { start_grace: never, file_check: never, file_check_failing: never, ..config(kubeconfig) };
    let bench = Bench::start(waits);
    let (done, was_read) = oneshot::channel();
    // It waits until the file is closed by what has read it.
    std::thread::spawn(move || done.send(inotify.read_events().is_ok()));
    assert_eq!(timeout(DEADLINE, was_read).await.unwrap(), Ok(true));
    assert!(server.seen("").is_empty(), "no monitor has reported");
    bench.set(&[("A", False)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
}

#[tokio::test]
async fn a_missing_kubeconfig_is_waited_for() {
    let server = Server::start().await;
    let text = std::fs::read_to_string(server.kubeconfig()).unwrap();
    std::fs::remove_file(server.kubeconfig()).unwrap();
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", True)]);
    let view = bench.until("failing", |view| view.state == ApiserverState::Failing).await;
    assert!(view.message.contains("cannot use the kubeconfig"), "{view:?}");
    replace(&server.kubeconfig(), &text);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
}

#[tokio::test]
async fn every_other_answer_is_reported_and_tried_again() {
    let message = |text: &str| json!({"message": text});
    let cases = [
        (Reply::Status(403, message("no")), "grant `patch` on `nodes/status`"),
        (Reply::Status(404, message("no")), "Node \"n1\" does not exist"),
        (Reply::Status(409, json!({"reason": "Conflict"})), "409"),
        (Reply::Status(410, message("gone")), "refused it (410): gone"),
        (Reply::Status(422, message("bad")), "refused it (422): bad"),
        (Reply::RetryAfter(429, 0), "busy (429)"),
        (Reply::Status(500, message("etcd")), "failed (500): etcd"),
        (Reply::RetryAfter(503, 0), "busy (503)"),
    ];
    for (reply, expected) in cases {
        let server = Server::start().await;
        server.script(NODE, [reply]);
        let mut bench = Bench::start(config(server.kubeconfig()));
        bench.set(&[("A", True)]);
        bench.until(expected, |view| view.message.contains(expected)).await;
        bench.until("connected", |view| view.state == ApiserverState::Connected).await;
        bench.stop().await;
    }
}

fn written(server: &Server) -> Vec<ReceivedRequest> {
    server.seen(NODE).into_iter().filter(|seen| !seen.path.contains("dryRun")).collect()
}

#[tokio::test]
async fn a_refused_condition_does_not_hold_the_others_up() {
    let server = Server::start().await;
    server.refuse(&["C", "F"]);
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&["A", "B", "C", "D", "E", "F", "G"].map(|name| (name, False)));
    let view = bench.until("reported", |view| view.message.contains("C (") && view.last_success.is_some()).await;
    let expected = "not on the Node, because the API server refuses it: \
        C (the API server refused it (422): denied by policy), F (the API server refused it (422): denied by policy)";
    assert_eq!((view.state, view.message.as_str()), (ApiserverState::Failing, expected));
    let types = |seen: &ReceivedRequest| conditions(seen).into_iter().map(|(name, _)| name).collect::<String>();
    assert_eq!(written(&server).iter().map(types).collect::<Vec<_>>(), ["ABCDEFG", "ABDEG"]);
    let asked = server.seen(NODE).len();
    bench.set(&["A", "B", "C", "D", "E", "F", "G"].map(|name| (name, if name == "A" { True } else { False })));
    server.until("a change of another", |server| has_status(server, "A", "True")).await;
    assert_eq!(server.seen(NODE).len(), asked + 1, "the same content is not tried again");
    server.refuse(&["F"]);
    bench.set(&["A", "B", "C", "D", "E", "F", "G"].map(|name| (name, True)));
    bench.until("C is taken", |view| view.message.contains("F (") && !view.message.contains("C (")).await;
    assert_eq!(written(&server).last().map(types).unwrap(), "ABCDEG");
}

#[tokio::test]
async fn a_server_that_refuses_each_of_them_loses_none_of_what_it_has() {
    let server = Server::start().await;
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", False), ("B", False)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    server.refuse(&["A", "B"]);
    bench.set(&[("A", True), ("B", True)]);
    bench.until("failing", |view| view.message.contains("denied by policy")).await;
    assert!(written(&server).iter().all(|seen| conditions(seen).len() == 2));
    server.refuse(&[]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert!(has_status(&server, "A", "True"));
}

#[tokio::test]
async fn a_server_without_metadata_answers_is_asked_plainly() {
    let server = Server::start().await;
    server.script(NODE, [Reply::Status(406, json!({"reason": "NotAcceptable"}))]);
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", True)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert_eq!(server.seen(NODE)[1].accept, "application/json");
}

#[tokio::test]
async fn what_is_due_is_sent_before_the_end() {
    let server = Server::start().await;
    let bench = &mut Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", False)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    bench.set(&[("A", True)]);
    bench.stop().await;
    assert!(has_status(&server, "A", "True"));
}

#[tokio::test]
async fn withdrawing_applies_an_empty_set() {
    let server = Server::start().await;
    let config = config(server.kubeconfig());
    super::super::withdraw(&config).await.unwrap();
    assert_eq!(last(&server), []);
    assert_eq!(server.seen(NODE)[0].body["status"]["conditions"], json!([]));
    server.script(NODE, [Reply::Status(403, json!({"message": "no"}))]);
    assert!(super::super::withdraw(&config).await.unwrap_err().to_string().contains("n1"));
}
