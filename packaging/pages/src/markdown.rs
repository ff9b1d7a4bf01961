//! Prose of the programs as Markdown: outside of code between backquotes nothing of it is an order.

/// Prose for a paragraph or an item.
pub(crate) fn prose(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // The last part is no code, even if one mark is missing.
    let last = parts.len() - 1;
    let is_code = |at: usize| at % 2 == 1 && at < last;
    let each = |(at, part): (usize, &&str)| if is_code(at) { (*part).to_owned() } else { escaped(part) };
    parts.iter().enumerate().map(each).collect::<Vec<_>>().join("`")
}

/// The same for a cell of a table, on one line.
pub(crate) fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    prose(&words.join(" ")).replace('|', "\\|")
}

/// Text as it is typed.
pub(crate) fn code(text: &str) -> String {
    format!("`{text}`")
}

fn escaped(text: &str) -> String {
    text.replace('*', "\\*").replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prose_is_no_order_and_code_stays_as_it_is() {
        assert_eq!(prose("FILE.d/*.toml of `a <b> *c*`, <x>"), "FILE.d/\\*.toml of `a <b> *c*`, \\<x>");
        assert_eq!(prose("cache `a*b"), "cache `a\\*b");
    }

    #[test]
    fn a_cell_is_one_line_without_bars() {
        assert_eq!(cell("a |\n  `b|c`"), "a \\| `b\\|c`");
    }
}
