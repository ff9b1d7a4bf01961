//! The refusals of a kube-apiserver (1.36), word for word: `metav1.Status` bodies.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::{conditions::FieldConflict, request::User};
use crate::cluster::{POLICY, POLICY_MESSAGE};

/// What is sent back.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) body: Value,
    pub(crate) retry_after: Option<u64>,
}

impl Reply {
    pub(crate) fn new(code: StatusCode, body: Value) -> Self {
        Self { code, body, retry_after: None }
    }

    pub(crate) fn ok(body: Value) -> Self {
        Self::new(StatusCode::OK, body)
    }
}

/// The kinds as the server's messages name them.
pub(crate) const NODES: &str = "nodes";
pub(crate) const EVENTS: &str = "events";

pub(crate) fn not_found(kind: &str, name: &str) -> Reply {
    let details = json!({ "name": name, "kind": kind });
    rejection(StatusCode::NOT_FOUND, &format!("{kind} {name:?} not found"), Some("NotFound"), details)
}

pub(crate) fn already_exists(kind: &str, name: &str) -> Reply {
    let details = json!({ "name": name, "kind": kind });
    rejection(StatusCode::CONFLICT, &format!("{kind} {name:?} already exists"), Some("AlreadyExists"), details)
}

/// The version in the patch is not the object's.
pub(crate) fn modified(kind: &str, name: &str) -> Reply {
    let message = format!(
        "Operation cannot be fulfilled on {kind} {name:?}: the object has been modified; please apply your changes to \
         the latest version and try again"
    );
    rejection(StatusCode::CONFLICT, &message, Some("Conflict"), json!({ "name": name, "kind": kind }))
}

pub(crate) fn unauthorized() -> Reply {
    rejection(StatusCode::UNAUTHORIZED, "Unauthorized", Some("Unauthorized"), Value::Null)
}

/// RBAC or the Node authorizer refuses.
pub(crate) fn cannot(user: &User, verb: &str, resource: &str) -> Reply {
    let message = format!(
        "{resource} is forbidden: User {:?} cannot {verb} resource {resource:?} in API group \"\"",
        user.name()
    );
    rejection(StatusCode::FORBIDDEN, &message, Some("Forbidden"), json!({ "kind": resource }))
}

/// The Node authorizer restricts kubelets to their own Leases.
pub(crate) fn cannot_lease(user: &User, verb: &Method, namespace: &str) -> Reply {
    let verb = if verb == Method::POST { "create" } else { "patch" };
    let message = format!(
        "leases.coordination.k8s.io is forbidden: User {:?} cannot {verb} resource \"leases\" in API group \
         \"coordination.k8s.io\" in the namespace {namespace:?}: can only access leases in the \"kube-node-lease\" \
         system namespace",
        user.name()
    );
    let details = json!({ "group": "coordination.k8s.io", "kind": "leases" });
    rejection(StatusCode::FORBIDDEN, &message, Some("Forbidden"), details)
}

/// The admission plug-in `NodeRestriction` refuses.
pub(crate) fn other_node(own: &str, other: &str) -> Reply {
    let message = format!("nodes {other:?} is forbidden: node {own:?} is not allowed to modify node {other:?}");
    rejection(StatusCode::FORBIDDEN, &message, Some("Forbidden"), json!({ "name": other, "kind": NODES }))
}

/// A ValidatingAdmissionPolicy refuses, with the message of [`crate::cluster::refusing_policy`].
pub(crate) fn denied(node: &str) -> Reply {
    let cause =
        format!("ValidatingAdmissionPolicy '{POLICY}' with binding '{POLICY}' denied request: {POLICY_MESSAGE}");
    let details = json!({ "name": node, "kind": NODES, "causes": [{ "message": cause }] });
    let message = format!("nodes {node:?} is forbidden: {cause}");
    rejection(StatusCode::UNPROCESSABLE_ENTITY, &message, Some("Invalid"), details)
}

pub(crate) fn bad_request(message: &str) -> Reply {
    rejection(StatusCode::BAD_REQUEST, message, Some("BadRequest"), Value::Null)
}

