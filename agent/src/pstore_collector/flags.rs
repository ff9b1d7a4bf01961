//! The command line of `nodewell collect-pstore`.

use std::path::PathBuf;

use clap::Args;

use super::{ARCHIVE, COPY_DIR, PSTORE, Roots};

const EXAMPLES: &str = "\
Examples:
  nodewell collect-pstore                    what nodewell-pstore-collector.service runs, as root, before the agent
  nodewell collect-pstore --to /tmp/pstore   look at what there is

Nothing is deleted. At most 64 files and 1 MiB are copied, the newest first.

Exit codes: 0 copied, or there was nothing; 64 wrong usage; 70 the copies could not be written.";

/// From where, and to where.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct PstoreCollectorFlags {
    /// Where the copies go, in a folder that only root writes to; what is there is replaced
    #[arg(long, value_name = "DIR", default_value = COPY_DIR)]
    pub to: PathBuf,
    /// The kernel's own folder
    #[arg(long, value_name = "DIR", default_value = PSTORE)]
    pub pstore: PathBuf,
    /// Where systemd-pstore stores what it moved
    #[arg(long, value_name = "DIR", default_value = ARCHIVE)]
    pub archive: PathBuf,
}

impl PstoreCollectorFlags {
    pub(super) fn roots(&self) -> Roots {
        Roots { pstore: self.pstore.clone(), archive: self.archive.clone() }
    }
}
