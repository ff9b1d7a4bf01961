//! One function for each thing that the reconcilers rely on.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use nodewell_controller::{
    feed::{Feed, Source},
    kube::{HOLD_CONFIG_MAP, KubeCluster},
};
use nodewell_reconcile::{
    cluster::{Cluster, Leadership, LeaseKind},
    failure::Failure,
};
use nodewell_remedy::{
    action::Telling,
    api::{
        Meta,
        fence::{Entry, NodeFence, NodeFenceSpec, NodeFenceStatus, Phase},
        policy::{CordonStep, RemedyPolicy, StepSpec},
    },
    facts::{Effect, LeaseView, Node, Pod, PodRef, Taint},
};
use serde_json::{Value, json};

use crate::server::Server;

pub(crate) type Case = fn(Arc<Server>) -> Pin<Box<dyn Future<Output = ()>>>;

macro_rules! cases {
    ($($name:ident),* $(,)?) => {
        pub(crate) const ALL: &[(&str, $crate::cases::Case)] =
            &[$((stringify!($name), |server| Box::pin($name(server)))),*];
    };
}
pub(crate) use cases;

cases![
    a_taint_comes_and_goes_beside_others,
    taints_set_at_once_are_all_there,
    only_our_cordon_is_taken_back,
    another_node_of_the_name_is_left_alone,
    a_record_is_saved_by_compare_and_swap,
    a_record_does_not_change_but_for_abort,
    a_step_is_of_one_kind,
    a_budget_blocks_and_names_itself,
    another_pod_of_the_name_is_neither_evicted_nor_deleted,
    pods_of_a_node_come_with_their_claims,
    leadership_is_taken_by_one,
    an_event_is_counted,
    the_kill_switch_stops,
    a_lease_is_read_in_its_place,
    no_server_is_no_answer,
    watches_pour_what_happens,
    people_see_the_plan_hold_and_abort,
    the_program_leads_cordons_and_stops_when_told,
];

pub(crate) async fn admin(server: &Server, verb: &str, path: &str, body: Value) -> Value {
    let wire = server.cluster("admin").await.wire().clone();
    match verb {
        "create" => wire.create(path, &body).await,
        "replace" => wire.replace(path, &body).await,
        _ => wire.merge(path, &body).await,
    }
    .unwrap()
}

/// A Node, and its UID.
pub(crate) async fn make_node(server: &Server, name: &str) -> String {
    let body = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name } });
    let node = admin(server, "create", "/api/v1/nodes", body).await;
    node["metadata"]["uid"].as_str().unwrap().to_owned()
}

pub(crate) fn taint(key: &str) -> Taint {
    Taint { key: key.into(), value: "x".into(), effect: Effect::NoSchedule }
}

async fn a_taint_comes_and_goes_beside_others(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "tainted").await;
    assert!(server.kubectl(&["taint", "node", "tainted", "person=here:NoExecute"]));
    for _ in 0..2 {
        cluster.taint("tainted", &uid, &taint("nodewell.dev/remedy")).await.unwrap();
    }
    assert_eq!(keys(&cluster, "tainted").await, ["nodewell.dev/remedy", "person"]);
    cluster.untaint("tainted", &uid, &taint("nodewell.dev/remedy")).await.unwrap();
    assert_eq!(keys(&cluster, "tainted").await, ["person"]);
}

/// Without what the server sets itself.
async fn keys(cluster: &KubeCluster, node: &str) -> Vec<String> {
    let node = cluster.node(node).await.unwrap().unwrap();
    let mut keys: Vec<String> = node.taints.into_iter().map(|taint| taint.key).collect();
    keys.retain(|key| !key.starts_with("node.kubernetes.io/"));
    keys.sort();
    keys
}

