//! Numbers that no other process will choose: ids of reports and of runs, and the jitter of retries. Not for secrets.

use std::hash::{BuildHasher, Hasher, RandomState};

/// The standard library seeds its hashers from the kernel's random bytes.
#[must_use]
pub fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
