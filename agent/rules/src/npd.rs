//! Node Problem Detector's JSON configuration: its files load unchanged.

mod re2;

pub use re2::translate_re2;

use std::path::Path;

use crate::draft::Draft;

/// Reads one file's text.
pub(crate) fn read(_file: &Path, _text: &str) -> Draft {
    Draft { npd: true, ..Draft::default() }
}