async fn taints_set_at_once_are_all_there(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "busy").await;
    let (a, b, c) = (taint("a"), taint("b"), taint("c"));
    let outcomes =
        tokio::join!(cluster.taint("busy", &uid, &a), cluster.taint("busy", &uid, &b), cluster.taint("busy", &uid, &c));
    assert_eq!(outcomes, (Ok(()), Ok(()), Ok(())));
    assert_eq!(keys(&cluster, "busy").await, ["a", "b", "c"]);
}

async fn only_our_cordon_is_taken_back(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "cordoned").await;
    // The server keeps who wrote what once somebody has applied something, as agents do with their conditions.
    let applied =
        json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "cordoned", "labels": { "a": "b" } } });
    server.apply(&applied.to_string()).unwrap();
    let is_cordoned = async || cluster.node("cordoned").await.unwrap().unwrap().unschedulable;
    assert_eq!(cluster.cordon("cordoned", &uid, "p").await, Ok(true));
    assert_eq!(cluster.cordon("cordoned", &uid, "p").await, Ok(true));
    assert!(is_cordoned().await);
    assert_eq!(cluster.uncordon("cordoned", &uid, "q").await, Ok(false));
    assert_eq!(cluster.uncordon("cordoned", &uid, "p").await, Ok(true));
    assert!(!is_cordoned().await);
    // A person's own cordon stays, with our mark left from before or not.
    assert_eq!(cluster.cordon("cordoned", &uid, "p").await, Ok(true));
    assert!(server.kubectl(&["uncordon", "cordoned"]) && server.kubectl(&["cordon", "cordoned"]));
    assert_eq!(cluster.uncordon("cordoned", &uid, "p").await, Ok(false));
    assert!(is_cordoned().await);
}

async fn another_node_of_the_name_is_left_alone(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    make_node(&server, "reborn").await;
    let gone = "00000000-0000-0000-0000-000000000000";
    assert_eq!(cluster.taint("reborn", gone, &taint("a")).await, Err(Failure::NotFound));
    assert_eq!(cluster.cordon("reborn", gone, "p").await, Err(Failure::NotFound));
    assert_eq!(cluster.cordon("never-there", gone, "p").await, Err(Failure::NotFound));
    assert_eq!(cluster.node("never-there").await, Ok(None));
}

pub(crate) fn fence(name: &str) -> NodeFence {
    NodeFence {
        metadata: Meta { name: name.into(), ..Meta::default() },
        spec: NodeFenceSpec {
            node_name: name.into(),
            node_uid: "u".into(),
            policy: "p".into(),
            steps: vec![StepSpec { cordon: Some(CordonStep {}), ..StepSpec::default() }],
            ..NodeFenceSpec::default()
        },
        status: NodeFenceStatus::default(),
    }
}

async fn a_record_is_saved_by_compare_and_swap(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let opened = cluster.open(&fence("fenced")).await.unwrap();
    assert!(matches!(cluster.open(&fence("fenced")).await, Err(Failure::Conflict(_))));
    let mut next = opened.clone();
    next.status.phase = Phase::Isolating;
    next.status.journal = vec![Entry { at: jiff::Timestamp::UNIX_EPOCH, epoch: 3, text: "cordoned".into() }];
    let saved = cluster.save(&next).await.unwrap();
    assert_eq!((saved.status.phase, saved.status.journal.len()), (Phase::Isolating, 1));
    assert_eq!(cluster.fence("fenced").await.unwrap().unwrap(), saved);
    assert!(matches!(cluster.save(&next).await, Err(Failure::Conflict(_))), "a stale version wins");
    assert!(matches!(cluster.close(&opened).await, Err(Failure::Conflict(_))), "a stale version closes");
    cluster.close(&saved).await.unwrap();
    let again = cluster.open(&fence("fenced")).await.unwrap();
    assert!(matches!(cluster.save(&saved).await, Err(Failure::NotFound | Failure::Conflict(_))));
    assert_eq!(cluster.close(&saved).await.map_err(|failure| failure.is_certain()), Err(true));
    cluster.close(&again).await.unwrap();
    assert_eq!(cluster.close(&again).await, Err(Failure::NotFound));
    assert_eq!(cluster.fence("fenced").await, Ok(None));
    assert!(matches!(cluster.save(&fence("fenced")).await, Err(Failure::Refused { .. })), "a write without a version");
}

