//! Silent agents in a cluster that answers, refuses, and changes between read and write.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use jiff::{SignedDuration, Timestamp};
use nodewell_remediation::{
    facts::{Condition, ConditionStatus, LeaseView, Node},
    snapshot::HostView,
    time::Moment,
};
use serde_json::{Value, json};
use tokio::{sync::watch, time::Instant};

use super::*;

const SPOKE: &str = "2026-01-01T00:00:00Z";

/// One Node's status on an API server: every write moves its version.
#[derive(Debug, Default)]
struct Server {
    version: u64,
    renewed: String,
    conditions: Vec<Value>,
    applied: Vec<(Instant, String)>,
    events: Vec<String>,
    /// Happens between the controller's read and its write.
    between: Option<fn(&mut Server)>,
    broken: Option<ApiError>,
}

impl Server {
    /// The agent's own apply: it takes everything back, whichever client wrote last under its name.
    fn agent_returns(&mut self) {
        self.version += 1;
        self.renewed = "2026-01-01T00:10:00Z".into();
        self.conditions = vec![condition("DiskUnhealthy", "False", "DiskFine")];
    }
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({ "type": kind, "status": status, "reason": reason, "message": "m",
        "lastTransitionTime": SPOKE, "lastHeartbeatTime": SPOKE })
}

#[derive(Debug, Clone)]
struct Double(Rc<RefCell<BTreeMap<String, Server>>>);

impl Double {
    fn new(count: usize) -> Self {
        let server = || Server {
            version: 1,
            renewed: SPOKE.into(),
            conditions: vec![condition("DiskUnhealthy", "True", "MediumError")],
            ..Server::default()
        };
        Self(Rc::new(RefCell::new((1..=count).map(|number| (format!("n{number}"), server())).collect())))
    }

    fn on<T>(&self, node: &str, change: impl FnOnce(&mut Server) -> T) -> T {
        change(self.0.borrow_mut().get_mut(node).unwrap())
    }

    fn status(&self, node: &str) -> String {
        self.on(node, |server| server.conditions[0]["status"].as_str().unwrap().to_owned())
    }
}

impl Conditions for Double {
    async fn read(&self, node: &str) -> Result<Option<Evidence>, ApiError> {
        let mut servers = self.0.borrow_mut();
        let Some(server) = servers.get_mut(node) else { return Ok(None) };
        if let Some(error) = server.broken.clone() {
            return Err(error);
        }
        let fields = json!({ "f:status": { "f:conditions": { "k:{\"type\":\"DiskUnhealthy\"}": {
            "f:type": {}, "f:status": {}, "f:reason": {}, "f:message": {} } } } });
        let status = StatusView {
            uid: format!("uid-{node}"),
            resource_version: server.version.to_string(),
            managed_fields: json!([{ "manager": "nodewell", "operation": "Apply", "subresource": "status",
                "fieldsV1": fields }]),
            conditions: server.conditions.iter().map(|one| one.as_object().unwrap().clone()).collect(),
        };
        let evidence = Evidence { status, lease: Some(server.renewed.parse().ok()) };
        if let Some(between) = server.between.take() {
            between(server);
        }
        Ok(Some(evidence))
    }

    async fn apply(&self, node: &str, status: &StatusView, set: &[RawCondition]) -> Result<(), ApiError> {
        self.on(node, |server| {
            if status.resource_version != server.version.to_string() {
                return Err(ApiError::Conflict("the object has been modified".into()));
            }
            server.version += 1;
            server.conditions = set.iter().cloned().map(Value::Object).collect();
            server.applied.push((Instant::now(), node.to_owned()));
            Ok(())
        })
    }

    async fn emit(&self, node: &str, _: &str, event: &EventDraft) {
        self.on(node, |server| server.events.push(event.reason.clone()));
    }
}

/// Nodes whose kubelets are heard at any time; the agents' Leases were last seen to move at `seen`.
fn snapshot(count: usize, seen: &dyn Fn(usize) -> u64) -> Snapshot {
    let mut snapshot =
        Snapshot { host: HostView { synced: true, ..HostView::default() }, epoch: 3, ..Snapshot::default() };
    for number in 1..=count {
        let name = format!("n{number}");
        let lease = |seen| LeaseView {
            resource_version: String::new(),
            holder: name.clone(),
            renewed: SPOKE.parse().ok(),
            duration: Duration::from_secs(240),
            change_seen_at: Moment(Duration::from_secs(seen)),
        };
        snapshot.nodes.insert(name.clone(), node(&name));
        snapshot.kubelet_leases.insert(name.clone(), lease(1_000_000));
        snapshot.agent_leases.insert(name.clone(), lease(seen(number)));
    }
    snapshot
}

