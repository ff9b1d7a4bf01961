//! Where a relative path of a file leads: to a program, a log or a journal.

use std::path::{Path, PathBuf};

use super::json::Text;
use crate::report::Report;

/// An absolute path as it is; of a relative one, which is not empty, a note says where it leads.
pub(super) fn absolute(path: &Text, report: &mut Report<'_>) -> PathBuf {
    if path.text.starts_with('/') {
        return PathBuf::from(&path.text);
    }
    let relative = path.text.trim_start_matches("./");
    // Its container image starts it in the root directory.
    let in_root = Path::new("/").join(relative);
    let beside = || beside(report.file(), relative).map(|found| (found, "found beside this file"));
    let (absolute, how) =
        if in_root.exists() { None } else { beside() }.unwrap_or((in_root, "taken from the root directory"));
    report.note(path.at, format!("{:?} is {how}: {}", path.text, absolute.display()));
    absolute
}

/// Where a file that came with its programs has them: `./plugin/x` beside it, `./config/plugin/x` beside its folder.
fn beside(file: &Path, relative: &str) -> Option<PathBuf> {
    let file = std::path::absolute(file).ok()?;
    let folders = file.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join(relative)).find(|path| path.exists())
}