async fn a_record_does_not_change_but_for_abort(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    cluster.open(&fence("fixed")).await.unwrap();
    for change in ["{\"policy\":\"other\"}", "{\"policy\":null}", "{\"nodeUID\":\"v\"}", "{\"steps\":null}"] {
        let patch = format!("{{\"spec\":{change}}}");
        let refused = server.kubectl_says(&["patch", "nodefence", "fixed", "--type=merge", "-p", &patch]);
        assert!(
            refused.as_ref().is_err_and(|why| why.contains("change") || why.contains("stays")),
            "{change}: {refused:?}"
        );
    }
    assert!(server.kubectl(&["patch", "nf", "fixed", "--type=merge", "-p", "{\"spec\":{\"abort\":true}}"]));
    assert!(cluster.fence("fixed").await.unwrap().unwrap().spec.abort);
    assert!(!server.kubectl(&["patch", "nf", "fixed", "--type=merge", "-p", "{\"spec\":{\"abort\":false}}"]));
    let columns = server.kubectl_says(&["get", "nf", "fixed"]).unwrap();
    assert!(columns.starts_with("NAME    PHASE   STEP   STATUS   POLICY   HOLD   AGE"), "{columns}");
    let other_name = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFence",
        "metadata": { "name": "a" }, "spec": { "nodeName": "b", "nodeUID": "u" } });
    assert!(server.apply(&other_name.to_string()).unwrap_err().contains("named like its node"));
}

async fn a_step_is_of_one_kind(server: Arc<Server>) {
    let policy = |steps: Value| {
        let text = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemedyPolicy", "metadata": { "name": "p" },
            "spec": { "when": "true", "steps": steps, "budget": { "maxUnavailable": "10%" } } });
        server.apply(&text.to_string())
    };
    policy(json!([{ "cordon": {} }, { "drain": {}, "thenWait": "1h30m" }, { "powerCycle": {} }])).unwrap();
    for wrong in [json!([{ "cordon": {}, "drain": {} }]), json!([{ "thenWait": "5m" }]), json!([])] {
        assert!(policy(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(policy(json!([{ "cordon": {}, "thenWait": "soon" }])).is_err());
}

async fn make_pod(server: &Server, name: &str, node: &str, extra: Value) -> PodRef {
    let mut body = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": name, "namespace": "default", "labels": { "app": name } },
        "spec": { "nodeName": node, "containers": [{ "name": "c", "image": "none" }] },
    });
    for (key, value) in extra.as_object().unwrap() {
        body["spec"][key] = value.clone();
    }
    let made = admin(server, "create", "/api/v1/namespaces/default/pods", body).await;
    let uid = made["metadata"]["uid"].as_str().unwrap().to_owned();
    let status = json!({ "status": { "phase": "Running", "conditions": [{ "type": "Ready", "status": "True" }] } });
    admin(server, "merge", &format!("/api/v1/namespaces/default/pods/{name}/status"), status).await;
    PodRef { namespace: "default".into(), name: name.into(), uid }
}

/// As the disruption controller would, which is not here.
async fn make_budget(server: &Server, app: &str) {
    let collection = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let body = json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": { "name": app },
        "spec": { "minAvailable": 1, "selector": { "matchLabels": { "app": app } } } });
    admin(server, "create", collection, body).await;
    let status = json!({ "status": { "observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1,
        "desiredHealthy": 1, "expectedPods": 1 } });
    admin(server, "merge", &format!("{collection}/{app}/status"), status).await;
}

