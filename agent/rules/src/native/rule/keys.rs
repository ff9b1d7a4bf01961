//! The keys of `[[rule]]`.

use std::ops::RangeInclusive;

use nodewell_faults::Decoder;
use nodewell_model::Action;
use nodewell_settings::{
    Kind,
    kind::{Bool, Number, quoted, words},
};

use super::{
    super::key::{RuleKey, RuleTable, choices, names},
    KINDS, PROOFS, SEVERITIES,
};
use crate::reader::BUILT_IN;

pub(in crate::native) const TABLE: RuleTable = RuleTable {
    name: "[[rule]]",
    about: "What one kind of line means. For one record at most one rule fires for each reason and condition: the one \
            that is listed first.",
    keys: LISTED,
};
const LISTED: &[RuleKey] = &[
    RuleKey::new("reason", "a CamelCase name", "Of the Event and of the problem; with a decoder the rule's own name.")
        .required(),
    RuleKey::of(
        "type",
        || choices(&KINDS),
        "What a match is: an Event, or a problem until it ends. Required without a decoder.",
    ),
    RuleKey::new(
        "condition",
        "a CamelCase name",
        "What a permanent problem holds True, of a `[[condition]]` of any file. Required for such a rule, and for no \
         other.",
    ),
    RuleKey::of("source", sources, "Where the lines come from.").without(|| Some(quoted(SOURCE))),
    RuleKey::of(
        "shows-healthy-condition",
        || Bool.takes(),
        "Whether its condition is shown while nothing is wrong: not for hardware that most nodes lack, nor for a \
         source that adds to another's condition.",
    )
    .without(|| Bool.shown(&true)),
    RuleKey::of(
        "severity",
        || choices(&SEVERITIES),
        "The worst problem's message is the condition's. If unset, error, of temporary rules warn.",
    ),
    RuleKey::of(
        "decoder",
        || words(&Decoder::ALL.map(Decoder::as_str)),
        "Tables of codes give type, condition, severity, action and subject. Beside it stand only `reason`, `source`, \
         `pattern`, `where`, `without`, `clears` without a pattern, `origin`, `explain` and the examples.",
    ),
    RuleKey::new(
        "pattern",
        "a regex or a list of them",
        "Any of them is a match. Anchor it with `^`: text further in may come from any user (a task name, a USB \
         string). It sees bytes; `\\w \\d \\s` are ASCII. The capture `subject` is what is broken: another subject is \
         another problem.",
    )
    .required(),
    RuleKey::of(
        "lines",
        || Number(LINES).takes(),
        r"How many of the newest lines the pattern sees, joined by `\n`; it must reach into the newest.",
    )
    .without(|| Number(LINES).shown(&1)),
    RuleKey::new(
        "where",
        "a table of record fields, each with a string or a list of strings",
        "Fields that must have this value, or one of these. Use those that journald vouches for (`_PID`, \
         `_SYSTEMD_UNIT`).",
    ),
    RuleKey::new("without", "a record field or a list of them", "Fields that must be absent."),
    RuleKey::of("proof", || choices(&PROOFS), "What the host has to confirm, because text proves nothing."),
    RuleKey::of(
        "count",
        || Number(COUNTS).takes(),
        "Only so many matches of one subject within `window` are a finding; it needs `window`.",
    ),
    RuleKey::new("window", "a duration", "For how long a match counts; it needs `count`."),
    RuleKey::new("revert", "a regex or a list of them", "A line that takes one match back; it needs `count`."),
    RuleKey::new(
        "inhibit",
        "a table, `[rule.inhibit]`",
        "Lines that show that what the rule finds is meant, and not to be reported.",
    ),
    RuleKey::new(
        "clears",
        "a table, `[rule.clears]`",
        "How a permanent problem ends. Required for such a rule and with a decoder, and for no other.",
    ),
    RuleKey::of("action", || words(&Action::ALL.map(Action::as_str)), "The recommended remediation."),
    RuleKey::new("origin", "a string", "Who prints the line, for `nodewell explain`."),
    RuleKey::new("explain", "a string", "What it means and what to do, for `nodewell explain`."),
    RuleKey::new("matches", EXAMPLES, "What the rule has to find; of several lines in one the last.").required(),
    RuleKey::new("ignores", EXAMPLES, "What it must not find."),
    RuleKey::new(
        "recovers",
        EXAMPLES,
        "What has to end the problem that the first of `matches` began. Required with a recovery pattern.",
    ),
];
pub(super) const KEYS: [&str; LISTED.len()] = names(LISTED);
/// Where the lines come from if the rule does not say it.
pub(super) const SOURCE: &str = "kmsg";
/// A fault that takes more lines than this has a better line to hold on to.
pub(super) const LINES: RangeInclusive<u32> = 1..=64;
/// Each counted match is remembered for as long as its window.
pub(super) const COUNTS: RangeInclusive<u32> = 2..=10_000;
const EXAMPLES: &str = "a list of lines, or of tables `[[rule.matches]]`";

fn sources() -> String {
    let known = BUILT_IN.each_ref().map(|one| quoted(one.name));
    format!("{}, or the name of a `[[source]]`", known.join(", "))
}
