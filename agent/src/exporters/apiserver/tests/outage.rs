//! Nodes and servers that are not what they were.

use nodewell_model::view::ApiserverState;
use serde_json::{Value, json};

use super::*;
use ConditionStatus::{False, True};

const NODE: &str = "PATCH /api/v1/nodes/n1/status";

fn sent_conditions(server: &Server) -> Vec<Value> {
    let applies = server.seen(NODE).into_iter().filter(|seen| seen.content_type.contains("apply-patch"));
    applies.map(|seen| seen.body["status"]["conditions"].clone()).collect()
}

async fn connected(server: &Server, config: ApiserverConfig) -> Bench {
    let bench = Bench::start(config);
    bench.set(&[("A", True), ("B", False)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert_eq!(sent_conditions(server).len(), 1);
    bench
}

#[tokio::test]
async fn a_quiet_node_that_is_another_receives_everything_at_the_next_event() {
    let server = Server::start().await;
    let stale_after = Duration::ZERO;
    let bench = connected(&server, ApiserverConfig { stale_after, ..config(server.kubeconfig()) }).await;
    server.set_uid("uid-2");
    bench.shared_state.events().extend([super::events::record(1, "IOError")]);
    server.until("all is reported again", |server| sent_conditions(server).len() == 2).await;
    let stated = |list: &Value| list.as_array().unwrap().iter().map(|one| one["status"].clone()).collect::<Vec<_>>();
    assert_eq!(stated(&sent_conditions(&server)[1]), ["True", "False"]);
}

#[tokio::test]
async fn an_event_about_a_node_just_confirmed_asks_nothing() {
    let server = Server::start().await;
    let bench = connected(&server, config(server.kubeconfig())).await;
    bench.shared_state.events().extend([super::events::record(1, "IOError")]);
    server.until("the event", |server| server.events().len() == 1).await;
    assert_eq!(server.seen(NODE).len(), 1);
}

#[tokio::test]
async fn a_server_restored_from_a_backup_receives_everything_again() {
    let server = Server::start().await;
    let heartbeat = Duration::from_millis(200);
    let _bench = connected(&server, ApiserverConfig { heartbeat, ..config(server.kubeconfig()) }).await;
    server.until("some heartbeats", |server| sent_conditions(server).len() == 4).await;
    server.restore();
    let before = sent_conditions(&server).len();
    server.until("a heartbeat, and everything again", |server| sent_conditions(server).len() >= before + 2).await;
    let times = |at: usize| server.seen(NODE)[at].at;
    assert!(times(before + 1) - times(before) < heartbeat, "at once");
}

#[tokio::test]
async fn what_an_admission_policy_changes_is_reported() {
    let server = Server::start().await;
    server.alter(Some(json!([{"type": "A", "status": "False"}])));
    let heartbeat = Duration::from_millis(50);
    let bench = connected(&server, ApiserverConfig { heartbeat, ..config(server.kubeconfig()) }).await;
    let view = bench.until("it is reported", |view| view.message.contains("something else")).await;
    assert!(view.message.starts_with("A, B: "), "{view:?}");
    server.alter(None);
    bench.until("all is well again", |view| view.message.is_empty()).await;
    let accepts: Vec<_> = server.seen(NODE).into_iter().map(|seen| seen.accept == "application/json").collect();
    assert!(!accepts[0] && accepts[1], "a change is answered shortly, a heartbeat in full");
    assert!(!accepts.last().unwrap() || accepts.len() < 4, "once an hour is enough");
}

#[tokio::test]
async fn what_our_controller_wrote_about_a_silent_agent_is_ours_again() {
    let server = Server::start().await;
    let cause = |manager: &str, field: &str| json!({"reason": "FieldManagerConflict", "message": format!("conflict with \"{manager}\" using v1"), "field": field});
    let (ours, theirs) = (".status.conditions[type=\"A\"].status", ".status.conditions[type=\"B\"].status");
    let causes = [cause("nodewell-controller", ours), cause("npd", theirs)];
    let rest = [cause("nodewell-controller", ours)];
    let conflict = |causes: &[Value]| Reply::Status(409, json!({"reason": "Conflict", "details": {"causes": causes}}));
    server.script(NODE, [conflict(&causes), conflict(&rest)]);
    let bench = Bench::start(config(server.kubeconfig()));
    bench.set(&[("A", True), ("B", True)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    let forced: Vec<bool> = server.seen(NODE).iter().map(|seen| seen.path.contains("force=true")).collect();
    assert_eq!(forced, [false, false, true]);
    assert_eq!(sent_conditions(&server)[2][1].get("status"), None, "what others write is still theirs");
    assert_eq!(sent_conditions(&server)[2][0]["status"], "True");
}

#[tokio::test]
async fn a_silent_server_that_speaks_to_new_connections_again_is_noticed_by_them() {
    let server = Server::start().await;
    server.script(NODE, [Reply::Hang, Reply::Hang]);
    let request_timeout = Duration::from_secs(6);
    let bench = Bench::start(ApiserverConfig { request_timeout, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert_eq!(server.seen(NODE).len(), 3);
    assert_eq!(bench.answers(0), 1, "the second one was not waited for to its end");
}

#[tokio::test]
async fn after_an_answer_that_is_not_the_servers_everything_is_sent_once_more() {
    let server = Server::start().await;
    server.script(NODE, [Reply::Page(200, "<html>log in</html>")]);
    let late_effect = Duration::from_millis(50);
    let bench = Bench::start(ApiserverConfig { late_effect, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    server.until("the lost one, its repetition, and one more", |server| sent_conditions(server).len() == 3).await;
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
}

#[tokio::test]
async fn after_a_request_without_an_answer_everything_is_sent_once_more() {
    let server = Server::start().await;
    server.script(NODE, [Reply::Hang]);
    let (request_timeout, late_effect) = (Duration::from_millis(300), Duration::from_millis(50));
    let bench = Bench::start(ApiserverConfig { request_timeout, late_effect, ..config(server.kubeconfig()) });
    bench.set(&[("A", True)]);
    server.until("the lost one, its repetition, and one more", |server| sent_conditions(server).len() == 3).await;
    bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    bench.set(&[("A", True), ("B", False)]);
    server.until("a change, and no more", |server| sent_conditions(server).len() == 4).await;
}
