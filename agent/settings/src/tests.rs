//! A table with every kind of key: what is read, refused and shown.

use std::{path::Path, time::Duration};

use crate::{
    kind::{Bool, Choice, Count, Globs, Maybe, Number, Paths, Strings, Time, TimeOrNone, Word},
    *,
};

#[derive(Debug, Clone, PartialEq)]
struct All {
    enabled: bool,
    interval: Duration,
    wait: Duration,
    lookback: Duration,
    count: u32,
    size: usize,
    expected: Option<u32>,
    mode: char,
    word: String,
    names: Vec<String>,
    globs: Vec<String>,
    paths: Vec<std::path::PathBuf>,
}

impl Default for All {
    fn default() -> Self {
        Self {
            enabled: true,
            interval: Duration::from_mins(5),
            wait: Duration::ZERO,
            lookback: Duration::ZERO,
            count: 1,
            size: 2,
            expected: None,
            mode: 'a',
            word: "x".to_owned(),
            names: Vec::new(),
            globs: vec!["sd*".to_owned()],
            paths: vec!["/a b".into()],
        }
    }
}

impl Table for All {
    const NAME: &'static str = "[all]";
    const ABOUT: &'static str = "All kinds.";

    fn keys() -> Vec<Key<Self>> {
        let intervals = Time::ANY
            .not_below(Duration::from_mins(1), "would keep disks awake")
            .not_above(Duration::from_hours(48), "silence counts as death");
        let word = Word {
            takes: "x or y",
            read: |text| {
                if ["x", "y"].contains(&text) { Ok(text.to_owned()) } else { Err(format!("{text:?} is none")) }
            },
            shown: String::clone,
        };
        vec![
            Self::key("enabled", |it| &mut it.enabled, Bool).help("Whether."),
            Self::key("interval", |it| &mut it.interval, intervals),
            Self::key("wait", |it| &mut it.wait, Time::ANY.to(Duration::from_hours(1))),
            Self::key("lookback", |it| &mut it.lookback, TimeOrNone),
            Self::key("count", |it| &mut it.count, Number(1..=9)),
            Self::key("size", |it| &mut it.size, Count(1..=9)),
            Self::key("expected", |it| &mut it.expected, Maybe(Number(0..=8))).example("8"),
            Self::key("mode", |it| &mut it.mode, Choice(&[("auto", 'a'), ("never", 'n')])),
            Self::key("word", |it| &mut it.word, word),
            Self::key("names", |it| &mut it.names, Strings),
            Self::key("globs", |it| &mut it.globs, Globs),
            Self::key("paths", |it| &mut it.paths, Paths { absolute: true }),
        ]
    }

    fn check(&self, read: &ReadKeys<'_>, report: &mut Report<'_>) {
        if read.has_all(&["size"]) && self.size < self.count as usize {
            report.error(read.position("size"), "\"size\" has to be \"count\" at least");
        }
    }
}

fn read(settings: &mut All, text: &str) -> Result<Vec<Set>, Vec<String>> {
    let messages = |found: Vec<Diagnostic>| found.iter().map(ToString::to_string).collect();
    read_text(settings, Path::new("f"), text).map_err(messages)
}

fn refused(text: &str) -> Vec<String> {
    read(&mut All::default(), text).unwrap_err()
}

#[test]
fn keys_that_are_set_win_and_the_others_stay() {
    let mut all = All::default();
    let first =
        read(&mut all, "count = 3\nsize = 4\n\nmode = \"never\"\nnames = [\"one\"]\nlookback = \"0\"\n").unwrap();
    assert_eq!((all.count, all.size, all.mode, all.names.as_slice()), (3, 4, 'n', ["one".to_owned()].as_slice()));
    assert_eq!((all.enabled, all.word.as_str()), (true, "x"));
    let lines: Vec<(&str, usize)> = first.iter().map(|set| (set.key, set.at.line)).collect();
    assert_eq!(lines, [("lookback", 6), ("count", 1), ("size", 2), ("mode", 4), ("names", 5)]);
    // An empty list removes what another file named.
    read(&mut all, "names = []\nexpected = 0\n").unwrap();
    assert_eq!((all.names.len(), all.expected, all.count), (0, Some(0), 3));
}

