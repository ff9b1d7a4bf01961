//! What the API server's answer to one request means for us; no I/O.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

/// One condition of a Node, field by field.
pub(crate) type Fields = Map<String, Value>;

/// A request that did what it should.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct AcceptedAnswer {
    /// The object's UID, where the answer names one.
    pub(crate) uid: Option<String>,
    /// An Event's count, where the answer is a whole Event.
    pub(crate) count: Option<u64>,
    /// The object's `resourceVersion`: on one server it only grows.
    pub(crate) version: Option<u64>,
    /// A Node's conditions, where the answer is a whole Node.
    pub(crate) conditions: Option<Vec<Fields>>,
}

/// A request that did not; each variant has its own reaction.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("cannot use the kubeconfig: {0}")]
    Credentials(String),
    /// No server received the request.
    #[error("cannot reach the API server: {0}")]
    Unreachable(String),
    /// It was sent, and may yet be carried out.
    #[error("cannot reach the API server: {0}")]
    Unanswered(String),
    #[error("the API server does not know our credentials (401): {0}")]
    Unauthorized(String),
    #[error("the API server forbids it (403): {0}")]
    Forbidden(String),
    #[error("not found (404): {0}")]
    Missing(String),
    /// A POST of an object that is there already: for a deterministic name, delivered.
    #[error("it exists already (409)")]
    Exists,
    /// Other field managers own fields that we want to set otherwise.
    #[error("other writers own what we wanted to set (409)")]
    FieldConflicts(Vec<FieldConflict>),
    #[error("the API server is busy ({code}): {message}")]
    Busy { code: u16, after: Option<Duration>, message: String },
    #[error("the API server failed ({code}): {message}")]
    ServerError { code: u16, message: String },
    /// A proxy or a portal answers in its place. It was sent, and may yet be carried out.
    #[error("something answers in place of the API server ({code}): {message}")]
    NotTheServer { code: u16, message: String },
    /// The server understood the request and will not take it: our error, or a server too old.
    #[error("the API server refused it ({code}): {message}")]
    Rejected { code: u16, message: String },
}

/// One field of one condition that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FieldConflict {
    pub(crate) condition: String,
    pub(crate) field: String,
    pub(crate) manager: String,
}

impl RequestError {
    /// Whether the server may have carried the request out all the same, or may yet.
    pub(crate) fn may_be_carried_out(&self) -> bool {
        matches!(self, Self::Unanswered(_) | Self::NotTheServer { .. })
    }

    /// Whether nothing is known of what became of the request: a server that fails may have carried it out as well.
    pub(crate) fn leaves_open(&self) -> bool {
        self.may_be_carried_out() || matches!(self, Self::ServerError { code: 500.., .. })
    }

    /// Whether other content might have been taken.
    pub(crate) fn is_about_content(&self) -> bool {
        matches!(self, Self::Rejected { code: 400 | 413 | 422, .. })
    }
}

#[derive(Deserialize, Default)]
struct Object {
    #[serde(default)]
    metadata: Metadata,
    count: Option<u64>,
    status: Option<NodeStatus>,
}

#[derive(Deserialize, Default)]
struct Metadata {
    uid: Option<String>,
    #[serde(rename = "resourceVersion")]
    version: Option<String>,
}

