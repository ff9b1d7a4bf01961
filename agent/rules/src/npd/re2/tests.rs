//! RE2's syntax, case by case, and that nothing makes the translator fall over.

use proptest::prelude::*;
use regex::bytes::Regex;

use super::translate_re2;

fn regex(pattern: &str) -> Regex {
    Regex::new(&translate_re2(pattern).unwrap()).unwrap_or_else(|error| panic!("{pattern}: {error}"))
}

#[test]
fn patterns_find_what_go_finds() {
    for (pattern, found, not_found) in [
        (r"\Qa.b[\E+", "a.b[[[", "axb["),
        (r"\Qa.b", "a.b", "axb"),
        (r"^\d$", "7", "٧"),
        (r"^\w$", "a", "ä"),
        (r"\bcat\b", "äcatä", "scats"),
        (r"^\s$", "\t", "\x0b"),
        (r"^\S$", "\x0b", " "),
        (r"^[\s]$", "\n", "\x0b"),
        (r"^[^\S]$", "\n", "x"),
        (r"^\x{e4}\xe4$", "ää", "ä"),
        (r"^\101\0$", "A\0", "1010"),
        (r"^ä+$", "äää", "a"),
        (r"(?i)^ä$", "Ä", "A"),
        (r"^[äö]{2}$", "öä", "oa"),
        (r"^[ä\d]$", "5", "٥"),
        (r"^[^ä]$", "ö", "ä"),
        (r"^[[]$", "[", "]"),
        (r"^[]]$", "]", "["),
        (r"^[^]a]$", "b", "]"),
        (r"^[a&&b]$", "&", "c"),
        (r"^[a~~b]$", "~", "c"),
        (r"^[a-]$", "-", "b"),
        (r"^[-a]$", "-", "b"),
        (r"^[+--]$", ",", "."),
        (r"^[[:alpha:][:^alnum:]]$", "-", "5"),
        (r"^a{,2}$", "a{,2}", "aa"),
        (r"^a{2}{$", "aa{", "aa"),
        (r"^a{x}$", "a{x}", "ax"),
        (r"^]}$", "]}", "]"),
        (r"^\<a\>$", "<a>", "a"),
        (r"^\_\ \#\-$", "_ #-", "_"),
        (r"(?P<name>a)(?:b)(?i:C)(?s).", "abc\n", "ab"),
        (r"(?U)^a+$", "aaa", "b"),
        (r"a\z", "ba", "ab"),
    ] {
        let regex = regex(pattern);
        assert!(regex.is_match(found.as_bytes()), "{pattern} does not find {found:?}");
        assert!(!regex.is_match(not_found.as_bytes()), "{pattern} finds {not_found:?}");
    }
}

#[test]
fn what_re2_refuses_is_refused() {
    for pattern in [
        r"a\",
        r"\1",
        r"\C",
        r"\Z",
        r"\E",
        r"\k",
        r"\ä",
        r"\x",
        r"\xg1",
        r"\x+1",
        r"\x{}",
        r"\x{110000}",
        r"\p",
        r"\p{",
        "[",
        "[]",
        "[^",
        "[a-",
        r"[\b]",
        "[a--b]",
        "[z-a]",
        "[[:foo:]]",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "(?P=a)",
        "(?x)a",
        "(?u)a",
        "(?",
        "(?P<a",
        r"[\Qa\E]",
    ] {
        assert!(translate_re2(pattern).is_err(), "{pattern}");
    }
}

#[test]
fn bytes_that_are_not_utf8_are_matched() {
    assert!(regex(r"^a.+b[^c]$").is_match(b"a\xff\xfeb\xfd"));
}

proptest! {
    #[test]
    fn translating_never_panics_and_gives_valid_utf8_patterns(pattern in r"[\\\[\](){}^$.*+?|a-c\-&~:QEpxd0-9äP<>=!iu]{0,24}") {
        if let Ok(translated) = translate_re2(&pattern) {
            let _ = regex_syntax::ParserBuilder::new().unicode(false).utf8(false).build().parse(&translated);
        }
    }

    #[test]
    fn a_quoted_text_finds_itself(text in "[^\\\\]{0,24}") {
        let pattern = format!("^\\Q{text}\\E$");
        prop_assert!(regex(&pattern).is_match(text.as_bytes()), "{}", pattern);
    }
}
