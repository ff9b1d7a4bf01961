//! A guide of docs/ as a man page: headings, paragraphs, lists, examples and tables of Markdown.

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use crate::{
    examples,
    roff::{Page, escape},
};

/// A guide and what a man page says around it.
pub(crate) struct Guide {
    pub(crate) name: &'static str,
    pub(crate) section: &'static str,
    pub(crate) about: &'static str,
    pub(crate) text: &'static str,
    pub(crate) see_also: &'static str,
}

impl Guide {
    pub(crate) fn page(&self) -> Page {
        let mut writer = Writer { page: Page::new(self.name, self.section, self.about), ..Writer::default() };
        writer.page.heading("DESCRIPTION");
        Parser::new_ext(self.text, Options::ENABLE_TABLES).for_each(|event| writer.take(event));
        writer.page.heading("SEE ALSO");
        writer.page.line(&escape(self.see_also));
        writer.page
    }
}

/// The page so far, and the pieces that are still being read.
struct Writer {
    page: Page,
    /// Escaped text of the paragraph, heading, item or cell.
    inline: String,
    /// Text as it stands, of a heading or an example.
    plain: String,
    cells: Vec<String>,
    /// What follows the words of a link.
    link: String,
    in_item: bool,
    in_example: bool,
}

impl Default for Writer {
    fn default() -> Self {
        let page = Page { name: String::new(), section: "", text: String::new() };
        Self {
            page,
            inline: String::new(),
            plain: String::new(),
            cells: Vec::new(),
            link: String::new(),
            in_item: false,
            in_example: false,
        }
    }
}

impl Writer {
    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(&tag),
            Event::End(end) => self.end(end),
            Event::Text(text) if self.in_example => self.plain.push_str(&text),
            Event::Text(text) => self.words(&text, "", ""),
            Event::Code(text) => self.words(&text, "\\fB", "\\fR"),
            Event::SoftBreak | Event::HardBreak => self.words("\n", "", ""),
            _ => {}
        }
    }

    fn words(&mut self, text: &str, before: &str, after: &str) {
        self.plain.push_str(text);
        self.inline.push_str(before);
        // A line that begins with a dot is an order; inside a paragraph it is joined to the one before.
        self.inline.push_str(&escape(&text.replace('\n', " ")));
        self.inline.push_str(after);
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Strong => self.inline.push_str("\\fB"),
            Tag::Emphasis => self.inline.push_str("\\fI"),
            Tag::CodeBlock(CodeBlockKind::Fenced(_) | CodeBlockKind::Indented) => {
                self.plain.clear();
                self.in_example = true;
            }
            Tag::Heading { .. } | Tag::Paragraph | Tag::TableCell => self.forget(),
            // The first words of an item may have no paragraph of their own.
            Tag::Item => {
                self.forget();
                self.in_item = true;
            }
            // An item that holds a list ends where that begins.
            Tag::List(_) if self.in_item => self.end(TagEnd::Item),
            Tag::TableRow | Tag::TableHead => self.cells.clear(),
            Tag::Link { dest_url, .. } => self.link = link(dest_url),
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd) {
        match end {
            TagEnd::Strong | TagEnd::Emphasis => self.inline.push_str("\\fR"),
            TagEnd::Heading(level) => self.heading(level as usize),
            TagEnd::Paragraph if !self.in_item => self.page.paragraph(self.inline.trim()),
            TagEnd::Item if self.in_item => {
                self.in_item = false;
                self.page.item(self.inline.trim());
                self.forget();
            }
            TagEnd::CodeBlock => {
                self.in_example = false;
                examples::block(&mut self.page, &self.plain);
            }
            TagEnd::TableCell => self.cells.push(self.inline.trim().to_owned()),
            TagEnd::TableRow | TagEnd::TableHead => self.row(),
            TagEnd::Link => {
                let link = std::mem::take(&mut self.link);
                self.words(&link, "", "");
            }
            _ => {}
        }
    }

    fn heading(&mut self, level: usize) {
        match level {
            // The title is the page's own.
            1 => {}
            2 => self.page.heading(&self.plain),
            _ => self.page.subheading(&self.plain),
        }
    }

    /// The first column is what the others are about.
    fn row(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        let term = cells.next().unwrap_or_default();
        let meaning: Vec<String> = cells.filter(|cell| !cell.is_empty()).collect();
        self.page.term(&term, &meaning.join("; "));
    }

    fn forget(&mut self) {
        self.inline.clear();
        self.plain.clear();
    }
}

/// Our other guides lie beside each other in the package too, and the reference in a folder of it.
fn link(to: &str) -> String {
    match to.strip_suffix(".md") {
        Some(name) if !to.contains("://") => {
            format!(" (/usr/share/doc/nodewell/{}.md)", name.trim_start_matches("../"))
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(text: &'static str) -> String {
        Guide { name: "x", section: "5", about: "a thing", text, see_also: "y(1)" }.page().text
    }

    #[test]
    fn headings_paragraphs_and_words() {
        let text = page("# Title\n\nSee `a-b` and\n**two** words.\n\n## Next part\n\n### Deeper\n");
        assert!(text.contains(".PP\nSee \\fBa\\-b\\fR and \\fBtwo\\fR words.\n"), "{text}");
        assert!(text.contains(".SH NEXT PART\n") && text.contains(".SS Deeper\n"), "{text}");
        assert!(!text.contains("Title"), "{text}");
    }

    #[test]
    fn tables_are_terms_and_examples_stay_as_they_are() {
        let text = page("| a | b |\n|---|---|\n| `--x` | does [it](it.md) |\n\n```toml\n.dot = 1\n```\n");
        assert!(text.contains(".TP\n\\fB\\-\\-x\\fR\ndoes it (/usr/share/doc/nodewell/it.md)\n"), "{text}");
        assert!(text.contains(".nf\n\\&.dot = 1\n.fi\n"), "{text}");
    }

    #[test]
    fn lists_are_items() {
        let text = page("- one `x`\n- two\n  - three\n");
        assert_eq!(text.matches(".IP \\(bu 2").count(), 3, "{text}");
        assert!(text.contains("\ntwo\n"), "{text}");
    }
}
