//! The controller's terms in plain words. A term that is searched for (a reason, a phase) is shown beside them.

use jiff::Timestamp;
use nodewell_remediation::api::{
    OUT_OF_SERVICE, OUT_OF_SERVICE_BY, REMEDIATION_TAINT, fence::Phase, request::REQUESTED_BY,
};

use crate::facts::{Cordon, NodeFacts, RecordFacts, TaintFacts};

/// What is done in a phase of a record.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Pending => "nothing has been done yet",
        Phase::Isolating => "new pods are kept off it, by a taint or a cordon",
        Phase::Draining => "its pods are to be evicted",
        Phase::Waiting => "the controller waits whether the last step has helped",
        Phase::AwaitGuards => "the controller waits until every guard allows the next act",
        Phase::KdumpWait => "it has its time to write a crash dump",
        Phase::PoweringOff => "its power is cut",
        Phase::OffConfirmed => "its power was read as off",
        Phase::PodsReleased => "its pods are released, and start elsewhere",
        Phase::PoweringOn => "its power is turned on",
        Phase::AwaitReady => "the controller waits for its kubelet",
        Phase::Reaping => "the provider deletes its machine",
        Phase::Recovering => "what was set on it is taken back",
        Phase::Closed => "the remediation has ended",
        Phase::InDoubt => "the end of an act is not known, and its power is read",
        Phase::Failed => "an act has failed, and is tried again",
        Phase::Quarantined => "the controller has given up: a person has to look",
    }
}

/// Who asked for a record.
pub(crate) fn asked_by(record: &RecordFacts) -> String {
    let meta = &record.fence.metadata;
    match (record.fence.spec.policy.as_str(), meta.annotations.contains_key(REQUESTED_BY)) {
        ("", true) => format!("another remediator ({})", meta.asked_by()),
        ("", false) => format!("a person ({})", meta.asked_by()),
        (policy, _) => format!("policy {policy}"),
    }
}

/// A record's cause behind who asked for it. Of most without a policy that is who asked, once more.
pub(crate) fn because(cause: &str) -> String {
    if cause.is_empty() || cause.starts_with("asked for by ") { String::new() } else { format!(": {cause}") }
}

/// Who has cordoned a node with this open record, as the end of "cordoned …".
pub(crate) fn cordoned(cordon: &Cordon, record: Option<&RecordFacts>) -> String {
    let writer = cordon.writers.first();
    match (&cordon.policy, writer) {
        (Some(policy), _) if cordon.is_ours() => format!("by nodewell-controller for {}", whose(policy, record)),
        (Some(policy), Some(writer)) => {
            format!("again by {}; the mark of {} is still on it", written(writer), whose(policy, record))
        }
        (None, Some(writer)) => format!("by {}, not by nodewell", written(writer)),
        (_, None) => "by another client than nodewell; the API server stores no name".to_owned(),
    }
}

/// Whom the controller's mark on a cordon names. It is empty where no policy asked: the record knows who did.
fn whose(policy: &str, record: Option<&RecordFacts>) -> String {
    match (policy, record.filter(|record| record.fence.spec.policy.is_empty())) {
        ("", Some(record)) => asked_by(record),
        ("", None) => "a record by hand".to_owned(),
        (policy, _) => format!("policy {policy}"),
    }
}

/// `kubectl-cordon at 2026-01-02T03:04:05Z`: the field manager, which is a client's own claim.
fn written((manager, at): &(String, Option<Timestamp>)) -> String {
    let manager = if manager.is_empty() { "a client without a name" } else { manager };
    at.map_or_else(|| manager.to_owned(), |at| format!("{manager} at {at:.0}"))
}

/// Taints of the controller: what each does. Nothing of one that is another client's.
pub(crate) fn taint(taint: &TaintFacts, record: Option<&RecordFacts>) -> Option<String> {
    if taint.key == OUT_OF_SERVICE {
        let ours = "nodewell-controller has released its pods, after its power was read as off";
        let theirs = "another client has released its pods";
        let text = if taint.value == OUT_OF_SERVICE_BY { ours } else { theirs };
        return Some(text.to_owned());
    }
    let own = record.map(|record| record.fence.status.own_changes.taints.as_slice()).unwrap_or_default();
    let is_own = own
        .iter()
        .any(|own| own.key == taint.key && own.value == taint.value && own.effect.to_string() == taint.effect);
    (is_own || taint.key == REMEDIATION_TAINT).then(|| {
        let does =
            if taint.effect == "NoExecute" { "evicts pods that do not tolerate it" } else { "keeps new pods off" };
        format!("nodewell-controller has set a taint that {does}")
    })
}