fn node(name: &str) -> Node {
    let ready = Condition { kind: "Ready".into(), status: ConditionStatus::True, ..Condition::default() };
    Node {
        name: name.into(),
        uid: format!("uid-{name}"),
        resource_version: "1".into(),
        conditions: vec![ready],
        boot_id: "b".into(),
        ..Node::default()
    }
}

/// A clock that stands at 300 s and moves with the paused one.
fn clock() -> impl Fn() -> Now {
    let start = Instant::now();
    move || {
        let moment = Duration::from_secs(300) + start.elapsed();
        let wall: Timestamp = SPOKE.parse().unwrap();
        Now { moment: Moment(moment), wall: wall.checked_add(SignedDuration::try_from(moment).unwrap()).unwrap() }
    }
}

fn lease_deadline(until: u64) -> (watch::Sender<Moment>, LeaseDeadline) {
    let (sender, receiver) = watch::channel(Moment(Duration::from_secs(until)));
    (sender, LeaseDeadline::new(3, receiver))
}

fn reconciler(double: &Double) -> Liveness<Double> {
    Liveness::new(double.clone(), SilenceTimeouts::default(), Pace::default())
}

/// The first of three is silent.
fn one_of_three() -> Snapshot {
    snapshot(3, &|number| if number == 1 { 0 } else { 290 })
}