async fn a_budget_blocks_and_names_itself(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let guarded = make_pod(&server, "guarded", "draining", json!({})).await;
    make_budget(&server, "guarded").await;
    let blocked = cluster.evict(&guarded, None).await;
    assert!(matches!(&blocked, Err(Failure::Blocked { message, .. }) if message.contains("guarded")), "{blocked:?}");
    let pod: Pod = cluster.pod(&guarded).await.unwrap().unwrap();
    let budgets = cluster.budgets_of(&pod).await.unwrap();
    assert_eq!((budgets.len(), budgets[0].name.as_str(), budgets[0].disruptions_allowed), (1, "guarded", 0));
    let free = make_pod(&server, "free", "draining", json!({})).await;
    cluster.evict(&free, Some(Duration::ZERO)).await.unwrap();
    assert_eq!(cluster.pod(&free).await, Ok(None));
    assert_eq!(cluster.evict(&free, None).await, Err(Failure::NotFound));
}

async fn another_pod_of_the_name_is_neither_evicted_nor_deleted(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let there = make_pod(&server, "again", "draining", json!({})).await;
    let before = PodRef { uid: "00000000-0000-0000-0000-000000000000".into(), ..there.clone() };
    assert_eq!(cluster.evict(&before, None).await, Err(Failure::NotFound));
    assert_eq!(cluster.delete_pod(&before, Some(Duration::ZERO)).await, Err(Failure::NotFound));
    assert_eq!(cluster.pod(&before).await, Ok(None));
    assert!(cluster.pod(&there).await.unwrap().is_some());
    cluster.delete_pod(&there, Some(Duration::ZERO)).await.unwrap();
    assert_eq!(cluster.pod(&there).await, Ok(None));
}

async fn pods_of_a_node_come_with_their_claims(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let class = json!({ "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": "fast" },
        "provisioner": "disks.example.com" });
    admin(&server, "create", "/apis/storage.k8s.io/v1/storageclasses", class).await;
    let claim = json!({ "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data" },
        "spec": { "accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": { "requests": { "storage": "1Gi" } } } });
    admin(&server, "create", "/api/v1/namespaces/default/persistentvolumeclaims", claim).await;
    let volumes = json!({ "volumes": [
        { "name": "a", "persistentVolumeClaim": { "claimName": "data" } },
        { "name": "b", "persistentVolumeClaim": { "claimName": "nobodys" } },
    ] });
    make_pod(&server, "storing", "storage-node", volumes).await;
    make_pod(&server, "elsewhere", "other-node", json!({})).await;
    let pods = cluster.pods_on("storage-node").await.unwrap();
    assert_eq!(pods.len(), 1);
    use nodewell_remedy::facts::{Claim, Volume};
    let known = Claim {
        name: "data".into(),
        storage_class: Some("fast".into()),
        driver: Some("disks.example.com".into()),
        one_node_only: Some(true),
    };
    let unknown = Claim { name: "nobodys".into(), ..Claim::default() };
    assert_eq!(pods[0].volumes[..2], [Volume::Claim(known), Volume::Claim(unknown)]);
    assert_eq!(cluster.attachments_on("storage-node").await, Ok(Vec::new()));
}

async fn leadership_is_taken_by_one(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    assert_eq!(cluster.leadership().await, Ok(None));
    let now = Some(jiff::Timestamp::now());
    let mine = Leadership {
        holder: "a".into(),
        duration: Duration::from_secs(15),
        acquired: now,
        renewed: now,
        transitions: 1,
        annotations: [("nodewell.dev/sees".to_owned(), "{}".to_owned())].into(),
        ..Leadership::default()
    };
    let stored = cluster.lead(&mine).await.unwrap();
    assert!(matches!(cluster.lead(&mine).await, Err(Failure::Conflict(_))), "made twice");
    let renewed = cluster.lead(&Leadership { transitions: 2, ..stored.clone() }).await.unwrap();
    assert!(matches!(cluster.lead(&stored).await, Err(Failure::Conflict(_))), "a stale version leads");
    assert_eq!(cluster.leadership().await.unwrap().unwrap(), renewed);
    assert_eq!((renewed.transitions, renewed.annotations.len()), (2, 1));
}

