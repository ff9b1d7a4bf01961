//! Node Problem Detector checks no names; ours are CamelCase words.

use nodewell_model::Name;

use super::json::Text;
use crate::report::Report;

/// The name, respelled with a note if need be; an error if nothing is left of it.
pub(super) fn read(key: &str, text: &Text, report: &mut Report<'_>) -> Option<Name> {
    let error = match Name::new(&text.text) {
        Ok(name) => return Some(name),
        Err(error) => error,
    };
    let name = Name::new(&respelled(&text.text)).ok();
    match &name {
        Some(name) => report.note(text.at, format!("{key:?} {:?} is reported in CamelCase: {name}", text.text)),
        None => report.error(text.at, format!("{key:?}: {error}")),
    }
    name
}

/// `disk_is-full` → `DiskIsFull`.
fn respelled(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words
        .map(|word| {
            let (first, rest) = word.split_at(1);
            first.to_ascii_uppercase() + rest
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_spellings_become_camel_case() {
        for (text, name) in [("disk_is-full", "DiskIsFull"), ("OOM killing", "OOMKilling"), ("päd", "PD"), ("--", "")]
        {
            assert_eq!(respelled(text), name);
        }
    }
}
