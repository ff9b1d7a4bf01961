//! Lines of a command's help. Examples fit a page of 80 columns: what is said beside a line goes above or below it
//! where it is too wide.

use crate::roff::{Page, escape};

/// 80 columns less the margins of man(1) and of an example.
const WIDTH: usize = 66;

/// Lines of a command's help: a command, and perhaps three spaces or more and what it is for.
pub(crate) fn commands(page: &mut Page, lines: &str) {
    let lines: Vec<&str> = lines.lines().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    if lines.iter().all(|line| line.chars().count() <= WIDTH) {
        return page.verbatim(&lines.join("\n"));
    }
    let mut examples: Vec<(&str, String)> = Vec::new();
    for line in lines {
        match (line.starts_with(' '), examples.last_mut()) {
            (true, Some((_, meaning))) => meaning.push_str(line.trim()),
            _ => {
                let (command, meaning) = line.split_once("   ").unwrap_or((line, ""));
                examples.push((command.trim(), meaning.trim().to_owned()));
            }
        }
    }
    for (command, meaning) in examples {
        page.term(&format!("\\fB{}\\fR", escape(command)), &escape(&meaning));
    }
}

/// A paragraph of a command's help, and the list that may end it: lines behind two blanks, of each its term and what
/// that means.
pub(crate) fn terms(paragraph: &str) -> (&str, Vec<(&str, &str)>) {
    let (words, list) = paragraph.split_once("\n  ").unwrap_or((paragraph, ""));
    (words, list.lines().map(term).collect())
}

fn term(line: &str) -> (&str, &str) {
    let (term, meaning) = line.trim().split_once("  ").unwrap_or((line.trim(), ""));
    (term, meaning.trim_start().trim_end_matches('.'))
}

/// A block of TOML, JSON or shell: a comment at the end of a wide line moves above it.
pub(crate) fn block(page: &mut Page, text: &str) {
    let mut lines = Vec::new();
    for line in text.lines() {
        match line.split_once("  #") {
            Some((code, comment)) if line.chars().count() > WIDTH => {
                lines.extend(comment_lines(comment));
                lines.push(code.trim_end().to_owned());
            }
            _ => lines.push(line.to_owned()),
        }
    }
    page.verbatim(&lines.join("\n"));
}

fn comment_lines(comment: &str) -> Vec<String> {
    let mut lines = vec!["#".to_owned()];
    for word in comment.split_whitespace() {
        if lines.last().is_some_and(|line| line.len() + word.len() >= WIDTH) {
            lines.push("#".to_owned());
        }
        if let Some(line) = lines.last_mut() {
            line.push(' ');
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(write: impl FnOnce(&mut Page)) -> String {
        let mut page = Page { name: String::new(), section: "1", text: String::new() };
        write(&mut page);
        page.text
    }

    #[test]
    fn a_wide_comment_goes_above_its_line() {
        let text = written(|page| block(page, &format!("a = 1  # short\nbb = 2       # {}", "word ".repeat(14))));
        assert!(text.contains("\na = 1  # short\n# word word"), "{text}");
        assert!(text.contains("\nbb = 2\n.fi"), "{text}");
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
    }

    #[test]
    fn a_list_ends_a_paragraph() {
        assert_eq!(terms("It only\nlooks."), ("It only\nlooks.", Vec::new()));
        let expected = ("One of\nthese:", vec![("a", "looks"), ("bb", "does it  twice")]);
        assert_eq!(terms("One of\nthese:\n  a   looks.\n  bb  does it  twice"), expected);
    }

    #[test]
    fn what_a_wide_command_is_for_goes_below_it() {
        let lines = format!("  prog -x     looks\n  prog -y\n              {}", "word ".repeat(14));
        let text = written(|page| commands(page, &lines));
        assert!(text.contains(".TP\n\\fBprog \\-x\\fR\nlooks\n.TP\n\\fBprog \\-y\\fR\nword word"), "{text}");
    }
}
