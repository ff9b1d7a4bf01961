//! One request and its answer, within its time.

use std::time::Duration;

use http_body_util::{BodyExt, Limited};
use hyper::{
    Method, Request, Response,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT},
};
use kube::{Client, client::Body};
use nodewell_reconcile::api_error::ApiError;
use nodewell_remediation::api::{GROUP, VERSION};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{
    FIELD_MANAGER,
    answer::{ErrorResponse, judge},
};

/// A page of 500 pods stays far below this.
const ANSWER_LIMIT_BYTES: usize = 64 << 20;
/// What is listed comes in pages of so many objects.
const PAGE: usize = 500;
/// A list that never ends is no answer.
const PAGES: usize = 200;

/// The way to one API server. Each request ends within its time, answered or not.
#[derive(Clone)]
pub struct Wire {
    client: Client,
    limit: Duration,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").field("limit", &self.limit).finish_non_exhaustive()
    }
}

#[derive(serde::Deserialize)]
struct Listed<T> {
    kind: String,
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

/// What every object of an API server has; the empty JSON of a proxy would be a Node without taints, or a list without
/// pods.
#[derive(serde::Deserialize)]
struct Kind {
    #[serde(rename = "kind")]
    _kind: String,
}

#[derive(serde::Deserialize)]
struct Stored {
    metadata: ObjectMeta,
}

#[derive(serde::Deserialize)]
struct ObjectMeta {
    uid: String,
}

#[derive(Default, serde::Deserialize)]
struct ListMeta {
    #[serde(default, rename = "continue")]
    next: String,
    #[serde(default, rename = "resourceVersion")]
    resource_version: String,
}

/// Who a server-side apply is by.
#[derive(Debug, Clone, Copy)]
pub struct Manager<'a> {
    pub name: &'a str,
    /// Takes what another manager has; else that stays its own, and the apply is refused.
    pub force: bool,
}

impl Wire {
    #[must_use]
    pub fn new(client: Client, limit: Duration) -> Self {
        Self { client, limit }
    }

    /// The client, for watches.
    #[must_use]
    pub fn client(&self) -> Client {
        self.client.clone()
    }

