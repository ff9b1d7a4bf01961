//! Answers of the API server, counted: what was asked of which resource, and the code.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use hyper::{Method, Request};

/// What this program asks for, and their subresources; the rest is `other`. Bounded, whatever stands in a path.
const RESOURCES: [&str; 19] = [
    "certificatesigningrequests",
    "certificatesigningrequests/approval",
    "configmaps",
    "daemonsets",
    "events",
    "leases",
    "nodefences",
    "nodefences/status",
    "nodes",
    "nodes/status",
    "persistentvolumeclaims",
    "persistentvolumes",
    "poddisruptionbudgets",
    "pods",
    "pods/eviction",
    "remediationpolicies",
    "secrets",
    "storageclasses",
    "volumeattachments",
];
const OTHER: &str = "other";

/// A request as roles know it: a verb, and a resource with its subresource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Asked {
    pub verb: &'static str,
    pub resource: &'static str,
}

impl Asked {
    pub(super) fn of<B>(request: &Request<B>) -> Self {
        let path: Vec<&str> = request.uri().path().split('/').filter(|part| !part.is_empty()).collect();
        let (resource, is_named) = resource(&path);
        let watches =
            request.uri().query().is_some_and(|query| query.contains("watch=true") || query.contains("watch=1"));
        let verb = match *request.method() {
            Method::GET if is_named => "get",
            Method::GET if watches => "watch",
            Method::GET => "list",
            Method::POST => "create",
            Method::PUT => "update",
            Method::PATCH => "patch",
            Method::DELETE => "delete",
            _ => OTHER,
        };
        Self { verb, resource }
    }
}

/// The resource, and whether one object of it is named.
fn resource(path: &[&str]) -> (&'static str, bool) {
    // A proxy may have a path of its own before it.
    let Some(start) = path.iter().position(|part| ["api", "apis"].contains(part)) else { return (OTHER, false) };
    let rest = match &path[start..] {
        ["api", _, rest @ ..] | ["apis", _, _, rest @ ..] => rest,
        _ => return (OTHER, false),
    };
    let rest = match rest {
        ["namespaces", _, rest @ ..] => rest,
        rest => rest,
    };
    let name = match rest {
        [resource, _, sub, ..] => format!("{resource}/{sub}"),
        [resource, ..] => (*resource).to_owned(),
        [] => return (OTHER, false),
    };
    (RESOURCES.into_iter().find(|known| *known == name).unwrap_or(OTHER), rest.len() > 1)
}

/// Answers so far; code 0 stands for none. Shown as `nodewell_controller_api_requests_total`.
#[derive(Debug, Default)]
pub struct Requests(Mutex<BTreeMap<(Asked, u16), u64>>);

impl Requests {
    pub(super) fn count(&self, asked: Asked, code: u16) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry((asked, code)).or_default() += 1;
    }

    /// By what was asked and code.
    #[must_use]
    pub fn so_far(&self) -> BTreeMap<(Asked, u16), u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(method: Method, uri: &str) -> (&'static str, &'static str) {
        let request = Request::builder().method(method).uri(uri).body(()).unwrap();
        let Asked { verb, resource } = Asked::of(&request);
        (verb, resource)
    }

    #[test]
    fn a_request_is_known_as_roles_know_it() {
        let lease = "/apis/coordination.k8s.io/v1/namespaces/nodewell/leases/n";
        for (method, uri, verb, resource) in [
            (Method::GET, "/api/v1/nodes?limit=500", "list", "nodes"),
            (Method::GET, "/api/v1/nodes?watch=true&resourceVersion=7", "watch", "nodes"),
            (Method::GET, "/api/v1/nodes/n", "get", "nodes"),
            (Method::GET, "/k8s/clusters/c-1/api/v1/nodes/n", "get", "nodes"),
            (Method::PATCH, "/api/v1/nodes/n/status?fieldManager=x", "patch", "nodes/status"),
            (Method::PATCH, lease, "patch", "leases"),
            (Method::POST, "/api/v1/namespaces/default/pods/p/eviction", "create", "pods/eviction"),
            (Method::DELETE, "/api/v1/namespaces/default/pods/p", "delete", "pods"),
            (Method::PUT, "/apis/nodewell.dev/v1alpha1/nodefences/n/status", "update", "nodefences/status"),
        ] {
            assert_eq!(asked(method, uri), (verb, resource), "{uri}");
        }
    }

    #[test]
    fn what_stands_in_a_path_makes_no_series() {
        for uri in ["/", "/api/v1", "/api/v1/namespaces/x", "/apis/example.com/v1/widgets/w", "/healthz"] {
            assert_eq!(asked(Method::GET, uri).1, OTHER, "{uri}");
        }
    }
}
