//! The same as a plain list of what is held, in which everything is looked for.

use nodewell_model::{Origin, RequiredProof};
use proptest::prelude::*;

use super::*;

/// What happens to what is held.
#[derive(Debug, Clone)]
enum Step {
    Found(Box<Finding>, Option<Timestamp>),
    Boot(bool),
    Over(Timestamp),
}

/// A problem in the list.
#[derive(Clone)]
struct Listed {
    key: Key,
    severity: Severity,
    ends_at_boot: bool,
    is_of_this_boot: bool,
    quiet: Option<Quiet>,
}

#[derive(Default)]
struct List(Vec<Listed>);

impl List {
    fn admits(&mut self, finding: &Finding, at: Option<Timestamp>) -> bool {
        let Some(condition) = finding.condition.clone() else { return true };
        let key = (condition, finding.reason.clone(), finding.subject.clone());
        let is_same = |other: &Key| {
            let is_of_reason = (&other.0, &other.1) == (&key.0, &key.1);
            is_of_reason && (other.2 == key.2 || finding.kind == FindingKind::Clear && key.2.is_none())
        };
        let before = self.0.iter().find(|held| is_same(&held.key)).cloned();
        self.0.retain(|held| !is_same(&held.key));
        if finding.kind == FindingKind::Clear {
            return before.is_some();
        }
        let quiet = finding.ends_after_quiet.zip(at);
        let quiet = quiet.map(|(lasts, seen)| Quiet { lasts, seen, ends: later(seen, lasts) });
        let mut new = Listed {
            key,
            severity: finding.severity,
            ends_at_boot: finding.ends_at_boot,
            is_of_this_boot: true,
            quiet,
        };
        if let Some(before) = before {
            new.severity = new.severity.max(before.severity);
            new.quiet = match (before.quiet, quiet) {
                (Some(held), Some(late)) if late.seen < held.seen => {
                    Some(Quiet { ends: held.ends.max(late.ends), ..held })
                }
                (_, quiet) => quiet,
            };
        }
        self.0.push(new);
        true
    }

    /// Whether any of its condition and reason is held.
    fn hears_end(&self, finding: &Finding) -> bool {
        let Some(condition) = &finding.condition else { return true };
        self.0.iter().any(|held| (&held.key.0, &held.key.1) == (condition, &finding.reason))
    }

    fn boot(&mut self, is_dated: bool) {
        self.0.retain(|held| !(held.is_of_this_boot && held.ends_at_boot));
        for held in self.0.iter_mut().filter(|held| held.is_of_this_boot) {
            held.is_of_this_boot = false;
            if let Some(quiet) = held.quiet.as_mut().filter(|_| !is_dated) {
                (quiet.seen, quiet.ends) = (Timestamp::UNIX_EPOCH, later(Timestamp::UNIX_EPOCH, quiet.lasts));
            }
        }
    }

    /// All that are over, in their order.
    fn over(&mut self, now: Timestamp) -> Vec<(Timestamp, Key, Severity)> {
        let ends = |held: &Listed| held.quiet.map(|quiet| quiet.ends).filter(|ends| *ends <= now);
        let over = self.0.iter().filter_map(|held| Some((ends(held)?, held.key.clone(), held.severity)));
        let mut over: Vec<_> = over.collect();
        over.sort();
        self.0.retain(|held| ends(held).is_none());
        over
    }
}

fn time(secs: u16) -> Timestamp {
    Timestamp::from_second(i64::from(secs)).unwrap()
}

prop_compose! {
    fn finding()(
        condition in prop::option::weighted(0.9, prop::sample::select(&["A", "B"][..])),
        reason in prop::sample::select(&["X", "Y"][..]),
        subject in prop::option::of("[ab]"),
        is_clear in prop::bool::weighted(0.2),
        severity in prop::sample::select(&[Severity::Warn, Severity::Critical][..]),
        quiet in prop::option::of(1..30_u64),
        ends_at_boot in any::<bool>(),
    ) -> Finding {
        Finding {
            source: "kernel-monitor".into(),
            kind: if is_clear { FindingKind::Clear } else { FindingKind::Raise },
            condition: condition.map(|condition| Name::new(condition).unwrap()),
            reason: Name::new(reason).unwrap(),
            subject,
            severity,
            message: String::new(),
            time: Timestamp::UNIX_EPOCH,
            last_time: Timestamp::UNIX_EPOCH,
            count: 1,
            origin: Origin::Line { number: 1 },
            boot_id: None,
            ends_after_quiet: quiet.map(Duration::from_secs),
            ends_at_boot,
            action: None,
            required_proof: RequiredProof::None,
            test: false,
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let at = || prop::option::weighted(0.9, (0..200_u16).prop_map(time));
    prop_oneof![
        8 => (finding(), at()).prop_map(|(finding, at)| Step::Found(Box::new(finding), at)),
        1 => any::<bool>().prop_map(Step::Boot),
        3 => (0..200_u16).prop_map(|secs| Step::Over(time(secs))),
    ]
}

proptest! {
    #[test]
    fn as_a_plain_list(steps in prop::collection::vec(step(), 0..60)) {
        let (mut raised, mut list) = (Raised::default(), List::default());
        for step in steps {
            match step {
                Step::Found(finding, at) => {
                    let is_heard = raised.hears_end(finding.condition.as_ref(), &finding.reason);
                    prop_assert_eq!(is_heard, list.hears_end(&finding), "{:?}", finding);
                    let is_admitted = raised.admits(&finding, at);
                    prop_assert_eq!(is_admitted, list.admits(&finding, at), "{:?}", finding);
                    prop_assert!(is_heard || finding.kind == FindingKind::Raise || !is_admitted, "{:?}", finding);
                }
                Step::Boot(is_dated) => {
                    raised.boot(is_dated);
                    list.boot(is_dated);
                }
                Step::Over(now) => {
                    let over = std::iter::from_fn(|| raised.over(now, 1, true));
                    let key = |over: ReplayFinding| {
                        (over.time.unwrap(), (over.condition.unwrap(), over.reason, over.subject), over.severity)
                    };
                    prop_assert_eq!(over.map(key).collect::<Vec<_>>(), list.over(now));
                }
            }
            prop_assert_eq!(raised.count, list.0.len());
            prop_assert_eq!(raised.waits(), list.0.iter().any(|held| held.quiet.is_some()));
            prop_assert_eq!(raised.of_this_boot.len(), list.0.iter().filter(|held| held.is_of_this_boot).count());
        }
    }
}
