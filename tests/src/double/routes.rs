//! What the double answers to which path: only what a node agent and its tests ask for.

use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use super::{
    conditions::{Fields, schema_error},
    leases,
    request::{Asked, User},
    status::{
        EVENTS, NODES, Reply, already_exists, bad_request, cannot, conflict, denied, field_manager_required,
        foreign_namespace, modified, not_found, other_node, unsupported_media_type, untyped,
    },
    store::Store,
};

const APPLY: &str = "application/apply-patch+yaml";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const MERGE: &str = "application/merge-patch+json";
/// The namespaces of a new cluster.
const NAMESPACES: [&str; 4] = ["default", "kube-node-lease", "kube-public", "kube-system"];

/// Answers `asked`; a rejection is an answer too.
pub(crate) fn answer(store: &mut Store, asked: &Asked) -> Reply {
    route(store, asked).unwrap_or_else(|rejection| rejection)
}

fn route(store: &mut Store, asked: &Asked) -> Result<Reply, Reply> {
    let segments: Vec<&str> = asked.path.trim_start_matches('/').split('/').collect();
    match (asked.method.as_str(), segments.as_slice()) {
        ("GET", ["readyz" | "livez" | "healthz"]) => Ok(Reply::ok(json!("ok"))),
        ("GET", ["version"]) => Ok(Reply::ok(json!({ "major": "1", "minor": "36", "gitVersion": "v1.36.0-double" }))),
        ("POST", ["api", "v1", "nodes"]) => create_node(store, asked),
        (_, ["api", "v1", "nodes", name]) => node(store, asked, name),
        ("PATCH", ["api", "v1", "nodes", name, "status"]) => patch_status(store, asked, name),
        (_, ["api", "v1", "namespaces", namespace, "events"]) => events(store, asked, namespace),
        ("PATCH", ["api", "v1", "namespaces", namespace, "events", name]) => patch_event(store, asked, namespace, name),
        ("POST", ["api", "v1", "namespaces"]) => create_namespace(store, asked),
        (_, ["apis", "coordination.k8s.io", "v1", "namespaces", namespace, "leases", name @ ..]) => {
            leases::answer(store, asked, namespace, name.first().copied())
        }
        ("POST", ["apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"]) => review(asked),
        _ => Ok(Reply::new(StatusCode::NOT_FOUND, json!("404 page not found"))),
    }
}

fn create_node(store: &mut Store, asked: &Asked) -> Result<Reply, Reply> {
    only_admin(asked, "create", NODES)?;
    let body = json_of(asked)?;
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    if store.nodes.contains_key(name) {
        return Err(already_exists(NODES, name));
    }
    Ok(Reply::new(StatusCode::CREATED, store.create_node(name)))
}

fn create_namespace(store: &mut Store, asked: &Asked) -> Result<Reply, Reply> {
    only_admin(asked, "create", "namespaces")?;
    let body = json_of(asked)?;
    let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    if !store.namespaces.insert(name.clone()) {
        return Err(already_exists("namespaces", &name));
    }
    Ok(Reply::new(StatusCode::CREATED, body))
}

pub(crate) fn has_namespace(store: &Store, name: &str) -> Result<(), Reply> {
    let known = NAMESPACES.contains(&name) || store.namespaces.contains(name);
    if known { Ok(()) } else { Err(not_found("namespaces", name)) }
}

fn node(store: &mut Store, asked: &Asked, name: &str) -> Result<Reply, Reply> {
    if asked.method == Method::DELETE {
        only_admin(asked, "delete", NODES)?;
        let gone = store.nodes.remove(name).ok_or_else(|| not_found(NODES, name))?;
        return Ok(Reply::ok(json!({ "kind": "Status", "status": "Success", "details": { "uid": gone.uid() } })));
    }
    match &asked.user {
        User::Admin => {}
        User::Node(own) if own == name => {}
        other => return Err(cannot(other, "get", NODES)),
    }
    let node = store.nodes.get(name).ok_or_else(|| not_found(NODES, name))?;
    Ok(Reply::ok(shown(asked, node.view())))
}

/// The order of the checks is the real server's: media type, authorization, existence, admission, ownership.
fn patch_status(store: &mut Store, asked: &Asked, name: &str) -> Result<Reply, Reply> {
    if asked.user == User::Stranger {
        return Err(cannot(&asked.user, "patch", "nodes/status"));
    }
    let apply = match asked.content_type.as_str() {
        APPLY => true,
        STRATEGIC | MERGE => false,
        _ => return Err(unsupported_media_type()),
    };
    if apply && !asked.query.contains_key("fieldManager") {
        return Err(field_manager_required());
    }
    let body = json_of(asked)?;
    let wanted = conditions_of(&body)?;
    let nothing = !apply && wanted.is_empty();
    let version = store.next_version();
    let mut new = store.nodes.get(name).ok_or_else(|| not_found(NODES, name))?.clone();
    match &asked.user {
        User::Node(own) if own != name => return Err(other_node(own, name)),
        _ if apply => apply_conditions(&mut new.conditions, asked, name, &wanted)?,
        _ => new.conditions.merge(asked.manager(), &wanted),
    }
    let expected = &body["metadata"]["resourceVersion"];
    if !expected.is_null() && expected != new.version() {
        return Err(modified(NODES, name));
    }
    if store.refused_condition.as_ref().is_some_and(|refused| new.conditions.has(refused)) {
        return Err(denied(name));
    }
    // A patch that changes nothing makes no new version.
    if !nothing {
        new.touch(version);
    }
    let reply = Reply::ok(shown(asked, new.view()));
    if asked.query.get("dryRun").is_none_or(|how| how != "All") {
        store.put_node(name, new);
    }
    Ok(reply)
}

