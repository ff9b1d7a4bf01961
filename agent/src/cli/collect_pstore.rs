//! `nodewell collect-pstore`: copies what the last boot left, for `nodewell-pstore-collector.service`. It speaks to the
//! journal.

use super::error::{CommandError, SOFTWARE};
use crate::pstore_collector::{self, PstoreCollectorFlags};

pub(super) fn run(flags: &PstoreCollectorFlags) -> Result<(), CommandError> {
    nodewell_journal::init("nodewell", "info");
    let files = pstore_collector::run(flags).map_err(|error| CommandError::new(SOFTWARE, error.to_string()))?;
    tracing::info!(files, to = %flags.to.display(), "copied the records of pstore");
    Ok(())
}
