//! The Lease loop.

use nodewell_model::view::ApiserverState;
use serde_json::json;
use tokio::{sync::watch, time::sleep};

use super::{
    super::{
        control_loop::Shared,
        ends_within,
        lease::{DEADLINE_TO_ASK, run_until},
    },
    *,
};
use ConditionStatus::False;

const NODE: &str = "PATCH /api/v1/nodes/n1/status";
const LEASE: &str = "/namespaces/nodewell/leases";

fn with_lease(server: &Server, mode: LeaseMode) -> ApiserverConfig {
    let ms = Duration::from_millis;
    // It never runs out: what a busy machine delays must not make the loop resync.
    let lease = LeaseConfig { mode, renew: ms(40), lasts: 1_000_000, forbidden: ms(100), vanished: ms(10) };
    ApiserverConfig { lease, ..config(server.kubeconfig()) }
}

fn start(server: &Server, mode: LeaseMode) -> Bench {
    let bench = Bench::start(with_lease(server, mode));
    bench.set(&[("A", False)]);
    bench
}

fn renewals(server: &Server) -> usize {
    server.seen(&format!("PATCH /apis/coordination.k8s.io/v1{LEASE}/n1")).len()
}

fn owner(server: &Server) -> Option<String> {
    Some(server.lease()?["metadata"]["ownerReferences"][0]["uid"].as_str()?.to_owned())
}

#[tokio::test]
async fn a_lease_is_made_for_the_node_and_renewed_without_node_writes() {
    let server = Server::start().await;
    let _bench = start(&server, LeaseMode::Auto);
    server.until("renewals", |server| renewals(server) >= 4).await;
    let lease = server.lease().unwrap();
    assert_eq!(owner(&server).unwrap(), "uid-1");
    assert_eq!((&lease["spec"]["holderIdentity"], &lease["metadata"]["name"]), (&json!("n1"), &json!("n1")));
    assert!(lease["spec"]["renewTime"].as_str() > lease["spec"]["acquireTime"].as_str());
    assert_eq!(server.seen("POST").len(), 1);
    assert_eq!(server.seen(NODE).len(), 1);
    assert_eq!(server.seen("GET").len(), 0);
}

/// A machine that shuts down is busy: what announces it has longer than all else.
#[tokio::test(start_paused = true)]
async fn each_loop_has_its_own_time_after_the_stop() {
    let stop = watch::Sender::new(false);
    let ends = |grace, takes| {
        let mut stopped = stop.subscribe();
        ends_within(Duration::from_secs(grace), stop.subscribe(), async move {
            let _ = stopped.wait_for(|stops| *stops).await;
            sleep(Duration::from_secs(takes)).await;
        })
    };
    let before_the_stop = ends_within(Duration::ZERO, stop.subscribe(), sleep(Duration::from_secs(1)));
    let stops = async {
        sleep(Duration::from_secs(2)).await;
        stop.send_replace(true);
    };
    let ended = tokio::join!(ends(2, 5), ends(8, 5), before_the_stop, stops);
    assert_eq!((ended.0, ended.1, ended.2), (false, true, true));
}

#[test]
fn an_announcement_has_time_and_systemd_waits_for_it() {
    let unit = include_str!("../../../../../systemd/nodewell.service");
    let seconds = unit.lines().find_map(|line| line.strip_prefix("TimeoutStopSec=")?.strip_suffix('s')).unwrap();
    let systemd = Duration::from_secs(seconds.parse().unwrap());
    let whole = crate::daemon::SHUTDOWN_GRACE + 2 * crate::daemon::BEFORE_AND_AFTER;
    let announcement = ApiserverConfig::new(PathBuf::from("k"), "n1").announcement_grace;
    assert!(systemd > whole && crate::daemon::SHUTDOWN_GRACE > announcement && announcement > DEADLINE_TO_ASK);
    // All of the system's services stop beside it.
    assert!(DEADLINE_TO_ASK >= Duration::from_secs(5));
}

/// A renewal that is never answered, of an exporter that would wait for it longer than any test.
fn patient(server: &Server) -> ApiserverConfig {
    let long = Duration::from_secs(3600);
    ApiserverConfig { request_timeout: long, announcement_grace: long, ..with_lease(server, LeaseMode::Auto) }
}

async fn a_renewal_hangs(server: &Server) {
    server.until("renewals", |server| renewals(server) >= 2).await;
    server.script(LEASE, [Reply::Hang]);
    let before = renewals(server);
    server.until("one without an answer", |server| renewals(server) > before).await;
}

