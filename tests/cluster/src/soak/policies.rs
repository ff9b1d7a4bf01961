//! The policies of a soak: as they are shipped, with room for one fault after another. A person who has a node fenced
//! five times a day looks at it; here that is what is asked for.

use crate::manifests::{DEAD_NODES, READONLY_FILESYSTEMS};

const RATE: [&str; 2] = ["rate: { count: 10, window: 1h }", "rate: { count: 10000, window: 1h }"];
const CYCLES: [&str; 2] = ["powerCycles: { count: 5, window: 24h }", "powerCycles: { count: 10000, window: 24h }"];

/// Dead nodes are fenced.
#[must_use]
pub fn dead_nodes() -> String {
    widened(DEAD_NODES, &[RATE, CYCLES])
}

/// Nodes whose filesystems were cut off are drained.
#[must_use]
pub fn readonly_filesystems() -> String {
    widened(READONLY_FILESYSTEMS, &[RATE])
}

fn widened(policy: &str, by: &[[&str; 2]]) -> String {
    by.iter().fold(policy.to_owned(), |policy, [narrow, wide]| {
        assert!(policy.contains(narrow), "the sample is another one: {policy}");
        policy.replace(narrow, wide)
    })
}
