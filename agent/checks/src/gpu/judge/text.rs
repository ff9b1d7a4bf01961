//! Text of messages: what people know a GPU by.

use crate::gpu::Identity;

/// `NVIDIA H100 80GB HBM3, serial 1654922000000, GPU-6bd5…`, as far as it is known.
pub(super) fn gpu(identity: &Identity) -> String {
    let serial = identity.serial.as_ref().map(|serial| format!("serial {serial}"));
    let parts: Vec<_> = [identity.name.clone(), serial, identity.uuid.clone()].into_iter().flatten().collect();
    if parts.is_empty() { "model unknown".to_owned() } else { parts.join(", ") }
}
