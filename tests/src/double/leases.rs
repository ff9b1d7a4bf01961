//! Leases of the double: made, patched, looked at and deleted, with a kubelet's right to none of them.

use hyper::StatusCode;

use super::{
    request::{Asked, User},
    routes::{has_namespace, json_of, merge, shown},
    status::{Reply, already_exists, cannot_lease, modified, not_found, unsupported_media_type},
    store::Store,
};

const LEASES: &str = "leases.coordination.k8s.io";

/// Answers what is asked of the Lease `name`, or of all in `namespace`.
pub(crate) fn answer(store: &mut Store, asked: &Asked, namespace: &str, name: Option<&str>) -> Result<Reply, Reply> {
    if asked.user != User::Admin {
        return Err(cannot_lease(&asked.user, &asked.method, namespace));
    }
    let Some(name) = name else { return create(store, asked, namespace) };
    match asked.method.as_str() {
        "PATCH" => return patch(store, asked, namespace, name),
        "DELETE" => store.leases.remove(&key(namespace, name)),
        _ => store.leases.get(&key(namespace, name)).cloned(),
    }
    .map(Reply::ok)
    .ok_or_else(|| not_found(LEASES, name))
}

fn key(namespace: &str, name: &str) -> (String, String) {
    (namespace.to_owned(), name.to_owned())
}

fn create(store: &mut Store, asked: &Asked, namespace: &str) -> Result<Reply, Reply> {
    let mut lease = json_of(asked)?;
    has_namespace(store, namespace)?;
    let name = lease["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let key = key(namespace, &name);
    if store.leases.contains_key(&key) {
        return Err(already_exists(LEASES, &name));
    }
    let own = store.metadata(&name);
    merge(&mut lease["metadata"], &own);
    store.leases.insert(key, lease.clone());
    Ok(Reply::new(StatusCode::CREATED, shown(asked, lease)))
}

fn patch(store: &mut Store, asked: &Asked, namespace: &str, name: &str) -> Result<Reply, Reply> {
    if asked.content_type != "application/merge-patch+json" {
        return Err(unsupported_media_type());
    }
    let patch = json_of(asked)?;
    let version = store.next_version().to_string();
    let lease = store.leases.get_mut(&key(namespace, name)).ok_or_else(|| not_found(LEASES, name))?;
    let expected = &patch["metadata"]["resourceVersion"];
    if !expected.is_null() && *expected != lease["metadata"]["resourceVersion"] {
        return Err(modified(LEASES, name));
    }
    merge(lease, &patch);
    lease["metadata"]["resourceVersion"] = version.into();
    Ok(Reply::ok(shown(asked, lease.clone())))
}