#[tokio::test(start_paused = true)]
async fn a_silent_agents_conditions_become_unknown_once() {
    let double = Double::new(3);
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let (clock, mut reconciler) = (clock(), reconciler(&double));
    reconciler.round(&one_of_three(), &clock, &lease_deadline).await;
    reconciler.round(&one_of_three(), &clock, &lease_deadline).await;
    assert_eq!(double.status("n1"), "Unknown");
    assert_eq!(double.status("n2"), "True");
    assert_eq!(double.on("n1", |server| (server.version, server.events.clone())), (2, vec!["AgentSilent".to_owned()]));
    assert_eq!(reconciler.counts(), Counts { marked_unknown: 1, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_returns_between_read_and_write_wins() {
    let double = Double::new(3);
    double.on("n1", |server| server.between = Some(Server::agent_returns));
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let mut reconciler = reconciler(&double);
    reconciler.round(&one_of_three(), &clock(), &lease_deadline).await;
    assert_eq!(double.status("n1"), "False", "its own report");
    assert_eq!(reconciler.counts(), Counts { conflicts: 1, ..Counts::default() });
    assert!(double.on("n1", |server| server.events.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_returned_before_the_read_is_not_written_over() {
    let double = Double::new(3);
    double.on("n1", Server::agent_returns);
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let mut reconciler = reconciler(&double);
    reconciler.round(&one_of_three(), &clock(), &lease_deadline).await;
    assert_eq!(double.status("n1"), "False");
    assert_eq!(reconciler.counts(), Counts::default());
}

#[tokio::test(start_paused = true)]
async fn a_returned_agent_takes_everything_back_and_may_fall_silent_again() {
    let double = Double::new(3);
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let (clock, mut reconciler) = (clock(), reconciler(&double));
    reconciler.round(&one_of_three(), &clock, &lease_deadline).await;
    double.on("n1", Server::agent_returns);
    assert_eq!(double.status("n1"), "False");
    // Its heartbeat is seen, and then nothing for a day.
    let mut later = one_of_three();
    let lease = later.agent_leases.get_mut("n1").unwrap();
    (lease.renewed, lease.change_seen_at) = ("2026-01-01T00:10:00Z".parse().ok(), Moment(Duration::from_secs(600)));
    tokio::time::advance(Duration::from_hours(24)).await;
    for number in 2..=3 {
        later.agent_leases.get_mut(&format!("n{number}")).unwrap().change_seen_at = clock().moment;
    }
    let (_keep, lease_deadline) = self::lease_deadline(999_999);
    reconciler.round(&later, &clock, &lease_deadline).await;
    assert_eq!(double.status("n1"), "Unknown");
    assert_eq!(reconciler.counts().marked_unknown, 2);
}

/// After a week, although its Lease shows that it is expected back.
#[tokio::test(start_paused = true)]
async fn what_an_agent_has_left_behind_is_collected_in_the_end() {
    let double = Double::new(3);
    let (_keep, lease_deadline) = lease_deadline(999_999);
    let (clock, mut reconciler) = (clock(), reconciler(&double));
    let mut cluster = one_of_three();
    reconciler.round(&cluster, &clock, &lease_deadline).await;
    tokio::time::advance(Duration::from_hours(24 * 7 + 1)).await;
    for number in 2..=3 {
        cluster.agent_leases.get_mut(&format!("n{number}")).unwrap().change_seen_at = clock().moment;
    }
    reconciler.round(&cluster, &clock, &lease_deadline).await;
    let (left, events) = double.on("n1", |server| (server.conditions.len(), server.events.clone()));
    assert_eq!((left, events), (0, vec!["AgentSilent".to_owned(), "AgentRemoved".to_owned()]));
    assert_eq!(reconciler.counts(), Counts { marked_unknown: 1, collected: 1, ..Counts::default() });
}

#[tokio::test(start_paused = true)]
async fn many_are_written_one_after_the_other() {
    let double = Double::new(50);
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let mut reconciler = reconciler(&double);
    let some = snapshot(50, &|number| if number <= 20 { 0 } else { 290 });
    let start = Instant::now();
    reconciler.round(&some, &clock(), &lease_deadline).await;
    assert_eq!(reconciler.counts().marked_unknown, 20);
    assert_eq!(start.elapsed(), Duration::from_millis(19 * 200));
}

#[tokio::test(start_paused = true)]
async fn more_than_half_at_once_is_blocked_and_nothing_is_even_read() {
    let double = Double::new(4);
    double.on("n1", |server| server.broken = Some(ApiError::NoAnswer("it was asked".into())));
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let mut reconciler = reconciler(&double);
    reconciler.round(&snapshot(4, &|number| if number <= 3 { 0 } else { 290 }), &clock(), &lease_deadline).await;
    assert!(reconciler.blocked().unwrap().starts_with("3 of 4 agents went silent"));
    assert_eq!(reconciler.counts(), Counts::default());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_tried_again_after_a_minute_and_the_others_go_on() {
    let double = Double::new(5);
    double.on("n1", |server| server.broken = Some(ApiError::NoAnswer("timeout".into())));
    let (_keep, lease_deadline) = lease_deadline(9_999);
    let (clock, mut reconciler) = (clock(), reconciler(&double));
    let two = snapshot(5, &|number| if number <= 2 { 0 } else { 290 });
    reconciler.round(&two, &clock, &lease_deadline).await;
    assert_eq!((double.status("n1"), double.status("n2")), ("True".into(), "Unknown".into()));
    assert_eq!(reconciler.counts(), Counts { marked_unknown: 1, failures: 1, ..Counts::default() });
    double.on("n1", |server| server.broken = None);
    reconciler.round(&two, &clock, &lease_deadline).await;
    assert_eq!(double.status("n1"), "True", "not at once");
    tokio::time::advance(Duration::from_mins(1)).await;
    reconciler.round(&two, &clock, &lease_deadline).await;
    assert_eq!(double.status("n1"), "Unknown");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_written_after_the_term() {
    let double = Double::new(3);
    let (_keep, over) = lease_deadline(300);
    let mut reconciler = reconciler(&double);
    reconciler.round(&one_of_three(), &clock(), &over).await;
    assert_eq!(double.status("n1"), "True");

    let (sender, lease_deadline) = lease_deadline(9_999);
    drop(sender);
    reconciler.run(one_of_three, clock(), lease_deadline, |_| {}).await;
    assert_eq!(double.status("n1"), "True", "it ends, and does nothing more");
}

#[tokio::test(start_paused = true)]
async fn it_runs_until_the_term_ends() {
    let double = Double::new(3);
    let (sender, lease_deadline) = lease_deadline(9_999);
    let mut reconciler = reconciler(&double);
    let end = async move {
        tokio::time::sleep(Duration::from_secs(25)).await;
        drop(sender);
    };
    let reported = RefCell::new(Vec::new());
    let run = reconciler
        .run(one_of_three, clock(), lease_deadline, |now| reported.borrow_mut().push(now.counts().marked_unknown));
    tokio::join!(run, end);
    assert_eq!(double.status("n1"), "Unknown");
    assert_eq!(double.on("n1", |server| server.applied.len()), 1);
    assert_eq!(*reported.borrow(), [1, 1, 1], "at 0, 10 and 20 s");
}