#[derive(Deserialize)]
struct NodeStatus {
    conditions: Option<Vec<Fields>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    kind: String,
    message: String,
    reason: String,
    details: Details,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    causes: Vec<Cause>,
    #[serde(rename = "retryAfterSeconds")]
    retry_after_secs: Option<u64>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Cause {
    reason: String,
    message: String,
    field: String,
}

/// Reads an answer: its status code, its `Retry-After` header and its body.
pub(crate) fn parse_answer(code: u16, retry_after: Option<&str>, body: &[u8]) -> Result<AcceptedAnswer, RequestError> {
    if (200..300).contains(&code) {
        // Every object that an API server has written has a UID.
        let answer = serde_json::from_slice::<Object>(body).map(AcceptedAnswer::from);
        let answer = answer.ok().filter(|answer| answer.uid.is_some());
        return answer.ok_or_else(|| RequestError::NotTheServer { code, message: Status::plain(body).message });
    }
    let status = serde_json::from_slice(body).map_or_else(|_| Status::plain(body), Status::fit_to_show);
    Err(error(code, retry_after, status))
}

impl From<Object> for AcceptedAnswer {
    fn from(object: Object) -> Self {
        let Metadata { uid, version } = object.metadata;
        Self {
            uid: uid.filter(|uid| !uid.is_empty()),
            count: object.count,
            version: version.and_then(|version| version.parse().ok()),
            conditions: object.status.and_then(|status| status.conditions),
        }
    }
}

fn error(code: u16, retry_after: Option<&str>, status: Status) -> RequestError {
    // The header may also hold a date; then our own back-off does.
    let after = retry_after.and_then(|text| text.trim().parse().ok()).or(status.details.retry_after_secs);
    let after = after.map(Duration::from_secs);
    let message = status.message;
    let is_servers_own = status.kind == "Status";
    match code {
        401 => RequestError::Unauthorized(message),
        409 if status.reason == "AlreadyExists" => RequestError::Exists,
        409 => conflict(status.details.causes, message),
        429 => RequestError::Busy { code, after, message },
        500.. if after.is_some() => RequestError::Busy { code, after, message },
        500.. => RequestError::ServerError { code, message },
        // What is refused, missing or forbidden is taken for that for good, or for minutes: only the server itself knows it.
        // These four are about sizes and media types, which a server may refuse before it can write a Status.
        400..=499 if !is_servers_own && !matches!(code, 406 | 413 | 415 | 431) => {
            RequestError::NotTheServer { code, message }
        }
        403 => RequestError::Forbidden(message),
        404 => RequestError::Missing(message),
        400.. => RequestError::Rejected { code, message },
        ..400 => RequestError::NotTheServer { code, message },
    }
}

fn conflict(causes: Vec<Cause>, message: String) -> RequestError {
    let conflicts: Vec<FieldConflict> = causes.iter().filter_map(Cause::field_conflict).collect();
    // Without causes it is the server's own optimistic lock that lost: worth another try.
    if conflicts.is_empty() {
        RequestError::ServerError { code: 409, message }
    } else {
        RequestError::FieldConflicts(conflicts)
    }
}

impl Status {
    /// Proxies and load balancers answer with text of their own.
    fn plain(body: &[u8]) -> Self {
        let text = nodewell_model::text::message(&body[..body.len().min(200)]);
        Self { message: text, ..Self::default() }
    }

