//! Rule files of administrators: ours in TOML, Node Problem Detector's in JSON.

use std::path::Path;

use nodewell_rules::load_text;

/// Errors reported for one input stay within bounds.
const DIAGNOSTICS_LIMIT: usize = 1000;

/// JSON where it begins as JSON does. Each error and note names a line that is there.
pub fn rules(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else { return };
    let name = if text.trim_start().starts_with(['{', '[']) && !text.trim_start().starts_with("[[") {
        "a.json"
    } else {
        "a.toml"
    };
    let loaded = load_text(Path::new(name), text);
    let lines = text.lines().count() + 1;
    assert!(loaded.diagnostics.len() <= DIAGNOSTICS_LIMIT, "{} errors", loaded.diagnostics.len());
    for location in loaded.diagnostics.iter().map(|it| &it.location).chain(loaded.notes.iter().map(|it| &it.location)) {
        assert!(location.line <= lines, "{location} of {lines} lines");
    }
    for diagnostic in &loaded.diagnostics {
        assert!(!diagnostic.message.is_empty() && !diagnostic.message.contains('\n'), "{diagnostic}");
    }
}