pub(crate) fn unsupported_media_type() -> Reply {
    let code = StatusCode::UNSUPPORTED_MEDIA_TYPE;
    rejection(code, "415: Unsupported Media Type", Some("UnsupportedMediaType"), json!({}))
}

pub(crate) fn field_manager_required() -> Reply {
    let cause = "Required value: is required for apply patch";
    let causes = json!([{ "reason": "FieldValueRequired", "message": cause, "field": "fieldManager" }]);
    let details = json!({ "group": "meta.k8s.io", "kind": "PatchOptions", "causes": causes });
    let message = format!("PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: {cause}");
    rejection(StatusCode::UNPROCESSABLE_ENTITY, &message, Some("Invalid"), details)
}

pub(crate) fn foreign_namespace(event: &str, namespace: &str) -> Reply {
    let cause = format!("Invalid value: {namespace:?}: does not match event.namespace");
    let field = "involvedObject.namespace";
    let causes = json!([{ "reason": "FieldValueInvalid", "message": cause, "field": field }]);
    let details = json!({ "name": event, "kind": "Event", "causes": causes });
    let message = format!("Event {event:?} is invalid: {field}: {cause}");
    rejection(StatusCode::UNPROCESSABLE_ENTITY, &message, Some("Invalid"), details)
}

/// The server's answer to an apply of something that its schema does not know.
pub(crate) fn untyped(node: &str, path_and_why: &str) -> Reply {
    let message = format!("failed to create typed patch object (/{node}; /v1, Kind=Node): {path_and_why}");
    rejection(StatusCode::INTERNAL_SERVER_ERROR, &message, None, Value::Null)
}

/// Other managers own what was to be set otherwise; `conflicts` are sorted by manager.
pub(crate) fn conflict(conflicts: &[FieldConflict]) -> Reply {
    let cause = |conflict: &FieldConflict| {
        let message = format!("conflict with {}", conflict.owner);
        json!({ "reason": "FieldManagerConflict", "message": message, "field": conflict.field() })
    };
    let causes: Vec<Value> = conflicts.iter().map(cause).collect();
    let message = conflict_message(conflicts);
    rejection(StatusCode::CONFLICT, &message, Some("Conflict"), json!({ "causes": causes }))
}

fn conflict_message(conflicts: &[FieldConflict]) -> String {
    if let [only] = conflicts {
        return format!("Apply failed with 1 conflict: conflict with {}: {}", only.owner, only.field());
    }
    let mut message = format!("Apply failed with {} conflicts: ", conflicts.len());
    let groups: Vec<String> = conflicts
        .chunk_by(|one, other| one.owner == other.owner)
        .map(|group| {
            let fields: String = group.iter().map(|conflict| format!("\n- {}", conflict.field())).collect();
            format!("conflicts with {}:{fields}", group[0].owner)
        })
        .collect();
    message.push_str(&groups.join("\n"));
    message
}

/// What a scripted fault answers.
pub(crate) fn scripted(code: u16, retry_after: Option<u64>) -> Reply {
    let code = StatusCode::from_u16(code).unwrap();
    let (reason, message) = match code.as_u16() {
        401 => return unauthorized(),
        415 => return unsupported_media_type(),
        403 => ("Forbidden", "forbidden by script"),
        409 => ("Conflict", "Operation cannot be fulfilled: the object has been modified"),
        410 => ("Expired", "The provided continue parameter is too old"),
        422 => ("Invalid", "invalid by script"),
        429 => ("TooManyRequests", "Too many requests, please try again later."),
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request"),
        504 => ("Timeout", "the server was unable to return a response in the time allotted"),
        _ => ("InternalError", "Internal error occurred: by script"),
    };
    let details = retry_after.map_or(Value::Null, |seconds| json!({ "retryAfterSeconds": seconds }));
    Reply { retry_after, ..rejection(code, message, Some(reason), details) }
}

fn rejection(code: StatusCode, message: &str, reason: Option<&str>, details: Value) -> Reply {
    let mut body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "code": code.as_u16(),
    });
    if let Some(reason) = reason {
        body["reason"] = reason.into();
    }
    if !details.is_null() {
        body["details"] = details;
    }
    Reply::new(code, body)
}
