//! Words of firmware and devices: bounded, of one line, and none where a vendor left its placeholder.

use std::path::Path;

use nodewell_model::text;

use crate::probe::attribute;

/// Serial numbers have some 20 characters, models some 40.
const LIMIT_BYTES: usize = 64;

/// What boards ship where nothing was filled in (as dmidecode prints it of many). In lower case.
const PLACEHOLDERS: [&str; 12] = [
    "not specified",
    "unknown",
    "none",
    "n/a",
    "no dimm",
    "empty",
    "default string",
    "not available",
    "undefined",
    "to be filled by o.e.m.",
    "not provided",
    "serial number",
];

/// The first line of an attribute; empty if it is not there or not shown.
pub(super) fn of_file(path: &Path) -> String {
    let text = attribute::shown(path).ok().flatten().unwrap_or_default();
    clean(text.trim().lines().next().unwrap_or_default())
}

/// `raw` in one short line.
pub(super) fn clean(raw: &str) -> String {
    // Fields are filled up with spaces; what is longer than a line of the kernel's is none.
    let words: Vec<&str> = text::cut(raw, 4096).split_whitespace().collect();
    text::line(&words.join(" "), LIMIT_BYTES).trim().to_owned()
}

/// A word that names one thing among others of its kind; empty for placeholders, and for one character over and over.
pub(super) fn identity(word: &str) -> String {
    let word = clean(word);
    let mut digits = word.chars().filter(|c| c.is_ascii_alphanumeric());
    let first = digits.next();
    let is_monotonous = digits.all(|c| Some(c) == first);
    if is_monotonous || PLACEHOLDERS.contains(&word.to_lowercase().as_str()) { String::new() } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_name_nothing() {
        for word in ["", " ", "00000000", "FFFFFFFF", "Not Specified", "NO DIMM", "-", "00:00:00:00:00:00", "\0\0", "7"]
        {
            assert_eq!(identity(word), "", "{word:?}");
        }
        for word in ["S3X1", "3B4A5C6D", "02:00:00:00:00:01", "00000001"] {
            assert_eq!(identity(word), word);
        }
    }

    #[test]
    fn what_devices_say_is_short_and_of_one_line() {
        assert_eq!(clean("  Samsung\u{1b}[2J    SSD \n"), "Samsung [2J SSD");
        assert!(clean(&"é".repeat(9000)).len() <= LIMIT_BYTES);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        std::fs::write(&path, "one\ntwo\n").unwrap();
        assert_eq!((of_file(&path).as_str(), of_file(&folder.path().join("none")).as_str()), ("one", ""));
    }
}
