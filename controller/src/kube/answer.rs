//! What an answer's code and `Status` mean for the caller.

use std::time::Duration;

use nodewell_reconcile::api_error::ApiError;
use serde_json::Value;

/// An answer that is no success: the code, `Retry-After` in seconds, and the body, which is a `Status` if it is anything.
#[derive(Debug, Clone, Copy)]
pub(super) struct ErrorResponse<'a> {
    pub(super) code: u16,
    pub(super) retry_after: Option<u64>,
    pub(super) body: &'a [u8],
}

/// What the server's own filters and its HTTP layer answer by a bare text.
const WITHOUT_STATUS: [u16; 5] = [406, 413, 415, 429, 431];

/// Sorts an answer that is no success. After a 5xx of the server, of etcd behind it or of a proxy before it, it is
/// unknown what was done; and what a proxy or a portal says in the server's place is true of nothing: by its 404 a pod
/// would be gone.
pub(super) fn judge(response: ErrorResponse<'_>) -> ApiError {
    let status: Value = serde_json::from_slice(response.body).unwrap_or_default();
    let message = message(&status, response.body);
    let is_servers = status["kind"] == "Status" || WITHOUT_STATUS.contains(&response.code);
    match response.code {
        code if code < 400 || code < 500 && !is_servers => ApiError::NoAnswer(format!(
            "the API server serves nothing there, or something answers in its place: {message} (HTTP {code})"
        )),
        404 => ApiError::NotFound,
        409 if is_another_uid(&message) => ApiError::NotFound,
        409 => ApiError::Conflict(message),
        429 if is_of_a_budget(&status) => {
            ApiError::EvictionRefused { message: refused_by_budget(&status, message), retry: retry(&status, response) }
        }
        // kube-apiserver's own message for a pod with two budgets: this it knows not to have done.
        500 if message.contains("more than one PodDisruptionBudget") => ApiError::Refused { code: 500, message },
        500.. => ApiError::NoAnswer(format!("{message} (HTTP {})", response.code)),
        code => ApiError::Refused { code, message },
    }
}

/// `storage.Preconditions.Check` and the eviction handler name the UIDs that differ.
fn is_another_uid(message: &str) -> bool {
    message.contains("UID in precondition") || message.contains("UID in the precondition")
}

/// `policy.DisruptionBudgetCause`.
fn is_of_a_budget(status: &Value) -> bool {
    let causes = status["details"]["causes"].as_array();
    causes.is_some_and(|causes| causes.iter().any(|cause| cause["reason"] == "DisruptionBudget"))
}

/// The cause names the budget and its numbers; the message names neither.
fn refused_by_budget(status: &Value, message: String) -> String {
    let causes = status["details"]["causes"].as_array().into_iter().flatten();
    let messages: Vec<&str> = causes.filter_map(|cause| cause["message"].as_str()).collect();
    if messages.is_empty() { message } else { fit_to_show(&format!("{message} {}", messages.join(" "))) }
}

fn retry(status: &Value, response: ErrorResponse<'_>) -> Option<Duration> {
    let given = status["details"]["retryAfterSeconds"].as_u64().filter(|seconds| *seconds > 0);
    given.or(response.retry_after).map(Duration::from_secs)
}

/// No answer of a proxy becomes a page in the journal.
const MESSAGE_LIMIT: usize = 512;

fn message(status: &Value, body: &[u8]) -> String {
    let text = match status["message"].as_str() {
        Some(message) => message.to_owned(),
        None => String::from_utf8_lossy(body).trim().to_owned(),
    };
    if text.is_empty() { "the server reports nothing more".to_owned() } else { fit_to_show(&text) }
}

