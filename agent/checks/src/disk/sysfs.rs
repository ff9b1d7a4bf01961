//! One value a file, as sysfs has them; files may vanish between the list and the read.

use std::{fs, path::Path, str::FromStr};

/// The value without its line end; `None` if the file is not there, cannot be read or is empty.
pub(super) fn word(folder: &Path, name: &str) -> Option<String> {
    // Lossy: models and serial numbers are whatever bytes the device gave.
    let bytes = fs::read(folder.join(name)).ok()?;
    let word = String::from_utf8_lossy(&bytes).trim().to_owned();
    (!word.is_empty()).then_some(word)
}

/// The value as a number.
pub(super) fn number<T: FromStr>(folder: &Path, name: &str) -> Option<T> {
    word(folder, name)?.parse().ok()
}

/// The names in a folder, sorted; none if it is not there.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}
