//! One request as the control loops make it, and what all requests have in common.

use jiff::Timestamp;

use crate::exporters::apiserver::stats::RequestKind;

/// The name under which the server records what is ours.
pub const FIELD_MANAGER: &str = "nodewell";

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: RequestKind,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
    /// More of the answer is wanted than its metadata.
    pub(crate) whole_answer: bool,
}

/// RFC 3339 in whole seconds, the only form `metav1.Time` takes.
pub(crate) fn seconds(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
