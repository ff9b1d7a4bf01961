//! Runs the examples inside the rules through the real detector: a rule that does not do what it shows is an error.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use nodewell_model::{Finding, FindingKind, Origin, Record};

use crate::{
    Diagnostic, Location,
    detector::Detector,
    rule::{Example, Rule, RuleSet},
};

/// Each rule's `matches` must fire that very rule, its `ignores` must not, and its `recovers` must clear what the first of
/// `matches` raised. An example of a counting rule is either as many lines as it counts, or one that it would count.
/// Every error is reported.
#[must_use]
pub fn check_examples(set: &RuleSet) -> Vec<Diagnostic> {
    check_examples_where(set, |_| true)
}

/// The same for the rules of whose kin (reader, reason and condition) one is `wanted`: running all examples compiles
/// all patterns, which an agent that starts should not wait for where they were proven before.
#[must_use]
pub fn check_examples_where(set: &RuleSet, wanted: impl Fn(&Rule) -> bool) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for kin in kin(set).into_iter().filter(|kin| kin.iter().any(|rule| wanted(rule))) {
        // Of rules that could take each other's records the first listed one does: they are judged together as well.
        let mut together = (kin.len() > 1).then(|| detector(&kin)).and_then(Result::ok);
        for rule in kin {
            match detector(&[rule]) {
                Ok(alone) => Checked { rule, alone, together: together.as_mut() }.check(&mut diagnostics),
                Err(errors) => diagnostics.extend(errors),
            }
        }
    }
    diagnostics.sort();
    diagnostics.dedup();
    diagnostics
}

/// The rules of `set` in groups of one reader, reason and condition: at most one of each group fires for a record.
fn kin(set: &RuleSet) -> Vec<Vec<&Rule>> {
    let mut groups: HashMap<_, Vec<&Rule>> = HashMap::new();
    for rule in &set.rules {
        groups.entry((rule.reader, &rule.reason, &rule.condition)).or_default().push(rule);
    }
    groups.into_values().collect()
}

/// A detector for these rules of one reader and no others.
fn detector(rules: &[&Rule]) -> Result<Detector, Vec<Diagnostic>> {
    let reader = rules.first().map_or(0, |rule| rule.reader);
    let rules = rules.iter().map(|rule| (*rule).clone()).collect();
    Detector::new(Arc::new(RuleSet { rules, ..RuleSet::default() }), reader)
}

/// How an example's records are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Try {
    /// As the kernel would.
    Live,
    /// As test records, for which a counting rule does not wait.
    AtOnce,
}

/// One rule under test.
struct Checked<'a> {
    rule: &'a Rule,
    /// With no other rule.
    alone: Detector,
    /// With the rules that could take its records: those of the same reason and condition. `None` if it has no such kin.
    together: Option<&'a mut Detector>,
}

impl Checked<'_> {
    fn check(mut self, diagnostics: &mut Vec<Diagnostic>) {
        let examples = &self.rule.examples;
        for example in &examples.matches {
            self.check_match(example, diagnostics);
        }
        for example in &examples.ignores {
            if !raised(&fire(&mut self.alone, example, Try::Live)).is_empty() {
                diagnostics.push(self.diagnostic(example, "must not match, but it does"));
            }
        }
        let first = examples.matches.first().map(|example| self.fired(example).0);
        let subject = first.and_then(|found| Some(raised(&found).first()?.subject.clone())).flatten();
        for example in &examples.recovers {
            self.check_recovery(example, subject.as_deref(), diagnostics);
        }
    }

    fn check_match(&mut self, example: &Example, diagnostics: &mut Vec<Diagnostic>) {
        let (found, how) = self.fired(example);
        let Some(finding) = raised(&found).first().copied() else {
            return diagnostics.push(self.diagnostic(example, "must match, but it does not"));
        };
        if example.subject.is_some() && example.subject != finding.subject {
            let words = format!("must have the subject {:?}, but it has {:?}", example.subject, finding.subject);
            diagnostics.push(self.diagnostic(example, &words));
        }
        if example.reason.as_deref().is_some_and(|reason| reason != finding.reason.as_str()) {
            let words = format!("must have the reason {:?}, but it has {}", example.reason, finding.reason);
            diagnostics.push(self.diagnostic(example, &words));
        }
        // Among rules of the same reason the message shows which pattern it was: severity and monitor are the rule's.
        let Some(together) = &mut self.together else { return };
        let findings = fire(together, example, how);
        if !raised(&findings).iter().any(|other| is_same(other, finding)) {
            diagnostics
                .push(self.diagnostic(example, "is taken by a rule of the same reason that is listed before this one"));
        }
    }

    /// What an example that must match gives, and by which try.
    fn fired(&mut self, example: &Example) -> (Vec<Finding>, Try) {
        let found = fire(&mut self.alone, example, Try::Live);
        if self.rule.counting.is_none() || !raised(&found).is_empty() {
            return (found, Try::Live);
        }
        (fire(&mut self.alone, example, Try::AtOnce), Try::AtOnce)
    }

    fn check_recovery(&mut self, example: &Example, subject: Option<&str>, diagnostics: &mut Vec<Diagnostic>) {
        let found = fire(&mut self.alone, example, Try::Live);
        let mut clears = found.iter().filter(|finding| finding.kind == FindingKind::Clear);
        let ends = |clear: &Finding| clear.subject.is_none() || clear.subject.as_deref() == subject;
        if !clears.any(ends) {
            let words = format!("must clear what the first example raised (subject {subject:?}), but it does not");
            diagnostics.push(self.diagnostic(example, &words));
        }
    }

    fn diagnostic(&self, example: &Example, words: &str) -> Diagnostic {
        let location = Location { file: self.rule.location.file.clone(), line: example.line };
        let shown: String = example.text.chars().take(120).collect();
        Diagnostic { location, message: format!("example of {} {words}: {shown:?}", self.rule.reason) }
    }
}