/// It goes into records and Events, and from there to terminals.
fn fit_to_show(text: &str) -> String {
    let clean = |letter: char| if nodewell_printable::is_hidden(letter) { ' ' } else { letter };
    text.chars().take(MESSAGE_LIMIT).map(clean).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Of a `Status` with these fields.
    fn judged(code: u16, fields: &Value) -> ApiError {
        let mut body = fields.clone();
        body["kind"] = json!("Status");
        judge(ErrorResponse { code, retry_after: None, body: body.to_string().as_bytes() })
    }

    #[test]
    fn a_budget_that_says_no_is_blocked_and_names_itself() {
        let body = json!({
            "message": "Cannot evict pod as it would violate the pod's disruption budget.",
            "details": { "causes": [{
                "reason": "DisruptionBudget", "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
            }], "retryAfterSeconds": 10 },
        });
        let ApiError::EvictionRefused { message, retry } = judged(429, &body) else {
            panic!("not refused by a budget")
        };
        assert!(message.contains("disruption budget web needs 2"), "{message}");
        assert_eq!(retry, Some(Duration::from_secs(10)));
    }

    #[test]
    fn an_overloaded_server_is_no_budget() {
        assert_eq!(
            judged(429, &json!({ "message": "too many requests, please try again later" })),
            ApiError::Refused { code: 429, message: "too many requests, please try again later".into() }
        );
    }

    #[test]
    fn another_object_of_the_name_is_not_there() {
        for message in [
            "Operation cannot be fulfilled on pods \"a\": Precondition failed: UID in precondition: x, UID in object meta: y",
            "Operation cannot be fulfilled on pods \"a\": the UID in the precondition (x) does not match the UID in record (y).",
        ] {
            assert_eq!(judged(409, &json!({ "message": message })), ApiError::NotFound, "{message}");
        }
        let conflict = judged(409, &json!({ "message": "the object has been modified" }));
        assert_eq!(conflict, ApiError::Conflict("the object has been modified".into()));
        assert_eq!(judged(404, &json!({})), ApiError::NotFound);
    }

    #[test]
    fn after_an_error_of_the_server_the_outcome_is_in_doubt() {
        for code in [500, 502, 503, 504] {
            let timed_out = json!({ "message": "etcdserver: request timed out" });
            assert!(matches!(judged(code, &timed_out), ApiError::NoAnswer(_)), "{code}");
        }
        let two = json!({ "message": "This pod has more than one PodDisruptionBudget, which the eviction subresource does not support." });
        for (code, answer) in [(500, two), (403, json!({ "message": "forbidden" }))] {
            assert!(matches!(judged(code, &answer), ApiError::Refused { .. }), "{code}");
        }
    }

    #[test]
    fn what_stands_in_the_servers_place_is_true_of_nothing() {
        let pages: [&[u8]; 4] = [b"<html>404 Not Found</html>", b"404 page not found\n", b"{}", b""];
        for code in [301, 302, 307, 400, 401, 403, 404, 409, 410, 422] {
            for body in pages {
                let error = judge(ErrorResponse { code, retry_after: None, body });
                assert!(matches!(error, ApiError::NoAnswer(_)), "{code}: {error}");
            }
        }
        // An API server sends no client elsewhere.
        assert!(matches!(judged(302, &json!({ "message": "found" })), ApiError::NoAnswer(_)));
        for code in WITHOUT_STATUS {
            let busy = b"Too many requests, please try again later.\n";
            let error = judge(ErrorResponse { code, retry_after: None, body: busy });
            assert!(matches!(error, ApiError::Refused { .. }), "{code}: {error}");
        }
    }

    #[test]
    fn what_budgets_say_is_cut_and_shows_no_hidden_character() {
        let causes = vec![json!({ "reason": "DisruptionBudget", "message": "\u{1b}[31mx\u{202e}".repeat(100) }); 100];
        let error = judged(429, &json!({ "message": "no", "details": { "causes": causes } })).to_string();
        assert!(
            error.chars().count() < 600 && !error.contains(nodewell_printable::is_hidden),
            "{} characters",
            error.len()
        );
    }

    #[test]
    fn a_page_of_a_proxy_is_cut() {
        let page = "<html>".repeat(1000);
        let error = judge(ErrorResponse { code: 502, retry_after: None, body: page.as_bytes() });
        assert!(error.to_string().len() < 600);
    }
}
