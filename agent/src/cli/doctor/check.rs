//! One question to the machine, its answer, and how it is shown.

use serde::Serialize;

use crate::cli::render::{Look, Paint};

/// How bad the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum CheckVerdict {
    Ok,
    /// Something is not seen or not done; the rest works.
    Warn,
    /// The agent does not do its work like this.
    Fail,
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) verdict: CheckVerdict,
    pub(super) detail: String,
    /// What to do; empty where nothing has to be done.
    pub(super) advice: String,
}

impl Check {
    pub(super) fn ok(name: &str, detail: impl Into<String>) -> Self {
        Self { name: name.to_owned(), verdict: CheckVerdict::Ok, detail: detail.into(), advice: String::new() }
    }

    pub(super) fn warn(name: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name: name.to_owned(), verdict: CheckVerdict::Warn, detail: detail.into(), advice: advice.into() }
    }

    pub(super) fn fail(name: &str, detail: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { name: name.to_owned(), verdict: CheckVerdict::Fail, detail: detail.into(), advice: advice.into() }
    }
}

const NAME_WIDTH: usize = 22;

/// One line, and the advice below it. Nothing is cut: this is read when something is wrong.
pub(super) fn shown(check: &Check, look: Look) -> String {
    let (word, paint) = match check.verdict {
        CheckVerdict::Ok => ("ok  ", Paint::Good),
        CheckVerdict::Warn => ("warn", Paint::Warning),
        CheckVerdict::Fail => ("fail", Paint::Bad),
    };
    let detail = look.fit(&check.detail, usize::MAX);
    let mut text = format!("{}  {:<NAME_WIDTH$}  {detail}\n", look.paint(paint, word), check.name);
    if !check.advice.is_empty() {
        let indent = 4 + 2 + NAME_WIDTH + 2;
        text.push_str(&format!("{:indent$}{} {}\n", "", look.sign("→", "->"), check.advice));
    }
    text
}

/// The last line.
pub(super) fn summary(checks: &[Check]) -> String {
    let count = |verdict| checks.iter().filter(|check| check.verdict == verdict).count();
    let (warned, failed) = (count(CheckVerdict::Warn), count(CheckVerdict::Fail));
    let plural = |count: usize| if count == 1 { "" } else { "s" };
    format!("{} ok, {warned} warning{}, {failed} failure{}", count(CheckVerdict::Ok), plural(warned), plural(failed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_stands_below_its_check() {
        let checks = [Check::ok("boot id", "0123"), Check::fail("kernel log", "no permission", "run as root")];
        let text: String = checks.iter().map(|check| shown(check, Look::PLAIN)).collect();
        let expected = "\
ok    boot id                 0123
fail  kernel log              no permission
                              → run as root
";
        assert_eq!(text, expected);
        assert_eq!(summary(&checks), "1 ok, 0 warnings, 1 failure");
    }
}
