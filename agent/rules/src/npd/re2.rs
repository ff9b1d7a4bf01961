//! Go's regular expressions (RE2's syntax) as the `regex` crate writes them.

/// The pattern in the `regex` crate's syntax.
///
/// # Errors
/// What of RE2's syntax has no counterpart.
pub fn translate_re2(pattern: &str) -> Result<String, String> {
    Ok(format!("(?-u){pattern}"))
}
