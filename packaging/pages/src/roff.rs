//! A man page being written: the few words of man(7) that ours need.

use std::fmt::Write;

/// One page.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) name: String,
    pub(crate) section: &'static str,
    pub(crate) text: String,
}

impl Page {
    /// A page with its title and its NAME.
    pub(crate) fn new(name: &str, section: &'static str, about: &str) -> Self {
        let mut page = Self { name: name.to_owned(), section, text: String::new() };
        let (title, version) = (name.to_uppercase(), env!("CARGO_PKG_VERSION"));
        // No date: the same source makes the same page.
        page.line(&format!(".TH {} {section} \"\" \"nodewell {version}\" nodewell", escape(&title)));
        page.heading("NAME");
        page.line(&format!("{} \\- {}", escape(name), escape(about)));
        page
    }

    pub(crate) fn file_name(&self) -> String {
        format!("{}.{}", self.name, self.section)
    }

    pub(crate) fn heading(&mut self, words: &str) {
        self.line(&format!(".SH {}", escape(&words.to_uppercase())));
    }

    pub(crate) fn subheading(&mut self, words: &str) {
        self.line(&format!(".SS {}", escape(words)));
    }

    /// A paragraph of text that is escaped already.
    pub(crate) fn paragraph(&mut self, escaped: &str) {
        self.line(".PP");
        self.line(&guarded(escaped));
    }

    /// A term and what it means, both escaped already.
    pub(crate) fn term(&mut self, term: &str, meaning: &str) {
        self.line(".TP");
        self.line(&guarded(term));
        self.line(&guarded(meaning));
    }

    /// An item of a list, escaped already.
    pub(crate) fn item(&mut self, escaped: &str) {
        self.line(".IP \\(bu 2");
        self.line(&guarded(escaped));
    }

    /// Lines that are shown as they are, if the page is wide enough for them.
    pub(crate) fn verbatim(&mut self, text: &str) {
        self.line(".PP");
        self.line(".RS 4");
        self.line(".nf");
        for line in text.lines() {
            self.line(&guarded(&escape(line)));
        }
        self.line(".fi");
        self.line(".RE");
    }

    pub(crate) fn line(&mut self, line: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

/// Text as roff reads it back: hyphens that can be copied from the page, no escape by accident.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '–' => escaped.push_str("\\(en"),
            '—' => escaped.push_str("\\(em"),
            '→' => escaped.push_str("\\(->"),
            '≥' => escaped.push_str("\\(>="),
            '≤' => escaped.push_str("\\(<="),
            '…' => escaped.push_str("..."),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Prose in which words between backquotes are to be typed as they stand.
pub(crate) fn prose(text: &str) -> String {
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts = words.split('`').enumerate();
    let each = |(at, part): (usize, &str)| {
        if at % 2 == 1 { format!("\\fB{}\\fR", escape(part)) } else { escape(part) }
    };
    parts.map(each).collect()
}

/// A line of text that begins like a request is none.
fn guarded(escaped: &str) -> String {
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_bold() {
        assert_eq!(prose("run `a -b`\nnow"), "run \\fBa \\-b\\fR now");
    }

    #[test]
    fn nothing_in_a_text_is_an_order_to_roff() {
        let mut page = Page::new("x", "1", "a thing");
        page.paragraph(&escape(".so /etc/passwd"));
        page.verbatim("'q' \\n --flag");
        assert!(page.text.contains("\\&.so /etc/passwd"));
        assert!(page.text.contains("\\(aqq\\(aq \\en \\-\\-flag"));
    }
}
