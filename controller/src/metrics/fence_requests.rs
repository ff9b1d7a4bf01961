//! Requests of other remediators, by how far each is.

use nodewell_metrics::Exposition;

use super::table;
use crate::tally::FenceRequests;

pub(super) fn show(page: &mut Exposition, requests: &FenceRequests) {
    page.metric(&table::FENCE_REQUESTS);
    for ((succeeded, reason), count) in requests {
        page.sample(&[("succeeded", succeeded), ("reason", reason)], *count);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_shown_by_their_reason() {
        let key = |succeeded: &str, reason: &str| (succeeded.to_owned(), reason.to_owned());
        let mut page = Exposition::default();
        show(&mut page, &[(key("False", "TimedOut"), 1), (key("Unknown", "Fencing"), 2)].into());
        let text = page.into_text();
        assert!(
            text.contains("nodewell_controller_fence_requests{succeeded=\"Unknown\",reason=\"Fencing\"} 2\n"),
            "{text}"
        );
    }
}