    /// A consistent read. Nothing if it is not there.
    pub async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>, ApiError> {
        match self.send(Method::GET, path, None).await {
            Ok(body) => stored(&body).map(Some),
            Err(ApiError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// What answers by no object: `/version`, and etcd.
    pub async fn plain<T: DeserializeOwned>(&self, path: &str, body: Option<&Value>) -> Result<T, ApiError> {
        let method = if body.is_some() { Method::POST } else { Method::GET };
        parsed(&self.send(method, path, body.map(|body| ("application/json", body))).await?)
    }

    /// A consistent list, all pages of it.
    pub async fn list<T: DeserializeOwned>(&self, path: &str, query: &str) -> Result<Vec<T>, ApiError> {
        let mut all = Vec::new();
        self.pages(path, query, |_, item| all.push(item)).await?;
        Ok(all)
    }

    /// A consistent list, object by object, of which only a page is held at a time; its resourceVersion. No
    /// resourceVersion is asked for: that is the most recent one by etcd's quorum, and never what some API server has
    /// in its cache. The version is the first page's: later ones are read at that one too.
    pub async fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        query: &str,
        mut each: impl FnMut(&str, T),
    ) -> Result<String, ApiError> {
        let mut next = String::new();
        for _ in 0..PAGES {
            let page = format!("{path}?limit={PAGE}{query}{next}");
            let answer = self.send(Method::GET, &page, None).await.map_err(|error| without_kind(path, error))?;
            let listed: Listed<T> = parsed(&answer)?;
            if !listed.kind.ends_with("List") {
                let kind: String = listed.kind.chars().take(64).collect();
                return Err(ApiError::NoAnswer(format!("the list {path} is none: its kind is {kind:?}")));
            }
            let version = listed.metadata.resource_version;
            listed.items.into_iter().for_each(|item| each(&version, item));
            if listed.metadata.next.is_empty() {
                return Ok(version);
            }
            next = format!("&continue={}", escaped(&listed.metadata.next));
        }
        Err(ApiError::NoAnswer(format!("the list {path} has no end after {PAGES} pages")))
    }

    pub async fn create<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ApiError> {
        object(&self.send(Method::POST, &managed(path), Some(("application/json", body))).await?)
    }

    /// By compare-and-swap, as far as `body` names a resourceVersion.
    pub async fn replace<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ApiError> {
        object(&self.send(Method::PUT, &managed(path), Some(("application/json", body))).await?)
    }

    /// A JSON merge patch; by compare-and-swap, as far as `body` names a resourceVersion.
    pub async fn merge<T: DeserializeOwned>(&self, path: &str, body: &Value) -> Result<T, ApiError> {
        object(&self.send(Method::PATCH, &managed(path), Some(("application/merge-patch+json", body))).await?)
    }

    /// Server-side apply as `manager`.
    pub async fn apply(&self, path: &str, manager: Manager<'_>, body: &Value) -> Result<(), ApiError> {
        let path = format!("{path}?fieldManager={}&force={}", escaped(manager.name), manager.force);
        object(&self.send(Method::PATCH, &path, Some(("application/apply-patch+yaml", body))).await?).map(|_: Kind| ())
    }

    /// Under these preconditions (`uid`, `resourceVersion`), with this grace if there is one.
    pub async fn delete(&self, path: &str, preconditions: &Value, grace: Option<Duration>) -> Result<(), ApiError> {
        let body = delete_options(preconditions, grace);
        object(&self.send(Method::DELETE, path, Some(("application/json", &body))).await?).map(|_: Kind| ())
    }

    /// Sends and reads to the end; the body of a success.
    async fn send(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Vec<u8>, ApiError> {
        let request = format!("{method} {}", path.split('?').next().unwrap_or(path));
        match timeout(self.limit, self.exchange(method, path, body)).await {
            Ok(Err(ApiError::NoAnswer(why))) => Err(ApiError::NoAnswer(format!("{request}: {why}"))),
            Ok(outcome) => outcome,
            Err(_) => Err(ApiError::NoAnswer(format!("{request}: nothing within {} s", self.limit.as_secs_f32()))),
        }
    }

    /// Opens an answer that has no end of its own; only its beginning has to come in time.
    pub async fn open(&self, path: &str) -> Result<Body, ApiError> {
        let late = || ApiError::NoAnswer(format!("{path}: nothing within {} s", self.limit.as_secs_f32()));
        let response = timeout(self.limit, self.respond(Method::GET, path, None)).await.map_err(|_| late())??;
        if response.status().is_success() {
            Ok(response.into_body())
        } else {
            Err(read(response).await.err().unwrap_or_else(late))
        }
    }

    async fn exchange(&self, method: Method, path: &str, body: Option<(&str, &Value)>) -> Result<Vec<u8>, ApiError> {
        read(self.respond(method, path, body).await?).await
    }

    async fn respond(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Response<Body>, ApiError> {
        let unsent = |why: String| ApiError::Refused { code: 0, message: format!("the request cannot be made: {why}") };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("nodewell-controller/", env!("CARGO_PKG_VERSION")));
        if let Some((kind, _)) = body {
            request = request.header(CONTENT_TYPE, kind);
        }
        let bytes = body.map(|(_, value)| value.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(Body::from(bytes)).map_err(|error| unsent(error.to_string()))?;
        self.client.send(request).await.map_err(|error| match error {
            // Its own name means nothing to a reader.
            kube::Error::Service(error) => ApiError::NoAnswer(with_sources(&*error)),
            error => ApiError::NoAnswer(with_sources(&error)),
        })
    }
}

/// The error and what is under it: `client error (Connect)` alone explains nothing.
pub(super) fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut under = error.source();
    while let Some(source) = under {
        let more = source.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        under = source.source();
    }
    text
}

async fn read(response: Response<Body>) -> Result<Vec<u8>, ApiError> {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let body = Limited::new(response.into_body(), ANSWER_LIMIT_BYTES).collect().await;
    let body = body.map_err(|error| ApiError::NoAnswer(format!("the answer broke off: {error}")))?.to_bytes();
    if status.is_success() {
        return Ok(body.to_vec());
    }
    Err(judge(ErrorResponse { code: status.as_u16(), retry_after, body: &body }))
}

/// The API server's bare text where it has nothing of a group.
const UNSERVED: &str = "404 page not found";

/// A list is there as soon as its kind is, with nothing in it. Ours are made by a person.
fn without_kind(path: &str, error: ApiError) -> ApiError {
    let is_unserved = match &error {
        ApiError::NotFound => true,
        ApiError::NoAnswer(why) => why.contains(UNSERVED),
        _ => false,
    };
    let ours = path.strip_prefix(&format!("/apis/{GROUP}/{VERSION}/")).filter(|_| is_unserved);
    // In a namespace it comes after that.
    let Some(kind) = ours.and_then(|path| path.rsplit('/').next()) else { return error };
    let message = format!(
        "the API server has no {kind}.{GROUP}: its definition was not applied; run \
         `kubectl apply -f /usr/share/nodewell-controller/crds/`"
    );
    ApiError::Refused { code: 404, message }
}

/// An object that the API server has stored: it has a UID. Without one another object of the name would be taken to be there.
fn stored<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    let Stored { metadata } = parsed(body)?;
    if metadata.uid.is_empty() {
        return Err(ApiError::NoAnswer("the answer is no object of the API server's: its UID is empty".into()));
    }
    object(body)
}

/// An object, or a `Status`.
fn object<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    parsed::<Kind>(body)?;
    parsed(body)
}

/// What cannot be read is no answer, whatever it was an answer to.
fn parsed<T: DeserializeOwned>(body: &[u8]) -> Result<T, ApiError> {
    serde_json::from_slice(body).map_err(|error| ApiError::NoAnswer(format!("the answer cannot be read: {error}")))
}

fn managed(path: &str) -> String {
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}fieldManager={FIELD_MANAGER}")
}

