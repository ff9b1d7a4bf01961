//! What is said of lines that were not understood.

use nodewell_rules::replay::{Unread, UnreadLine};
use serde::Serialize;

use super::FormatName;

/// One row behind the findings, for programs.
#[derive(Debug, Serialize)]
pub(super) struct UnreadRow<'a> {
    /// Of the first of them.
    line: u64,
    kind: &'static str,
    count: u64,
    message: &'a str,
}

impl<'a> UnreadRow<'a> {
    /// `None`: all was understood.
    pub(super) fn of(unread: &'a Unread) -> Option<Self> {
        let UnreadLine { number, text } = unread.first.as_ref()?;
        Some(Self { line: *number, kind: "unread", count: unread.count, message: text })
    }
}

/// Of a log in which no rule matched and that is in no form, or not in the one that was `asked` for: that nothing is
/// wrong would be a guess.
pub(super) fn of_unknown_form(unread: &Unread, asked: FormatName) -> String {
    let Some(UnreadLine { number, text }) = &unread.first else {
        return "there is nothing in the log but blank lines".to_owned();
    };
    let (form, advice) = match asked {
        FormatName::Auto => {
            ("in a form of log that I know", "see the forms in --help, and give yours by --format if it is one of them")
        }
        _ => ("in the form that --format names", "without --format the form is found out from the first lines"),
    };
    let count = unread.count;
    format!(
        "none of the first {count} lines is {form} (line {number}: {text:?}), and no rule matches any line; {advice}"
    )
}

/// Added to the summary of a log in which something was found or whose form is known.
pub(super) fn summed_up(unread: &Unread, is_recognised: bool, asked: FormatName) -> Option<String> {
    let UnreadLine { number, text } = unread.first.as_ref()?;
    if !is_recognised {
        let what = match asked {
            FormatName::Auto => "no form of log is recognised, each line was taken for a message without a prefix",
            _ => "none of the first lines is in the form that --format names",
        };
        return Some(format!("{what} (line {number}: {text:?})"));
    }
    let lines = if unread.count == 1 { "1 line is".to_owned() } else { format!("{} lines are", unread.count) };
    Some(format!("{lines} in another form and not understood, first line {number}: {text:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unread(count: u64) -> Unread {
        Unread { count, first: Some(UnreadLine { number: 17, text: "Dear \"all\"".to_owned() }) }
    }

    #[test]
    fn the_line_is_named_with_its_text() {
        assert_eq!(
            of_unknown_form(&unread(3), FormatName::Auto),
            "none of the first 3 lines is in a form of log that I know (line 17: \"Dear \\\"all\\\"\"), and no rule \
             matches any line; see the forms in --help, and give yours by --format if it is one of them"
        );
        assert!(of_unknown_form(&unread(3), FormatName::Kmsg).contains("in the form that --format names (line 17: "));
        assert!(of_unknown_form(&Unread::default(), FormatName::Auto).contains("nothing in the log but blank lines"));
        let summary = |count, is_recognised, asked| summed_up(&unread(count), is_recognised, asked).unwrap();
        let known = |count| summary(count, true, FormatName::Auto);
        assert!(known(1).starts_with("1 line is in another form and not understood, first line 17: "));
        assert!(known(2).starts_with("2 lines are in another form"));
        assert!(summary(2, false, FormatName::Auto).contains("without a prefix (line 17: "));
        assert!(summary(2, false, FormatName::Kmsg).contains("that --format names (line 17: "));
    }

    #[test]
    fn a_log_that_was_understood_has_no_row_and_no_words() {
        let all = Unread::default();
        assert!(UnreadRow::of(&all).is_none() && summed_up(&all, true, FormatName::Auto).is_none());
        let row = serde_json::to_string(&UnreadRow::of(&unread(2)).unwrap()).unwrap();
        assert_eq!(row, r#"{"line":17,"kind":"unread","count":2,"message":"Dear \"all\""}"#);
    }
}
