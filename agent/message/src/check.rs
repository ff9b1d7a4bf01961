//! What is wrong with a catalogue, for the tests of the programs that have one.

use std::collections::BTreeSet;

use crate::{
    catalogue::{Catalogue, Entry},
    template::LIMIT,
};

/// What a message never has: words that name no actor and no state (see CONTRIBUTING.md, "Words").
const RETIRED: [&str; 12] = [
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "whoever",
    "anew",
    "told",
    "is well",
    "are well",
    "the dead",
    "not asked",
    "said",
];

impl Catalogue {
    /// Every message that breaks a rule, with the rule; empty for a catalogue that may ship.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<String> {
        let of_entries = self
            .entries()
            .flat_map(|entry| entry.diagnostics().into_iter().map(|diagnostic| format!("{}: {diagnostic}", entry.key)));
        let of_reasons = self.reasons_without_message().map(|name| format!("{name}: listed without a message"));
        self.broken.iter().cloned().chain(of_entries).chain(of_reasons).collect()
    }
}

impl Entry {
    fn diagnostics(&self) -> Vec<String> {
        let mut diagnostics = Vec::new();
        let places: BTreeSet<&str> = self.template().places().collect();
        let examples: BTreeSet<&str> = self.example.keys().map(String::as_str).collect();
        if places != examples {
            diagnostics.push(format!("its places are {places:?}, its example has {examples:?}"));
        }
        let shown = self.shown();
        if shown.ends_with('…') || shown.len() >= LIMIT {
            diagnostics.push(format!("more than {LIMIT} bytes with its example"));
        }
        diagnostics.extend(text_diagnostics(&self.text));
        diagnostics
    }
}

/// The rules that any message's `text` breaks, also one that another file has, such as a rule file's.
#[must_use]
pub fn text_diagnostics(text: &str) -> Vec<String> {
    let mut diagnostics = Vec::new();
    if text.contains(nodewell_printable::is_hidden) || text.trim() != text {
        diagnostics.push("has a line break, a character that is not seen, or a space at an end".to_owned());
    }
    let lower = format!(" {} ", text.to_lowercase());
    let has = |word: &&&str| {
        lower.split(|sign: char| !sign.is_alphanumeric()).collect::<Vec<_>>().join(" ").contains(&format!(" {word} "))
    };
    diagnostics.extend(RETIRED.iter().filter(has).map(|word| format!("says {word:?}")));
    diagnostics
}

#[cfg(test)]
mod tests {
    use crate::Catalogue;

    fn diagnostics(text: &str) -> Vec<String> {
        Catalogue::read(&[text]).diagnostics()
    }

    #[test]
    fn a_catalogue_that_may_ship_has_no_errors() {
        let text = r#"message = [{ key = "Full", text = "{mount} is full: free space", example = { mount = "/" } }]"#;
        assert_eq!(diagnostics(text), [""; 0]);
    }

    #[test]
    fn each_rule_is_reported() {
        for (entry, diagnostic) in [
            (r#"{ key = "A", text = "{a}" }"#, "its places"),
            (r#"{ key = "A", text = "a", example = { a = "1" } }"#, "its places"),
            (r#"{ key = "A", text = " a" }"#, "a space at an end"),
            (r#"{ key = "A", text = "a\nb" }"#, "a line break"),
            (r#"{ key = "A", text = "the disk is well." }"#, r#"says "is well""#),
            (r#"{ key = "A", text = "Nobody answers" }"#, r#"says "nobody""#),
            (r#"{ key = "A", text = "a" }, { key = "A", text = "a" }"#, "listed twice"),
            (r#"{ key = "A", words = "a" }"#, "unknown field"),
        ] {
            let found = diagnostics(&format!("message = [{entry}]")).join("\n");
            assert!(found.contains(diagnostic), "{entry}: {found:?}");
        }
        let long = format!(r#"message = [{{ key = "A", text = "{}" }}]"#, "w".repeat(300));
        assert!(diagnostics(&long).join("").contains("256"), "{:?}", diagnostics(&long));
    }

    #[test]
    fn a_listed_reason_has_a_message() {
        let text = r#"message = [{ key = "A/b", text = "a" }]
            reasons = [{ names = ["A", "C"], condition = "(Event)" }]"#;
        assert_eq!(diagnostics(text), ["C: listed without a message"]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(diagnostics(r#"message = [{ key = "A", text = "retold, foretold and swell" }]"#), [""; 0]);
    }
}
