//! The book as the cases read it: a case runs the very block that a reader copies, so that neither changes without
//! the other.

use std::{fs, path::Path};

/// The folder of the workspace.
///
/// # Panics
/// Never: this crate is a folder of it.
#[must_use]
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests is a folder of the workspace")
}

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    pub language: String,
    /// Without the blanks that a list puts before each line; every line ended.
    pub text: String,
}

/// Those of a page of docs/, in their order.
///
/// # Panics
/// If there is no such page.
#[must_use]
pub fn blocks(page: &str) -> Vec<Block> {
    let path = workspace().join("docs").join(page);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut blocks = Vec::new();
    let mut open: Option<(usize, Block)> = None;
    for line in text.lines() {
        let shown = line.trim_start();
        if let Some(language) = shown.strip_prefix("```") {
            match open.take() {
                Some((_, block)) => blocks.push(block),
                None => {
                    let block = Block { language: language.to_owned(), text: String::new() };
                    open = Some((line.len() - shown.len(), block));
                }
            }
        } else if let Some((indent, block)) = &mut open {
            block.text.push_str(line.get(*indent..).unwrap_or_default());
            block.text.push('\n');
        }
    }
    blocks
}

/// The one block of `page` in `language` that begins with `start`.
///
/// # Panics
/// If there is none, or another one.
#[must_use]
#[track_caller]
pub fn block(page: &str, language: &str, start: &str) -> String {
    let mut found = blocks(page);
    found.retain(|block| block.language == language && block.text.starts_with(start));
    match found.as_slice() {
        [block] => block.text.clone(),
        others => panic!("docs/{page} has {} blocks of {language} that begin with {start:?}", others.len()),
    }
}

/// The commands of `page` that begin with `start`. By calls of this, as they are written, the case `book` finds what is
/// run.
///
/// # Panics
/// If there is no such block, or another one.
#[must_use]
#[track_caller]
pub fn commands(page: &str, start: &str) -> String {
    block(page, "bash", start)
}

/// The pages whose commands a reader copies, in the order of the book: its parts Start and Tasks.
///
/// # Panics
/// If the summary cannot be read.
#[must_use]
pub fn pages_with_commands() -> Vec<String> {
    let summary = fs::read_to_string(workspace().join("docs/SUMMARY.md")).unwrap();
    let (parts, _) = summary.split_once("\n# Concepts\n").expect("docs/SUMMARY.md has a part Concepts");
    parts.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned())).collect()
}

/// The first line of `shown`, which a page says is printed, that is not in `output`. Numbers and the widths of gaps are
/// those of an example; a line with `…` is not asked for.
#[must_use]
pub fn missing<'s>(shown: &'s str, output: &str) -> Option<&'s str> {
    let printed: Vec<String> = output.lines().map(pattern).collect();
    let is_asked = |line: &&str| !line.trim().is_empty() && !line.contains('…');
    shown.lines().filter(is_asked).find(|line| !printed.contains(&pattern(line)))
}

/// Its words, with a 0 for each number.
fn pattern(line: &str) -> String {
    let mut pattern = String::new();
    for word in line.split_whitespace() {
        pattern.push(' ');
        let mut is_number = false;
        for letter in word.chars() {
            let is_digit = letter.is_ascii_digit();
            if !is_digit || !is_number {
                pattern.push(if is_digit { '0' } else { letter });
            }
            is_number = is_digit;
        }
    }
    pattern
}
