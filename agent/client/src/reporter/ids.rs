//! Names for reports, so that one may be sent again.

use crate::random;

/// Ids that no other run of any daemon has.
#[derive(Debug)]
pub(super) struct Ids {
    run: u64,
    last: u64,
}

impl Ids {
    pub(super) fn next(&mut self) -> String {
        self.last += 1;
        format!("{:016x}-{}", self.run, self.last)
    }
}

impl Default for Ids {
    fn default() -> Self {
        Self { run: random(), last: 0 }
    }
}