async fn an_event_is_counted(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "told").await;
    for _ in 0..3 {
        cluster.tell("told", &uid, &Telling::warning("RemedyHeld", "the budget of zone a is used up")).await;
    }
    let said = server.kubectl_says(&["describe", "node", "told"]).unwrap();
    assert!(said.contains("RemedyHeld") && said.contains("x3") && said.contains("zone a is used up"), "{said}");
}

async fn the_kill_switch_stops(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    assert_eq!(cluster.stopped().await, Ok(None));
    let create = ["-n", "nodewell", "create", "configmap", HOLD_CONFIG_MAP, "--from-literal=reason=rack 4"];
    assert!(server.kubectl(&create));
    assert!(cluster.stopped().await.unwrap().unwrap().ends_with("rack 4"));
    assert!(server.kubectl(&["-n", "nodewell", "delete", "configmap", HOLD_CONFIG_MAP]));
    assert_eq!(cluster.stopped().await, Ok(None));
    assert!(server.kubectl(&["-n", "nodewell", "create", "secret", "generic", "s", "--from-literal=password=p w"]));
    assert_eq!(cluster.secret("s").await.unwrap().unwrap()["password"], b"p w");
    assert_eq!(cluster.secret("none").await, Ok(None));
}

async fn a_lease_is_read_in_its_place(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "leased" },
        "spec": { "holderIdentity": "leased", "leaseDurationSeconds": 40, "renewTime": "2026-01-02T03:04:05.000006Z" } });
    admin(&server, "create", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases", lease).await;
    let view = cluster.lease(LeaseKind::Kubelet, "leased").await.unwrap().unwrap();
    assert_eq!((view.holder.as_str(), view.duration), ("leased", Duration::from_secs(40)));
    assert_eq!(cluster.lease(LeaseKind::Agent, "leased").await, Ok(None));
}

async fn no_server_is_no_answer(server: Arc<Server>) {
    let _ = &server;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kubeconfig");
    let nobody = json!({ "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": "http://127.0.0.1:1" } }], "users": [{ "name": "c", "user": {} }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "c" } }] });
    std::fs::write(&path, nobody.to_string()).unwrap();
    let requests = Arc::default();
    let client = nodewell_controller::kube::connect(Some(&path), Arc::clone(&requests)).await.unwrap();
    let cluster = KubeCluster::new(client, crate::server::clock(), crate::server::settings());
    let failure = cluster.node("n").await.unwrap_err();
    assert!(matches!(&failure, Failure::NoAnswer(why) if why.contains("GET /api/v1/nodes/n")), "{failure}");
    assert_eq!(requests.so_far(), [(0, 1)].into());
}

/// What came, in words.
#[derive(Clone, Default)]
struct Seen(std::rc::Rc<std::cell::RefCell<std::collections::BTreeSet<String>>>);

impl Seen {
    fn note(&self, word: String) {
        self.0.borrow_mut().insert(word);
    }

