//! Messages for people about an expression that cannot be parsed or evaluated.

use cel::{ExecutionError, ParseErrors};

/// Brackets within brackets; the parser goes as deep as the text does, on the stack.
const MAX_DEPTH: usize = 32;

/// Words of other languages, and what CEL has instead.
const OTHER_WORDS: [(&str, &str); 6] =
    [(" and ", "&&"), (" or ", "||"), ("not ", "!"), (" = ", "=="), ("<>", "!="), ("=~", "contains(…)")];

pub(super) fn check_depth(source: &str) -> Result<(), String> {
    let mut depth = 0_usize;
    for letter in source.chars() {
        match letter {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_DEPTH {
            return Err(format!("has more than {MAX_DEPTH} brackets within each other"));
        }
    }
    check_signs(source)
}

/// `!!!!…` and `----…` go as deep as brackets, without one.
fn check_signs(source: &str) -> Result<(), String> {
    let mut row = 0_usize;
    for letter in source.chars().filter(|letter| !letter.is_whitespace()) {
        row = if matches!(letter, '!' | '-') { row + 1 } else { 0 };
        if row > MAX_DEPTH {
            return Err(format!("has more than {MAX_DEPTH} of `!` or `-` in a row"));
        }
    }
    Ok(())
}

/// The first error, with line and column from 1, and what may have been meant.
pub(super) fn explain_parse(source: &str, errors: &ParseErrors) -> String {
    let Some(error) = errors.errors.first() else { return "is no expression".into() };
    let (line, column) = error.pos;
    let mut text = format!("line {line}, column {}: {}", column.max(0) + 1, error.msg);
    if let Some((word, right)) = OTHER_WORDS.iter().find(|(word, _)| source.contains(word)) {
        text.push_str(&format!("; CEL writes `{right}` where there is `{}`", word.trim()));
    }
    text
}

/// An error of the evaluation for one node. The commonest by far: a key is missing.
pub(super) fn explain_execution(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => {
            format!("`{key}` is not there; ask before with has(….{key}) or '{key}' in …")
        }
        other => other.to_string(),
    }
}