/// The findings of the example's last record.
fn fire(detector: &mut Detector, example: &Example, how: Try) -> Vec<Finding> {
    let fields: Vec<(String, Vec<u8>)> =
        example.fields.iter().map(|(name, value)| (name.clone(), value.clone().into_bytes())).collect();
    let mut found = Vec::new();
    detector.forget();
    for text in example.text.trim_end_matches('\n').split('\n') {
        found.clear();
        let record = Record {
            time: Timestamp::UNIX_EPOCH,
            since_boot: None,
            boot_id: None,
            origin: Origin::Line { number: 1 },
            text: text.as_bytes(),
            fields: &fields,
            test: how == Try::AtOnce,
        };
        detector.push(&record, &mut found);
    }
    found
}

fn raised(found: &[Finding]) -> Vec<&Finding> {
    found.iter().filter(|finding| finding.kind == FindingKind::Raise).collect()
}

fn is_same(one: &Finding, other: &Finding) -> bool {
    one.merges_with(other) && one.message == other.message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::*;

    fn example(text: &str, line: usize) -> Example {
        Example { text: text.to_owned(), subject: None, reason: None, fields: Vec::new(), line }
    }

    fn link() -> Rule {
        let mut link = lasting(counting(rule("LinkDown", r"^(?P<subject>\w+): down$"), 5, 60, &[]), "NetworkUnhealthy");
        link.clears.patterns = vec![r"^(?P<subject>\w+): up$".to_owned()];
        link.examples.matches = vec![Example { subject: Some("eth0".to_owned()), ..example("eth0: down", 3) }];
        link.examples.ignores = vec![example("eth0: shutdown", 4)];
        link.examples.recovers = vec![example("eth0: up", 5)];
        link
    }

    fn diagnostics(rules: Vec<Rule>) -> Vec<String> {
        check_examples(&set_of(rules)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn good_examples_are_no_errors() {
        let mut two = rule("Two", "^Zebra\nQuail");
        two.lines = 2;
        two.examples.matches = vec![example("Zebra\nQuail\n", 1)];
        two.examples.ignores = vec![example("Quail", 2)];
        assert_eq!(diagnostics(vec![link(), two]), [""; 0]);
    }

    #[test]
    fn every_example_that_lies_is_told_with_its_line() {
        let mut link = link();
        link.examples.matches.push(example("eth0 down", 10));
        link.examples.matches.push(Example { subject: Some("eth9".to_owned()), ..example("eth1: down", 11) });
        link.examples.ignores.push(example(&["eth0: down"; 5].join("\n"), 12));
        link.examples.recovers.push(example("eth7: up", 13));
        link.examples.recovers.push(example("nothing", 14));
        let messages = diagnostics(vec![link]);
        let lines: Vec<&str> = messages.iter().map(|messages| messages.split(": ").next().unwrap()).collect();
        assert_eq!(
            lines,
            ["test.toml:10", "test.toml:11", "test.toml:12", "test.toml:13", "test.toml:14"],
            "{messages:#?}"
        );
    }

    #[test]
    fn an_example_that_an_earlier_rule_takes_is_told() {
        let mut late = rule("Disk", "^disk fire");
        late.severity = nodewell_model::Severity::Critical;
        late.examples.matches = vec![example("disk fire", 7)];
        assert_eq!(diagnostics(vec![late.clone(), rule("Disk", "^disk")]), [""; 0]);
        let messages = diagnostics(vec![rule("Disk", "^disk"), late]);
        assert!(messages[0].contains("listed before"), "{messages:?}");
    }

    #[test]
    fn only_rules_of_one_reader_reason_and_condition_take_each_others_examples() {
        let mut late = rule("Disk", "^disk fire");
        late.severity = nodewell_model::Severity::Critical;
        late.examples.matches = vec![example("disk fire", 7)];
        let first = rule("Disk", "^disk");
        let others = [Rule { reader: 1, ..first.clone() }, lasting(first.clone(), "Sick"), rule("Fire", "^disk")];
        assert_eq!(diagnostics([others.to_vec(), vec![late.clone()]].concat()), [""; 0]);
        let broken = rule("Disk", "(");
        assert_eq!(
            diagnostics(vec![broken, first, late]).len(),
            1,
            "a broken rule is named and hides no other reader's"
        );
    }

    #[test]
    fn many_rules_of_one_reason_are_told_apart() {
        let numbered = |number: usize| {
            let mut rule = rule("Disk", &format!("^disk {number:03}$"));
            rule.examples.matches = vec![example(&format!("disk {number:03}"), number)];
            rule
        };
        let mut rules: Vec<Rule> = (1..=150).map(numbered).collect();
        assert_eq!(diagnostics(rules.clone()), [""; 0]);
        let mut late = numbered(70);
        late.severity = nodewell_model::Severity::Critical;
        late.examples.matches[0].line = 2000;
        rules.push(late);
        let messages = diagnostics(rules);
        assert!(matches!(messages.as_slice(), [messages] if messages.starts_with("test.toml:2000: ")), "{messages:?}");
    }
}
