//! CHANGELOG.md as nfpm wants it: a list of versions, each with its changes, for Debian's and rpm's change logs alike.

use std::fmt::Write;

use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

const PACKAGER: &str = "nodewell maintainers <nodewell@users.noreply.github.com>";
const UNRELEASED: &str = "Unreleased";

/// What was released when, newest first.
#[derive(Debug, Default, PartialEq)]
struct Release {
    version: String,
    date: String,
    changes: Vec<String>,
}

/// `version` and `date` (RFC 3339) stand for what is not released yet.
pub(crate) fn for_packages(text: &str, version: &str, date: &str) -> String {
    let mut out = String::new();
    for release in releases(text, version, date) {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- semver: {}\n  date: {}\n  packager: {PACKAGER}", release.version, release.date);
        let _ = writeln!(out, "  deb: {{ urgency: medium, distributions: [unstable] }}\n  changes:");
        for change in release.changes {
            let _ = writeln!(out, "    - note: |-\n        {change}");
        }
    }
    out
}

fn releases(text: &str, version: &str, date: &str) -> Vec<Release> {
    let mut releases: Vec<Release> = Vec::new();
    let mut words = String::new();
    for event in Parser::new(text) {
        match event {
            Event::Start(Tag::Heading { .. } | Tag::Item) => words.clear(),
            Event::Text(text) | Event::Code(text) => words.push_str(&text),
            Event::SoftBreak => words.push(' '),
            Event::End(TagEnd::Heading(HeadingLevel::H2)) => releases.push(heading(&words, version, date)),
            Event::End(TagEnd::Item) => {
                if let Some(release) = releases.last_mut() {
                    release.changes.push(words.clone());
                }
            }
            _ => {}
        }
    }
    releases.retain(|release| !release.changes.is_empty());
    releases
}

/// "Unreleased", "1.2.0 - Unreleased", or "1.2.0 - 2027-03-01".
fn heading(words: &str, version: &str, date: &str) -> Release {
    let (version, date) = match words.split_once(" - ") {
        Some((version, day)) if day != UNRELEASED => (version, format!("{day}T00:00:00Z")),
        _ => (version, date.to_owned()),
    };
    Release { version: version.to_owned(), date, changes: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str =
        "# Changes\n\n## Unreleased\n\n### Added\n- `x`: one\n  and two.\n\n## 0.1.0 - 2026-01-02\n\n- first\n";

    #[test]
    fn what_is_not_released_yet_is_this_version() {
        let releases = releases(TEXT, "0.2.0", "2026-11-21T05:00:00Z");
        assert_eq!(releases[0].version, "0.2.0");
        assert_eq!(releases[0].changes, ["x: one and two."]);
        assert_eq!((releases[1].version.as_str(), releases[1].date.as_str()), ("0.1.0", "2026-01-02T00:00:00Z"));
    }

    #[test]
    fn a_version_without_its_day_is_the_one_that_is_built() {
        let text = TEXT.replace("## Unreleased", "## 0.2.0 - Unreleased\n\nThe second version.");
        let releases = releases(&text, "0.2.0-1", "2026-11-21T05:00:00Z");
        assert_eq!((releases[0].version.as_str(), releases[0].date.as_str()), ("0.2.0-1", "2026-11-21T05:00:00Z"));
        assert_eq!(releases[0].changes, ["x: one and two."]);
        assert_eq!(releases[1].date, "2026-01-02T00:00:00Z");
    }

    #[test]
    fn a_change_is_one_line_whatever_is_in_it() {
        let out = for_packages("## Unreleased\n- a: `b`\n  & c\n", "1.0.0-1", "2026-11-21T05:00:00Z");
        assert!(out.contains("- semver: 1.0.0-1\n"), "{out}");
        assert!(out.ends_with("    - note: |-\n        a: b & c\n"), "{out}");
    }
}
