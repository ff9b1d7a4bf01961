//! Records and policies: what the API server stores of them, and what it refuses.

use std::sync::Arc;

use nodewell_reconcile::{api_error::ApiError, cluster::Records};
use nodewell_remediation::api::fence::{LogEntry, Phase};
use serde_json::{Value, json};

use crate::{
    cases::{cases, fence},
    server::Server,
};

cases![a_record_is_saved_by_compare_and_swap, a_record_does_not_change_but_for_abort, a_step_is_of_one_kind,];

async fn a_record_is_saved_by_compare_and_swap(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    let opened = cluster.open(&fence("fenced")).await.unwrap();
    assert!(matches!(cluster.open(&fence("fenced")).await, Err(ApiError::Conflict(_))));
    let mut next = opened.clone();
    next.status.phase = Phase::Isolating;
    next.status.log = vec![LogEntry { at: jiff::Timestamp::UNIX_EPOCH, epoch: 3, text: "cordoned".into() }];
    let saved = cluster.save(&next).await.unwrap();
    assert_eq!((saved.status.phase, saved.status.log.len()), (Phase::Isolating, 1));
    assert_eq!(cluster.fence("fenced").await.unwrap().unwrap(), saved);
    assert!(matches!(cluster.save(&next).await, Err(ApiError::Conflict(_))), "a stale version wins");
    assert!(matches!(cluster.close(&opened).await, Err(ApiError::Conflict(_))), "a stale version closes");
    cluster.close(&saved).await.unwrap();
    let again = cluster.open(&fence("fenced")).await.unwrap();
    assert!(matches!(cluster.save(&saved).await, Err(ApiError::NotFound | ApiError::Conflict(_))));
    assert!(
        !matches!(cluster.close(&saved).await, Ok(()) | Err(ApiError::NoAnswer(_))),
        "it closes another of its name"
    );
    cluster.close(&again).await.unwrap();
    assert_eq!(cluster.close(&again).await, Err(ApiError::NotFound));
    assert_eq!(cluster.fence("fenced").await, Ok(None));
    assert!(matches!(cluster.save(&fence("fenced")).await, Err(ApiError::Refused { .. })), "a write without a version");
}

async fn a_record_does_not_change_but_for_abort(server: Arc<Server>) {
    let cluster = server.cluster("controller").await;
    cluster.open(&fence("fixed")).await.unwrap();
    for change in ["{\"policy\":\"other\"}", "{\"policy\":null}", "{\"nodeUID\":\"v\"}", "{\"steps\":null}"] {
        let patch = format!("{{\"spec\":{change}}}");
        let refused = server.kubectl_output(&["patch", "nodefence", "fixed", "--type=merge", "-p", &patch]);
        assert!(
            refused.as_ref().is_err_and(|why| why.contains("change") || why.contains("stays")),
            "{change}: {refused:?}"
        );
    }
    assert!(server.kubectl(&["patch", "nf", "fixed", "--type=merge", "-p", "{\"spec\":{\"abort\":true}}"]));
    assert!(cluster.fence("fixed").await.unwrap().unwrap().spec.abort);
    assert!(!server.kubectl(&["patch", "nf", "fixed", "--type=merge", "-p", "{\"spec\":{\"abort\":false}}"]));
    let columns = server.kubectl_output(&["get", "nf", "fixed"]).unwrap();
    assert!(columns.starts_with("NAME    PHASE   STEP   STATUS   POLICY   BLOCKED BY   AGE"), "{columns}");
    let other_name = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "NodeFence",
        "metadata": { "name": "a" }, "spec": { "nodeName": "b", "nodeUID": "u" } });
    assert!(server.apply(&other_name.to_string()).unwrap_err().contains("named like its node"));
}

async fn a_step_is_of_one_kind(server: Arc<Server>) {
    let policy = |steps: Value| {
        let text = json!({ "apiVersion": "nodewell.dev/v1alpha1", "kind": "RemediationPolicy",
            "metadata": { "name": "p" },
            "spec": { "when": "true", "steps": steps, "budget": { "maxUnavailable": "10%" } } });
        server.apply(&text.to_string())
    };
    policy(json!([{ "cordon": {} }, { "drain": {}, "thenWait": "1h30m" }, { "powerCycle": {} }])).unwrap();
    for wrong in [json!([{ "cordon": {}, "drain": {} }]), json!([{ "thenWait": "5m" }]), json!([])] {
        assert!(policy(wrong.clone()).is_err(), "{wrong}");
    }
    assert!(policy(json!([{ "cordon": {}, "thenWait": "soon" }])).is_err());
}
