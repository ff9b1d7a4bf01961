//! A hash of what an operator wrote, by which nodes are compared.

use std::fmt::Write as _;

use ring::digest::{Context, SHA256};

/// SHA-256 over named texts, in their order.
pub struct Fingerprint(Context);

impl Fingerprint {
    /// Adds one. Each part stands behind its length: what ends a name cannot begin a text.
    pub fn add(&mut self, name: &str, text: &str) {
        for part in [name, text] {
            self.0.update(&(part.len() as u64).to_le_bytes());
            self.0.update(part.as_bytes());
        }
    }

    /// `sha256:` and 64 digits, as Kubernetes' own components show the hash of a configuration.
    #[must_use]
    pub fn finish(self) -> String {
        let mut text = "sha256:".to_owned();
        for byte in self.0.finish().as_ref() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        text
    }
}

impl Default for Fingerprint {
    fn default() -> Self {
        Self(Context::new(&SHA256))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(texts: &[(&str, &str)]) -> String {
        let mut fingerprint = Fingerprint::default();
        texts.iter().for_each(|(name, text)| fingerprint.add(name, text));
        fingerprint.finish()
    }

    #[test]
    fn of_nothing_it_is_the_hash_of_nothing() {
        // FIPS 180-4, of the empty message.
        assert_eq!(of(&[]), "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }

    #[test]
    fn names_texts_and_their_order_count() {
        let all = [
            of(&[]),
            of(&[("", "")]),
            of(&[("a", "bc")]),
            of(&[("ab", "c")]),
            of(&[("a", "b"), ("c", "")]),
            of(&[("a", "1"), ("b", "2")]),
            of(&[("b", "2"), ("a", "1")]),
        ];
        let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
        assert_eq!(distinct.len(), all.len(), "{all:#?}");
        assert_eq!(of(&[("a", "bc")]), all[2]);
    }
}