    async fn wait(&self, word: &str) {
        let seen = || self.0.borrow().contains(word);
        let come = async {
            while !seen() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(
            tokio::time::timeout(Duration::from_secs(20), come).await.is_ok(),
            "no {word} in {:?}",
            self.0.borrow()
        );
    }
}

impl Feed for Seen {
    fn apply_node(&self, node: Node) {
        self.note(format!("node {} {}", node.name, if node.unschedulable { "cordoned" } else { "open" }));
    }
    fn remove_node(&self, name: &str) {
        self.note(format!("node {name} gone"));
    }
    fn apply_lease(&self, kind: LeaseKind, node: &str, _: LeaseView) {
        self.note(format!("lease {kind:?} {node}"));
    }
    fn remove_lease(&self, kind: LeaseKind, node: &str) {
        self.note(format!("lease {kind:?} {node} gone"));
    }
    fn apply_fence(&self, fence: NodeFence) {
        self.note(format!("fence {} {:?}", fence.metadata.name, fence.status.phase));
    }
    fn remove_fence(&self, name: &str, uid: &str) {
        assert!(!uid.is_empty());
        self.note(format!("fence {name} gone"));
    }
    fn apply_policy(&self, policy: &RemedyPolicy) {
        self.note(format!("policy {}", policy.metadata.name));
    }
    fn apply_unreadable_policy(&self, name: &str, _: String) {
        self.note(format!("policy {name} unreadable"));
    }
    fn remove_policy(&self, name: &str) {
        self.note(format!("policy {name} gone"));
    }
    fn apply_events(&self, node: &str, reason: &str, _: u64) {
        self.note(format!("event {node} {reason}"));
    }
    fn listed(&self, source: Source, _: &std::collections::BTreeSet<String>) {
        self.note(format!("listed {source:?}"));
    }
    fn heard(&self, source: Source) {
        self.note(format!("heard {source:?}"));
    }
    fn lost(&self, source: Source) {
        self.note(format!("lost {source:?}"));
    }
}

async fn watches_pour_what_happens(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let uid = make_node(&server, "watched").await;
    let seen = Seen::default();
    let watches = nodewell_controller::watch::run(cluster.wire(), seen.clone(), cluster.clock(), "nodewell");
    let story = async {
        for source in ["Nodes", "KubeletLeases", "AgentLeases", "Fences", "Policies"] {
            seen.wait(&format!("listed {source}")).await;
        }
        seen.wait("node watched open").await;
        cluster.cordon("watched", &uid, "p").await.unwrap();
        seen.wait("node watched cordoned").await;
        let opened = cluster.open(&fence("watched")).await.unwrap();
        seen.wait("fence watched Pending").await;
        cluster.close(&opened).await.unwrap();
        seen.wait("fence watched gone").await;
        let lease =
            json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "watched" } });
        admin(&server, "create", "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases", lease).await;
        seen.wait("lease Agent watched").await;
        let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemedyPolicy", "metadata": { "name": "w" },
            "spec": { "when": "has(events.Rebooted)", "steps": [{ "cordon": {} }] } });
        server.apply(&policy.to_string()).unwrap();
        seen.wait("policy w").await;
        // Events are watched from now on, as a policy asks for them.
        let told = async {
            for count in 0.. {
                cluster.tell("watched", &uid, &Telling::normal("Rebooted", format!("for the {count} time"))).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::select! {
            () = told => {}
            () = seen.wait("event watched Rebooted") => {}
        }
        assert!(server.kubectl(&["delete", "remedypolicy", "w"]) && server.kubectl(&["delete", "node", "watched"]));
        seen.wait("policy w gone").await;
        seen.wait("node watched gone").await;
    };
    tokio::select! {
        () = watches => {}
        () = story => {}
    }
}

/// The program itself, as an administrator; what it prints, with its exit code.
fn program(server: &Server, words: &[&str]) -> (Option<i32>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("admin")).args(words);
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

async fn people_see_the_plan_hold_and_abort(server: Arc<Server>) {
    make_node(&server, "planned").await;
    let (code, plan) = program(&server, &["plan"]);
    assert_eq!(code, Some(0), "{plan}");
    assert!(plan.contains("dry run") && !plan.contains('\u{1b}'), "{plan}");
    let (code, one) = program(&server, &["plan", "--node", "planned"]);
    assert!(code == Some(0) && one.contains("If planned failed now"), "{one}");
    assert_eq!(program(&server, &["plan", "--node", "nobody"]).0, Some(70));
    let (_, json) = program(&server, &["plan", "--json"]);
    assert!(serde_json::from_str::<Value>(&json).unwrap()["nodes"].is_array(), "{json}");
    assert_eq!(program(&server, &["hold", "rack 4"]).0, Some(0));
    assert!(program(&server, &["plan"]).1.starts_with("stopped: ConfigMap nodewell/nodewell-hold: rack 4\n"));
    assert_eq!(program(&server, &["hold", "rack 5"]).0, Some(0));
    assert_eq!(program(&server, &["release"]).0, Some(0));
    assert_eq!(program(&server, &["abort", "planned"]).0, Some(70));
    let cluster = server.cluster("controller").await;
    cluster.open(&fence("planned")).await.unwrap();
    assert_eq!(program(&server, &["abort", "planned"]).0, Some(0));
    assert!(cluster.fence("planned").await.unwrap().unwrap().spec.abort);
}

