//! What the tests of this crate share: rules and records without a file.

use std::{sync::Arc, time::Duration};

use jiff::Timestamp;
use nodewell_model::{Finding, Name, NoFields, Origin, Record, Severity};

use crate::{
    Detector, Location, RuleSet,
    rule::{Clears, Counting, Examples, FieldFilter, Format, Proof, Reader, Rule},
};

/// A temporary native kmsg rule.
pub(crate) fn rule(reason: &str, pattern: &str) -> Rule {
    Rule {
        location: Location { file: "test.toml".into(), line: 1 },
        overridden: None,
        format: Format::Native,
        monitor: "kernel-monitor".into(),
        reader: 0,
        reason: Name::new(reason).unwrap(),
        condition: None,
        severity: Severity::Warn,
        decoder: None,
        shows_healthy_condition: true,
        patterns: vec![pattern.to_owned()],
        lines: 1,
        fields: FieldFilter::default(),
        proof: Proof::None,
        counting: None,
        inhibition: None,
        clears: Clears::default(),
        action: None,
        message_suffix: None,
        lookback: None,
        boot_delay: None,
        origin: String::new(),
        explain: String::new(),
        examples: Examples::default(),
    }
}

/// The same of Node Problem Detector, with its window of `lines`.
pub(crate) fn npd(reason: &str, pattern: &str, lines: usize) -> Rule {
    Rule { format: Format::Npd, lines, ..rule(reason, pattern) }
}

pub(crate) fn lasting(rule: Rule, condition: &str) -> Rule {
    Rule { condition: Some(Name::new(condition).unwrap()), ..rule }
}

pub(crate) fn counting(rule: Rule, count: u32, within_secs: u64, revert: &[&str]) -> Rule {
    let revert = revert.iter().map(|pattern| (*pattern).to_owned()).collect();
    Rule { counting: Some(Counting { count, window: Duration::from_secs(within_secs), revert }), ..rule }
}

pub(crate) fn set_of(rules: Vec<Rule>) -> Arc<RuleSet> {
    let readers = vec![Reader::Kmsg, Reader::Journal { directory: None }];
    Arc::new(RuleSet { readers, rules, ..RuleSet::default() })
}

pub(crate) fn detector(rules: Vec<Rule>) -> Detector {
    Detector::new(set_of(rules), 0).unwrap()
}

pub(crate) fn record(text: &[u8], secs: i64) -> Record<'_> {
    Record {
        time: Timestamp::from_second(secs).unwrap(),
        since_boot: None,
        boot_id: None,
        origin: Origin::Line { number: 1 },
        text,
        fields: &NoFields,
        test: false,
    }
}

/// The findings of each text, a second apart.
pub(crate) fn push_all(detector: &mut Detector, texts: &[&str]) -> Vec<Vec<Finding>> {
    let push = |(secs, text): (i64, &&str)| {
        let mut out = Vec::new();
        detector.push(&record(text.as_bytes(), secs), &mut out);
        out
    };
    (1000..).zip(texts).map(push).collect()
}

/// The messages of each text's findings.
pub(crate) fn messages(rules: Vec<Rule>, texts: &[&str]) -> Vec<Vec<String>> {
    let found = push_all(&mut detector(rules), texts);
    found.into_iter().map(|findings| findings.into_iter().map(|finding| finding.message).collect()).collect()
}