/// `KEY=VALUE:EFFECT`, as kubectl takes it.
pub(crate) fn shown(taint: &TaintFacts) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

/// `Ready`, `NotReady` or `Unknown`, as `kubectl get nodes` shows it.
pub(crate) fn state(node: &NodeFacts) -> String {
    use nodewell_remediation::facts::ConditionStatus::{False, True, Unknown};
    let ready = match node.ready.status {
        Some(True) => "Ready",
        Some(False) => "NotReady",
        Some(Unknown) | None => "Unknown",
    };
    let cordoned = if node.cordon.is_some() { ",SchedulingDisabled" } else { "" };
    format!("{ready}{cordoned}")
}

#[cfg(test)]
mod tests {
    use nodewell_remediation::api::ASKED_BY;
    use serde_json::json;

    use super::*;

    #[test]
    fn who_cordoned_a_node_is_named() {
        let writer = |name: &str| (name.to_owned(), Some("2026-01-02T03:04:05.6Z".parse().unwrap()));
        for (policy, writers, text) in [
            (Some("p"), vec![writer("nodewell-controller")], "by nodewell-controller for policy p"),
            (
                Some("p"),
                vec![writer("kubectl-cordon")],
                "again by kubectl-cordon at 2026-01-02T03:04:05Z; the mark of policy p is still on it",
            ),
            (None, vec![writer("kubectl-cordon")], "by kubectl-cordon at 2026-01-02T03:04:05Z, not by nodewell"),
            (None, vec![(String::new(), None)], "by a client without a name, not by nodewell"),
            (None, vec![], "by another client than nodewell; the API server stores no name"),
        ] {
            let cordon = Cordon { policy: policy.map(str::to_owned), writers };
            assert_eq!(cordoned(&cordon, None), text);
        }
    }

    #[test]
    fn the_cordon_of_a_record_by_hand_is_the_controllers() {
        let record = |annotations: serde_json::Value| {
            let meta = json!({ "name": "n1", "annotations": annotations });
            RecordFacts::read(json!({ "metadata": meta, "spec": { "nodeName": "n1", "nodeUID": "u" } })).unwrap()
        };
        let cordon = Cordon { policy: Some(String::new()), writers: vec![("nodewell-controller".to_owned(), None)] };
        let of = |record: Option<&RecordFacts>| cordoned(&cordon, record);
        assert_eq!(of(None), "by nodewell-controller for a record by hand");
        let drill = record(json!({ ASKED_BY: "eva: drill" }));
        assert_eq!(of(Some(&drill)), "by nodewell-controller for a person (asked by eva: drill)");
        let request = record(json!({ ASKED_BY: "mhc", REQUESTED_BY: "cluster/ops/n1/u-1" }));
        assert_eq!(of(Some(&request)), "by nodewell-controller for another remediator (asked by mhc)");
    }

    #[test]
    fn a_taint_is_explained_where_it_is_the_controllers() {
        let taint_of = |key: &str, value: &str, effect: &str| TaintFacts {
            key: key.to_owned(),
            value: value.to_owned(),
            effect: effect.to_owned(),
        };
        let record = RecordFacts::read(json!({
            "metadata": { "name": "n1" }, "spec": { "nodeName": "n1", "nodeUID": "u" },
            "status": { "ownChanges": { "cordon": false, "taints": [
                { "key": "example.com/sick", "effect": "NoExecute" }] } },
        }))
        .unwrap();
        let explained = |key: &str, value: &str, effect: &str| taint(&taint_of(key, value, effect), Some(&record));
        assert!(explained("example.com/sick", "", "NoExecute").unwrap().contains("evicts pods"));
        assert!(explained(REMEDIATION_TAINT, "", "NoSchedule").unwrap().contains("keeps new pods off"));
        assert!(explained(OUT_OF_SERVICE, OUT_OF_SERVICE_BY, "NoExecute").unwrap().starts_with("nodewell-controller"));
        assert!(explained(OUT_OF_SERVICE, "eva", "NoExecute").unwrap().starts_with("another client"));
        assert_eq!(explained("node.kubernetes.io/not-ready", "", "NoExecute"), None);
        assert_eq!(shown(&taint_of("a", "b", "NoSchedule")), "a=b:NoSchedule");
        assert_eq!(shown(&taint_of("a", "", "NoSchedule")), "a:NoSchedule");
    }
}