#[tokio::test]
async fn a_stop_waits_for_no_renewal_that_is_not_answered() {
    let server = Server::start().await;
    let mut bench = Bench::start(patient(&server));
    bench.set(&[("A", False)]);
    a_renewal_hangs(&server).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_shutdown_is_announced_amid_a_renewal_that_is_not_answered() {
    let server = Server::start().await;
    let (shared_state, _commands) = SharedState::new("n1");
    let handles =
        ExporterHandles { shared_state, stats: Arc::default(), notices: None, checkpoint: EventsCheckpoint::default() };
    let shared = Shared::new(patient(&server), handles);
    shared.learn_uid("uid-1".to_owned());
    let asked_at_the_stop = async {
        assert!(*shared.stop.borrow());
        Some("boot-1".to_owned())
    };
    let stops = async {
        a_renewal_hangs(&server).await;
        shared.stop.send_replace(true);
    };
    let ended = timeout(DEADLINE, async { tokio::join!(run_until(&shared, asked_at_the_stop), stops) }).await;
    assert!(ended.is_ok());
    assert_eq!(server.lease().unwrap()["metadata"]["annotations"]["nodewell.dev/shutdown"], "boot-1");
}

#[tokio::test]
async fn a_lease_from_before_is_taken_up_and_its_owner_put_right() {
    let server = Server::start().await;
    let mut bench = start(&server, LeaseMode::Auto);
    server.until("a lease", |server| server.lease().is_some()).await;
    bench.stop().await;
    server.set_uid("uid-2");
    let _bench = start(&server, LeaseMode::Auto);
    server.until("the new owner", |server| owner(server).as_deref() == Some("uid-2")).await;
    assert_eq!(server.seen("POST").len(), 1);
}

#[tokio::test]
async fn a_lease_that_has_gone_is_made_again_and_the_conditions_are_confirmed() {
    let server = Server::start().await;
    let _bench = start(&server, LeaseMode::Auto);
    server.until("renewals", |server| renewals(server) >= 2).await;
    // The Node was deleted, the garbage collector took its Lease, and the kubelet came back.
    server.set_uid("uid-2");
    server.delete_leases();
    server
        .until("confirmed, and made again", |server| {
            server.seen(NODE).len() >= 2 && owner(server).as_deref() == Some("uid-2")
        })
        .await;
}

#[tokio::test]
async fn a_lease_that_is_not_as_we_left_it_lets_the_conditions_be_confirmed() {
    let server = Server::start().await;
    let bench = start(&server, LeaseMode::Auto);
    server.until("renewals", |server| renewals(server) >= 6).await;
    assert_eq!(server.seen(NODE).len(), 1);
    server.touch_lease();
    let before = renewals(&server);
    server
        .until("confirmed, and renewed", |server| server.seen(NODE).len() >= 2 && renewals(server) > before + 2)
        .await;
    assert_eq!(bench.answers(409), 1);
}

#[tokio::test]
async fn a_renewal_whose_answer_was_swallowed_is_our_own() {
    let server = Server::start().await;
    let bench = start(&server, LeaseMode::Auto);
    server.until("renewals", |server| renewals(server) >= 4).await;
    server.script(&format!("PATCH /apis/coordination.k8s.io/v1{LEASE}"), [Reply::Swallowed(204)]);
    let before = renewals(&server);
    server.until("some more", |server| renewals(server) >= before + 4).await;
    assert_eq!((bench.answers(204), bench.answers(409)), (1, 0));
    assert_eq!(server.seen(NODE).len(), 1, "the conditions need no confirmation");
}

#[tokio::test]
async fn a_lease_that_ran_out_meanwhile_lets_the_conditions_be_confirmed() {
    let server = Server::start().await;
    let mut config = with_lease(&server, LeaseMode::Auto);
    config.lease.lasts = 0;
    let bench = Bench::start(config);
    bench.set(&[("A", False)]);
    server.until("confirmed", |server| server.seen(NODE).len() >= 2).await;
    assert_eq!((bench.answers(409), server.seen("POST").len()), (0, 1));
}

#[tokio::test]
async fn without_the_right_there_is_no_lease_and_no_complaint_and_it_is_tried_again() {
    let server = Server::start().await;
    server.script(LEASE, [Reply::Status(403, json!({"message": "no"}))]);
    let bench = start(&server, LeaseMode::Auto);
    server.until("refused", |server| renewals(server) == 1).await;
    let view = bench.until("connected", |view| view.state == ApiserverState::Connected).await;
    assert_eq!(view.message, "");
    server.until("tried again", |server| server.lease().is_some()).await;
}

#[tokio::test]
async fn a_lease_that_must_be_reports_what_to_grant() {
    let server = Server::start().await;
    server.script(LEASE, [Reply::Status(403, json!({"message": "no"}))]);
    let bench = start(&server, LeaseMode::Always);
    bench.until("reported", |view| view.message.contains("on `leases` in namespace \"nodewell\"")).await;
    bench.until("granted", |view| view.message.is_empty() && view.state == ApiserverState::Connected).await;
}

#[tokio::test]
async fn a_missing_namespace_is_as_good_as_forbidden() {
    let server = Server::start().await;
    server.script("POST", [Reply::Status(404, json!({"message": "namespaces \"nodewell\" not found"}))]);
    let bench = start(&server, LeaseMode::Always);
    bench.until("reported", |view| view.message.contains("namespaces \"nodewell\" not found")).await;
    server.until("made in the end", |server| server.lease().is_some()).await;
}

#[tokio::test]
async fn an_agent_that_wants_no_lease_has_none() {
    let server = Server::start().await;
    let heartbeat = Duration::from_millis(30);
    let bench = Bench::start(ApiserverConfig { heartbeat, ..with_lease(&server, LeaseMode::Never) });
    bench.set(&[("A", False)]);
    server.until("heartbeats", |server| server.seen(NODE).len() >= 4).await;
    assert_eq!(server.seen(LEASE).len(), 0);
}