/// The program as a service, ended with the case.
struct Service(std::process::Child);

impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let come = async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(60), come).await.is_ok(), "not {what}");
}

async fn page(port: u16, path: &str) -> String {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let Ok(mut stream) = tokio::net::TcpStream::connect(("127.0.0.1", port)).await else { return String::new() };
    let ask = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let mut text = String::new();
    if stream.write_all(ask.as_bytes()).await.is_ok() {
        let _ = stream.read_to_string(&mut text).await;
    }
    text
}

async fn the_program_leads_cordons_and_stops_when_told(server: Arc<Server>) {
    let uid = make_node(&server, "faulty").await;
    let condition = json!({ "status": { "conditions": [{ "type": "GpuUnhealthy", "status": "True", "reason": "Lost" },
        { "type": "Ready", "status": "True", "reason": "KubeletReady" }] } });
    admin(&server, "merge", "/api/v1/nodes/faulty/status", condition).await;
    let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemedyPolicy", "metadata": { "name": "gpu" },
        "spec": { "mode": "Enforce", "newNodeGrace": "0s", "for": "0s", "steps": [{ "cordon": {} }],
            "when": "has(conditions.GpuUnhealthy) && conditions.GpuUnhealthy.status == 'True'",
            "cordonBudget": { "maxUnavailable": "100%", "maxUnavailablePerZone": "100%" },
            "storm": { "unhealthy": "100%", "rate": { "count": 1000, "within": "1m" }, "reachable": "0%" } } });
    server.apply(&policy.to_string()).unwrap();
    let port = crate::server::free_port();
    let folder = tempfile::tempdir().unwrap();
    let log = std::fs::File::create(folder.path().join("log")).unwrap();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_nodewell-controller"));
    command.arg("--kubeconfig").arg(server.kubeconfig("controller")).args(["run", "--no-dry-run", "--metrics-listen"]);
    let child = command.arg(format!("127.0.0.1:{port}")).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let mut service = Service(child);
    until("ready", async || page(port, "/readyz").await.starts_with("HTTP/1.1 200")).await;
    until("leading", async || page(port, "/metrics").await.contains("nodewell_controller_leader 1\n")).await;
    let cluster = server.cluster("controller").await;
    let told = || std::fs::read_to_string(folder.path().join("log")).unwrap();
    let is_cordoned = async || cluster.node("faulty").await.unwrap().is_some_and(|node| node.unschedulable);
    for _ in 0..300 {
        if is_cordoned().await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert!(is_cordoned().await, "{}{}", program(&server, &["plan", "--node", "faulty"]).1, told());
    assert_eq!(cluster.uncordon("faulty", &uid, "somebody-else").await, Ok(false));
    nix::sys::signal::kill(nix::unistd::Pid::from_raw(service.0.id().cast_signed()), nix::sys::signal::SIGTERM)
        .unwrap();
    until("ended", async || service.0.try_wait().unwrap().is_some()).await;
    assert_eq!(service.0.wait().unwrap().code(), Some(0), "{}", told());
    assert_eq!(cluster.leadership().await.unwrap().unwrap().holder, "", "the Lease was not given back");
    assert!(server.kubectl(&["delete", "remedypolicy", "gpu"]));
}
