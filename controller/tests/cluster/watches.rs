//! Watches: what happens in the cluster is poured out as it comes.

use std::{sync::Arc, time::Duration};

use nodewell_reconcile::{
    cache::{NodeEvent, Source},
    cluster::{LeaseKind, Marks, Records},
    feed::Feed,
};
use nodewell_remediation::{
    action::EventDraft,
    api::{fence::NodeFence, policy::RemediationPolicy},
    facts::{LeaseView, Node},
    message::Message,
};
use serde_json::json;

use crate::{
    cases::{admin, cases, fence, make_node},
    server::Server,
};

cases![watches_pour_what_happens,];

/// What came, as text.
#[derive(Clone, Default)]
struct Seen(std::rc::Rc<std::cell::RefCell<std::collections::BTreeSet<String>>>);

impl Seen {
    fn note(&self, text: String) {
        self.0.borrow_mut().insert(text);
    }

    async fn wait(&self, text: &str) {
        let seen = || self.0.borrow().contains(text);
        let come = async {
            while !seen() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        assert!(
            tokio::time::timeout(Duration::from_secs(20), come).await.is_ok(),
            "no {text} in {:?}",
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
    fn announce_shutdown(&self, node: &str, boot_id: &str) {
        self.note(format!("shutdown of {node} in {boot_id}"));
    }
    fn apply_fence(&self, fence: NodeFence) {
        self.note(format!("fence {} {:?}", fence.metadata.name, fence.status.phase));
    }
    fn remove_fence(&self, name: &str, uid: &str) {
        assert!(!uid.is_empty());
        self.note(format!("fence {name} gone"));
    }
    fn apply_policy(&self, policy: &RemediationPolicy) {
        self.note(format!("policy {}", policy.metadata.name));
    }
    fn apply_unreadable_policy(&self, name: &str, _: String) {
        self.note(format!("policy {name} unreadable"));
    }
    fn remove_policy(&self, name: &str) {
        self.note(format!("policy {name} gone"));
    }
    fn apply_event(&self, event: NodeEvent, listed: bool) {
        let NodeEvent { node, reason, count, .. } = event;
        self.note(format!("event {node} {reason}"));
        if listed {
            self.note(format!("listed event {node} {reason} {count}"));
        }
    }
    fn remove_event(&self, _: &str) {
        self.note("an event gone".to_owned());
    }
    fn keep_events(&self, uids: &std::collections::BTreeSet<String>) {
        self.note(format!("{} events kept", uids.len()));
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
        cluster.emit("watched", &uid, &event("Before", "before any watch".into())).await;
        let policy = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
            "metadata": { "name": "w" },
            "spec": { "when": "has(events.Rebooted)", "steps": [{ "cordon": {} }] } });
        server.apply(&policy.to_string()).unwrap();
        seen.wait("policy w").await;
        // Events are watched from now on, as a policy asks for them; that of before is as good as any.
        seen.wait("listed event watched Before 1").await;
        let args = ["-n", "default", "delete", "events", "--field-selector", "reason=Before"];
        assert!(server.kubectl(&args));
        seen.wait("an event gone").await;
        let events = async {
            for count in 0.. {
                cluster.emit("watched", &uid, &event("Rebooted", format!("for the {count} time"))).await;
                tokio::time::sleep(Duration::from_millis(200)).await;
            }
        };
        tokio::select! {
            () = events => {}
            () = seen.wait("event watched Rebooted") => {}
        }
        assert!(
            server.kubectl(&["delete", "remediationpolicy", "w"]) && server.kubectl(&["delete", "node", "watched"])
        );
        seen.wait("policy w gone").await;
        seen.wait("node watched gone").await;
    };
    tokio::select! {
        () = watches => {}
        () = story => {}
    }
}

fn event(reason: &str, text: String) -> EventDraft {
    EventDraft::normal(Message { reason: reason.into(), text })
}
