//! Reasons and condition types: CamelCase words that people script against, checked at every border.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize, Serializer};

/// The longest reason or condition type, in bytes (the API server's own limit on a condition's reason is 1,024).
pub const NAME_LIMIT_BYTES: usize = 128;

/// A CamelCase reason or condition type, such as `KernelOops`. Cheap to clone.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct Name(Arc<str>);

/// Why a word is not a [`Name`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("a name must not be empty")]
    Empty,
    #[error("{0:?} is longer than {NAME_LIMIT_BYTES} bytes")]
    TooLong(String),
    #[error("{0:?} is not CamelCase: it takes an upper-case letter, then letters and digits")]
    NotCamelCase(String),
}

impl Name {
    /// Checks `word` and stores it.
    pub fn new(word: &str) -> Result<Self, NameError> {
        if word.is_empty() {
            return Err(NameError::Empty);
        }
        if word.len() > NAME_LIMIT_BYTES {
            return Err(NameError::TooLong(word.chars().take(40).collect()));
        }
        let camel =
            word.starts_with(|c: char| c.is_ascii_uppercase()) && word.bytes().all(|b| b.is_ascii_alphanumeric());
        if camel { Ok(Self(word.into())) } else { Err(NameError::NotCamelCase(word.to_owned())) }
    }

    /// A name that is written in the program itself.
    ///
    /// # Panics
    /// If `word` is not CamelCase: a programming error.
    #[must_use]
    pub fn fixed(word: &'static str) -> Self {
        Self::new(word).expect("names in the program are CamelCase")
    }

    /// The word itself.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// As the word that it is, without a copy: every finding and every problem has two of them.
impl Serialize for Name {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

impl std::borrow::Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl std::str::FromStr for Name {
    type Err = NameError;
    fn from_str(word: &str) -> Result<Self, NameError> {
        Self::new(word)
    }
}

impl TryFrom<String> for Name {
    type Error = NameError;
    fn try_from(word: String) -> Result<Self, NameError> {
        Self::new(&word)
    }
}

impl From<Name> for String {
    fn from(name: Name) -> Self {
        name.0.as_ref().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn camel_case_strings_are_names() {
        for word in ["KernelOops", "X", "CPUThermal2"] {
            assert_eq!(Name::new(word).map(|n| n.as_str().to_owned()), Ok(word.to_owned()));
        }
    }

    #[test]
    fn other_values_are_refused() {
        for word in ["", "kernelOops", "Kernel-Oops", "Kernel Oops", "1Kernel", "Ümlaut", &"A".repeat(129)] {
            assert!(Name::new(word).is_err(), "{word}");
        }
    }
}
