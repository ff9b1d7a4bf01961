//! `key=value` lines, as all values of the proposal's ConfigMaps are.

use nodewell_printable::is_hidden;

use super::SourcedValue;

/// A key is longer than anything an agent knows.
const KEY_BYTES: usize = 64;

/// The pairs of `text` in order. A value may have `=` in it; empty lines and those that begin with `#` are skipped.
/// What is wrong goes to `diagnostics`, with `source` (`ConfigMap/key`) and the line.
pub(super) fn parse(source: &str, text: &str, diagnostics: &mut Vec<String>) -> Vec<(String, SourcedValue)> {
    let mut pairs: Vec<(String, SourcedValue)> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let (line, at) = (line.trim(), format!("{source}:{}", index + 1));
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match pair(line) {
            Ok((key, _)) if pairs.iter().any(|(before, _)| before == key) => {
                diagnostics.push(format!("{at}: {key} is given twice; keep one"));
            }
            Ok((key, value)) => {
                pairs.push((key.to_owned(), SourcedValue { value: value.to_owned(), at, of_node: false }))
            }
            Err(why) => diagnostics.push(format!("{at}: {why}")),
        }
    }
    pairs
}

fn pair(line: &str) -> Result<(&str, &str), String> {
    let (key, value) = line.split_once('=').ok_or_else(|| "no = in this line; write key=value".to_owned())?;
    let (key, value) = (key.trim(), value.trim());
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if key.is_empty() || key.len() > KEY_BYTES || !key.bytes().all(allowed) {
        return Err("what stands before = is no name; write key=value".to_owned());
    }
    if value.contains(is_hidden) {
        let what = "a control character, or one that is not seen";
        return Err(format!(
            "{what}, in the value of {key}; an agent would read another option there, or a person another value"
        ));
    }
    Ok((key, value))
}
