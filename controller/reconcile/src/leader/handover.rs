//! The handover in the Lease: the leader alone writes it, with each renewal, which it makes anyway.

use nodewell_remediation::decide::Handover;

use crate::cluster::Leadership;

const ANNOTATION: &str = "nodewell.dev/rates";
/// All annotations of an object may have 256 KiB; a renewal must never fail for this.
const LIMIT_BYTES: usize = 200_000;

/// What the leader before left. Nothing is nothing; what cannot be read used everything up.
pub(super) fn read(lease: &Leadership) -> Handover {
    let Some(text) = lease.annotations.get(ANNOTATION) else { return Handover::default() };
    serde_json::from_str(text).unwrap_or_else(|error| {
        let what = "the Lease's annotation nodewell.dev/rates cannot be read: rates count as used up for their windows";
        tracing::error!(%error, "{what}");
        Handover::lost()
    })
}

/// One that is too long is left as a text that cannot be read.
pub(super) fn write(handover: Option<Handover>, lease: &mut Leadership) {
    let Some(text) = handover.and_then(|handover| serde_json::to_string(&handover).ok()) else { return };
    let text = if text.len() > LIMIT_BYTES { "too long".to_owned() } else { text };
    lease.annotations.insert(ANNOTATION.to_owned(), text);
}