fn apply_conditions(
    conditions: &mut super::conditions::Conditions,
    asked: &Asked,
    node: &str,
    wanted: &[Fields],
) -> Result<(), Reply> {
    if let Some(error) = schema_error(wanted) {
        return Err(untyped(node, &error));
    }
    let force = asked.query.get("force").is_some_and(|force| force == "true");
    conditions.apply(asked.manager(), wanted, force).map_err(|clashes| conflict(&clashes))
}

fn conditions_of(body: &Value) -> Result<Vec<Fields>, Reply> {
    let list = body["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let fields = |item: Value| match item {
        Value::Object(fields) => Ok(fields),
        _ => Err(bad_request("a condition is an object")),
    };
    list.into_iter().map(fields).collect()
}

fn events(store: &mut Store, asked: &Asked, namespace: &str) -> Result<Reply, Reply> {
    if asked.method == Method::GET {
        only_admin(asked, "list", EVENTS)?;
        return Ok(list_events(store, asked, namespace));
    }
    if asked.user == User::Stranger {
        return Err(cannot(&asked.user, "create", EVENTS));
    }
    let mut event = json_of(asked)?;
    has_namespace(store, namespace)?;
    let name = event["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let involved = event["involvedObject"]["namespace"].as_str().unwrap_or("default");
    if involved != namespace {
        return Err(foreign_namespace(&name, involved));
    }
    let key = (namespace.to_owned(), name.clone());
    if store.events.contains_key(&key) {
        return Err(already_exists(EVENTS, &name));
    }
    event["metadata"] = store.metadata(&name);
    event["metadata"]["namespace"] = namespace.into();
    store.events.insert(key, event.clone());
    store.arrivals.note_event(&name);
    Ok(Reply::new(StatusCode::CREATED, shown(asked, event)))
}

fn list_events(store: &Store, asked: &Asked, namespace: &str) -> Reply {
    let selector = asked.query.get("fieldSelector").map(String::as_str).unwrap_or_default();
    let wanted = |event: &Value| {
        selector
            .split(',')
            .filter_map(|term| term.split_once('='))
            .all(|(path, value)| path.split('.').fold(event, |at, key| &at[key]) == value)
    };
    let items = store.events.iter().filter(|((of, _), event)| of == namespace && wanted(event));
    let items: Vec<&Value> = items.map(|(_, event)| event).collect();
    Reply::ok(json!({ "kind": "EventList", "apiVersion": "v1", "metadata": {}, "items": items }))
}

fn patch_event(store: &mut Store, asked: &Asked, namespace: &str, name: &str) -> Result<Reply, Reply> {
    if asked.user == User::Stranger {
        return Err(cannot(&asked.user, "patch", EVENTS));
    }
    if ![MERGE, STRATEGIC].contains(&asked.content_type.as_str()) {
        return Err(unsupported_media_type());
    }
    let patch = json_of(asked)?;
    let version = store.next_version().to_string();
    let key = (namespace.to_owned(), name.to_owned());
    let event = store.events.get_mut(&key).ok_or_else(|| not_found(EVENTS, name))?;
    merge(event, &patch);
    event["metadata"]["resourceVersion"] = version.into();
    Ok(Reply::ok(shown(asked, event.clone())))
}

/// RFC 7386.
pub(crate) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(fields) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (field, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(field);
        } else {
            merge(&mut target[field], value);
        }
    }
}

/// Node authorization lets every node ask for `nodes/status` of any; admission is what refuses.
fn review(asked: &Asked) -> Result<Reply, Reply> {
    let mut review = json_of(asked)?;
    let wish = &review["spec"]["resourceAttributes"];
    let action = (wish["verb"].as_str(), wish["resource"].as_str(), wish["subresource"].as_str().unwrap_or_default());
    let allowed = match asked.user {
        User::Admin => true,
        User::Stranger => false,
        User::Node(_) => matches!(
            action,
            (Some("patch"), Some("nodes"), "" | "status") | (Some("create" | "patch"), Some("events"), "")
        ),
    };
    review["status"] = json!({ "allowed": allowed });
    Ok(Reply::new(StatusCode::CREATED, review))
}

/// Metadata only, where that is asked for.
pub(crate) fn shown(asked: &Asked, object: Value) -> Value {
    if !asked.metadata_only {
        return object;
    }
    json!({ "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": object["metadata"] })
}

fn only_admin(asked: &Asked, verb: &str, resource: &str) -> Result<(), Reply> {
    if asked.user == User::Admin { Ok(()) } else { Err(cannot(&asked.user, verb, resource)) }
}

pub(crate) fn json_of(asked: &Asked) -> Result<Value, Reply> {
    asked.json().map_err(|error| bad_request(&format!("error decoding YAML: {error}")))
}