    /// Whatever stands in the server's place may write a `Status`, too: its message goes to the journal and to terminals.
    fn fit_to_show(self) -> Self {
        Self { message: nodewell_model::text::message(self.message.as_bytes()), ..self }
    }
}

impl Cause {
    /// `field` is `.status.conditions[type="KernelDeadlock"].status`, `message` `conflict with "npd" … using v1`.
    fn field_conflict(&self) -> Option<FieldConflict> {
        if self.reason != "FieldManagerConflict" {
            return None;
        }
        let (condition, rest) = self.field.split_once("conditions[type=\"")?.1.split_once("\"]")?;
        Some(FieldConflict {
            condition: condition.to_owned(),
            field: rest.trim_start_matches('.').to_owned(),
            manager: self.message.split('"').nth(1).unwrap_or("another writer").to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejected(code: u16, body: &str) -> RequestError {
        parse_answer(code, None, body.as_bytes()).unwrap_err()
    }

    #[test]
    fn a_success_names_the_uid_whatever_else_it_holds() {
        let body =
            br#"{"kind":"PartialObjectMetadata","metadata":{"uid":"u-1","resourceVersion":"77"},"spec":{"x":1}}"#;
        let answer = AcceptedAnswer { uid: Some("u-1".into()), version: Some(77), ..AcceptedAnswer::default() };
        assert_eq!(parse_answer(200, None, body), Ok(answer));
        let event = AcceptedAnswer { uid: Some("u-2".into()), count: Some(7), ..AcceptedAnswer::default() };
        assert_eq!(parse_answer(200, None, br#"{"kind":"Event","metadata":{"uid":"u-2"},"count":7}"#), Ok(event));
        let node = br#"{"metadata":{"uid":"u-3"},"status":{"conditions":[{"type":"A"}],"images":[1]}}"#;
        let node = parse_answer(200, None, node).unwrap();
        assert_eq!(node.conditions.unwrap()[0]["type"], "A");
    }

    /// A portal, a proxy's page, a server of another kind, and one that sends elsewhere.
    #[test]
    fn what_is_no_api_server_has_taken_nothing_and_refused_nothing() {
        for (code, body) in [
            (200, "<html>Welcome to our Wi-Fi</html>"),
            (200, ""),
            (204, ""),
            (201, "{}"),
            (200, r#"{"kind":"Status","status":"Success"}"#),
            (200, r#"{"metadata":{"uid":""}}"#),
            (200, r#"{"metadata":{"uid":7}}"#),
            (301, ""),
            (307, "<a href=https://portal/>"),
            (403, "<html>blocked by your administrator</html>"),
            (404, "404 page not found"),
            (404, "{}"),
            (400, "<html>Bad Request</html>"),
            (405, "<html>Method Not Allowed</html>"),
            (407, "<html>Proxy Authentication Required</html>"),
            (410, "gone"),
            (422, "{}"),
            (451, "<html>blocked by law</html>"),
            (101, ""),
        ] {
            let error = rejected(code, body);
            assert!(matches!(error, RequestError::NotTheServer { .. }), "{code} {body}: {error:?}");
        }
        let RequestError::NotTheServer { message, .. } = rejected(200, &format!("<html>{}", "x".repeat(9000))) else {
            panic!()
        };
        assert!(message.starts_with("<html>") && message.len() <= 200);
    }

    #[test]
    fn a_conflict_names_condition_field_and_manager() {
        // As kube-apiserver 1.36 answers.
        let body = r#"{"kind":"Status","message":"Apply failed with 1 conflict","reason":"Conflict","details":{"causes":[
            {"reason":"FieldManagerConflict","message":"conflict with \"npd\" with subresource \"status\" using v1",
             "field":".status.conditions[type=\"KernelDeadlock\"].lastHeartbeatTime"}]},"code":409}"#;
        let conflict = FieldConflict {
            condition: "KernelDeadlock".into(),
            field: "lastHeartbeatTime".into(),
            manager: "npd".into(),
        };
        assert_eq!(rejected(409, body), RequestError::FieldConflicts(vec![conflict]));
    }

    #[test]
    fn other_conflicts_are_tried_again_and_existing_objects_are_known() {
        assert_eq!(rejected(409, r#"{"reason":"AlreadyExists"}"#), RequestError::Exists);
        assert!(matches!(rejected(409, r#"{"reason":"Conflict"}"#), RequestError::ServerError { code: 409, .. }));
    }

    #[test]
    fn retry_after_is_read_from_the_header_or_the_body() {
        let after = |code, header, body: &str| match parse_answer(code, header, body.as_bytes()) {
            Err(RequestError::Busy { after, .. }) => after,
            other => panic!("{other:?}"),
        };
        assert_eq!(after(429, Some("7"), "{}"), Some(Duration::from_secs(7)));
        assert_eq!(after(503, None, r#"{"details":{"retryAfterSeconds":3}}"#), Some(Duration::from_secs(3)));
        assert_eq!(after(429, Some("Sat, 21 Nov 2026 02:53:36 GMT"), ""), None);
    }

    #[test]
    fn a_proxys_own_message_is_reported_and_bounded() {
        let RequestError::ServerError { message, .. } = rejected(502, &format!("<html>{}", "x".repeat(9000))) else {
            panic!()
        };
        assert!(message.starts_with("<html>") && message.len() <= 200);
    }

    #[test]
    fn a_status_is_bounded_and_shows_no_hidden_character() {
        let long = format!(r#"{{"kind":"Status","message":"\u001b[31m\u202e\u200b{}"}}"#, "x".repeat(9000));
        for code in [401, 403, 404, 422, 429, 500, 503] {
            let shown = rejected(code, &long).to_string();
            assert!(
                shown.len() <= 1200 && !shown.contains(nodewell_printable::is_hidden),
                "{code}: {} bytes",
                shown.len()
            );
        }
    }

    #[test]
    fn what_the_server_will_never_take_is_refused() {
        let status = r#"{"kind":"Status","status":"Failure","message":"no"}"#;
        for code in [400, 405, 406, 410, 413, 415, 422] {
            assert!(matches!(rejected(code, status), RequestError::Rejected { .. }), "{code}");
        }
        for code in [406, 413, 415, 431] {
            assert!(matches!(rejected(code, "in plain text"), RequestError::Rejected { .. }), "{code}");
        }
    }
}