#[test]
fn every_error_has_its_line_and_its_reason() {
    let text = "enabled = 1\ninterval = \"5s\"\nwait = \"2h\"\ncount = 10\nsize = 0\nmode = \"nevr\"\nword = \"z\"\n\
                globs = [\"a**b\"]\npaths = [\"a\"]\nexpectd = 1\n";
    let expected = [
        "f:1: \"enabled\" takes true or false, not an integer",
        "f:2: \"interval\" below 1m would keep disks awake",
        "f:3: \"wait\" is at most 1h",
        "f:4: \"count\" takes a number from 1 to 9, not 10",
        "f:5: \"size\" takes a number from 1 to 9, not 0",
        "f:6: \"mode\" takes auto or never, not \"nevr\"; did you mean \"never\"?",
        "f:7: \"word\": \"z\" is none",
        "f:8: \"a**b\" is no pattern of names: ",
        "f:9: a is no absolute path",
        "f:10: unknown key \"expectd\" in [all]; did you mean \"expected\"?",
    ];
    let found = refused(text);
    assert_eq!(found.len(), expected.len(), "{found:#?}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(expected), "{found}");
    }
    assert_eq!(refused("interval = \"3d\"\n"), ["f:1: \"interval\" is at most 2d: silence counts as death"]);
    assert_eq!(refused("count = 5\nsize = 4\n"), ["f:2: \"size\" has to be \"count\" at least"]);
    assert_eq!(refused("count =\n").len(), 1);
}

/// Whatever the list is of.
#[test]
fn one_string_is_no_list() {
    for key in ["names", "globs", "paths"] {
        let (string, number) = (refused(&format!("{key} = \"/a\"\n")), refused(&format!("\n{key} = 1\n")));
        assert_eq!(string, [format!("f:1: \"{key}\" takes a list of strings; write {key} = [\"/a\"]")]);
        assert_eq!(number, [format!("f:2: \"{key}\" takes a list of strings, not an integer")]);
    }
}

#[test]
fn what_is_shown_is_what_a_file_would_have() {
    let mut all = All { word: "y".to_owned(), expected: Some(3), ..All::default() };
    let shown = shown(&mut all);
    let text: String =
        shown.iter().filter_map(|one| Some(format!("{} = {}\n", one.key, one.value.as_ref()?))).collect();
    let mut again = All::default();
    read(&mut again, &text.replace("wait = \"0s\"\n", "")).unwrap();
    assert_eq!(again, all);
    let one = |key| shown.iter().find(|one| one.key == key).unwrap();
    assert_eq!((one("expected").usual.as_deref(), one("expected").example), (None, "8"));
    assert_eq!(one("interval").takes, "a duration from 1m to 2d");
    assert_eq!(one("mode").takes, "\"auto\" or \"never\"");
    assert_eq!(one("enabled").help, "Whether.");
}

#[test]
fn each_kind_says_what_it_takes_for_programs_too() {
    let shown = shown(&mut All::default());
    let schema = |key| shown.iter().find(|one| one.key == key).unwrap().schema.clone();
    assert_eq!(schema("enabled"), Schema::Bool);
    assert_eq!(schema("interval"), Schema::DURATION);
    assert_eq!(schema("lookback"), Schema::AnyOf(vec![Schema::Words(vec!["0"]), Schema::DURATION]));
    assert_eq!((schema("count"), schema("size")), (Schema::Number(1..=9), Schema::Number(1..=9)));
    assert_eq!(schema("expected"), Schema::Number(0..=8));
    assert_eq!(schema("mode"), Schema::Words(vec!["auto", "never"]));
    assert_eq!(schema("word"), Schema::ANY_TEXT);
    assert_eq!(schema("names"), Schema::strings(Schema::NOT_EMPTY, 0..=usize::MAX));
    assert_eq!(schema("globs"), schema("names"));
    assert_eq!(schema("paths"), Schema::strings(Schema::Text("^/"), 0..=usize::MAX));
}
