//! Who calls, as the API server knows him: what stands beside an abort, a retry and a pause.

use nodewell_reconcile::api_error::ApiError;
use serde_json::{Value, json};

use crate::kube::Wire;

/// Every user who is known to the server may ask who it is.
const WHO_AM_I: &str = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
const UNKNOWN: &str = "a user whose name the API server does not report";
/// For people; more is no reason but a report.
const REASON_CHARS: usize = 160;

/// `USER: REASON`. The caller writes it, so it is the caller's own claim; the API server's audit log has the proof.
pub(super) async fn signed(wire: &Wire, reason: &str) -> String {
    let review = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview" });
    signature(&wire.create::<Value>(WHO_AM_I, &review).await, reason)
}

fn signature(review: &Result<Value, ApiError>, reason: &str) -> String {
    let user = review.as_ref().ok().and_then(|review| review["status"]["userInfo"]["username"].as_str());
    let reason: String =
        reason.trim().chars().filter(|letter| !nodewell_printable::is_hidden(*letter)).take(REASON_CHARS).collect();
    let user = user.unwrap_or(UNKNOWN);
    if reason.is_empty() { user.to_owned() } else { format!("{user}: {reason}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_and_why_are_one_line() {
        let review = Ok(json!({ "status": { "userInfo": { "username": "eva@example.com" } } }));
        assert_eq!(signature(&review, " disk is\n changed "), "eva@example.com: disk is changed");
        assert_eq!(signature(&review, ""), "eva@example.com");
        assert_eq!(signature(&review, &"x".repeat(1000)).len(), "eva@example.com: ".len() + REASON_CHARS);
        assert_eq!(signature(&Err(ApiError::NotFound), "why"), format!("{UNKNOWN}: why"));
    }
}
