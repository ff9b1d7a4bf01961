//! Whether files have changed.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt, path::PathBuf, time::SystemTime};

/// How files looked; `None` for one that is not there.
pub type Files = BTreeMap<PathBuf, Option<Stamp>>;

/// When its content and its rights were changed last, and which file it is.
type Stamp = (Option<SystemTime>, (i64, i64), u64, u64);

/// How the files look now.
#[must_use]
pub fn stamps(paths: impl IntoIterator<Item = PathBuf>) -> Files {
    let stamp = |path: &PathBuf| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.modified().ok(), (metadata.ctime(), metadata.ctime_nsec()), metadata.ino(), metadata.len()))
    };
    paths.into_iter().map(|path| (path.clone(), stamp(&path))).collect()
}