pub(super) fn delete_options(preconditions: &Value, grace: Option<Duration>) -> Value {
    let mut options = json!({ "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": preconditions });
    if let Some(grace) = grace {
        options["gracePeriodSeconds"] = json!(grace.as_secs());
    }
    options
}

/// Percent-encodes what stands in a path or a query.
#[must_use]
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_that_is_not_there_is_named_with_what_to_do() {
        let error = without_kind("/apis/nodewell.dev/v1alpha1/remediationpolicies", ApiError::NotFound).to_string();
        for part in ["no remediationpolicies.nodewell.dev", "kubectl apply -f /usr/share/nodewell-controller/crds/"] {
            assert!(error.contains(part), "{error}");
        }
        let namespaced = "/apis/nodewell.dev/v1alpha1/namespaces/fleet/nodefenceremediations";
        let error = without_kind(namespaced, ApiError::NotFound).to_string();
        assert!(error.contains("no nodefenceremediations.nodewell.dev"), "{error}");
        let policies = "/apis/nodewell.dev/v1alpha1/remediationpolicies";
        let unserved = || judge(ErrorResponse { code: 404, retry_after: None, body: b"404 page not found\n" });
        let error = without_kind(policies, unserved()).to_string();
        assert!(error.contains("no remediationpolicies.nodewell.dev"), "{error}");
        assert_eq!(without_kind("/api/v1/nodes", unserved()), unserved());
        assert_eq!(without_kind("/api/v1/nodes", ApiError::NotFound), ApiError::NotFound);
        let busy = ApiError::Refused { code: 429, message: "busy".into() };
        assert_eq!(without_kind("/apis/nodewell.dev/v1alpha1/nodefences", busy.clone()), busy);
    }

    #[test]
    fn what_has_no_kind_is_no_answer() {
        for body in ["<html>", "{}", "[]", "null", r#"{"kind":1}"#, r#"{"items":[]}"#] {
            assert!(matches!(object::<Value>(body.as_bytes()), Err(ApiError::NoAnswer(_))), "{body}");
            assert!(matches!(parsed::<Listed<Value>>(body.as_bytes()), Err(ApiError::NoAnswer(_))), "{body}");
        }
        assert!(object::<Value>(br#"{"kind":"Status"}"#).is_ok());
        for body in
            [r#"{"kind":"Status"}"#, r#"{"kind":"Node","metadata":{}}"#, r#"{"kind":"Node","metadata":{"uid":""}}"#]
        {
            assert!(matches!(stored::<Value>(body.as_bytes()), Err(ApiError::NoAnswer(_))), "{body}");
        }
        assert!(stored::<Value>(br#"{"kind":"Node","metadata":{"uid":"1"}}"#).is_ok());
    }

    #[test]
    fn what_stands_in_a_query_is_escaped() {
        assert_eq!(escaped("spec.nodeName=a b&c"), "spec.nodeName%3Da%20b%26c");
    }

    #[test]
    fn grace_is_only_said_where_it_is_given() {
        let with = delete_options(&json!({ "uid": "1" }), Some(Duration::ZERO));
        assert_eq!((with["gracePeriodSeconds"].as_u64(), with["preconditions"]["uid"].as_str()), (Some(0), Some("1")));
        assert!(delete_options(&json!({}), None).get("gracePeriodSeconds").is_none());
    }
}
