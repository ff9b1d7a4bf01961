//! VolumeAttachments as kube-controller-manager writes them, and patches applied as the API server does.

use super::*;

fn attachment(node: &str) -> Value {
    json!({
        "metadata": { "name": format!("csi-{node}"), "resourceVersion": "7" },
        "spec": { "attacher": DRIVER, "nodeName": node, "source": { "persistentVolumeName": "ledger" } },
        "status": { "attached": false },
    })
}

fn deleted(mut attachment: Value) -> Value {
    attachment["metadata"]["deletionTimestamp"] = "2026-11-26T12:00:00Z".into();
    attachment
}

/// Answers until nothing is left to be written, which is soon so.
fn settle(storage: &mut Storage, attachment: &mut Value) {
    for _ in 0..5 {
        let Some(patch) = storage.answer(attachment, Timestamp::UNIX_EPOCH) else { return };
        let (Patch::Object(patch) | Patch::Status(patch)) = patch;
        merge(attachment, &patch);
        // The API server removes an object that waits for no finalizer.
        if !attachment["metadata"]["deletionTimestamp"].is_null() && finalizers(attachment).is_empty() {
            return;
        }
    }
    panic!("it is answered again and again: {attachment}");
}

fn merge(object: &mut Value, patch: &Value) {
    for (key, value) in patch.as_object().unwrap() {
        match value {
            Value::Null => drop(object.as_object_mut().unwrap().remove(key)),
            Value::Object(_) => merge(object.as_object_mut().unwrap().entry(key).or_insert(json!({})), value),
            _ => object[key] = value.clone(),
        }
    }
}

fn acts(storage: &Storage) -> Vec<(Act, &str)> {
    storage.history().iter().map(|change| (change.act, change.node.as_str())).collect()
}

#[test]
fn it_is_attached_under_a_finalizer_and_detached_before_that_goes() {
    let mut storage = Storage::default();
    let mut w2 = attachment("w2");
    assert!(matches!(storage.answer(&w2, Timestamp::UNIX_EPOCH), Some(Patch::Object(_))));
    assert_eq!(acts(&storage), [], "nothing is attached before the finalizer is there");
    settle(&mut storage, &mut w2);
    assert_eq!(w2["status"]["attached"], true);
    assert_eq!(w2["status"]["attachmentMetadata"][ATTACHED_TO], "w2");

    let mut w2 = deleted(w2);
    settle(&mut storage, &mut w2);
    assert!(finalizers(&w2).is_empty());
    assert_eq!(acts(&storage), [(Act::Attached, "w2"), (Act::Detached, "w2")]);
}

#[test]
fn a_second_node_waits_until_it_is_detached_from_the_first() {
    let mut storage = Storage::default();
    let (mut w2, mut w3) = (attachment("w2"), attachment("w3"));
    settle(&mut storage, &mut w2);
    settle(&mut storage, &mut w3);
    assert_eq!(w3["status"]["attached"], false);
    assert!(w3["status"]["attachError"]["message"].as_str().unwrap().contains("in use by w2"), "{w3}");

    settle(&mut storage, &mut deleted(w2));
    settle(&mut storage, &mut w3);
    assert_eq!(w3["status"]["attached"], true);
    assert!(w3["status"]["attachError"].is_null(), "{w3}");
    let expected = [(Act::Attached, "w2"), (Act::Refused, "w3"), (Act::Detached, "w2"), (Act::Attached, "w3")];
    assert_eq!(acts(&storage), expected);
}

#[test]
fn where_it_hangs_it_stays_attached_and_reports_that() {
    let mut storage = Storage::default();
    let mut w2 = attachment("w2");
    settle(&mut storage, &mut w2);
    storage.hang("w2");
    let mut w2 = deleted(w2);
    settle(&mut storage, &mut w2);
    assert_eq!(finalizers(&w2), [FINALIZER]);
    assert!(w2["status"]["detachError"]["message"].as_str().unwrap().contains("from w2"), "{w2}");
    assert_eq!(w2["status"]["attached"], true);
    assert_eq!(acts(&storage), [(Act::Attached, "w2")]);

    storage.recover();
    settle(&mut storage, &mut w2);
    assert!(finalizers(&w2).is_empty());
}

#[test]
fn a_finalizer_of_another_controller_stays() {
    let mut storage = Storage::default();
    let mut w2 = attachment("w2");
    w2["metadata"]["finalizers"] = json!(["example.com/other"]);
    settle(&mut storage, &mut w2);
    assert_eq!(finalizers(&w2), ["example.com/other", FINALIZER]);
    let mut w2 = deleted(w2);
    settle(&mut storage, &mut w2);
    assert_eq!(finalizers(&w2), ["example.com/other"]);
}

#[test]
fn a_volume_of_another_driver_is_left_alone() {
    let mut other = attachment("w2");
    other["spec"]["attacher"] = "example.com".into();
    assert_eq!(Storage::default().answer(&other, Timestamp::UNIX_EPOCH), None);
}
