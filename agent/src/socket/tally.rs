//! Reports by what became of them: every bound that one can hit has its counter.

use std::sync::atomic::{AtomicU64, Ordering};

use hyper::StatusCode;

/// What becomes of a report, in the metric's terms, and the answers that show it.
const RESULTS: [(&str, &[StatusCode]); 9] = [
    ("taken", &[StatusCode::OK, StatusCode::ACCEPTED]),
    ("invalid", &[StatusCode::BAD_REQUEST, StatusCode::UNSUPPORTED_MEDIA_TYPE]),
    ("forbidden", &[StatusCode::FORBIDDEN]),
    ("slow", &[StatusCode::REQUEST_TIMEOUT]),
    ("too-many-subjects", &[StatusCode::CONFLICT]),
    ("too-large", &[StatusCode::PAYLOAD_TOO_LARGE]),
    ("too-often", &[StatusCode::TOO_MANY_REQUESTS]),
    ("unavailable", &[StatusCode::SERVICE_UNAVAILABLE]),
    ("failed", &[StatusCode::INTERNAL_SERVER_ERROR]),
];

/// Requests to `POST /v1/status` by their outcome.
#[derive(Debug, Default)]
pub struct Reports([AtomicU64; RESULTS.len()]);

impl Reports {
    pub(super) fn count(&self, answer: StatusCode) {
        let known = RESULTS.iter().position(|(_, answers)| answers.contains(&answer));
        // The last one takes every other answer.
        self.0[known.unwrap_or(RESULTS.len() - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// Each outcome with its count.
    pub fn by_result(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        RESULTS.iter().zip(&self.0).map(|((result, _), count)| (*result, count.load(Ordering::Relaxed)))
    }
}
