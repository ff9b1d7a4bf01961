//! What of a log was not understood: the first line of it, and how many there are.

use std::{cell::RefCell, rc::Rc};

use nodewell_model::text;

/// So much shows what a line is.
const SHOWN_BYTES: usize = 120;

/// Lines in no form that is read. Not every line is looked at: one in which no word of a rule is would be no finding in
/// any form. Of a log whose first lines show no form at all it is those.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Unread {
    pub count: u64,
    pub first: Option<UnreadLine>,
}

/// One such line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadLine {
    /// Counted from 1.
    pub number: u64,
    /// Made fit to show, and cut.
    pub text: String,
}

/// Where the forms that a log is wrapped in, which are a few lines ahead, and the replay itself note what they do not
/// understand.
#[derive(Debug, Clone, Default)]
pub(super) struct UnreadLines(Rc<RefCell<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    unread: Unread,
    /// All up to this line is noted.
    beginning: u64,
}

impl UnreadLines {
    pub(super) fn note(&self, number: u64, line: &[u8]) {
        let mut noted = self.0.borrow_mut();
        if number > noted.beginning {
            noted.unread.add(number, line);
        }
    }

    /// The first lines show no form.
    pub(super) fn note_beginning<'l>(&self, lines: impl Iterator<Item = (u64, &'l [u8])>) {
        let mut noted = self.0.borrow_mut();
        for (number, line) in lines {
            noted.unread.add(number, line);
            noted.beginning = number;
        }
    }

    pub(super) fn take(&self) -> Unread {
        self.0.take().unread
    }
}

impl Unread {
    fn add(&mut self, number: u64, line: &[u8]) {
        self.count += 1;
        if self.first.as_ref().is_none_or(|first| number < first.number) {
            let text = text::cut(text::subject(line.trim_ascii()).trim_end(), SHOWN_BYTES).to_owned();
            self.first = Some(UnreadLine { number, text });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_shown_in_whatever_order_they_come() {
        let lines = UnreadLines::default();
        lines.note(7, b"late");
        lines.clone().note(3, b"  a\x1b[2J\xff\t\n");
        let Unread { count, first } = lines.take();
        let first = first.unwrap();
        assert_eq!((count, first.number, &*first.text), (2, 3, "a\u{fffd}[2J\u{fffd}"));
    }

    #[test]
    fn a_line_of_the_beginning_counts_once_and_a_long_one_is_cut() {
        let lines = UnreadLines::default();
        lines.note_beginning([(1, &b"x".repeat(500)[..]), (3, &b"y"[..])].into_iter());
        lines.note(3, b"y");
        lines.note(4, b"z");
        let Unread { count, first } = lines.take();
        let first = first.unwrap();
        assert_eq!((count, first.number, first.text.len()), (3, 1, SHOWN_BYTES));
    }
}
